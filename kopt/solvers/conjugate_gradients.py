"""Conjugate gradients for linear systems whose matrix is not formed: one product by K an iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kopt.solvers.equality_program import EPS, EqualityProgram, Vector
from kopt.solvers.preconditioner import Preconditioner
from kopt.solvers.solver import INTERRUPTED
from kopt.watch import Watch

MOST_ITERATIONS = 1000
# The certificate compares residuals with terms of its own; the recurrence stops well below the tolerance.
SAFETY = 0.5
# The fraction of the first slope below which the recurrence has lost the slope, which is then computed anew.
RECURRENCE = 1e-8
# A slope that is left where there is no curvature, relative to its terms, that is more than rounding.
STEEP = 1e-6


class ConjugateGradients:
    """Minimises a program from a feasible point z on, which is the best so far at any time.

    The value f(z) bounds the optimum from above. Where every coordinate has a shift s_i > 0, P - diag(s) being
    positive semi-definite, the slope g at z bounds it from below:

        f(z) - 1/2 sum_i g_i^2 / s_i <= optimum <= f(z)
    """

    def __init__(self, program: EqualityProgram, z: Vector, rank: int, tolerance: float, watch: Watch) -> None:
        self.program = program
        self.z = z
        self.rank = rank
        self.tolerance = tolerance
        self.watch = watch
        self.iterations = 0
        self.first = 0.0

    def run(self) -> str:
        """Iterate, and say how it ended."""
        try:
            return self._run()
        except KeyboardInterrupt:
            return INTERRUPTED

    def _run(self) -> str:
        precondition = Preconditioner(self.program, self.rank)
        left = np.inf
        while True:
            gradient = self.program.gradient(self.z)
            slope = self.program.directional(gradient)
            value = 0.5 * float(self.z @ (gradient + self.program.program.linear))
            if self._reached(value, slope):
                return "solved"
            if self.iterations >= MOST_ITERATIONS:
                return f"stopped after {self.iterations} iterations"
            self.first = self.first or self._largest(slope)
            length = float(np.linalg.norm(slope))
            if length > left / 2:
                return "stopped where rounding ends its progress"
            left = length
            if self._descend(value, slope, precondition):
                return "unbounded"

    def _descend(self, value: float, slope: Vector, precondition: Callable[[Vector], Vector]) -> bool:
        """Iterate until the recurrence has reached the tolerance, or lost its digits; True on a fall without end."""
        start, left = self.z, slope
        for x, left in conjugate_directions(self.program, precondition, slope):
            self.z = self.program.moved(start, x)
            self.iterations += 1
            reached = value + 0.5 * float(x @ (slope + left))
            self._report(reached, left)
            accurate = float(np.linalg.norm(left)) > RECURRENCE * float(np.linalg.norm(slope))
            if not accurate or self._reached(reached, left) or self.iterations >= MOST_ITERATIONS:
                return False
        flat = not self.program.shift.all()
        return flat and float(np.linalg.norm(left)) > STEEP * self.program.slope_size(start)

    def _bounds(self, value: float, slope: Vector) -> tuple[float, float]:
        """The upper and the lower bound that value and slope give for the optimum of the dual."""
        shift, dual_value = self.program.shift, self.program.program.map_of_values
        if not shift.all():
            return np.inf, dual_value(value)
        return dual_value(value - 0.5 * float(np.sum(slope**2 / shift))), dual_value(value)

    def _report(self, value: float, slope: Vector) -> None:
        self.watch.report(*self._bounds(value, slope), int(np.count_nonzero(self.z)))

    def _reached(self, value: float, slope: Vector) -> bool:
        upper, lower = self._bounds(value, slope)
        if np.isfinite(upper) and upper - lower > SAFETY * self.tolerance * abs(upper):
            return False
        return self._largest(slope) <= SAFETY * self.tolerance * self._size()

    def _largest(self, slope: Vector) -> float:
        """The largest entry of the gradient that a slope stands for."""
        return float(np.max(np.abs(slope / self.program.unit), initial=0.0))

    def _size(self) -> float:
        """What a gradient is compared with: the shift's part of it, or else the linear term, or else the first one."""
        own, linear = self.program.program.shift * self.z, self.program.program.linear
        sizes = (float(np.max(np.abs(part[self.program.free]), initial=0.0)) for part in (own, linear))
        return next((size for size in sizes if size > 0), self.first)


def conjugate_directions(
    program: EqualityProgram, precondition: Callable[[Vector], Vector], slope: Vector
) -> Iterator[tuple[Vector, Vector]]:
    """The directions x from a point with this slope to ever smaller values, and the slope after each.

    They end where one without curvature is met: there the slope can be followed for ever.
    """
    x, step = np.zeros_like(slope), -precondition(slope)
    steepness = -float(slope @ step)
    while steepness > 0:
        bent = program.product(step)
        curvature = float(step @ bent)
        if curvature <= len(step) * EPS * float(step @ step):
            return
        length = steepness / curvature
        x = x + length * step
        slope = program.within(slope + length * bent)
        yield x, slope
        ahead = precondition(slope)
        before, steepness = steepness, float(slope @ ahead)
        step = steepness / before * step - ahead
