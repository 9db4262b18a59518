"""Any solver that CVXPY has, on either side."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.errors import InputError
from kopt.formulation import Formulation, Pair, primal_of
from kopt.polyhedra import membership
from kopt.program import Program
from kopt.quadratic import QuadraticProgram
from kopt.sample import Sample
from kopt.solvers.dense import LARGE
from kopt.solvers.problem import Problem
from kopt.solvers.solver import RawAnswer, Solver
from kopt.views import ExplicitView
from kopt.views.explicit import ExplicitVector

# Tight, because the certificate judges the answer and not the status.
OPTIONS: dict[str, dict[str, Any]] = {
    "CLARABEL": {
        "tol_gap_abs": 1e-15,
        "tol_gap_rel": 1e-11,
        "tol_feas": 1e-11,
        "max_iter": 400,
        # shorter steps reach a hundred times smaller residuals on second-order cones
        "max_step_fraction": 0.8,
    },
    "OSQP": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 20_000, "polishing": True},
    "SCS": {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iters": 20_000},
    "ECOS": {"abstol": 1e-10, "reltol": 1e-10, "feastol": 1e-10, "max_iters": 200},
}

#: Beyond this order a matrix inequality is not for conic solvers, unless they are named.
LARGEST_MATRIX = 100
# What is closer to 0 than this, relative to the largest entry, no solver tells from 0: the tolerance of the best.
ZERO = 1e-11

PLACES = {
    "CLARABEL": (1.0, "it takes every convex program, and is the most accurate that does"),
    "ECOS": (2.0, "the solvers before it failed"),
    "SCS": (3.0, "the solvers before it failed"),
}


class ThroughCvxpy(Solver):
    """CVXPY compiles the declared program and hands it to a solver of that name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def place(self, problem: Problem) -> tuple[float, str] | None:
        """Conic solvers that take every program, the most accurate first; not where it would take hours."""
        if problem.sample.n > LARGE or (problem.sample.n > LARGEST_MATRIX and problem.has_matrices):
            return None
        return PLACES.get(self.name)

    def accepts(self, problem: Problem) -> str | None:
        """Any program whose Gram matrix fits into memory; CVXPY itself says what a solver cannot do."""
        needed, budget = 8 * problem.sample.n**2, problem.sample.budget
        if needed <= budget or all(gram.features is not None for gram in problem.sample.grams.values()):
            return None
        return f"K takes {needed:.3g} bytes, more than the budget of {budget:.3g}"

    def solve(self, problem: Problem) -> RawAnswer:
        """Compile, solve and read the values off.

        A dual that is a quadratic program in one multiplier per point goes to CVXPY as such, because a bare
        quad_form(z, P) adds no variables.
        """
        quadratic = problem.quadratic
        if isinstance(quadratic, QuadraticProgram) and quadratic.linear.size == problem.sample.n:
            return self._solve_quadratic(quadratic)
        view = ExplicitView(problem.sample)
        pair = Pair(problem.formulation, view, view)
        program = pair.primal if problem.side == "primal" else pair.dual
        assert program is not None
        program.check_convex()
        status = self._run(program.problem())
        if any(variable.value is None for variable in program.variables.values()):
            return RawAnswer(status)
        return RawAnswer(status, values_by_name(program, view, problem.side))

    def _solve_quadratic(self, quadratic: QuadraticProgram) -> RawAnswer:
        z = cp.Variable(quadratic.linear.size, name="z")
        P, q = quadratic.dense()
        objective = 0.5 * cp.quad_form(z, cp.psd_wrap(P)) + q @ z
        status = self._run(cp.Problem(cp.Minimize(objective), membership(quadratic.feasible, z)))
        return RawAnswer(status) if z.value is None else RawAnswer(status, quadratic.by_name(z.value))

    def _run(self, problem: cp.Problem) -> str:
        """Run the solver and return its status; a solver that fails with tight tolerances gets its own instead."""
        for options in (OPTIONS.get(self.name, {}), {}):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # what an inexact answer is worth, the certificate says
                    problem.solve(solver=self.name, **options)
            except (cp.error.SolverError, ValueError):  # SCS refuses programs without constraints by a ValueError
                continue
            return str(problem.status)
        return "failed"


def primal_values(problem: cp.Problem, formulation: Formulation, sample: Sample) -> dict[str, Any]:
    """What a solved problem made by `formulation.problem(sample)` says, in kopt's names and sign convention."""
    view = ExplicitView(sample)
    program = primal_of(formulation, view)
    theirs = {variable.name(): variable for variable in problem.variables()}
    same = [type(c) for c in problem.constraints] == [type(c) for c in program.constraints.values()]
    if not same or {n: v.shape for n, v in theirs.items()} != {n: v.shape for n, v in program.variables.items()}:
        raise InputError(
            f"The problem is not the primal of {formulation!r} on this sample.",
            "Make it by formulation.problem(sample), and solve it as it is.",
        )
    if any(variable.value is None for variable in theirs.values()):
        raise InputError(f"The problem has no solution (its status is {problem.status}).", "Solve it first.")
    for name, variable in program.variables.items():
        variable.save_value(theirs[name].value)
    for ours, constraint in zip(program.constraints.values(), problem.constraints, strict=True):
        for mine, given in zip(ours.dual_variables, constraint.dual_variables, strict=True):
            mine.save_value(given.value)
    return values_by_name(program, view, "primal")


def values_by_name(program: Program, view: ExplicitView, side: str) -> dict[str, Any]:
    """Variables, weight vectors as representer coefficients, and a primal's multipliers in kopt's convention.

    The multipliers of a dual are not read: the primal point is recovered from the dual variables alone.
    """
    values: dict[str, Any] = {}
    for vector in view.weights.values() if side == "primal" else ():
        _rounded_to_zero(vector)
    for name, variable in program.variables.items():
        weight = view.weights.get(name)
        values[name] = variable.value if weight is None else _coefficients(weight, variable.value)
    for name, cone in program.cones.items() if side == "primal" else ():
        dual_value = program.constraints[name].dual_value
        if dual_value is not None:
            values[name] = cone.from_cvxpy(dual_value)
    return values


def _rounded_to_zero(weight: ExplicitVector) -> None:
    """A number that divides a squared norm is 0 where a solver left it that close to 0; so is the vector then."""
    for t in weight.divisors:
        [z], [variable] = weight.coordinates.variables(), t.variables()
        least = ZERO * float(np.max(np.abs(variable.value)))
        if t.value <= least:
            z.save_value(np.zeros(z.shape))
            variable.save_value(np.where(variable.value <= least, 0.0, variable.value))


def _coefficients(weight: ExplicitVector, coordinates: np.ndarray) -> np.ndarray:
    """Representer coefficients c with Phi' c = w."""
    if weight.gram.factor.shape[1] == 0:
        return np.zeros(weight.values.shape)
    if isinstance(weight.rows, slice):
        return weight.gram.coefficients(coordinates)
    return np.linalg.lstsq(weight.gram.factor[weight.rows].T, coordinates, rcond=None)[0]
