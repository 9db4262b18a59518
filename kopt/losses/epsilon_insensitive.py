"""The epsilon-insensitive loss."""

import cvxpy as cp
import numpy as np

from kopt.losses.excess import Excess
from kopt.losses.loss import Array, Formula, Interval, Loss, On, Reading
from kopt.losses.reading import scaled, width_of_tube
from kopt.parameters import nonnegative


class EpsilonInsensitive(Loss):
    """max(0, |t| - epsilon), with the conjugate epsilon |u| for -1 <= u <= 1.

    >>> EpsilonInsensitive(epsilon=0.5).value(np.array([-1.0, 0.5, 2.0]))
    array([0.5, 0. , 1.5])
    """

    epsilon: float = nonnegative(default=0.1)

    on = On.RESIDUAL
    formula = Formula("max(0, abs(t) - epsilon)", r"\max(0, |t| - \varepsilon)")
    conjugate_formula = Formula("epsilon * abs(u)", r"\varepsilon |u|")
    conjugate_domain_formula = Formula("-1 <= u <= 1", r"-1 \le u \le 1")

    @property
    def conjugate_domain(self) -> Interval:
        """[-1, 1]."""
        return -1.0, 1.0

    @property
    def summands(self) -> tuple[Loss, ...]:
        """The excess above the tube and that below it: their conjugates are linear, which |u| is not."""
        return Excess(self.epsilon, 1), Excess(self.epsilon, -1)

    def value(self, t: Array) -> Array:
        """max(0, |t| - epsilon)."""
        return np.maximum(0.0, np.abs(t) - self.epsilon)

    def conjugate(self, u: Array) -> Array:
        """epsilon |u|."""
        return np.where(np.abs(u) > 1, np.inf, self.epsilon * np.minimum(np.abs(u), 1.0))

    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """-1, 0 and 1 below, inside and above the tube."""
        e = self.epsilon
        lower = np.where(t > e, 1.0, np.where(t > -e, 0.0, -1.0))
        upper = np.where(t < -e, -1.0, np.where(t < e, 0.0, 1.0))
        return lower, upper

    def prox(self, t: Array, step: Array | float) -> Array:
        """Towards the tube by the step, but not into it."""
        nearest = np.clip(t, -self.epsilon, self.epsilon)
        beyond = t - nearest
        return np.where(np.abs(beyond) <= step, nearest, t - np.sign(beyond) * step)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """max(0, |t| - epsilon)."""
        return cp.pos(cp.abs(t) - self.epsilon)

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """epsilon |u|."""
        return self.epsilon * cp.abs(u)

    @classmethod
    def read(cls, expression: cp.Expression) -> Reading | None:
        """pos(|z| - epsilon) is this loss at z."""
        factor, core = scaled(expression)
        tube = width_of_tube(core)
        return None if tube is None else (factor, cls(tube[1]), tube[0])
