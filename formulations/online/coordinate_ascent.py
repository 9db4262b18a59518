"""Sweeps that improve one dual variable at a time: what the kernel adatron and on-line regression share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from kopt import Claim, at_most, equal
from kopt.quadratic import KernelTerm, QuadraticProgram
from kopt.solvers import Problem, RawAnswer

# A sweep reads the whole matrix; beyond this many dual variables another solver is the better choice.
MOST_VARIABLES = 5000
# Well-conditioned kernels need tens of sweeps, nearly singular ones thousands; some never end.
MOST_SWEEPS = 20_000
# And no more steps in all than take about ten seconds.
MOST_STEPS = 2_000_000
# The largest violation of the optimality conditions at which the sweeps end, relative to `size`.
ACCURACY = 1e-10

CONVERGED = "converged"
UNBOUNDED = "unbounded"


@dataclass(frozen=True)
class Run:
    """What happened in a run.

    z           the dual variables at the end
    values      the dual objective before the first sweep and after each
    violation   the largest violation of the optimality conditions at the end
    size        the largest entry of the gradient before the first sweep, which a violation is compared with
    status      how it ended
    """

    z: np.ndarray
    values: tuple[float, ...]
    violation: float
    size: float
    status: str

    def claims(self) -> tuple[Claim, ...]:
        """Every step is an ascent, and what no step changes satisfies the optimality conditions."""
        rises = np.diff(self.values)
        decrease, rise = float(np.sum(np.maximum(0.0, -rises))), float(np.sum(np.maximum(0.0, rises)))
        return (
            at_most("the dual objective never decreased: all decreases over the sweeps <= 0", decrease, 0.0, rise),
            equal("a fixed point is optimal: largest projected gradient = 0", self.violation, 0.0, self.size),
        )

    def answer(self, values: dict[str, np.ndarray]) -> RawAnswer:
        """The run as a solver's answer; where the dual is unbounded there are no values."""
        return RawAnswer(self.status, {} if self.status == UNBOUNDED else values, self.claims())


def ascend(
    P: np.ndarray,
    start: np.ndarray,
    best: Callable[[int, float, float], float],
    value: Callable[[np.ndarray, np.ndarray], float],
    violation: Callable[[np.ndarray, np.ndarray], float],
    size: float,
) -> Run:
    """Sweep until the optimality conditions hold.

    best        the best value of variable i, from its present value and (P z)_i
    value       the dual objective, from z and P z
    violation   the largest violation of the optimality conditions, from z and P z
    size        what a violation is compared with

    P z is kept up to date by one row of P per step, and computed anew after each sweep.
    """
    z = start.astype(float)
    products = P @ z
    values = [value(z, products)]
    sweeps = min(MOST_SWEEPS, max(1, MOST_STEPS // len(start)))
    for _ in range(sweeps):
        if violation(z, products) <= ACCURACY * size:
            return Run(z, tuple(values), violation(z, products), size, CONVERGED)
        for i in range(len(z)):
            step = best(i, float(z[i]), float(products[i])) - z[i]
            if np.isinf(step):
                return Run(z, tuple(values), np.inf, size, UNBOUNDED)
            if step != 0:
                z[i] += step
                products += step * P[i]
        products = P @ z
        values.append(value(z, products))
    return Run(z, tuple(values), violation(z, products), size, f"not converged after {sweeps} sweeps")


def steepest(z: np.ndarray, lower: np.ndarray, upper: np.ndarray, upwards: np.ndarray, downwards: np.ndarray) -> float:
    """The largest slope along which the objective rises within the box, from its slopes up and down each variable."""
    inside = np.concatenate([upwards[z < upper], downwards[z > lower]])
    return float(np.max(inside, initial=0.0))


def box_program(problem: Problem) -> QuadraticProgram | str:
    """The dual as a quadratic program over a box, or the reason why it is none that these methods take."""
    program = problem.quadratic
    if isinstance(program, str):
        return program
    if program.feasible.A is not None or program.feasible.G is not None:
        return "the dual has a constraint that ties its variables together, such as the one of an offset"
    if program.linear.size > MOST_VARIABLES:
        return f"the dual has {program.linear.size} variables, more than {MOST_VARIABLES}"
    return program


def matrix(shift: np.ndarray, terms: Iterable[KernelTerm]) -> np.ndarray:
    """The matrix P of the quadratic part 1/2 z' P z of a dual objective, the shift of its diagonal included."""
    P = np.diag(shift)
    for term in terms:
        P += term.dense()
    return P
