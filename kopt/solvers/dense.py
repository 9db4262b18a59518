"""Duals that are quadratic programs, as dense matrices: no compilation, and K is never copied through CVXPY."""

from __future__ import annotations

from typing import Any

import numpy as np
import piqp

from kopt.polyhedra import nearby_point
from kopt.projection import Polyhedron
from kopt.quadratic import QuadraticProgram
from kopt.solvers.problem import Problem
from kopt.solvers.solver import RawAnswer, Solver

ACCURACY = 1e-12
# An unbounded problem shows in the certificate; more iterations would not.
MOST_ITERATIONS = 60
SMALL, LARGE = 300, 5000


class Dense(Solver):
    """PIQP's dense interior point method, called directly with bounds as bounds."""

    name = "DENSE"

    def place(self, problem: Problem) -> tuple[float, str] | None:
        """Before the conic solvers once compiling through CVXPY costs more than forming the matrix, up to a size."""
        if problem.sample.n > LARGE:
            return None
        if problem.sample.n > SMALL:
            return 0.0, f"with more than {SMALL} points compiling through CVXPY costs more than a dense matrix"
        return 1.5, "the conic solver before it failed"

    def accepts(self, problem: Problem) -> str | None:
        """Duals that are quadratic programs in K."""
        if isinstance(problem.quadratic, str):
            return problem.quadratic
        needed = 8 * problem.quadratic.linear.size**2
        if needed > problem.sample.budget:
            return (
                f"its matrix needs {needed / 1e9:.3g} GB, more than the budget of {problem.sample.budget / 1e9:.3g} GB"
            )
        return None

    def solve(self, problem: Problem) -> RawAnswer:
        """Form the matrix and solve."""
        program = problem.quadratic
        assert isinstance(program, QuadraticProgram)
        z, status = minimise(*program.dense(), program.feasible)
        if np.isfinite(z).all():
            z = nearby_point(z, program.feasible)
        return RawAnswer(status, program.by_name(z))


def minimise(P: np.ndarray, linear: np.ndarray, feasible: Polyhedron) -> tuple[np.ndarray, str]:
    """The z that minimises 1/2 z' P z + linear' z over a polyhedron, and the solver's word on it."""
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_rel"):
        setattr(solver.settings, name, ACCURACY)
    solver.settings.eps_duality_gap_abs = ACCURACY**2  # an optimum may be small
    solver.settings.max_iter = MOST_ITERATIONS
    lower, upper = feasible.box
    A, b = _rows(feasible.A, feasible.b)
    G, h = _rows(feasible.G, feasible.h)
    solver.setup(np.asfortranarray(P), linear, A, b, G, None, h, lower, upper)
    status = solver.solve()
    return np.clip(solver.result.x, lower, upper), status.name.removeprefix("PIQP_").lower()


def _rows(matrix: Any, side: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    if matrix is None:
        return None, None
    return np.asfortranarray(matrix.toarray()), np.asarray(side, dtype=float)
