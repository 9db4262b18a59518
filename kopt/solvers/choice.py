"""Which solvers there are, and in which order they are tried."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache

import cvxpy as cp

import kopt.solvers
from kopt.discovery import offered_classes, own
from kopt.errors import InputError
from kopt.solvers.problem import Problem
from kopt.solvers.solver import Solver
from kopt.solvers.through_cvxpy import ThroughCvxpy


@cache
def available() -> dict[str, Solver]:
    """Every solver by name: what CVXPY has installed, the methods here, and those that come with formulations."""
    solvers: dict[str, Solver] = {name: ThroughCvxpy(name) for name in cp.installed_solvers()}
    found = [*own(kopt.solvers, Solver), *offered_classes("kopt.solvers", Solver)]  # type: ignore[type-abstract]
    for cls in found:
        if not inspect.isabstract(cls) and cls is not ThroughCvxpy:
            solver = cls()
            solvers[solver.name] = solver
    return solvers


def candidates(problem: Problem, method: str) -> Iterator[tuple[Solver, str]]:
    """The solvers to try, in order, and why: the one that is named, or for "auto" all that accept the problem."""
    solvers = available()
    if method != "auto":
        yield _named(method, solvers, problem), "it was named"
        return
    placed = [(*place, solver) for solver in solvers.values() if (place := solver.place(problem)) is not None]
    for _, reason, solver in sorted(placed, key=lambda each: each[0]):
        if solver.accepts(problem) is None:
            yield solver, reason


def _named(method: str, solvers: dict[str, Solver], problem: Problem) -> Solver:
    solver = solvers.get(method.upper())
    if solver is None:
        raise InputError(f"There is no method {method!r}.", f"Known are: {', '.join(sorted(solvers))}.")
    reason = solver.accepts(problem)
    if reason is not None:
        others = [name for name, other in solvers.items() if other.place(problem) and other.accepts(problem) is None]
        raise InputError(
            f"{solver.name} cannot solve {problem.formulation!r}: {reason}.",
            f"Choose one of {', '.join(sorted(others))}." if others else "Raise the budget of the sample.",
        )
    return solver
