"""What every solver is: it takes one side of a formulation on a sample and returns values by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kopt.claim import Claim
from kopt.solvers.problem import Problem

#: The status of a method that Ctrl-C ended: its answer is the last.
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class RawAnswer:
    """What a solver returned, before anybody checked it.

    status   the solver's own word; "unbounded" and "infeasible" lead to a search for a proof
    values   variables and multipliers by name, empty where there are none
    claims   what the theory of the method says about this run: its invariants, a bound on its steps
    """

    status: str
    values: Mapping[str, Any] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()


class Solver(ABC):
    """A method for one side of a formulation.

    One file per method: every subclass in this package that can be made without arguments is found by itself, and so
    are those in modules that other packages offer by an entry point in the group `kopt.solvers`.
    """

    name: str

    def place(self, problem: Problem) -> tuple[float, str] | None:
        """Where `method="auto"` tries this solver, smaller first, and why there; None for one that has to be named."""
        return None

    @abstractmethod
    def accepts(self, problem: Problem) -> str | None:
        """None if the solver can take the problem, otherwise the reason why it cannot."""

    @abstractmethod
    def solve(self, problem: Problem) -> RawAnswer:
        """Solve one side."""
