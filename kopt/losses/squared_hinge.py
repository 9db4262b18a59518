"""The squared hinge loss."""

import math

import cvxpy as cp
import numpy as np

from kopt.losses.loss import Array, Formula, Interval, Loss, On, Reading
from kopt.losses.reading import affine, positive_part, power, scaled


class SquaredHinge(Loss):
    """max(0, 1 - t)^2, with the conjugate u + u^2 / 4 for u <= 0.

    >>> SquaredHinge().value(np.array([-1.0, 0.5, 2.0]))
    array([4.  , 0.25, 0.  ])
    """

    on = On.MARGIN
    formula = Formula("max(0, 1 - t)^2", r"\max(0, 1 - t)^2")
    conjugate_formula = Formula("u + u^2 / 4", r"u + \frac{u^2}{4}")
    conjugate_domain_formula = Formula("u <= 0", r"u \le 0")

    @property
    def conjugate_domain(self) -> Interval:
        """The non-positive numbers."""
        return -math.inf, 0.0

    @np.errstate(over="ignore")
    def value(self, t: Array) -> Array:
        """max(0, 1 - t)^2."""
        return np.square(np.maximum(0.0, 1 - t))

    @np.errstate(over="ignore")
    def conjugate(self, u: Array) -> Array:
        """u + u^2 / 4."""
        return np.where(u > 0, np.inf, u * (1 + u / 4))

    @np.errstate(over="ignore")
    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """-2 max(0, 1 - t)."""
        slope = np.minimum(0.0, 2 * (t - 1))
        return slope, slope

    @np.errstate(over="ignore")
    def prox(self, t: Array, step: Array | float) -> Array:
        """The distance to 1 shrinks by the factor 1 + 2 step."""
        return np.maximum(t, 1 - (1 - t) / (1 + 2 * np.asarray(step)))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """max(0, 1 - t)^2."""
        return cp.square(cp.pos(1 - t))

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """u + u^2 / 4."""
        return u + cp.square(u) / 4

    @classmethod
    def read(cls, expression: cp.Expression) -> Reading | None:
        """pos(z)^2 is the squared hinge loss at 1 - z."""
        factor, core = scaled(expression)
        match power(core):
            case base, 2.0:
                z = positive_part(base)
                return None if z is None or not affine(z) else (factor, cls(), 1 - z)
        return None
