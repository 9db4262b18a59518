"""The soft margin machine with a power of the slacks as penalty."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.classification.monotone import zero_of_increasing
from kopt import Claim, Domain, Formulation, Point, Program, Reference, Task, View, equal, parameter, positive

ABOVE_ONE = Domain("a finite number > 1", lambda value: value > 1, (1.2, 3.0))


class PowerSoftMargin(Formulation):
    r"""Support vector machine with soft margin, the slacks penalised by their p-th power, p > 1.

    Primal   min   1/2 <w, w> + C sum_i (xi_i)_+^p
             s.t.  y_i (<w, phi(x_i)> + b) >= 1 - xi_i                          : alpha_i
    Dual     max   sum_i alpha_i - 1/2 sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j) - (p - 1) C sum_i (alpha_i / (p C))^q
             s.t.  sum_i y_i alpha_i = 0                                        : b
                   alpha_i >= 0

    Here 1/p + 1/q = 1, that is q = p / (p - 1), and (t)_+ = max(t, 0): xi_i >= 0 holds by itself at the optimum. For
    p = 2 this is the machine with squared slacks and the cost 2 C; as p falls to 1, the last term becomes the bound
    alpha_i <= C. With costs c_i per point, C becomes C c_i.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1])
    >>> kopt.solve(PowerSoftMargin(C=2.0, p=1.5), sample).certificate.holds(1e-6)
    True
    """

    reference = Reference("6.867 lectures 7-8", "section 4")
    task = Task.CLASSIFICATION

    C: float = positive(default=1.0)
    p: float = parameter(ABOVE_ONE, default=1.5)

    def primal(self, s: View) -> Program:
        """The norm and the powers of the slacks are minimised."""
        w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * s.costs @ _power(xi, self.p)),
            {"alpha": cp.multiply(s.y, w.values + b) >= 1 - xi},
        )

    def dual(self, s: View) -> Program:
        """The conjugate of t^p is (p - 1) (t / p)^q."""
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, alpha))
        q, C = self.p / (self.p - 1), self.C * s.costs
        return Program(
            cp.Maximize(
                cp.sum(alpha)
                - 0.5 * w.norm_squared
                - (self.p - 1) * C @ _power(cp.multiply(1 / (self.p * C), alpha), q)
            ),
            {"b": s.y @ alpha == 0},
            domain=[alpha >= 0],
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i y_i alpha_i phi(x_i), and b minimises the sum of the powers of the slacks."""
        w = s.combination(s.y * dual.alpha)
        b = self._offset(s, w.values)
        return {"w": w, "b": b, "xi": np.maximum(0.0, 1 - s.y * (w.values + b))}

    def _offset(self, s: View, scores: np.ndarray) -> float:
        """The minimum of sum_i c_i (1 - y_i (s_i + b))_+^p: where the slacks of the two classes pull equally."""
        plus, minus = s.y > 0, s.y < 0
        rising, falling = -1 - scores[minus], 1 - scores[plus]
        low, high = float(rising.min()), float(falling.max())
        if high <= low:  # no slack on either side for any b in between
            return (low + high) / 2

        def slope(b: float) -> float:
            up = s.costs[minus] @ np.maximum(0.0, b - rising) ** (self.p - 1)
            down = s.costs[plus] @ np.maximum(0.0, falling - b) ** (self.p - 1)
            return float(up - down)

        return zero_of_increasing(slope, low, high)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """What the multipliers add up to and pay for, point by point."""
        price = self.p * self.C * s.costs * np.maximum(0.0, primal.xi) ** self.p
        spent = float(primal.w.norm_squared + np.sum(price))
        yield equal("sum alpha = ||w||^2 + p C sum xi^p", np.sum(dual.alpha), spent)
        unpaid = np.max(np.abs(dual.alpha * primal.xi - price))
        yield equal("alpha = p C xi^(p - 1): max |alpha xi - p C xi^p| = 0", unpaid, 0.0, scale=spent)
        q = self.p / (self.p - 1)
        conjugate = self.C * s.costs @ np.maximum(0.0, dual.alpha / (self.p * self.C * s.costs)) ** q
        yield equal("C sum xi^p = C sum (alpha / (p C))^q", np.sum(price) / self.p, conjugate, scale=spent)
        beyond = np.maximum(0.0, s.y * (primal.w.values + primal.b) - 1)
        idle = float(np.max(dual.alpha) * np.max(np.abs(primal.w.values + primal.b)))
        yield equal("alpha = 0 beyond the margin: max alpha (y f - 1)_+ = 0", np.max(dual.alpha * beyond), 0.0, idle)


def _power(x: cp.Expression, p: float) -> cp.Expression:
    """(x)_+^p with exactly this p: by default CVXPY takes a fraction near it."""
    return cp.power(cp.pos(x), p, approx=False)
