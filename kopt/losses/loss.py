"""A convex loss of one number, with its conjugate."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, ClassVar, NamedTuple, dataclass_transform

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from kopt.losses.bisection import first
from kopt.parameters import fraction, nonnegative, parameter, positive

Array = NDArray[np.float64]
Interval = tuple[float, float]
#: A positive factor, a loss, and an affine expression: the factor times the loss at the expression.
Reading = tuple[float, "Loss", cp.Expression]

REALS: Interval = (-math.inf, math.inf)
# The step of difference quotients: their error and their rounding are then of the same size.
STEP = 2.0**-26
LARGEST = 1e300


class On(Enum):
    """What the argument t of a loss is."""

    MARGIN = "the margin t = y f(x)"
    RESIDUAL = "the residual t = y - f(x)"


class Formula(NamedTuple):
    """A formula in the letters t, u and the loss's parameters, as plain text and in LaTeX."""

    text: str
    latex: str


@dataclass_transform(frozen_default=True, field_specifiers=(positive, nonnegative, fraction, parameter))
class Loss(ABC):
    r"""A closed convex function of one number t, and its conjugate loss*(u) = sup_t (u t - loss(t)).

    Subclass it in one file. Parameters are fields with a domain, as in a formulation. A loss has to say

    on                     whether t is the margin or the residual
    expression             loss(t) as a convex CVXPY expression, entry by entry
    conjugate_expression   loss*(u) likewise, right where the conjugate is finite
    conjugate_domain       the closed interval where that is (its ends may be infinite)

    and may say the rest more exactly than the defaults do, which are `value` and `conjugate` by evaluating these
    expressions, `subdifferential` by difference quotients, and `prox` by bisection.

    >>> class Cosh(Loss):
    ...     on = On.RESIDUAL
    ...     conjugate_domain = (-1.0, 1.0)
    ...
    ...     def expression(self, t):  # ln cosh t + ln 2
    ...         return cp.logistic(2 * t) - t
    ...
    ...     def conjugate_expression(self, u):
    ...         return -cp.entr((1 + u) / 2) - cp.entr((1 - u) / 2)
    >>> Cosh().value(np.array([0.0, 1e3])), Cosh().conjugate(np.array([0.0, 1.0, 1.1]))
    (array([6.93147181e-01, 1.00000000e+03]), array([-0.69314718,  0.        ,         inf]))
    """

    on: ClassVar[On]
    formula: ClassVar[Formula] = Formula("loss(t)", r"\ell(t)")
    conjugate_formula: ClassVar[Formula] = Formula("loss*(u)", r"\ell^*(u)")
    #: Where the conjugate is finite; empty where that is everywhere.
    conjugate_domain_formula: ClassVar[Formula] = Formula("", "")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            if "domain" in field.metadata:
                field.metadata["domain"].check(field.name, getattr(self, field.name))

    @abstractmethod
    def expression(self, t: cp.Expression) -> cp.Expression:
        """The loss of an affine expression, entry by entry."""

    @abstractmethod
    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """The conjugate of an affine expression, entry by entry; its domain is not imposed."""

    @property
    @abstractmethod
    def conjugate_domain(self) -> Interval:
        """The closed interval on which the conjugate is finite."""

    @property
    def domain(self) -> Interval:
        """The interval on which the loss is finite."""
        return REALS

    @property
    def summands(self) -> tuple[Loss, ...]:
        """Losses that add up to this one, each with a simpler conjugate; by default the loss itself.

        A machine then has a multiplier for each of them: the conjugate of a sum costs a split of its argument.
        """
        return (self,)

    @np.errstate(all="ignore")
    def value(self, t: Array) -> Array:
        """loss(t), entry by entry, and inf outside the domain."""
        return _evaluated(self.expression, t, self.domain)

    @np.errstate(all="ignore")
    def conjugate(self, u: Array) -> Array:
        """loss*(u), entry by entry, and inf outside the domain."""
        return _evaluated(self.conjugate_expression, u, self.conjugate_domain)

    @np.errstate(all="ignore")
    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """The slopes (lower, upper) of the lines that touch the loss at t from below.

        By default an interval that contains it, wider by some 1e-7 of curvature and value: difference quotients to
        the left and to the right. Give the exact one where offsets and proximal points matter to the last digit.
        """
        t = np.clip(t, -LARGEST, LARGEST)
        size = np.maximum(1.0, np.abs(t))
        step = STEP * size
        here, left, right = self.value(t), self.value(t - step), self.value(t + step)
        rounding = 4 * np.finfo(float).eps * (np.abs(here) + size) / step
        beyond = np.where(t < max(0.0, self.domain[0]), -np.inf, np.inf)
        lower = np.where(np.isfinite(here), (here - left) / step - rounding, beyond)
        upper = np.where(np.isfinite(here), (right - here) / step + rounding, beyond)
        return np.clip(lower, *self.conjugate_domain), np.clip(upper, *self.conjugate_domain)

    @np.errstate(over="ignore", invalid="ignore")
    def prox(self, t: Array, step: Array | float) -> Array:
        """The z that minimises loss(z) + (z - t)^2 / (2 step), step > 0, entry by entry.

        It lies between t and t - step g for every slope g at t, and t - z is step times a slope at z.
        """
        t = np.asarray(t, dtype=float)
        lower, upper = self.subdifferential(t)
        low = np.maximum(t - step * np.maximum(upper, 0.0), -LARGEST)
        high = np.minimum(t - step * np.minimum(lower, 0.0), LARGEST)
        least = first(lambda z: (z - t) + step * self.subdifferential(z)[1] >= 0, low, high)
        most = -first(lambda z: (-z - t) + step * self.subdifferential(-z)[0] <= 0, -high, -low)
        return least / 2 + most / 2

    @classmethod
    def read(cls, expression: cp.Expression) -> Reading | None:
        """(factor, loss, inner) with expression = factor * loss at an affine inner, entry by entry; else None."""
        return None


def _evaluated(function: Any, x: Array, domain: Interval) -> Array:
    """The values of a function that makes expressions, inf outside its domain."""
    x = np.asarray(x, dtype=float)
    values = function(cp.Constant(np.clip(x, *domain).ravel())).value
    inside = np.broadcast_to(np.asarray(values, dtype=float), x.size).reshape(x.shape)
    return np.where((x < domain[0]) | (x > domain[1]), np.inf, inside)
