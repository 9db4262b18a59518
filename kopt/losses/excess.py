"""The excess over a threshold, on one side."""

import cvxpy as cp
import numpy as np

from kopt.losses.loss import Array, Formula, Interval, Loss, On
from kopt.parameters import Domain, nonnegative, parameter

SIDE = Domain("1 or -1", lambda value: abs(value) == 1, typical=(-1.0, -1.0))


class Excess(Loss):
    """max(0, side t - epsilon), with the conjugate epsilon side u for 0 <= side u <= 1.

    >>> Excess(epsilon=0.5, side=-1).value(np.array([-2.0, 2.0]))
    array([1.5, 0. ])
    """

    epsilon: float = nonnegative(default=0.1)
    side: int = parameter(SIDE, default=1)

    on = On.RESIDUAL
    formula = Formula("max(0, side * t - epsilon)", r"\max(0, s t - \varepsilon)")
    conjugate_formula = Formula("epsilon * side * u", r"\varepsilon s u")
    conjugate_domain_formula = Formula("0 <= side * u <= 1", r"0 \le s u \le 1")

    @property
    def conjugate_domain(self) -> Interval:
        """[0, 1] above the threshold, [-1, 0] below it."""
        return (0.0, 1.0) if self.side > 0 else (-1.0, 0.0)

    def value(self, t: Array) -> Array:
        """max(0, side t - epsilon)."""
        return np.maximum(0.0, self.side * t - self.epsilon)

    def conjugate(self, u: Array) -> Array:
        """epsilon |u| on its side."""
        v = self.side * u
        return np.where((v < 0) | (v > 1), np.inf, self.epsilon * np.clip(v, 0.0, 1.0))

    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """0 up to the threshold, and the side beyond it."""
        beyond = self.side * t
        least, most = np.where(beyond > self.epsilon, 1.0, 0.0), np.where(beyond >= self.epsilon, 1.0, 0.0)
        return (least, most) if self.side > 0 else (-most, -least)

    def prox(self, t: Array, step: Array | float) -> Array:
        """Towards the threshold by the step, but not beyond it."""
        s = self.side * t
        return self.side * np.minimum(s, np.maximum(s - step, self.epsilon))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """max(0, side t - epsilon)."""
        return cp.pos(self.side * t - self.epsilon)

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """epsilon side u."""
        return (self.epsilon * self.side) * u
