"""What a solver is asked: one side of a formulation on a sample, how exactly, and from where."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kopt.cones import Semidefinite
from kopt.errors import InputError
from kopt.formulation import Formulation, primal_of
from kopt.quadratic import QuadraticProgram, quadratic_program
from kopt.sample import Sample
from kopt.separable import SeparableProgram, separable
from kopt.verify.certificate import TOLERANCE
from kopt.views import ProductView
from kopt.watch import Watch

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """One side of a formulation on a sample.

    tolerance   the relative gap at which a method that measures it stops
    start       finite values of all dual variables to begin at, by name; None to begin anywhere
    watch       is told how far a method has come
    """

    formulation: Formulation
    sample: Sample
    side: str = "dual"
    tolerance: float = TOLERANCE
    start: Mapping[str, Any] | None = None
    watch: Watch = field(default_factory=Watch)

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 1:
            raise InputError(
                f"The tolerance is {self.tolerance!r}.", "Choose a relative gap between 0 and 1, such as 1e-6."
            )

    def beginning_at(self, start: Mapping[str, Any] | None) -> Problem:
        """The same problem with another start; what has been read off the declaration is not read again.

        >>> import kopt
        >>> from kopt.examples import example
        >>> [SoftMargin] = [f for f in kopt.discover() if f.__name__ == "SoftMargin"]
        >>> sample = example(SoftMargin.task)
        >>> problem = Problem(SoftMargin(), sample)
        >>> program = problem.quadratic
        >>> problem.beginning_at({"alpha": 0.5 * sample.costs}).quadratic is program
        True
        """
        other = copy.copy(self)
        vars(other)["start"] = start  # the fields are frozen
        return other

    def stacked_start(self) -> Vector | None:
        """The start as one vector of the dual's variables in their order; None to begin anywhere."""
        if self.start is None or isinstance(self.quadratic, str):
            return None
        parts = [np.ravel(self.start[name], order="F") for name in self.quadratic.variables]
        return np.concatenate(parts).astype(float)

    @cached_property
    def quadratic(self) -> QuadraticProgram | str:
        """The dual as a quadratic program, or the reason why it is none; read off the declaration once."""
        return "it solves duals only" if self.side != "dual" else quadratic_program(self.formulation, self.sample)

    @cached_property
    def has_matrices(self) -> bool:
        """Whether the primal says of a matrix that it is positive semi-definite."""
        cones = primal_of(self.formulation, ProductView(self.sample)).cones.values()
        return any(isinstance(cone, Semidefinite) for cone in cones)

    @cached_property
    def separable(self) -> SeparableProgram | str:
        """The same in the form that decomposition takes, or the reason why there is none."""
        return separable(self.quadratic)
