"""The soft margin machine with a quadratic penalty."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.classification.margins import best_offset, nearest_claims, two_norm_claims
from kopt import Claim, Formulation, Point, Program, Reference, Task, View, positive


class TwoNormSoftMargin(Formulation):
    r"""Soft margin with the slacks penalised by their squares: the hard margin machine for the kernel K + I/C.

    Primal   min   1/2 <w, w> + C/2 sum_i xi_i^2
             s.t.  y_i (<w, phi(x_i)> + b) >= 1 - xi_i                          : alpha_i
    Dual     max   sum_i alpha_i - 1/2 sum_ij y_i y_j alpha_i alpha_j (k(x_i, x_j) + delta_ij / C)
             s.t.  sum_i y_i alpha_i = 0                                        : b
                   alpha_i >= 0

    xi_i >= 0 holds by itself at the optimum. With costs c_i per point, C becomes C c_i.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1])
    >>> kopt.solve(TwoNormSoftMargin(C=2.0), sample).certificate.holds(1e-6)
    True
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 7.37, in canonical form")
    task = Task.CLASSIFICATION

    C: float = positive(default=1.0)

    def primal(self, s: View) -> Program:
        """The norm and the squared slacks are minimised."""
        w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C / 2 * cp.sum(cp.multiply(s.costs, cp.square(xi)))),
            {"alpha": cp.multiply(s.y, w.values + b) >= 1 - xi},
        )

    def dual(self, s: View) -> Program:
        """The squared slacks add 1/C to the diagonal of K."""
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, alpha))
        squares = cp.sum(cp.multiply(1 / s.costs, cp.square(alpha)))
        return Program(
            cp.Maximize(cp.sum(alpha) - 0.5 * w.norm_squared - 0.5 / self.C * squares),
            {"b": s.y @ alpha == 0},
            domain=[alpha >= 0],
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i y_i alpha_i phi(x_i), and b minimises the sum of the squared slacks."""
        w = s.combination(s.y * dual.alpha)
        b = best_offset(s.y, w.values, s.costs, power=2)
        return {"w": w, "b": b, "xi": np.maximum(0.0, 1 - s.y * (w.values + b))}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The hard margin in the space of K + I/C, with the nearest points of both classes there."""
        yield from two_norm_claims(s, primal, dual, self.C)
        margins = s.y * (primal.w.values + primal.b) + dual.alpha / (self.C * s.costs)
        yield from nearest_claims(s.y, margins, 1.0, scale=1.0, name="1 for K + I/C")
