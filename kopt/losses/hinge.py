"""The hinge loss."""

import cvxpy as cp
import numpy as np

from kopt.losses.loss import Array, Formula, Interval, Loss, On, Reading
from kopt.losses.reading import affine, positive_part, scaled


class Hinge(Loss):
    """max(0, 1 - t), with the conjugate u for -1 <= u <= 0.

    >>> Hinge().value(np.array([-1.0, 0.5, 2.0]))
    array([2. , 0.5, 0. ])
    """

    on = On.MARGIN
    formula = Formula("max(0, 1 - t)", r"\max(0, 1 - t)")
    conjugate_formula = Formula("u", "u")
    conjugate_domain_formula = Formula("-1 <= u <= 0", r"-1 \le u \le 0")

    @property
    def conjugate_domain(self) -> Interval:
        """[-1, 0]."""
        return -1.0, 0.0

    def value(self, t: Array) -> Array:
        """max(0, 1 - t)."""
        return np.maximum(0.0, 1 - t)

    def conjugate(self, u: Array) -> Array:
        """The argument itself."""
        return np.where((u < -1) | (u > 0), np.inf, u)

    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """-1 below the kink at 1, 0 above it."""
        return np.where(t > 1, 0.0, -1.0), np.where(t >= 1, 0.0, -1.0)

    def prox(self, t: Array, step: Array | float) -> Array:
        """Up by the step, but not beyond the kink."""
        return np.maximum(t, np.minimum(t + step, 1.0))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """max(0, 1 - t)."""
        return cp.pos(1 - t)

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """The argument itself."""
        return u

    @classmethod
    def read(cls, expression: cp.Expression) -> Reading | None:
        """pos(z) is the hinge loss at 1 - z."""
        factor, core = scaled(expression)
        z = positive_part(core)
        return None if z is None or not affine(z) else (factor, cls(), 1 - z)
