"""The squared excess over a threshold, on one side."""

import math

import cvxpy as cp
import numpy as np

from kopt.losses.excess import SIDE
from kopt.losses.loss import Array, Formula, Interval, Loss, On
from kopt.parameters import nonnegative, parameter


class SquaredExcess(Loss):
    """max(0, side t - epsilon)^2, with the conjugate epsilon side u + u^2 / 4 for side u >= 0.

    >>> SquaredExcess(epsilon=0.5, side=-1).value(np.array([-2.0, 2.0]))
    array([2.25, 0.  ])
    """

    epsilon: float = nonnegative(default=0.1)
    side: int = parameter(SIDE, default=1)

    on = On.RESIDUAL
    formula = Formula("max(0, side * t - epsilon)^2", r"\max(0, s t - \varepsilon)^2")
    conjugate_formula = Formula("epsilon * side * u + u^2 / 4", r"\varepsilon s u + \frac{u^2}{4}")
    conjugate_domain_formula = Formula("side * u >= 0", r"s u \ge 0")

    @property
    def conjugate_domain(self) -> Interval:
        """The numbers with the sign of the side."""
        return (0.0, math.inf) if self.side > 0 else (-math.inf, 0.0)

    @np.errstate(over="ignore")
    def value(self, t: Array) -> Array:
        """max(0, side t - epsilon)^2."""
        return np.square(np.maximum(0.0, self.side * t - self.epsilon))

    @np.errstate(over="ignore")
    def conjugate(self, u: Array) -> Array:
        """epsilon |u| + u^2 / 4 on its side."""
        v = self.side * u
        return np.where(v < 0, np.inf, self.epsilon * np.maximum(v, 0.0) + np.square(v) / 4)

    @np.errstate(over="ignore")
    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """Twice the excess, with the sign of the side."""
        slope = 2 * self.side * np.maximum(0.0, self.side * t - self.epsilon)
        return slope, slope

    @np.errstate(over="ignore")
    def prox(self, t: Array, step: Array | float) -> Array:
        """The excess shrinks by the factor 1 + 2 step."""
        s = self.side * t
        return self.side * np.minimum(s, self.epsilon + (s - self.epsilon) / (1 + 2 * np.asarray(step)))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """max(0, side t - epsilon)^2."""
        return cp.square(cp.pos(self.side * t - self.epsilon))

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """epsilon side u + u^2 / 4."""
        return (self.epsilon * self.side) * u + cp.square(u) / 4
