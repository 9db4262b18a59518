"""The logistic loss."""

import cvxpy as cp
import numpy as np
from scipy.special import expit, xlog1py, xlogy

from kopt.losses.loss import Array, Formula, Interval, Loss, On, Reading
from kopt.losses.reading import affine, scaled


class Logistic(Loss):
    """ln(1 + exp(-t)), with the conjugate -u ln(-u) + (1 + u) ln(1 + u) for -1 <= u <= 0.

    >>> Logistic().value(np.array([-800.0, 0.0])).round(4)
    array([8.000e+02, 6.931e-01])
    """

    on = On.MARGIN
    formula = Formula("ln(1 + exp(-t))", r"\ln(1 + e^{-t})")
    conjugate_formula = Formula("-u * ln(-u) + (1 + u) * ln(1 + u)", r"-u \ln(-u) + (1 + u) \ln(1 + u)")
    conjugate_domain_formula = Formula("-1 <= u <= 0", r"-1 \le u \le 0")

    @property
    def conjugate_domain(self) -> Interval:
        """[-1, 0]."""
        return -1.0, 0.0

    def value(self, t: Array) -> Array:
        """ln(1 + exp(-t))."""
        return np.logaddexp(0.0, -t)

    def conjugate(self, u: Array) -> Array:
        """-u ln(-u) + (1 + u) ln(1 + u)."""
        v = np.clip(u, -1.0, 0.0)
        return np.where((u < -1) | (u > 0), np.inf, xlogy(-v, -v) + xlog1py(1 + v, v))

    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """-1 / (1 + exp(t))."""
        slope = -expit(-np.asarray(t, dtype=float))
        return slope, slope

    def expression(self, t: cp.Expression) -> cp.Expression:
        """ln(1 + exp(-t))."""
        return cp.logistic(-t)

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """-u ln(-u) + (1 + u) ln(1 + u)."""
        return -cp.entr(-u) - cp.entr(1 + u)

    @classmethod
    def read(cls, expression: cp.Expression) -> Reading | None:
        """logistic(z) is the logistic loss at -z."""
        factor, core = scaled(expression)
        if isinstance(core, cp.logistic) and affine(core.args[0]):
            return factor, cls(), -core.args[0]
        return None
