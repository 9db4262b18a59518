"""The square of the epsilon-insensitive loss."""

import cvxpy as cp
import numpy as np

from kopt.losses.loss import REALS, Array, Formula, Interval, Loss, On, Reading
from kopt.losses.reading import power, scaled, width_of_tube
from kopt.losses.squared_excess import SquaredExcess
from kopt.parameters import nonnegative


class SquaredEpsilonInsensitive(Loss):
    """max(0, |t| - epsilon)^2, with the conjugate epsilon |u| + u^2 / 4.

    >>> SquaredEpsilonInsensitive(epsilon=0.5).value(np.array([-1.0, 0.5, 2.0]))
    array([0.25, 0.  , 2.25])
    """

    epsilon: float = nonnegative(default=0.1)

    on = On.RESIDUAL
    formula = Formula("max(0, abs(t) - epsilon)^2", r"\max(0, |t| - \varepsilon)^2")
    conjugate_formula = Formula("epsilon * abs(u) + u^2 / 4", r"\varepsilon |u| + \frac{u^2}{4}")

    @property
    def conjugate_domain(self) -> Interval:
        """Every number."""
        return REALS

    @property
    def summands(self) -> tuple[Loss, ...]:
        """The squares of the excess above the tube and below it: their conjugates are quadratic."""
        return SquaredExcess(self.epsilon, 1), SquaredExcess(self.epsilon, -1)

    @np.errstate(over="ignore")
    def value(self, t: Array) -> Array:
        """max(0, |t| - epsilon)^2."""
        return np.square(np.maximum(0.0, np.abs(t) - self.epsilon))

    @np.errstate(over="ignore")
    def conjugate(self, u: Array) -> Array:
        """epsilon |u| + u^2 / 4."""
        return self.epsilon * np.abs(u) + np.square(u) / 4

    @np.errstate(over="ignore")
    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """Twice the distance to the tube."""
        slope = 2 * self._beyond(t)
        return slope, slope

    @np.errstate(over="ignore")
    def prox(self, t: Array, step: Array | float) -> Array:
        """The distance to the tube shrinks by the factor 1 + 2 step."""
        return np.clip(t, -self.epsilon, self.epsilon) + self._beyond(t) / (1 + 2 * np.asarray(step))

    def _beyond(self, t: Array) -> Array:
        return np.sign(t) * np.maximum(0.0, np.abs(t) - self.epsilon)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """max(0, |t| - epsilon)^2."""
        return cp.square(cp.pos(cp.abs(t) - self.epsilon))

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """epsilon |u| + u^2 / 4."""
        return self.epsilon * cp.abs(u) + cp.square(u) / 4

    @classmethod
    def read(cls, expression: cp.Expression) -> Reading | None:
        """pos(|z| - epsilon)^2 is this loss at z."""
        factor, core = scaled(expression)
        match power(core):
            case base, 2.0:
                tube = width_of_tube(base)
                return None if tube is None else (factor, cls(tube[1]), tube[0])
        return None
