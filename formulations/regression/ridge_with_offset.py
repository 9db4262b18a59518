"""Ridge regression with an offset."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from kopt import Claim, Formulation, Point, Program, Reference, Task, View, equal, positive


class RidgeWithOffset(Formulation):
    r"""Least squares with a penalty on the norm of the weight vector and a free offset.

    Primal   min   ridge <w, w> + sum_i xi_i^2
             s.t.  xi_i = y_i - <w, phi(x_i)> - b                               : beta_i
    Dual     max   -sum_i beta_i y_i - 1/4 sum_i beta_i^2 - 1/(4 ridge) sum_ij beta_i beta_j k(x_i, x_j)
             s.t.  sum_i beta_i = 0                                             : b

    The text's dual variables are alpha = -beta / (2 ridge), so that w = sum_i alpha_i phi(x_i) and
    (K + ridge I) alpha + b = y, sum_i alpha_i = 0. It is the quadratic epsilon-insensitive machine with epsilon = 0
    and C = 1 / ridge. With costs c_i per point, xi_i^2 becomes c_i xi_i^2.

    >>> import kopt
    >>> solution = kopt.solve(RidgeWithOffset(ridge=2.0), kopt.Sample([[1.0], [3.0]], [5.0, 7.0]))
    >>> round(float(solution.primal.w.norm), 6), round(float(solution.primal.b), 6)
    (0.5, 5.0)
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Remark 7.44 with epsilon = 0")
    task = Task.REGRESSION

    ridge: float = positive(default=1.0)

    def primal(self, s: View) -> Program:
        """The residuals are variables, so that their definition carries the multipliers."""
        w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(self.ridge * w.norm_squared + cp.sum(cp.multiply(s.costs, cp.square(xi)))),
            {"beta": xi == s.y - w.values - b},
        )

    def dual(self, s: View) -> Program:
        """One row: its optimum is a bordered linear system."""
        beta = cp.Variable(s.n, name="beta")
        u = s.combination(beta)
        squares = cp.sum(cp.multiply(1 / s.costs, cp.square(beta)))
        return Program(
            cp.Maximize(-s.y @ beta - squares / 4 - u.norm_squared / (4 * self.ridge)),
            {"b": cp.sum(beta) == 0},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = -1/(2 ridge) sum_i beta_i phi(x_i), and b is the mean of what it leaves of y."""
        w = s.combination(dual.beta) * (-0.5 / self.ridge)
        b = np.average(s.y - w.values, weights=s.costs)
        return {"w": w, "b": b, "xi": s.y - w.values - b}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The bordered system of the dual variables, and the value."""
        alpha = -dual.beta / (2 * self.ridge)
        left = s.combination(alpha).values + self.ridge * alpha / s.costs + primal.b - s.y
        size = float(np.linalg.norm(s.y))
        yield equal("||(K + ridge I) alpha + b - y|| = 0", np.linalg.norm(left), 0.0, scale=size)
        yield equal("sum alpha = 0", np.sum(alpha), 0.0, scale=float(np.sum(np.abs(alpha))))
        value = self.ridge * primal.w.norm_squared + s.costs @ primal.xi**2
        yield equal("value = ridge y' alpha", value, self.ridge * s.y @ alpha, scale=float(s.costs @ s.y**2))
