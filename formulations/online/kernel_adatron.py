"""The kernel adatron."""

from __future__ import annotations

import numpy as np

from formulations.online.coordinate_ascent import Run, ascend, box_program, matrix, steepest
from kopt.quadratic import QuadraticProgram
from kopt.solvers import Problem, RawAnswer, Solver


class KernelAdatron(Solver):
    r"""Each dual variable in turn is set to its best value, the others fixed: Algorithm 7.59 with its step size.

        alpha_i <- max( 0, alpha_i + (1 - y_i sum_j y_j alpha_j k(x_i, x_j)) / k(x_i, x_i) )

    As printed the step is 1 instead of 1/k(x_i, x_i), which diverges where k(x_i, x_i) exceeds 2. What no step changes
    satisfies the optimality conditions of the hard margin through the origin. An upper bound on alpha_i is a second
    clip, and a number added to the diagonal of K shortens the step: so it takes every dual that is a quadratic
    program over a box, such as those of all machines without offset. An offset's equality needs two variables at a
    time.

    >>> import kopt
    >>> from formulations.classification import HardMarginWithoutOffset
    >>> sample = kopt.Sample([[-1.0], [2.0]], [-1, 1])
    >>> kopt.solve(HardMarginWithoutOffset(), sample, method="ADATRON").dual.alpha.tolist()
    [1.0, 0.0]
    """

    name = "ADATRON"

    def accepts(self, problem: Problem) -> str | None:
        """Duals that are quadratic programs over a box."""
        program = box_program(problem)
        return program if isinstance(program, str) else None

    def solve(self, problem: Problem) -> RawAnswer:
        """Sweep over the dual variables, beginning at 0."""
        program = box_program(problem)
        assert isinstance(program, QuadraticProgram)
        run = adatron(matrix(program.shift, program.terms), -program.linear, *program.feasible.box)
        return run.answer(program.by_name(run.z))


def adatron(P: np.ndarray, gain: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Run:
    """Maximise gain' z - 1/2 z' P z over the box lower <= z <= upper.

    A variable whose diagonal entry is 0 has no curvature: it moves to the bound that its gain points at.
    """
    diagonal, gains, lows, highs = P.diagonal().tolist(), gain.tolist(), lower.tolist(), upper.tolist()

    def best(i: int, z_i: float, product: float) -> float:
        slope = gains[i] - product
        if diagonal[i] > 0:
            return float(min(max(z_i + slope / diagonal[i], lows[i]), highs[i]))
        return float(z_i if gains[i] == 0 else highs[i] if gains[i] > 0 else lows[i])

    def value(z: np.ndarray, products: np.ndarray) -> float:
        return float(gain @ z - z @ products / 2)

    def violation(z: np.ndarray, products: np.ndarray) -> float:
        slope = gain - products
        return steepest(z, lower, upper, slope, -slope)

    start = np.clip(np.zeros(len(gain)), lower, upper)
    return ascend(P, start, best, value, violation, size=float(np.max(np.abs(gain - P @ start))))
