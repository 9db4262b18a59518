"""The table of installed formulations: what each is, what solves it, what its theory claims."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from itertools import chain

from kopt.errors import NoDual
from kopt.formulation import Formulation
from kopt.referee.instances import Instance, random_instances
from kopt.show.problem_class import problem_class
from kopt.solvers import solve
from kopt.solvers.choice import available
from kopt.solvers.problem import Problem
from kopt.solvers.through_cvxpy import ThroughCvxpy

HEADER = ("machine", "reference", "primal", "dual", "solvers", "claims")


def library_table(formulations: Iterable[type[Formulation]]) -> Iterator[str]:
    """The formulations as the lines of a table in Markdown.

    The classes of the two programs, the solvers and the claims are read off an instance of each.
    """
    for row in chain([HEADER, ("---",) * len(HEADER)], map(_row, formulations)):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _row(cls: type[Formulation]) -> tuple[str, ...]:
    [instance] = random_instances(cls, 1, seed=0)
    primal, dual = (_class(instance, side) for side in ("primal", "dual"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        claims = solve(instance.formulation, instance.sample).certificate.claims
    statements = "; ".join(claim.statement for claim in claims)
    return f"`{cls.__name__}`", str(cls.reference or ""), primal, dual, ", ".join(_solvers(instance)), statements


def _class(instance: Instance, side: str) -> str:
    """The class of one side; nothing where no dual is declared."""
    try:
        return problem_class(instance.formulation.problem(instance.sample, side))
    except NoDual:
        return ""


def _solvers(instance: Instance) -> Iterator[str]:
    """The solvers beside CVXPY's that take one side of the instance."""
    for name, solver in sorted(available().items()):
        sides = (solver.accepts(Problem(instance.formulation, instance.sample, side)) for side in ("dual", "primal"))
        if not isinstance(solver, ThroughCvxpy) and None in sides:
            yield name
