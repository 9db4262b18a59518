"""Powers of the absolute residual."""

import cvxpy as cp
import numpy as np

from kopt.losses.bisection import first
from kopt.losses.loss import REALS, Array, Formula, Interval, Loss, On, Reading
from kopt.losses.power_hinge import ABOVE_ONE
from kopt.losses.reading import affine, power, scaled
from kopt.parameters import parameter


class Power(Loss):
    """|t|^p for p > 1, with the conjugate (p - 1) |u / p|^q, where q = p / (p - 1).

    >>> Power(p=3).value(np.array([-2.0, 0.5]))
    array([8.   , 0.125])
    """

    p: float = parameter(ABOVE_ONE, default=1.5)

    on = On.RESIDUAL
    formula = Formula("abs(t)^p", "|t|^p")
    conjugate_formula = Formula("(p - 1) * abs(u / p)^(p / (p - 1))", r"(p - 1) \left|\frac{u}{p}\right|^{p/(p-1)}")

    @property
    def conjugate_domain(self) -> Interval:
        """Every number."""
        return REALS

    @property
    def q(self) -> float:
        """The exponent of the conjugate, 1/p + 1/q = 1."""
        return self.p / (self.p - 1)

    @np.errstate(over="ignore")
    def value(self, t: Array) -> Array:
        """|t|^p."""
        return np.abs(t) ** self.p

    @np.errstate(over="ignore")
    def conjugate(self, u: Array) -> Array:
        """(p - 1) |u / p|^q."""
        return (self.p - 1) * np.abs(u / self.p) ** self.q

    @np.errstate(over="ignore")
    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """p |t|^(p - 1) with the sign of t."""
        slope = self.p * np.sign(t) * np.abs(t) ** (self.p - 1)
        return slope, slope

    @np.errstate(over="ignore")
    def prox(self, t: Array, step: Array | float) -> Array:
        """The r with the sign of t and |r| + step p |r|^(p - 1) = |t|."""
        t, step = np.broadcast_arrays(np.asarray(t, dtype=float), step)
        d = np.abs(t)
        r = first(lambda r: r + step * self.p * r ** (self.p - 1) >= d, np.zeros_like(d), d)
        return np.sign(t) * r

    def expression(self, t: cp.Expression) -> cp.Expression:
        """|t|^p, with exactly this p: by default CVXPY takes a fraction near it."""
        return cp.power(cp.abs(t), self.p, approx=False)

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """(p - 1) |u / p|^q."""
        if self.p == 2:
            return cp.square(u) / 4
        return (self.p - 1) * cp.power(cp.abs(u / self.p), self.q, approx=False)

    @classmethod
    def read(cls, expression: cp.Expression) -> Reading | None:
        """power(abs(z), p), and even powers of z; the square has a name of its own."""
        factor, core = scaled(expression)
        match power(core):
            case cp.abs() as base, p if p > 1 and p != 2 and affine(base.args[0]):
                return factor, cls(p), base.args[0]
            case base, p if p > 2 and p % 2 == 0 and affine(base):
                return factor, cls(p), base
        return None
