"""Ranking in which nu bounds the fraction of margin errors."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.limits import check_at_most
from formulations.ranking.thresholds import (
    NU,
    Thresholds,
    above_thresholds,
    best_margin_and_thresholds,
    margin_claims,
    rank_costs,
)
from formulations.statements import radius, relaxation_claim
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, parameter


class NuRanking(Formulation):
    r"""Ranks y_i in 1..k from thresholds b_1..b_(k-1), with a weight vector of length 1.

    Primal   min   -gamma + 1/(nu l) ( sum_(i: y_i != k) xi_l_i + sum_(i: y_i != 1) xi_u_i )
             s.t.  <w, phi(x_i)> <= b_(y_i) - gamma + xi_l_i        (y_i != k)  : alpha_l_i
                   <w, phi(x_i)> >= b_(y_i - 1) + gamma - xi_u_i    (y_i != 1)  : alpha_u_i
                   xi_l_i >= 0                                                  : mu_l_i
                   xi_u_i >= 0                                                  : mu_u_i
                   <w, w> <= 1                                                  : lambda
    Dual     max   -( sum_ij (alpha_u_i - alpha_l_i) (alpha_u_j - alpha_l_j) k(x_i, x_j) )^(1/2)
             s.t.  sum_(i: y_i = y + 1) alpha_u_i = sum_(i: y_i = y) alpha_l_i,  y = 1..k-1   : b_y
                   sum_i (alpha_l_i + alpha_u_i) = 1                            : gamma
                   alpha_l_i <= 1/(nu l)                                        : xi_l_i
                   alpha_u_i <= 1/(nu l)                                        : xi_u_i
                   alpha_l_i, alpha_u_i >= 0

    Points of the highest rank have no alpha_l, points of the lowest no alpha_u. The text prints the balance of the
    thresholds with u and l exchanged. Its <w, w> = 1 is relaxed to <w, w> <= 1; the two agree where lambda > 0.
    nu bounds the constraints beyond the margin, not the points, of which each may have two: it can be at most
    2/l sum_y min(l_y, l_(y+1)), l_y the size of a rank, which may exceed 1. Nothing keeps the thresholds in order.
    With costs c_i per point, 1/(nu l) becomes c_i/(nu l).

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [1.0], [3.0], [4.0], [6.0]], [1, 1, 2, 2, 3])
    >>> solution = kopt.solve(NuRanking(nu=0.4), sample)
    >>> solution.predict([[0.5], [3.5], [9.0]]).tolist(), round(float(solution.primal.gamma), 6)
    ([1, 2, 3], 1.0)
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 8.8, (8.4), Algorithm 8.9, Theorem 8.10")
    task = Task.RANKING

    nu: float = parameter(NU, default=0.5)

    def requires(self, s: Sample) -> None:
        """The multipliers at each threshold balance, and must be able to add up to 1."""
        costs = rank_costs(s)
        check_at_most("nu", self.nu, 2 * float(np.minimum(costs[:-1], costs[1:]).sum()) / s.n, "these ranks")

    def bound(self, s: View) -> np.ndarray:
        """Upper bound 1/(nu l) of each multiplier, times the cost of its point."""
        return s.costs / (self.nu * s.n)

    def primal(self, s: View) -> Program:
        """Margin at every threshold against slacks, for a vector of length at most 1."""
        t, C = Thresholds(s.y), self.bound(s)
        w, b, gamma = s.weight("w"), cp.Variable(t.count, name="b"), cp.Variable(name="gamma")
        xi_l, xi_u = cp.Variable(len(t.lower), name="xi_l"), cp.Variable(len(t.upper), name="xi_u")
        return Program(
            cp.Minimize(-gamma + C[t.lower] @ xi_l + C[t.upper] @ xi_u),
            {
                "alpha_l": w.values[t.lower] <= b[t.above] - gamma + xi_l,
                "alpha_u": w.values[t.upper] >= b[t.below] + gamma - xi_u,
                "mu_l": xi_l >= 0,
                "mu_u": xi_u >= 0,
                "lambda": w.norm_squared <= 1,
            },
        )

    def dual(self, s: View) -> Program:
        """The points above the thresholds against those below, as near to each other as the bounds allow."""
        t, C = Thresholds(s.y), self.bound(s)
        alpha_l, alpha_u = cp.Variable(len(t.lower), name="alpha_l"), cp.Variable(len(t.upper), name="alpha_u")
        u = s.combination(t.difference(alpha_u, alpha_l))
        return Program(
            cp.Maximize(-u.norm),
            {
                "b": t.sums_of_upper(alpha_u) == t.sums_of_lower(alpha_l),
                "gamma": cp.sum(alpha_l) + cp.sum(alpha_u) == 1,
                "xi_l": alpha_l <= C[t.lower],
                "xi_u": alpha_u <= C[t.upper],
            },
            domain=[alpha_l >= 0, alpha_u >= 0],
            multipliers={"mu_l": C[t.lower] - alpha_l, "mu_u": C[t.upper] - alpha_u, "lambda": 0.5 * u.norm},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w is the direction of sum_i (alpha_u_i - alpha_l_i) phi(x_i); gamma and b are order statistics."""
        t, C = Thresholds(s.y), self.bound(s)
        w = s.combination(t.difference(dual.alpha_u, dual.alpha_l)).direction()
        gamma, b = best_margin_and_thresholds(t, w.values, C)
        xi_l, xi_u = (np.maximum(0.0, excess) for excess in t.excess(w.values, b, gamma))
        if C[t.lower] @ xi_l + C[t.upper] @ xi_u > gamma:  # w = 0 has the value 0, which is better
            w, b, gamma, xi_l, xi_u = 0.0 * w, 0.0 * b, 0.0, 0.0 * xi_l, 0.0 * xi_u
        return {"w": w, "b": b, "gamma": gamma, "xi_l": xi_l, "xi_u": xi_u}

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """<w, phi(x)> - b_y, one column for each threshold (Definition 8.4)."""
        return above_thresholds(primal)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """Theorem 8.10, counted in constraints; the sum of the slacks; the relaxation."""
        yield from margin_claims(s, self.nu, primal, dual, radius(s))
        yield relaxation_claim(s, primal, dual)
