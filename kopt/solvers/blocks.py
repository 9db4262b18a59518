"""Block decomposition: one dense quadratic program after another in a few hundred variables, whatever the rows."""

from __future__ import annotations

import numpy as np

from kopt.polyhedra import nearby_point
from kopt.quadratic import QuadraticProgram
from kopt.solvers.block_descent import INFEASIBLE, Descent, points_per_variable
from kopt.solvers.implied_box import implied_box
from kopt.solvers.problem import Problem
from kopt.solvers.solver import INTERRUPTED, RawAnswer, Solver

#: Up to so many points one dense matrix is as fast.
FEW_POINTS = 1000
#: A variable with the values of more points than this would make the matrices of its blocks too large.
MOST_POINTS = 8


class Blocks(Solver):
    """Block decomposition for duals with any few rows and any number of kernel terms, stopped by the true gap.

    Where `kopt.separable` finds its form, `Decomposition` is faster; this one takes what that refuses: rows that tie
    sums of several groups of variables together, variables without kernel values, several kernels.

    >>> import kopt
    >>> from kopt.examples import example
    >>> [OrderedNuRanking] = [f for f in kopt.discover() if f.__name__ == "OrderedNuRanking"]
    >>> sample = example(OrderedNuRanking.task)
    >>> kopt.solve(OrderedNuRanking(nu=0.4), sample, method="BLOCKS").certificate.holds(1e-6)
    True
    """

    name = "BLOCKS"

    def place(self, problem: Problem) -> tuple[float, str] | None:
        """Where there are many points and the decomposition into pairs does not take the dual."""
        if problem.sample.n > FEW_POINTS and isinstance(problem.separable, str):
            return -0.4, f"with more than {FEW_POINTS} points a few hundred at a time are faster than one dense matrix"
        return None

    def accepts(self, problem: Problem) -> str | None:
        """Duals with a kernel term in which no variable can go on for ever: there the gap would be infinite."""
        program = problem.quadratic
        if isinstance(program, str):
            return program
        if not program.terms:
            return "the dual has no kernel term"
        most = points_per_variable(program)
        if most > MOST_POINTS:
            return f"a variable of the dual belongs to {most} points, more than {MOST_POINTS}"
        if not np.isfinite(np.array(implied_box(program.feasible))[:, program.shift <= 0]).all():
            return "a variable of the dual is bounded neither by a number, nor by the rows, nor by a squared term"
        return None

    def solve(self, problem: Problem) -> RawAnswer:
        """Descend from the point given, or from one with few variables that are not 0."""
        program = problem.quadratic
        assert isinstance(program, QuadraticProgram)
        descent = Descent(program, problem)
        try:
            status = descent.run() if descent.begin(problem.stacked_start()) else INFEASIBLE
        except KeyboardInterrupt:
            status = INTERRUPTED
        if status == INFEASIBLE:
            return RawAnswer(status)
        return RawAnswer(status, program.by_name(nearby_point(descent.z, program.feasible)))
