"""Powers of the hinge loss."""

import math

import cvxpy as cp
import numpy as np

from kopt.losses.bisection import first
from kopt.losses.loss import Array, Formula, Interval, Loss, On, Reading
from kopt.losses.reading import affine, positive_part, power, scaled
from kopt.parameters import Domain, parameter

ABOVE_ONE = Domain("a finite number > 1", lambda value: value > 1, (1.2, 3.0))


class PowerHinge(Loss):
    """max(0, 1 - t)^p for p > 1, with the conjugate u + (p - 1) (-u / p)^q for u <= 0, where q = p / (p - 1).

    >>> PowerHinge(p=3).value(np.array([-1.0, 0.5, 2.0]))
    array([8.   , 0.125, 0.   ])
    """

    p: float = parameter(ABOVE_ONE, default=1.5)

    on = On.MARGIN
    formula = Formula("max(0, 1 - t)^p", r"\max(0, 1 - t)^p")
    conjugate_formula = Formula(
        "u + (p - 1) * (-u / p)^(p / (p - 1))", r"u + (p - 1) \left(\frac{-u}{p}\right)^{p/(p-1)}"
    )
    conjugate_domain_formula = Formula("u <= 0", r"u \le 0")

    @property
    def conjugate_domain(self) -> Interval:
        """The non-positive numbers."""
        return -math.inf, 0.0

    @property
    def q(self) -> float:
        """The exponent of the conjugate, 1/p + 1/q = 1."""
        return self.p / (self.p - 1)

    @np.errstate(over="ignore")
    def value(self, t: Array) -> Array:
        """max(0, 1 - t)^p."""
        return np.maximum(0.0, 1 - t) ** self.p

    @np.errstate(over="ignore")
    def conjugate(self, u: Array) -> Array:
        """u + (p - 1) (-u / p)^q."""
        return np.where(u > 0, np.inf, u + (self.p - 1) * np.maximum(0.0, -u / self.p) ** self.q)

    @np.errstate(over="ignore")
    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """-p max(0, 1 - t)^(p - 1)."""
        slope = -self.p * np.maximum(0.0, 1 - t) ** (self.p - 1)
        return slope, slope

    @np.errstate(over="ignore")
    def prox(self, t: Array, step: Array | float) -> Array:
        """1 - r, where r + step p r^(p - 1) = 1 - t; points beyond 1 stay where they are."""
        t, step = np.broadcast_arrays(np.asarray(t, dtype=float), step)
        d = np.maximum(0.0, 1 - t)
        r = first(lambda r: r + step * self.p * r ** (self.p - 1) >= d, np.zeros_like(d), d)
        return np.where(t >= 1, t, 1 - r)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """max(0, 1 - t)^p, with exactly this p: by default CVXPY takes a fraction near it."""
        return cp.power(cp.pos(1 - t), self.p, approx=False)

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """u + (p - 1) (-u / p)^q."""
        if self.p == 2:
            return u + cp.square(u) / 4
        return u + (self.p - 1) * cp.power(cp.pos(-u / self.p), self.q, approx=False)

    @classmethod
    def read(cls, expression: cp.Expression) -> Reading | None:
        """pos(z)^p is this loss at 1 - z; its square has a name of its own."""
        factor, core = scaled(expression)
        match power(core):
            case base, p if p > 1 and p != 2:
                z = positive_part(base)
                return None if z is None or not affine(z) else (factor, cls(p), 1 - z)
        return None
