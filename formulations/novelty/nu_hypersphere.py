"""The soft minimal sphere in which nu bounds the fraction of points outside."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.limits import check_at_most
from formulations.novelty.spheres import sphere_claims, squared_distances
from kopt import (
    Claim,
    Formulation,
    Point,
    Program,
    Reference,
    Sample,
    Task,
    View,
    counting_claims,
    equal,
    fraction,
    minimise_hinges,
)


class NuHypersphere(Formulation):
    r"""Small hypersphere in feature space with at most a fraction nu of the points outside.

    Primal   min   nu R + 1/l sum_i xi_i
             s.t.  ||phi(x_i) - c||^2 <= R + xi_i                               : alpha_i
                   xi_i >= 0                                                    : mu_i
    Dual     max   sum_i alpha_i k(x_i, x_i) - 1/nu sum_ij alpha_i alpha_j k(x_i, x_j)
             s.t.  sum_i alpha_i = nu                                           : R
                   alpha_i <= 1/l                                               : xi_i
                   alpha_i >= 0

    R is the squared radius; R >= 0 holds by itself, because nu is at most the mean cost. The text writes the dual in
    alpha / nu, whose value is that of this one divided by nu. With costs c_i per point, 1/l becomes c_i/l.

    >>> import kopt
    >>> solution = kopt.solve(NuHypersphere(nu=0.4), kopt.Sample([[0.0], [1.0], [2.0], [3.0], [50.0]]))
    >>> solution.predict([[1.0], [50.0]]).tolist()
    [1, -1]
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 7.10, Algorithm 7.11, Theorem 7.12")
    task = Task.NOVELTY

    nu: float = fraction(default=0.5)

    def requires(self, s: Sample) -> None:
        """The multipliers must be able to add up to nu."""
        check_at_most("nu", self.nu, float(np.sum(s.costs)) / s.n, "these costs")

    def primal(self, s: View) -> Program:
        """Squared radius against excess."""
        c, R, xi = s.weight("c"), cp.Variable(name="R"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(self.nu * R + s.costs @ xi / s.n),
            {
                "alpha": s.diagonal() - 2 * c.values + c.norm_squared <= R + xi,
                "mu": xi >= 0,
            },
        )

    def dual(self, s: View) -> Program:
        """A quadratic program over a box with one row."""
        alpha = cp.Variable(s.n, name="alpha")
        u = s.combination(alpha)
        return Program(
            cp.Maximize(s.diagonal() @ alpha - u.norm_squared / self.nu),
            {
                "R": cp.sum(alpha) == self.nu,
                "xi": alpha <= s.costs / s.n,
            },
            domain=[alpha >= 0],
            multipliers={"mu": s.costs / s.n - alpha},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """c = sum_i alpha_i phi(x_i) / nu, and R is an order statistic of the distances to it."""
        c = s.combination(dual.alpha) / self.nu
        distances = squared_distances(s, c)
        R = minimise_hinges(self.nu, falling=(s.costs / s.n, distances)).chosen
        return {"c": c, "R": R, "xi": np.maximum(0.0, distances - R)}

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """R - ||phi(x) - c||^2, negative for novel points."""
        return np.asarray(primal.R - squared_distances(s, primal.c))

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """Theorem 7.12: nu bounds the points outside, and with those on the surface it is bounded; the slack sum."""
        alpha, C, unit = dual.alpha / self.nu, s.costs / s.n, float(np.max(s.diagonal()))
        distances = squared_distances(s, primal.c)
        yield from counting_claims(distances - primal.R, s.costs, self.nu * s.n, unit)
        yield equal("the centre is in the convex hull: sum alpha = nu", np.sum(dual.alpha), self.nu)
        W = s.diagonal() @ alpha - s.combination(alpha).norm_squared
        slacks, scale = C @ primal.xi, self.nu * unit
        yield equal("1/l sum xi = nu (W - r^2), W of alpha / nu", slacks, self.nu * (W - primal.R), scale=scale)
        yield from sphere_claims(s, primal, dual.alpha, C, scale, "1/l")
