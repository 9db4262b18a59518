"""What a solver is asked: one side of a formulation on a sample, how exactly, and from where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kopt.formulation import Formulation
from kopt.quadratic import QuadraticProgram, quadratic_program
from kopt.sample import Sample
from kopt.separable import SeparableProgram, separable
from kopt.verify.certificate import TOLERANCE
from kopt.watch import Watch


@dataclass(frozen=True, eq=False)
class Problem:
    """One side of a formulation on a sample.

    tolerance   the relative gap at which a method that measures it stops
    start       values of the dual variables to begin at, by name; None to begin anywhere
    watch       is told how far a method has come
    """

    formulation: Formulation
    sample: Sample
    side: str = "dual"
    tolerance: float = TOLERANCE
    start: Mapping[str, Any] | None = None
    watch: Watch = field(default_factory=Watch)

    @cached_property
    def quadratic(self) -> QuadraticProgram | str:
        """The dual as a quadratic program, or the reason why it is none; read off the declaration once."""
        return "it solves duals only" if self.side != "dual" else quadratic_program(self.formulation, self.sample)

    @cached_property
    def separable(self) -> SeparableProgram | str:
        """The same in the form that decomposition takes, or the reason why there is none."""
        return separable(self.quadratic)
