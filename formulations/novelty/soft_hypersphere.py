"""The soft minimal sphere."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.novelty.spheres import sphere_claims, squared_distances
from kopt import (
    Claim,
    Formulation,
    Point,
    Program,
    Reference,
    Task,
    View,
    at_most,
    counting_claims,
    equal,
    minimise_hinges,
    positive,
)


class SoftHypersphere(Formulation):
    r"""Small hypersphere in feature space; points outside cost C times their excess.

    Primal   min   R + C sum_i xi_i
             s.t.  ||phi(x_i) - c||^2 <= R + xi_i                               : alpha_i
                   xi_i >= 0                                                    : mu_i
                   R >= 0                                                       : rho
    Dual     max   sum_i alpha_i k(x_i, x_i) - sum_ij alpha_i alpha_j k(x_i, x_j) / sum_i alpha_i
             s.t.  sum_i alpha_i <= 1                                           : R
                   alpha_i <= C                                                 : xi_i
                   alpha_i >= 0

    R is the squared radius. The text's dual has sum_i alpha_i = 1, which no alpha <= C satisfies if C < 1/l, although
    the primal is well defined there (R = 0, c the mean): this dual is right for every C > 0. With costs c_i per
    point, C becomes C c_i.

    >>> import kopt
    >>> solution = kopt.solve(SoftHypersphere(C=0.1), kopt.Sample([[0.0], [1.0], [5.0]]))
    >>> abs(round(float(solution.primal.R), 6)), round(float(solution.primal.c.norm), 6)
    (0.0, 2.0)
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 7.7, Algorithm 7.8")
    task = Task.NOVELTY

    C: float = positive(default=1.0)

    def primal(self, s: View) -> Program:
        """Squared radius against excess."""
        c, R, xi = s.weight("c"), cp.Variable(name="R"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(R + self.C * s.costs @ xi),
            {
                "alpha": s.diagonal() - 2 * c.values + c.norm_squared <= R + xi,
                "mu": xi >= 0,
                "rho": R >= 0,
            },
        )

    def dual(self, s: View) -> Program:
        """Concave, because the quotient of a squared norm by a sum is convex."""
        alpha = cp.Variable(s.n, name="alpha")
        u = s.combination(alpha)
        return Program(
            cp.Maximize(s.diagonal() @ alpha - u.norm_squared_over(cp.sum(alpha))),
            {
                "R": cp.sum(alpha) <= 1,
                "xi": alpha <= self.C * s.costs,
            },
            domain=[alpha >= 0],
            multipliers={"mu": self.C * s.costs - alpha, "rho": 1 - cp.sum(alpha)},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """c is the mean of the points with weights alpha, and R an order statistic of the distances to it."""
        total = np.sum(dual.alpha)
        c = s.combination(dual.alpha) / total if total > 0 else s.combination(s.costs / np.sum(s.costs))
        distances = squared_distances(s, c)
        R = minimise_hinges(1.0, falling=(self.C * s.costs, distances), t_min=0.0).chosen
        return {"c": c, "R": R, "xi": np.maximum(0.0, distances - R)}

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """R - ||phi(x) - c||^2, negative for novel points."""
        return np.asarray(primal.R - squared_distances(s, primal.c))

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The value of the dual, the centre, and the radius: an order statistic of rank 1/C, or 0 if C < 1/l."""
        C, u, total = self.C * s.costs, s.combination(dual.alpha), np.sum(dual.alpha)
        if total <= 0:
            return
        W = s.diagonal() @ dual.alpha - u.norm_squared / total
        scale, longest = float(dual.alpha @ s.diagonal()), float(np.max(s.diagonal()))
        yield equal("r^2 + C sum xi = W", primal.R + C @ primal.xi, W, scale=scale)
        distance = (primal.c - u / total).norm
        yield at_most("the centre is the mean with weights alpha: ||c - mean|| = 0", distance, 0.0, np.sqrt(longest))
        yield from sphere_claims(s, primal, dual.alpha, C, scale, "C")
        yield equal("sum alpha = 1 if r > 0: r^2 (1 - sum alpha) = 0", primal.R * (1 - total), 0.0, scale=scale)
        if np.sum(C) < 1:
            yield equal("r = 0 if C < 1/l", primal.R, 0.0, scale=longest)
            return
        outside, not_inside = counting_claims(squared_distances(s, primal.c) - primal.R, s.costs, 1 / self.C, longest)
        yield replace(outside, statement="weight outside <= 1/C")
        yield replace(not_inside, statement="1/C <= weight on the surface or outside")
        if np.min(C) > 1:
            yield equal("no point is outside if C > 1: C sum xi = 0", C @ primal.xi, 0.0, scale=scale)
