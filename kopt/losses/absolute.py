"""The absolute loss."""

import cvxpy as cp
import numpy as np

from kopt.losses.loss import Array, Formula, Interval, Loss, On, Reading
from kopt.losses.reading import affine, scaled


class Absolute(Loss):
    """|t|, with the conjugate 0 for -1 <= u <= 1.

    >>> Absolute().value(np.array([-2.0, 0.5]))
    array([2. , 0.5])
    """

    on = On.RESIDUAL
    formula = Formula("abs(t)", "|t|")
    conjugate_formula = Formula("0", "0")
    conjugate_domain_formula = Formula("-1 <= u <= 1", r"-1 \le u \le 1")

    @property
    def conjugate_domain(self) -> Interval:
        """[-1, 1]."""
        return -1.0, 1.0

    def value(self, t: Array) -> Array:
        """|t|."""
        return np.abs(t)

    def conjugate(self, u: Array) -> Array:
        """0 in the interval."""
        return np.where(np.abs(u) > 1, np.inf, 0.0)

    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """The sign of t; both at 0."""
        return np.where(t > 0, 1.0, -1.0), np.where(t < 0, -1.0, 1.0)

    def prox(self, t: Array, step: Array | float) -> Array:
        """Towards 0 by the step."""
        return t - np.clip(t, -np.asarray(step), step)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """|t|."""
        return cp.abs(t)

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """0."""
        return cp.Constant(np.zeros(u.shape))

    @classmethod
    def read(cls, expression: cp.Expression) -> Reading | None:
        """abs(z)."""
        factor, core = scaled(expression)
        if isinstance(core, cp.abs) and affine(core.args[0]):
            return factor, cls(), core.args[0]
        return None
