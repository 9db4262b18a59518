"""The closest points of the convex hulls of two classes."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.classification.margins import NEARLY_MEET, hull_points
from formulations.statements import radius
from kopt import Claim, Formulation, Point, Program, Reference, Task, View, equal


class ConvexHulls(Formulation):
    r"""The distance between the convex hulls of the two classes, and the hyperplane halfway.

    Primal   max   rho_plus - rho_minus - 1/4 <w, w>
             s.t.  <w, phi(x_i)> >= rho_plus    where y_i = 1                   : c_i
                   <w, phi(x_i)> <= rho_minus   where y_i = -1                  : c_i
    Dual     min   || sum_(y_i = 1) c_i phi(x_i) - sum_(y_i = -1) c_i phi(x_i) ||^2
             s.t.  sum_(y_i = 1) c_i = 1                                        : rho_plus
                   sum_(y_i = -1) c_i = 1                                       : rho_minus
                   c_i >= 0

    The text's problem is the dual: its variables are weights of the points, and weights of points are multipliers. The
    primal pushes apart two parallel hyperplanes between the classes until each supports a hull. If p and q are the
    closest points of the hulls and d is their distance, the optimum is d^2 and w = 2 (p - q). The hard margin machine
    has the same hyperplane scaled, w / d^2 with the offset -(rho_plus + rho_minus) / (2 d^2) and alpha = 2 c / d^2, and
    the margin gamma = d / 2. For classes that are not separable d = 0 and w = 0.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0, 0.0], [3.0, -1.0], [3.0, 1.0]], [-1, 1, 1])
    >>> solution = kopt.solve(ConvexHulls(), sample)
    >>> round(solution.value, 6), solution.dual.c.round(6).tolist()
    (9.0, [1.0, 0.5, 0.5])
    """

    reference = Reference("6.867 lectures 7-8", "(8)")
    task = Task.CLASSIFICATION

    def primal(self, s: View) -> Program:
        """Two parallel hyperplanes, one for each class."""
        w, rho_plus, rho_minus = s.weight("w"), cp.Variable(name="rho_plus"), cp.Variable(name="rho_minus")
        plus, minus = 1.0 * (s.y > 0), 1.0 * (s.y < 0)
        return Program(
            cp.Maximize(rho_plus - rho_minus - 0.25 * w.norm_squared),
            {"c": cp.multiply(s.y, w.values) >= plus * rho_plus - minus * rho_minus},
        )

    def dual(self, s: View) -> Program:
        """A quadratic program over two simplices."""
        c = cp.Variable(s.n, name="c")
        plus, minus = 1.0 * (s.y > 0), 1.0 * (s.y < 0)
        difference = s.combination(cp.multiply(s.y, c))
        return Program(
            cp.Minimize(difference.norm_squared),
            {
                "rho_plus": plus @ c == 1,
                "rho_minus": minus @ c == 1,
            },
            domain=[c >= 0],
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = 2 (p - q), and each hyperplane moves to the nearest point of its class."""
        w = s.combination(2 * s.y * dual.c)
        rho_plus, rho_minus = w.values[s.y > 0].min(), w.values[s.y < 0].max()
        if rho_plus - rho_minus < 0.25 * w.norm_squared:  # w = 0 has the value 0, which is better
            return {"w": 0.0 * w, "rho_plus": 0.0, "rho_minus": 0.0}
        return {"w": w, "rho_plus": rho_plus, "rho_minus": rho_minus}

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """<w, phi(x)> - (rho_plus + rho_minus) / 2: which of the closest points is nearer."""
        return np.asarray(primal.w.values - (primal.rho_plus + primal.rho_minus) / 2)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The hyperplanes are as far apart as the hulls, support them, and lie evenly about the middle."""
        p, q = hull_points(s, dual.c)
        size = radius(s) * (primal.w.norm + NEARLY_MEET * radius(s))
        between = primal.rho_plus - primal.rho_minus
        yield equal("d ||w|| = rho_plus - rho_minus = 2 d^2", between, 2 * (p - q).norm_squared, size)
        if primal.w.norm <= NEARLY_MEET * radius(s):
            return
        middle = (primal.rho_plus + primal.rho_minus) / 2
        yield equal("the middle is (rho_plus + rho_minus) / 2", middle, p.norm_squared - q.norm_squared, size)
        nearest_plus, nearest_minus = np.min(primal.w.values[s.y > 0]), np.max(primal.w.values[s.y < 0])
        yield equal("rho_plus supports its hull", nearest_plus, primal.rho_plus, size)
        yield equal("rho_minus supports its hull", nearest_minus, primal.rho_minus, size)
