"""The hard margin ranking machine whose thresholds count for the norm."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.ranking.thresholds import Thresholds, above_thresholds, shortest_with_margin
from kopt import Claim, Formulation, InputError, Point, Program, Reference, Sample, Task, View, at_most, equal
from kopt.kernels import Gaussian, Linear, Polynomial


class AugmentedHardRanking(Formulation):
    r"""Largest margin at every threshold, for a weight vector and thresholds that together have length 1.

    Primal   max   gamma
             s.t.  <w, phi(x_i)> <= b_(y_i) - gamma                 (y_i != k)  : alpha_l_i
                   <w, phi(x_i)> >= b_(y_i - 1) + gamma             (y_i != 1)  : alpha_u_i
                   <w, w> + sum_y b_y^2 <= 1                                    : lambda
    Dual     min   ( sum_ij (alpha_u_i - alpha_l_i) (alpha_u_j - alpha_l_j) k(x_i, x_j) + sum_y beta_y^2 )^(1/2)
             s.t.  sum_i (alpha_l_i + alpha_u_i) = 1                            : gamma
                   alpha_l_i, alpha_u_i >= 0
             with  beta_y = sum_(i: y_i = y) alpha_l_i - sum_(i: y_i = y + 1) alpha_u_i
                   lambda = 1/2 ( sum_ij ... k(x_i, x_j) + sum_y beta_y^2 )^(1/2)

    (8.4) without slacks in the space of the vectors (w, b), in which the on-line algorithm is a perceptron: its sum of
    rank errors is at most ((k - 1) R^2 + 1) / gamma^2 with this gamma, ||phi(x_i)|| <= R, and not with that of (8.4),
    whose thresholds cost nothing. Every rank is there, so that a positive margin keeps the thresholds 2 gamma apart.
    For ranks that are not separable lambda = 0 and the optimum is 0, reached by w = 0 and b = 0.

    >>> import kopt
    >>> sample = kopt.Sample([[12.0], [16.0]], [1, 2])
    >>> solution = kopt.solve(AugmentedHardRanking(), sample)
    >>> round(float(solution.primal.gamma), 6), solution.predict([[13.0], [15.0]]).tolist()
    (0.142494, [1, 2])
    """

    reference = Reference("Shawe-Taylor and Cristianini", "(8.4), Algorithm 8.14, Corollary 8.16")
    task = Task.RANKING

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Ranks that can be separated: along the first coordinate they are 0.3 apart."""
        sizes = ((2, 1, 3), (1, 2, 1, 3), (4, 5), (3, 2, 5))
        kernels = (Linear(), 0.3 * Linear() + Gaussian(sigma=0.9), Polynomial(degree=2, R=0.7), Gaussian(sigma=1.3))
        while True:
            for ranks, kernel in zip(sizes, kernels, strict=True):
                y = np.repeat(np.arange(1.0, len(ranks) + 1), ranks)
                X = rng.normal(loc=0.3, scale=0.7, size=(len(y), 3))
                X[:, 0] = 0.7 * y - 1 + rng.uniform(0.0, 0.4, len(y))
                order = rng.permutation(len(y))
                yield cls(), Sample(X[order], y[order], kernel=kernel)

    def requires(self, s: Sample) -> None:
        """Some vector must tell the points apart."""
        if not np.any(s.gram().diagonal > 0):
            raise InputError(
                f"All {s.n} points are 0 in feature space, where no weight vector tells ranks apart.",
                "Choose a kernel under which some k(x, x) is positive.",
            )

    def primal(self, s: View) -> Program:
        """The largest margin of (w, b) of length at most 1."""
        t = Thresholds(s.y)
        w, b, gamma = s.weight("w"), cp.Variable(t.count, name="b"), cp.Variable(name="gamma")
        return Program(
            cp.Maximize(gamma),
            {
                "alpha_l": w.values[t.lower] <= b[t.above] - gamma,
                "alpha_u": w.values[t.upper] >= b[t.below] + gamma,
                "lambda": w.norm_squared + cp.sum_squares(b) <= 1,
            },
        )

    def dual(self, s: View) -> Program:
        """The shortest vector of the convex hull of the points (phi(x_i), -e_(y_i - 1)) and (-phi(x_i), e_(y_i))."""
        t = Thresholds(s.y)
        alpha_l, alpha_u = cp.Variable(len(t.lower), name="alpha_l"), cp.Variable(len(t.upper), name="alpha_u")
        u = s.combination(t.difference(alpha_u, alpha_l))
        beta = t.sums_of_lower(alpha_l) - t.sums_of_upper(alpha_u)
        length = cp.norm(cp.hstack([u.norm, cp.norm(beta, 2)]), 2)
        return Program(
            cp.Minimize(length),
            {"gamma": cp.sum(alpha_l) + cp.sum(alpha_u) == 1},
            domain=[alpha_l >= 0, alpha_u >= 0],
            multipliers={"lambda": 0.5 * length},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w has the direction of sum_i (alpha_u_i - alpha_l_i) phi(x_i), and its length and b are the best for it."""
        t = Thresholds(s.y)
        w = s.combination(t.difference(dual.alpha_u, dual.alpha_l)).direction()
        scale, b = shortest_with_margin(t, w.values, w.norm)
        if scale is None:  # this direction does not rank every point: w = 0 has the margin 0
            return {"w": 0.0 * w, "b": 0.0 * b, "gamma": 0.0}
        length = float(np.hypot(scale * w.norm, np.linalg.norm(b)))
        return {"w": w * (scale / length), "b": b / length, "gamma": 1 / length}

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """<w, phi(x)> - b_y, one column for each threshold (Definition 8.4)."""
        return above_thresholds(primal)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The margin is the length of the shortest vector, which gives w and b; the thresholds are apart."""
        t = Thresholds(s.y)
        u, beta = _shortest(s, dual)
        unit = float(np.sqrt(np.max(s.diagonal()) + 1))
        length = float(np.hypot(u.norm, np.linalg.norm(beta)))
        yield equal("gamma = the distance of the convex hull from 0", primal.gamma, length, scale=unit)
        off = np.linalg.norm(length * primal.b - beta)
        yield equal("2 lambda b_y = sum alpha_l - sum alpha_u at each threshold", off, 0.0, scale=1.0)
        idle = sum(
            alpha @ np.maximum(0.0, -excess)
            for alpha, excess in zip(
                (dual.alpha_l, dual.alpha_u), t.excess(primal.w.values, primal.b, primal.gamma), strict=True
            )
        )
        yield equal("alpha = 0 beyond the margin: sum alpha (margin - gamma)_+ = 0", idle, 0.0, scale=unit)
        if len(primal.b) > 1:
            closest = float(np.min(np.diff(primal.b)))
            yield at_most("2 gamma <= b_(y+1) - b_y", 2 * primal.gamma, closest, scale=1.0)
        norm = primal.w.norm_squared + primal.b @ primal.b
        if dual["lambda"] > 1e-6 * unit:
            yield equal("||w||^2 + ||b||^2 = 1", norm, 1.0)
        else:
            yield at_most("||w||^2 + ||b||^2 <= 1 (lambda = 0: the ranks are not separable)", norm, 1.0)


def _shortest(s: View, dual: Point) -> tuple[Any, np.ndarray]:
    """sum_i (alpha_u_i - alpha_l_i) phi(x_i), and beta."""
    t = Thresholds(s.y)
    u = s.combination(t.difference(dual.alpha_u, dual.alpha_l))
    return u, t.sums_of_lower(dual.alpha_l) - t.sums_of_upper(dual.alpha_u)
