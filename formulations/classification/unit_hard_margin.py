"""The maximal margin machine with a weight vector of unit length."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.classification.margins import class_claims, hull_points, nearest_claims
from formulations.statements import radius, relaxation_claim
from kopt import Claim, Formulation, Point, Program, Reference, Task, View, equal


class UnitHardMargin(Formulation):
    r"""Maximal margin hyperplane: the margin gamma is maximised over weight vectors of length 1.

    Primal   max   gamma
             s.t.  y_i (<w, phi(x_i)> + b) >= gamma                             : alpha_i
                   <w, w> <= 1                                                  : lambda
    Dual     min   ( sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j) )^(1/2)
             s.t.  sum_i y_i alpha_i = 0                                        : b
                   sum_i alpha_i = 1                                            : gamma
                   alpha_i >= 0
             with  lambda = 1/2 ( sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j) )^(1/2)

    The text asks for <w, w> = 1, which is not convex; its dual is that of <w, w> <= 1. If lambda > 0 the two agree.
    For classes that are not separable lambda = 0 and the optimum here is 0, reached by w = 0.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [3.0]], [-1, 1])
    >>> round(float(kopt.solve(UnitHardMargin(), sample).primal.gamma), 6)
    1.5
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 7.19, Algorithm 7.21")
    task = Task.CLASSIFICATION

    def primal(self, s: View) -> Program:
        """The largest margin of a vector of length at most 1."""
        w, b, gamma = s.weight("w"), cp.Variable(name="b"), cp.Variable(name="gamma")
        return Program(
            cp.Maximize(gamma),
            {
                "alpha": cp.multiply(s.y, w.values + b) >= gamma,
                "lambda": w.norm_squared <= 1,
            },
        )

    def dual(self, s: View) -> Program:
        """Half the distance between the convex hulls of the two classes."""
        alpha = cp.Variable(s.n, name="alpha")
        u = s.combination(cp.multiply(s.y, alpha))
        return Program(
            cp.Minimize(u.norm),
            {
                "b": s.y @ alpha == 0,
                "gamma": cp.sum(alpha) == 1,
            },
            domain=[alpha >= 0],
            multipliers={"lambda": 0.5 * u.norm},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w is the direction of sum_i y_i alpha_i phi(x_i), b halfway between the classes."""
        w = s.combination(s.y * dual.alpha).direction()
        nearest_plus, nearest_minus = w.values[s.y > 0].min(), w.values[s.y < 0].max()
        if nearest_plus < nearest_minus:  # this direction does not separate: w = 0 has the larger margin 0
            return {"w": 0.0 * w, "b": 0.0, "gamma": 0.0}
        return {"w": w, "b": -(nearest_plus + nearest_minus) / 2, "gamma": (nearest_plus - nearest_minus) / 2}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The closest points p and q of the hulls, at distance d, give margin and offset; which points are nearest."""
        w, b, gamma = primal.w, primal.b, primal.gamma
        margins = s.y * (w.values + b)
        yield from class_claims(s.y, dual.alpha)
        p, q = hull_points(s, 2 * dual.alpha)
        d = (p - q).norm
        yield equal("gamma = sqrt(-W) = d / 2, half the distance of the hulls", gamma, d / 2, scale=radius(s))
        squares = q.norm_squared - p.norm_squared
        yield equal("b = (||q||^2 - ||p||^2) / (2 d)", 2 * d * b, squares, scale=radius(s) ** 2)
        yield from nearest_claims(s.y, margins, gamma, scale=radius(s), name="gamma")
        away = np.abs(dual.alpha) @ np.abs(margins - gamma)
        yield equal("alpha > 0 only where y f = gamma: sum alpha |y f - gamma| = 0", away, 0.0, scale=radius(s))
        yield relaxation_claim(s, primal, dual)
