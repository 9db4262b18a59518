"""What minimising over one primal variable leaves in the dual objective, one class per conjugate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from kopt.derive.forms import LinearForm
from kopt.derive.monomial import Monomial
from kopt.derive.reading import Cost
from kopt.views import View

Variables = Mapping[str, cp.Expression]


@dataclass(frozen=True)
class Image:
    """The vector sum_i q_i phi(x_i) in the feature space of a weight vector, q a form in the multipliers."""

    weight: str
    q: LinearForm
    kernel: str | None
    rows: object = None

    def combination(self, s: View, variables: Variables) -> object:
        """The vector in a declaration."""
        return s.combination(self.q.expression(variables), self.kernel, self.rows)


@dataclass(frozen=True)
class Arrow:
    """The slope in a plain variable, as a vector."""

    weight: str
    q: LinearForm

    def norm(self, variables: Variables) -> cp.Expression:
        """Its Euclidean length."""
        expression = self.q.expression(variables)
        return cp.norm(expression, 2) if self.q.index else cp.abs(expression)

    def squares(self, variables: Variables) -> cp.Expression:
        """Its squared length."""
        return cp.sum_squares(self.q.expression(variables))


Slope = Image | Arrow


def length(slope: Slope, s: View, variables: Variables) -> cp.Expression:
    """||slope||."""
    if isinstance(slope, Arrow):
        return slope.norm(variables)
    return slope.combination(s, variables).norm  # type: ignore[attr-defined, no-any-return]


class Piece(ABC):
    """A concave term of the dual objective."""

    @abstractmethod
    def negative(self, s: View, variables: Variables) -> cp.Expression:
        """The negative of the term, which is convex."""

    @property
    @abstractmethod
    def forms(self) -> tuple[LinearForm, ...]:
        """The forms in the multipliers of which it is made."""


@dataclass(frozen=True)
class Square(Piece):
    """-||slope||^2 / (4 a), from min over w of a ||w||^2 + <slope, w> with a fixed a > 0."""

    slope: Slope
    a: float
    a_name: Monomial

    def negative(self, s: View, variables: Variables) -> cp.Expression:
        """||slope||^2 / (4 a)."""
        factor = 1 / (4 * self.a)
        if isinstance(self.slope, Arrow):
            return factor * self.slope.squares(variables)
        return factor * self.slope.combination(s, variables).norm_squared  # type: ignore[attr-defined, no-any-return]

    @property
    def forms(self) -> tuple[LinearForm, ...]:
        """The slope."""
        return (self.slope.q,)


@dataclass(frozen=True)
class SquareOver(Piece):
    """-||slope||^2 / (4 a) with an a >= 0 that depends on the multipliers."""

    slope: Slope
    a: LinearForm

    def negative(self, s: View, variables: Variables) -> cp.Expression:
        """||slope||^2 / (4 a)."""
        a = self.a.expression(variables)
        if isinstance(self.slope, Arrow):
            return cp.quad_over_lin(self.slope.q.expression(variables), 4 * a)
        quotient = self.slope.combination(s, variables).norm_squared_over(a)  # type: ignore[attr-defined]
        return quotient / 4

    @property
    def forms(self) -> tuple[LinearForm, ...]:
        """The slope and the curvature."""
        return self.slope.q, self.a


@dataclass(frozen=True)
class Lengths(Piece):
    """-factor (sum of ||slope||^2)^(1/2): what a ball leaves when its multiplier is maximised out."""

    slopes: tuple[Slope, ...]
    factor: float
    name: Monomial

    def root(self, s: View, variables: Variables) -> cp.Expression:
        """(sum of ||slope||^2)^(1/2)."""
        lengths = [length(slope, s, variables) for slope in self.slopes]
        return lengths[0] if len(lengths) == 1 else cp.norm(cp.hstack(lengths), 2)

    def negative(self, s: View, variables: Variables) -> cp.Expression:
        """factor (sum of ||slope||^2)^(1/2)."""
        root = self.root(s, variables)
        return root if self.factor == 1 else self.factor * root

    @property
    def forms(self) -> tuple[LinearForm, ...]:
        """The slopes."""
        return tuple(slope.q for slope in self.slopes)


@dataclass(frozen=True)
class Conjugate(Piece):
    """-sum_i weight_i loss*(u_i), u_i = -slope_i / (weight_i s_i), without the conjugate's affine part.

    linear, square   of the conjugate, where it is the polynomial linear u + square u^2 on its domain; None where it is not
    """

    cost: Cost
    slope: LinearForm
    u: LinearForm
    linear: float | None
    square: float | None

    @property
    def polynomial(self) -> bool:
        """Whether the conjugate is a polynomial on its domain."""
        return self.square is not None

    def negative(self, s: View, variables: Variables) -> cp.Expression:
        """sum_i weight_i loss*(u_i), or its square part alone."""
        weight = self.cost.weight
        if self.square is not None:
            scaled = self.square / weight / self.cost.slope**2
            squares = cp.square(self.slope.expression(variables))
            if not self.slope.index:
                return float(scaled[0]) * squares
            same = bool(np.all(scaled == scaled[0]))
            return float(scaled[0]) * cp.sum(squares) if same else cp.sum(cp.multiply(scaled, squares))
        values = self.cost.loss.conjugate_expression(self.u.expression(variables))
        return weight @ values if self.slope.index else float(weight[0]) * values

    @property
    def forms(self) -> tuple[LinearForm, ...]:
        """The slope."""
        return (self.slope,)
