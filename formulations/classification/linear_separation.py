"""Separation by a hyperplane through the origin, without a price on its norm."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, at_most, equal
from kopt.kernels import Linear, Polynomial


class LinearSeparation(Formulation):
    r"""Margins up to 1 from a hyperplane through the origin of feature space: what the perceptron looks for.

    Primal   min   sum_i (1 - m_i)
             s.t.  y_i <w, phi(x_i)> >= m_i                                     : alpha_i
                   m_i <= 1                                                     : mu_i
    Dual     max   sum_i alpha_i
             s.t.  sum_i y_i alpha_i phi(x_i) = 0                               : w
                   alpha_i <= 1
                   alpha_i >= 0

    1 - m_i is the slack of the point, and its hinge loss at the optimum. Nothing is paid for the length of w, so the
    optimum is 0 if and only if the classes can be separated through the origin, then by many w and with alpha = 0
    alone; otherwise alpha weighs the points y_i phi(x_i) to 0, which shows that no w separates them. The multipliers do
    not determine w: kopt finds it from the primal. With costs c_i per point, 1 - m_i becomes
    c_i (1 - m_i), and alpha_i <= c_i.

    >>> import kopt
    >>> solution = kopt.solve(LinearSeparation(), kopt.Sample([[-1.0], [2.0], [-3.0]], [-1, 1, 1]))
    >>> solution.dual.alpha.round(6).tolist(), round(float(solution.value), 6)
    ([1.0, 1.0, 1.0], 3.0)
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 7.52, Theorem 7.53")
    task = Task.CLASSIFICATION

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Few features and labels by chance, which most often cannot be separated; every other one with costs."""
        while True:
            for kernel, d in (
                (Linear(), 3),
                (Polynomial(degree=2, R=0.7), 1),
                (Polynomial(degree=1, R=0.4), 2),
            ):
                for costly in (False, True):
                    n = int(rng.integers(7, 12))
                    X = np.round(rng.standard_normal((n, d)) + 0.4, 1)
                    y = np.where(rng.permutation(n) < 0.4 * n, 1.0, -1.0)
                    costs = np.round(rng.uniform(0.4, 2.5, n), 1) if costly else None
                    yield cls(), Sample(X, y, kernel=kernel, costs=costs)

    def primal(self, s: View) -> Program:
        """What the margins lack to 1."""
        w, m = s.weight("w"), cp.Variable(s.n, name="m")
        return Program(
            cp.Minimize(s.costs @ (1 - m)),
            {
                "alpha": cp.multiply(s.y, w.values) >= m,
                "mu": m <= 1,
            },
        )

    def dual(self, s: View) -> Program:
        """The most weight that balances the points."""
        alpha, costs = cp.Variable(s.n, name="alpha"), cp.Constant(s.costs, name="c")
        return Program(
            cp.Maximize(cp.sum(alpha)),
            domain=[s.vanishing(cp.multiply(cp.Constant(s.y, name="y"), alpha)), alpha <= costs, alpha >= 0],
            multipliers={"mu": costs - alpha},
        )

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The losses are hinge losses, which count at least the mistakes; where the multipliers are 0 or 1."""
        margins, all_costs = s.y * primal.w.values, float(np.sum(s.costs))
        lost, beyond = np.maximum(0.0, 1 - margins), np.maximum(0.0, margins - 1)
        yield equal("sum alpha = sum of the hinge losses", np.sum(dual.alpha), s.costs @ lost, scale=all_costs)
        off = s.costs @ np.abs(1 - primal.m - lost)
        yield equal("1 - m is the hinge loss: sum |1 - m - (1 - y f)_+| = 0", off, 0.0, scale=all_costs)
        yield equal("alpha = 0 beyond the margin: sum alpha (y f - 1)_+ = 0", dual.alpha @ beyond, 0.0, scale=all_costs)
        unpaid = (s.costs - dual.alpha) @ lost
        yield equal("alpha = 1 within the margin: sum (1 - alpha) (1 - y f)_+ = 0", unpaid, 0.0, scale=all_costs)
        mistakes = np.sum(s.costs[margins < -1e-9])
        yield at_most("weight of the mistakes <= sum alpha", mistakes, np.sum(dual.alpha), scale=all_costs)
