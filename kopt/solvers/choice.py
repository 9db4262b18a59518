"""Which solvers there are, and in which order they are tried."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeGuard

import cvxpy as cp

import kopt.solvers
from kopt.errors import InputError
from kopt.formulation import Formulation
from kopt.sample import Sample
from kopt.solvers.solver import Solver
from kopt.solvers.through_cvxpy import ThroughCvxpy


def available() -> dict[str, Solver]:
    """Every solver by name: the methods in this package, and whatever CVXPY has installed."""
    solvers: dict[str, Solver] = {name: ThroughCvxpy(name) for name in cp.installed_solvers()}
    for entry in iter_modules(kopt.solvers.__path__):
        module = import_module(f"kopt.solvers.{entry.name}")
        for item in vars(module).values():
            if inspect.isclass(item) and item.__module__ == module.__name__ and _stands_alone(item):
                solver = item()
                solvers[solver.name] = solver
    return solvers


def _stands_alone(item: type) -> TypeGuard[type[Solver]]:
    return issubclass(item, Solver) and not inspect.isabstract(item) and item is not ThroughCvxpy


def candidates(formulation: Formulation, sample: Sample, side: str, method: str) -> Iterator[Solver]:
    """The solvers to try, in order: the one that is named, or for "auto" all that accept the problem."""
    solvers = available()
    if method != "auto":
        yield _named(method, solvers, formulation, sample, side)
        return
    placed = [(place, solver) for solver in solvers.values() if (place := solver.place(sample)) is not None]
    for _, solver in sorted(placed, key=lambda pair: pair[0]):
        if solver.accepts(formulation, sample, side) is None:
            yield solver


def _named(method: str, solvers: dict[str, Solver], formulation: Formulation, sample: Sample, side: str) -> Solver:
    solver = solvers.get(method.upper())
    if solver is None:
        raise InputError(f"There is no method {method!r}.", f"Known are: {', '.join(sorted(solvers))}.")
    reason = solver.accepts(formulation, sample, side)
    if reason is not None:
        raise InputError(f"{solver.name} cannot solve {formulation!r}: {reason}.", 'Choose method="CLARABEL".')
    return solver
