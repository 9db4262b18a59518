"""The smallest sphere that contains all points."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.novelty.spheres import squared_distances
from kopt import Claim, Formulation, Point, Program, Reference, Task, View, at_most, equal


class Hypersphere(Formulation):
    r"""Smallest hypersphere in feature space that contains every point.

    Primal   min   R
             s.t.  ||phi(x_i) - c||^2 <= R                                      : alpha_i
    Dual     max   sum_i alpha_i k(x_i, x_i) - sum_ij alpha_i alpha_j k(x_i, x_j)
             s.t.  sum_i alpha_i = 1                                            : R
                   alpha_i >= 0

    R is the squared radius, in which the problem is convex.

    >>> import kopt
    >>> solution = kopt.solve(Hypersphere(), kopt.Sample([[0.0], [1.0], [4.0]]))
    >>> round(float(solution.primal.R), 6)
    4.0
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 7.1, Algorithm 7.2")
    task = Task.NOVELTY

    def primal(self, s: View) -> Program:
        """The smallest squared radius."""
        c, R = s.weight("c"), cp.Variable(name="R")
        return Program(
            cp.Minimize(R),
            {"alpha": s.diagonal() - 2 * c.values + c.norm_squared <= R},
        )

    def dual(self, s: View) -> Program:
        """A quadratic program over the simplex."""
        alpha = cp.Variable(s.n, name="alpha")
        c = s.combination(alpha)
        return Program(
            cp.Maximize(s.diagonal() @ alpha - c.norm_squared),
            {"R": cp.sum(alpha) == 1},
            domain=[alpha >= 0],
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """c = sum_i alpha_i phi(x_i), and R is the largest squared distance."""
        c = s.combination(dual.alpha)
        return {"c": c, "R": np.max(squared_distances(s, c))}

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """R - ||phi(x) - c||^2, negative for novel points."""
        return np.asarray(primal.R - squared_distances(s, primal.c))

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The radius is the dual value, the centre lies in the convex hull, and support vectors on the surface."""
        c, unit = s.combination(dual.alpha), float(np.max(s.diagonal()))
        yield equal("r^2 = W", primal.R, s.diagonal() @ dual.alpha - c.norm_squared, scale=unit)
        yield equal("the centre is in the convex hull: sum alpha = 1", np.sum(dual.alpha), 1.0)
        yield at_most("the centre is in the convex hull: alpha >= 0", -np.min(dual.alpha), 0.0, scale=1.0)
        away = np.abs(dual.alpha) @ np.abs(squared_distances(s, primal.c) - primal.R)
        yield equal("alpha > 0 only on the surface: sum alpha |d^2 - r^2| = 0", away, 0.0, scale=unit)
        if np.ptp(s.diagonal()) <= 1e-12 * unit:
            both = primal.R + primal.c.norm_squared
            yield equal("r^2 + ||c||^2 = k(x, x), which is the same for all points", both, unit)
