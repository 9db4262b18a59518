"""The pinball loss, whose minimisers are quantiles."""

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression

from kopt.losses.loss import Array, Formula, Interval, Loss, On, Reading
from kopt.losses.reading import pieces, positive_part, ratio, scaled
from kopt.parameters import Domain, parameter

PROPER_FRACTION = Domain("a number in (0, 1)", lambda value: 0 < value < 1, (0.08, 0.92))


class Pinball(Loss):
    """max(tau t, (tau - 1) t) for 0 < tau < 1, with the conjugate 0 for tau - 1 <= u <= tau.

    >>> Pinball(tau=0.25).value(np.array([-2.0, 2.0]))
    array([1.5, 0.5])
    """

    tau: float = parameter(PROPER_FRACTION, default=0.5)

    on = On.RESIDUAL
    formula = Formula("max(tau * t, (tau - 1) * t)", r"\max(\tau t, (\tau - 1) t)")
    conjugate_formula = Formula("0", "0")
    conjugate_domain_formula = Formula("tau - 1 <= u <= tau", r"\tau - 1 \le u \le \tau")

    @property
    def conjugate_domain(self) -> Interval:
        """[tau - 1, tau]."""
        return self.tau - 1, self.tau

    def value(self, t: Array) -> Array:
        """max(tau t, (tau - 1) t)."""
        return np.maximum(self.tau * t, (self.tau - 1) * t)

    def conjugate(self, u: Array) -> Array:
        """0 in the interval."""
        return np.where((u < self.tau - 1) | (u > self.tau), np.inf, 0.0)

    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """tau - 1 below 0, tau above it."""
        return np.where(t > 0, self.tau, self.tau - 1), np.where(t < 0, self.tau - 1, self.tau)

    @np.errstate(over="ignore")
    def prox(self, t: Array, step: Array | float) -> Array:
        """Towards 0 by the step times the slope."""
        step = np.asarray(step, dtype=float)
        return t - np.clip(t, step * (self.tau - 1), step * self.tau)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """max(tau t, (tau - 1) t)."""
        return cp.maximum(self.tau * t, (self.tau - 1) * t)

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """0."""
        return cp.Constant(np.zeros(u.shape))

    @classmethod
    def read(cls, expression: cp.Expression) -> Reading | None:
        """The maximum of two multiples of z with opposite signs, and a sum a pos(z) + b neg(z)."""
        factor, core = scaled(expression)
        match pieces(core):
            case [a, b], False:
                r = ratio(a, b)
                return None if r is None or r >= 0 else (factor, *cls._of(1.0, -r, a))
        if isinstance(core, AddExpression) and len(core.args) == 2:
            (up, one), (down, other) = (scaled(arg) for arg in core.args)
            a, b = positive_part(one), positive_part(other)
            r = None if a is None or b is None else ratio(a, b)
            return None if a is None or r is None or r >= 0 else (factor, *cls._of(up, -r * down, a))
        return None

    @classmethod
    def _of(cls, up: float, down: float, z: cp.Expression) -> tuple[Loss, cp.Expression]:
        """The loss that rises with slope `up` in z > 0 and with slope `down` in z < 0."""
        return cls(up / (up + down)), (up + down) * z
