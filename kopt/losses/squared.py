"""The squared loss."""

import cvxpy as cp
import numpy as np

from kopt.losses.loss import REALS, Array, Formula, Interval, Loss, On, Reading
from kopt.losses.reading import affine, power, scaled


class Squared(Loss):
    """t^2, with the conjugate u^2 / 4.

    >>> Squared().value(np.array([-2.0, 0.5]))
    array([4.  , 0.25])
    """

    on = On.RESIDUAL
    formula = Formula("t^2", "t^2")
    conjugate_formula = Formula("u^2 / 4", r"\frac{u^2}{4}")

    @property
    def conjugate_domain(self) -> Interval:
        """Every number."""
        return REALS

    @np.errstate(over="ignore")
    def value(self, t: Array) -> Array:
        """t^2."""
        return np.square(t)

    @np.errstate(over="ignore")
    def conjugate(self, u: Array) -> Array:
        """u^2 / 4."""
        return np.square(u) / 4

    @np.errstate(over="ignore")
    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """2 t."""
        slope = 2 * np.asarray(t, dtype=float)
        return slope, slope

    @np.errstate(over="ignore")
    def prox(self, t: Array, step: Array | float) -> Array:
        """t / (1 + 2 step)."""
        return t / (1 + 2 * np.asarray(step))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """t^2."""
        return cp.square(t)

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """u^2 / 4."""
        return cp.square(u) / 4

    @classmethod
    def read(cls, expression: cp.Expression) -> Reading | None:
        """square(z), and |z|^2."""
        factor, core = scaled(expression)
        match power(core):
            case base, 2.0:
                z = base.args[0] if isinstance(base, cp.abs) else base
                return (factor, cls(), z) if affine(z) else None
        return None
