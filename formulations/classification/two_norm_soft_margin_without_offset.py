"""The soft margin machine through the origin, with a quadratic penalty."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.classification.margins import two_norm_claims
from kopt import Claim, Formulation, Point, Program, Reference, Task, View, equal, positive


class TwoNormSoftMarginWithoutOffset(Formulation):
    r"""Soft margin without offset, the slacks penalised by their squares: the hard margin for the kernel K + I/C.

    Primal   min   1/2 <w, w> + C/2 sum_i xi_i^2
             s.t.  y_i <w, phi(x_i)> >= 1 - xi_i                                : alpha_i
    Dual     max   sum_i alpha_i - 1/2 sum_ij y_i y_j alpha_i alpha_j (k(x_i, x_j) + delta_ij / C)
             s.t.  alpha_i >= 0

    xi_i >= 0 holds by itself at the optimum, where xi_i = alpha_i / C. With costs c_i per point, C becomes C c_i.

    >>> import kopt
    >>> sample = kopt.Sample([[-1.0], [2.0]], [-1, 1])
    >>> kopt.solve(TwoNormSoftMarginWithoutOffset(C=0.5), sample).dual.alpha.round(6).tolist()
    [0.285714, 0.071429]
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 7.59, with a constant added to the diagonal of K")
    task = Task.CLASSIFICATION

    C: float = positive(default=1.0)

    def primal(self, s: View) -> Program:
        """The norm and the squared slacks are minimised."""
        w, xi = s.weight("w"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C / 2 * cp.sum(cp.multiply(s.costs, cp.square(xi)))),
            {"alpha": cp.multiply(s.y, w.values) >= 1 - xi},
        )

    def dual(self, s: View) -> Program:
        """The squared slacks add 1/C to the diagonal of K."""
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, alpha))
        squares = cp.sum(cp.multiply(1 / s.costs, cp.square(alpha)))
        return Program(
            cp.Maximize(cp.sum(alpha) - 0.5 * w.norm_squared - 0.5 / self.C * squares),
            domain=[alpha >= 0],
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i y_i alpha_i phi(x_i)."""
        w = s.combination(s.y * dual.alpha)
        return {"w": w, "xi": np.maximum(0.0, 1 - s.y * w.values)}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The hard margin in the space of K + I/C, with the nearest point there."""
        yield from two_norm_claims(s, primal, dual, self.C)
        enlarged_margins = s.y * primal.w.values + dual.alpha / (self.C * s.costs)
        yield equal("the smallest margin is 1 for K + I/C", np.min(enlarged_margins), 1.0)
