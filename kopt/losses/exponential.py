"""The exponential loss."""

import math

import cvxpy as cp
import numpy as np
from scipy.special import wrightomega, xlogy

from kopt.losses.loss import Array, Formula, Interval, Loss, On, Reading
from kopt.losses.reading import affine, scaled


class Exponential(Loss):
    """exp(-t), with the conjugate u - u ln(-u) for u <= 0.

    >>> Exponential().value(np.array([0.0, -1e3]))
    array([ 1., inf])
    """

    on = On.MARGIN
    formula = Formula("exp(-t)", "e^{-t}")
    conjugate_formula = Formula("u - u * ln(-u)", r"u - u \ln(-u)")
    conjugate_domain_formula = Formula("u <= 0", r"u \le 0")

    @property
    def conjugate_domain(self) -> Interval:
        """The non-positive numbers."""
        return -math.inf, 0.0

    @np.errstate(over="ignore")
    def value(self, t: Array) -> Array:
        """exp(-t)."""
        return np.exp(-t)

    @np.errstate(over="ignore")
    def conjugate(self, u: Array) -> Array:
        """u - u ln(-u)."""
        v = np.maximum(-u, 0.0)
        return np.where(u > 0, np.inf, xlogy(v, v) - v)

    @np.errstate(over="ignore")
    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """-exp(-t)."""
        slope = -np.exp(-t)
        return slope, slope

    def prox(self, t: Array, step: Array | float) -> Array:
        """t + W(step exp(-t)) with Lambert's W, which is ln(step) - ln W where t is far below."""
        W = wrightomega(np.log(step) - t)
        return np.where(W > 1, np.log(step) - np.log(np.maximum(W, 1.0)), t + W)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """exp(-t)."""
        return cp.exp(-t)

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """u - u ln(-u)."""
        return u - cp.entr(-u)

    @classmethod
    def read(cls, expression: cp.Expression) -> Reading | None:
        """exp(z) is the exponential loss at -z."""
        factor, core = scaled(expression)
        if isinstance(core, cp.exp) and affine(core.args[0]):
            return factor, cls(), -core.args[0]
        return None
