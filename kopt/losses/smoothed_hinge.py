"""The hinge loss with a rounded corner."""

import cvxpy as cp
import numpy as np

from kopt.losses.loss import Array, Formula, Interval, Loss, On, Reading
from kopt.losses.reading import affine, number, positive_part, scaled
from kopt.parameters import positive


class SmoothedHinge(Loss):
    """The hinge loss with a parabola in 1 - width < t < 1, with the conjugate u + width u^2 / 2 for -1 <= u <= 0.

    It is 0 for t >= 1, (1 - t)^2 / (2 width) below that, and 1 - t - width / 2 from 1 - width downwards.

    >>> SmoothedHinge(width=0.5).value(np.array([-1.0, 0.75, 2.0]))
    array([1.75  , 0.0625, 0.    ])
    """

    width: float = positive(default=1.0)

    on = On.MARGIN
    formula = Formula(
        "max(0, 1 - t)^2 / (2 * width) if t >= 1 - width else 1 - t - width / 2",
        r"\begin{cases} \frac{\max(0, 1 - t)^2}{2 \mathrm{width}} & t \ge 1 - \mathrm{width} \\ "
        r"1 - t - \frac{\mathrm{width}}{2} & t < 1 - \mathrm{width} \end{cases}",
    )
    conjugate_formula = Formula("u + width * u^2 / 2", r"u + \frac{\mathrm{width} u^2}{2}")
    conjugate_domain_formula = Formula("-1 <= u <= 0", r"-1 \le u \le 0")

    @property
    def conjugate_domain(self) -> Interval:
        """[-1, 0]."""
        return -1.0, 0.0

    @np.errstate(over="ignore")
    def value(self, t: Array) -> Array:
        """Both cases at once: m (r - m / 2) / width with r = max(0, 1 - t), m = min(r, width)."""
        r = np.maximum(0.0, 1 - t)
        m = np.minimum(r, self.width)
        return m / self.width * (r - m / 2)

    def conjugate(self, u: Array) -> Array:
        """u + width u^2 / 2."""
        v = np.clip(u, -1.0, 0.0)
        return np.where((u < -1) | (u > 0), np.inf, v * (1 + self.width * v / 2))

    @np.errstate(over="ignore")
    def subdifferential(self, t: Array) -> tuple[Array, Array]:
        """-(1 - t) / width, between -1 and 0."""
        slope = np.clip((t - 1) / self.width, -1.0, 0.0)
        return slope, slope

    def prox(self, t: Array, step: Array | float) -> Array:
        """The distance to 1 shrinks by the factor 1 + step / width, or by the step where that is less."""
        step = np.asarray(step, dtype=float)
        r = np.maximum(0.0, 1 - t)
        shrunk = r * (self.width / (self.width + step))
        return np.where(r <= 0, t, np.where(shrunk <= self.width, 1 - shrunk, t + step))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """CVXPY's huber of the positive part, divided by 2 width."""
        return cp.huber(cp.pos(1 - t), self.width) / (2 * self.width)

    def conjugate_expression(self, u: cp.Expression) -> cp.Expression:
        """u + width u^2 / 2."""
        return u + (self.width / 2) * cp.square(u)

    @classmethod
    def read(cls, expression: cp.Expression) -> Reading | None:
        """huber(pos(z), M) is 2 M times this loss at 1 - z."""
        factor, core = scaled(expression)
        if not isinstance(core, cp.huber):
            return None
        z, width = positive_part(core.args[0]), number(core.M)
        if z is None or not affine(z) or width is None or not width > 0:
            return None
        return 2 * width * factor, cls(width), 1 - z
