"""Duals without inequalities: their optimum is the solution of one linear system."""

from __future__ import annotations

import numpy as np

from kopt.errors import InputError
from kopt.polyhedra import nearby_point
from kopt.quadratic import QuadraticProgram
from kopt.solvers.conjugate_gradients import ConjugateGradients
from kopt.solvers.equality_program import EqualityProgram, Vector
from kopt.solvers.factorisation import minimiser
from kopt.solvers.problem import Problem
from kopt.solvers.solver import RawAnswer, Solver

#: Up to so many variables a factorisation takes seconds.
FACTORISED = 8000
#: From so many variables on, products by explicit features are worth more than a factorisation.
FEATURES = 1000
#: The columns of a preconditioner's factor, where there is memory for them.
RANK = 1000


class LinearSystem(Solver):
    """The system P z + q + A' nu = 0, A z = b of a dual that minimises 1/2 z' P z + q' z over A z = b.

    While the matrices fit into the sample's budget P is factorised, which is exact and finds the shortest solution of
    a singular system; beyond that conjugate gradients use products by K alone.

    >>> import kopt
    >>> from kopt.examples import example
    >>> [Ridge] = [f for f in kopt.discover() if f.__name__ == "Ridge"]
    >>> kopt.solve(Ridge(ridge=0.1), example(Ridge.task), method="LINEAR_SYSTEM").certificate.holds(1e-12)
    True
    """

    name = "LINEAR_SYSTEM"

    def place(self, problem: Problem) -> tuple[float, str]:
        """Before all others: nothing is as exact, or as fast."""
        return -1.0, "the optimum of a dual without inequalities is the solution of one linear system"

    def accepts(self, problem: Problem) -> str | None:
        """Quadratic duals whose variables are free or fixed, with equalities only."""
        program = problem.quadratic
        if isinstance(program, str):
            return program
        lower, upper = program.feasible.box
        bounded = int(np.sum((lower < upper) & (np.isfinite(lower) | np.isfinite(upper))))
        if bounded:
            return f"{bounded} of its {len(lower)} dual variables have a bound"
        _, _, equality = program.feasible.rows
        return None if equality.all() else "its dual has inequalities between several variables"

    def solve(self, problem: Problem) -> RawAnswer:
        """Factorise where that is possible, iterate where it is not."""
        program = problem.quadratic
        assert isinstance(program, QuadraticProgram)
        system, given = EqualityProgram(program), problem.stacked_start()
        start = system.nearest(np.zeros(len(program.linear)) if given is None else given)
        if start is None:
            return RawAnswer("infeasible")
        z, status = (_iterated if _large(problem, system) else _factorised)(problem, system, start)
        return RawAnswer(status) if z is None else RawAnswer(status, program.by_name(_polished(z, program)))


def _large(problem: Problem, system: EqualityProgram) -> bool:
    """Whether a factorisation takes too much memory, or more time than products by explicit features."""
    grams = [term.gram for term in system.program.terms]
    largest = max([system.size, *(gram.n for gram in grams)])
    explicit = all(gram.features is not None for gram in grams)
    too_many = system.size > (FEATURES if explicit else FACTORISED)
    return too_many or (system.size > 0 and 8 * largest**2 > problem.sample.budget)


def _factorised(problem: Problem, system: EqualityProgram, start: Vector) -> tuple[Vector | None, str]:
    z = minimiser(system, start)
    return z, "unbounded" if z is None else "solved"


def _iterated(problem: Problem, system: EqualityProgram, start: Vector) -> tuple[Vector | None, str]:
    for term in system.program.terms:
        if term.gram.features is None and 8 * term.gram.n**2 <= problem.sample.budget:
            _ = term.gram.dense  # products use it from now on
    # A factor, its scaled copy and the columns that are being added are in memory at once.
    rank = min(RANK, problem.sample.budget // (4 * 8 * system.size))
    descent = ConjugateGradients(system, start, rank, problem.tolerance, problem.watch)
    status = descent.run()
    return None if status == "unbounded" else descent.z, status


def _polished(z: Vector, program: QuadraticProgram) -> Vector:
    try:
        return nearby_point(z, program.feasible)
    except InputError:
        return z  # rows that contradict each other in their last digits; the certificate says what that is worth
