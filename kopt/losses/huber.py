"""Huber's loss."""

import cvxpy as cp
import numpy as np

from kopt.losses.loss import Array, Formula, Interval, Loss, On, Reading
from kopt.losses.reading import affine, number, scaled
from kopt.parameters import positive


class Huber(Loss):
    """t^2 / 2 where |t| <= delta and delta (|t| - delta / 2) beyond, with the conjugate u^2 / 2 for |u| <= delta.

    CVXPY's huber is twice this.

    >>> Huber(delta=1.0).value(np.array([-3.0, 0.5]))
    array([2.5  , 0.125])
    """

    delta: float = positive(default=1.0)

    on = On.RESIDUAL
    formula = Formula(
        "t^2 / 2 if abs(t) <= delta else delta * (abs(t) - delta / 2)",
        r"\begin{cases} \frac{t^2}{2} & |t| \le \delta \\ \delta \left(|t| - \frac{\delta}{2}\right) & |t| > \delta "
        r"\end{cases}",
    )
    conjugate_formula = Formula("u^2 / 2", r"\frac{u^2}{2}")
    conjugate_domain_formula = Formula("-delta <= u <= delta", r"-\delta \le u \le \delta")

    @property
    def conjugate_domain(self) -> Interval:
        """[-delta, delta]."""
        return -self.delta, self.delta

    @np.errstate(over="ignore")
    def value(self, t: Array) -> Array:
        """Both cases at once: m (|t| - m / 2) with m = min(|t|, delta)."""
        m = np.minimum(np.abs(t), self.delta)
        return m * (np.abs(t) - m / 2)

    @np.errstate(over="ignore")
    def conjugate(self, u: Array) -> Array:
        """u^2 / 2."""
        return np.where(np.abs(u) > self.delta, np.inf, np.square(u) / 2)

    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """The residual, cut off at delta."""
        slope = np.clip(t, -self.delta, self.delta)
        return slope, slope

    @np.errstate(over="ignore")
    def prox(self, t: Array, step: Array | float) -> Array:
        """t / (1 + step) where that is below delta, otherwise delta step nearer to 0."""
        step = np.asarray(step, dtype=float)
        inside = t / (1 + step)
        return np.where(np.abs(inside) <= self.delta, inside, t - np.sign(t) * self.delta * step)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """Half of CVXPY's huber."""
        return cp.huber(t, self.delta) / 2

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """u^2 / 2."""
        return cp.square(u) / 2

    @classmethod
    def read(cls, expression: cp.Expression) -> Reading | None:
        """huber(z, M) is twice Huber's loss with delta = M."""
        factor, core = scaled(expression)
        if not isinstance(core, cp.huber) or not affine(core.args[0]):
            return None
        delta = number(core.M)
        return (2 * factor, cls(delta), core.args[0]) if delta is not None and delta > 0 else None
