"""Separation of ranks by ordered thresholds, without a price on the norm of the weight vector."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.ranking.thresholds import Thresholds, above_thresholds
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, at_most, equal
from kopt.kernels import Linear, Polynomial


class RankSeparation(Formulation):
    r"""Ranks y_i in 1..k, margins up to 1 from thresholds b_1 <= ... <= b_(k-1): what on-line ranking looks for.

    Primal   min   sum_(i: y_i != k) (1 - m_l_i) + sum_(i: y_i != 1) (1 - m_u_i)
             s.t.  b_(y_i) - <w, phi(x_i)> >= m_l_i                 (y_i != k)  : alpha_l_i
                   <w, phi(x_i)> - b_(y_i - 1) >= m_u_i             (y_i != 1)  : alpha_u_i
                   m_l_i <= 1                                                   : mu_l_i
                   m_u_i <= 1                                                   : mu_u_i
                   b_y <= b_(y+1)                                  (y = 1..k-2) : eta_y
    Dual     max   sum_i alpha_l_i + sum_i alpha_u_i
             s.t.  sum_i (alpha_u_i - alpha_l_i) phi(x_i) = 0                   : w
                   sum_(i: y_i = y + 1) alpha_u_i + eta_y = sum_(i: y_i = y) alpha_l_i + eta_(y-1),
                                                                   (y = 1..k-1) : b_y
                   alpha_l_i, alpha_u_i <= 1
                   alpha_l_i, alpha_u_i, eta_y >= 0

    with eta_0 = eta_(k-1) = 0. 1 - m_l_i and 1 - m_u_i are the slacks of the two margins of a point. Nothing is paid
    for the length of w, so the optimum is 0 if and only if some w and b rank every point correctly, then by many and
    with alpha = 0 alone. The multipliers do not determine w: kopt finds it from the primal. With costs c_i per
    point, a slack becomes c_i times it, and the multipliers are at most c_i.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [1.0], [3.0], [2.0]], [1, 2, 3, 1])
    >>> solution = kopt.solve(RankSeparation(), sample)
    >>> round(float(solution.value), 6), solution.certificate.holds(1e-6)
    (3.0, True)
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Definition 8.4, Algorithm 8.14")
    task = Task.RANKING

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Few features and ranks by chance, which most often cannot be separated; every other one with costs."""
        while True:
            for kernel, d in ((Linear(), 2), (Polynomial(degree=2, R=0.7), 1), (Linear(), 3)):
                for costly in (False, True):
                    n = int(rng.integers(7, 12))
                    X = np.round(rng.standard_normal((n, d)) + 0.4, 1)
                    y = 1.0 + np.searchsorted([0.3 * n, 0.7 * n], rng.permutation(n), side="right")
                    costs = np.round(rng.uniform(0.4, 2.5, n), 1) if costly else None
                    yield cls(), Sample(X, y, kernel=kernel, costs=costs)

    def primal(self, s: View) -> Program:
        """What the margins lack to 1."""
        t = Thresholds(s.y)
        w, b = s.weight("w"), cp.Variable(t.count, name="b")
        m_l, m_u = cp.Variable(len(t.lower), name="m_l"), cp.Variable(len(t.upper), name="m_u")
        order = {"eta": b[:-1] <= b[1:]} if t.count > 1 else {}
        return Program(
            cp.Minimize(s.costs[t.lower] @ (1 - m_l) + s.costs[t.upper] @ (1 - m_u)),
            {
                "alpha_l": b[t.above] - w.values[t.lower] >= m_l,
                "alpha_u": w.values[t.upper] - b[t.below] >= m_u,
                "mu_l": m_l <= 1,
                "mu_u": m_u <= 1,
                **order,
            },
        )

    def dual(self, s: View) -> Program:
        """The most weight that balances the points and, at each threshold, the two sides."""
        t = Thresholds(s.y)
        c_l, c_u = cp.Constant(s.costs[t.lower], name="c_l"), cp.Constant(s.costs[t.upper], name="c_u")
        alpha_l, alpha_u = cp.Variable(len(t.lower), name="alpha_l"), cp.Variable(len(t.upper), name="alpha_u")
        upper, lower, positive = t.sums_of_upper(alpha_u), t.sums_of_lower(alpha_l), [alpha_l >= 0, alpha_u >= 0]
        if t.count > 1:
            eta = cp.Variable(t.count - 1, name="eta")
            upper, lower = upper + cp.hstack([eta, 0]), lower + cp.hstack([0, eta])
            positive.append(eta >= 0)
        return Program(
            cp.Maximize(cp.sum(alpha_l) + cp.sum(alpha_u)),
            {"b": upper == lower},
            domain=[
                s.vanishing(t.difference(alpha_u, alpha_l)),
                alpha_l <= c_l,
                alpha_u <= c_u,
                *positive,
            ],
            multipliers={"mu_l": c_l - alpha_l, "mu_u": c_u - alpha_u},
        )

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """<w, phi(x)> - b_y, one column for each threshold (Definition 8.4)."""
        return above_thresholds(primal)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The losses are hinge losses, which count at least the wrong ranks; where the multipliers are 0 or 1."""
        t = Thresholds(s.y)
        c, alpha = np.append(s.costs[t.lower], s.costs[t.upper]), np.append(dual.alpha_l, dual.alpha_u)
        margins = -np.concatenate(t.excess(primal.w.values, primal.b, 0.0))
        lost, beyond, everything = np.maximum(0.0, 1 - margins), np.maximum(0.0, margins - 1), float(np.sum(c))
        yield equal("sum alpha = sum of the hinge losses", np.sum(alpha), c @ lost, scale=everything)
        off = c @ np.abs(1 - np.append(primal.m_l, primal.m_u) - lost)
        yield equal("1 - m is the hinge loss: sum |1 - m - (1 - margin)_+| = 0", off, 0.0, scale=everything)
        yield equal("alpha = 0 beyond the margin: sum alpha (margin - 1)_+ = 0", alpha @ beyond, 0.0, scale=everything)
        unpaid = (c - alpha) @ lost
        yield equal("alpha = 1 within the margin: sum (1 - alpha) (1 - margin)_+ = 0", unpaid, 0.0, scale=everything)
        wrong = np.sum(c[margins < -1e-9])
        yield at_most("weight of the points beyond a threshold <= sum alpha", wrong, np.sum(alpha), scale=everything)
        if len(primal.b) > 1:
            steps, unit = np.diff(primal.b), 1 + float(np.max(np.abs(primal.b)))
            yield at_most("the thresholds are in order: -min (b_(y+1) - b_y) <= 0", -np.min(steps), 0.0, scale=unit)
            yield equal("eta = 0 between different thresholds: sum eta (step) = 0", dual.eta @ steps, 0.0, everything)
