"""What minimising over one primal variable leaves in the dual objective, one class per conjugate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints.constraint import Constraint

from kopt.derive.forms import LinearForm
from kopt.derive.monomial import Monomial
from kopt.derive.reading import Cost
from kopt.views import View

Variables = Mapping[str, cp.Expression]


class OfOneProgram(dict[str, cp.Variable]):
    """The multipliers as variables of one program, and the vectors that were made of them."""

    def __init__(self, variables: Mapping[str, cp.Variable]) -> None:
        super().__init__(variables)
        self.vectors: dict[int, Any] = {}


@dataclass(frozen=True)
class Image:
    """The slope sum_i q_i phi(x_i) in a weight vector, q a form in the multipliers."""

    weight: str
    q: LinearForm
    kernel: str | None
    rows: Any = None

    def combination(self, s: View | None, variables: Variables) -> Any:
        """The vector in a declaration, the same one each time in one program."""
        assert s is not None
        made = variables.vectors if isinstance(variables, OfOneProgram) else {}
        if id(self) not in made:
            made[id(self)] = s.combination(self.q.expression(variables), self.kernel, self.rows)
        return made[id(self)]

    def length(self, s: View | None, variables: Variables) -> cp.Expression:
        """Its norm."""
        return self.combination(s, variables).norm

    def squared(self, s: View | None, variables: Variables) -> cp.Expression:
        """Its squared norm."""
        return self.combination(s, variables).norm_squared

    def squared_over(self, t: cp.Expression, s: View | None, variables: Variables) -> cp.Expression:
        """Its squared norm divided by t."""
        return self.combination(s, variables).norm_squared_over(t)

    def vanishes(self, s: View | None, variables: Variables) -> Constraint:
        """That it is 0."""
        assert s is not None
        return s.vanishing(self.q.expression(variables), self.kernel, self.rows)


@dataclass(frozen=True)
class Arrow:
    """The slope in a plain variable, as a vector."""

    weight: str
    q: LinearForm

    def length(self, s: View | None, variables: Variables) -> cp.Expression:
        """Its Euclidean norm."""
        expression = self.q.expression(variables)
        return cp.norm(expression, 2) if self.q.index else cp.abs(expression)

    def squared(self, s: View | None, variables: Variables) -> cp.Expression:
        """Its squared norm."""
        return cp.sum_squares(self.q.expression(variables))

    def squared_over(self, t: cp.Expression, s: View | None, variables: Variables) -> cp.Expression:
        """Its squared norm divided by t."""
        return cp.quad_over_lin(self.q.expression(variables), t)


Slope = Image | Arrow


class Piece(ABC):
    """A concave term of the dual objective."""

    is_zero = False

    @abstractmethod
    def negative(self, s: View | None, variables: Variables) -> cp.Expression:
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

    def negative(self, s: View | None, variables: Variables) -> cp.Expression:
        """||slope||^2 / (4 a)."""
        return 1 / (4 * self.a) * self.slope.squared(s, variables)

    @property
    def forms(self) -> tuple[LinearForm, ...]:
        """The slope."""
        return (self.slope.q,)


@dataclass(frozen=True)
class SquareOver(Piece):
    """-||slope||^2 / (4 a) with an a >= 0 that depends on the multipliers."""

    slope: Slope
    a: LinearForm

    def negative(self, s: View | None, variables: Variables) -> cp.Expression:
        """||slope||^2 / (4 a)."""
        return self.slope.squared_over(self.a.expression(variables), s, variables) / 4

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

    def negative(self, s: View | None, variables: Variables) -> cp.Expression:
        """factor (sum of ||slope||^2)^(1/2)."""
        lengths = [slope.length(s, variables) for slope in self.slopes]
        root = lengths[0] if len(lengths) == 1 else cp.norm(cp.hstack(lengths), 2)
        return root if self.factor == 1 else self.factor * root

    @property
    def forms(self) -> tuple[LinearForm, ...]:
        """The slopes."""
        return tuple(slope.q for slope in self.slopes)


@dataclass(frozen=True)
class Conjugate(Piece):
    """-sum_i weight_i loss*(u_i), u_i = -slope_i / (weight_i s_i) for a loss at s_i x_i + d_i.

    linear, square   of the conjugate, where it is the polynomial linear u + square u^2 on its domain, and None where
                     it is none; the linear part then stands in the linear part of the dual objective
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

    @property
    def is_zero(self) -> bool:  # type: ignore[override]
        """Whether nothing but a linear part is left."""
        return self.square == 0

    def negative(self, s: View | None, variables: Variables) -> cp.Expression:
        """sum_i weight_i loss*(u_i), without the linear part of a polynomial."""
        weight = self.cost.weight
        if self.square is None:
            values = self.cost.loss.conjugate_expression(self.u.expression(variables))
        else:
            weight = self.square / weight / self.cost.slope**2
            values = cp.square(self.slope.expression(variables))
        if not self.slope.index:
            return float(weight[0]) * values
        same = bool(np.all(weight == weight[0]))
        return float(weight[0]) * cp.sum(values) if same else cp.sum(cp.multiply(weight, values))

    @property
    def forms(self) -> tuple[LinearForm, ...]:
        """The slope."""
        return (self.slope,)
