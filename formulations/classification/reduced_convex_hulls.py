"""The closest points of the reduced convex hulls of two classes."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.classification.margins import NEARLY_MEET, best_margin_and_offset, class_sums, hull_points
from formulations.limits import check_at_least
from formulations.statements import radius
from kopt import (
    Claim,
    Domain,
    Formulation,
    Point,
    Program,
    Reference,
    Sample,
    Task,
    View,
    counting_claims,
    equal,
    parameter,
)


class ReducedConvexHulls(Formulation):
    r"""The distance between the convex hulls of the two classes, reduced so that no point weighs more than D.

    Primal   max   rho_plus - rho_minus - 1/4 <w, w> - D sum_i xi_i
             s.t.  <w, phi(x_i)> >= rho_plus - xi_i    where y_i = 1            : c_i
                   <w, phi(x_i)> <= rho_minus + xi_i   where y_i = -1           : c_i
                   xi_i >= 0                                                    : mu_i
    Dual     min   || sum_(y_i = 1) c_i phi(x_i) - sum_(y_i = -1) c_i phi(x_i) ||^2
             s.t.  sum_(y_i = 1) c_i = 1                                        : rho_plus
                   sum_(y_i = -1) c_i = 1                                       : rho_minus
                   c_i <= D                                                     : xi_i
                   c_i >= 0

    The text cites the reduction (Bennett and Bredensteiner) for classes that are not separable: hulls that meet are
    reduced until they do not. If D is 1 / (size of a class), that hull is reduced to the mean, and a smaller D is
    refused; from D = 1 on nothing is reduced. If p and q are the closest points and d is their distance, the optimum
    is d^2 and w = 2 (p - q). This is the nu-machine with nu = 2 / (D l): its weight vector is nu/2 (p - q), its optimum
    -nu^2/8 d^2, and its hyperplane is halfway between the two here, in general not halfway between p and q. With costs
    per point, D becomes D times the cost of the point.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [2.0], [1.0], [3.0]], [-1, -1, 1, 1])
    >>> round(kopt.solve(ReducedConvexHulls(D=0.5), sample).value, 6)
    1.0
    """

    reference = Reference("6.867 lectures 7-8", "(8) with c_i <= D")
    task = Task.CLASSIFICATION

    D: float = parameter(Domain("a finite number > 0", lambda value: value > 0, typical=(0.08, 0.95)), default=0.5)

    def requires(self, s: Sample) -> None:
        """The weights of each class must be able to add up to 1."""
        check_at_least("D", self.D, 1 / min(class_sums(s.y, s.costs)), "these classes")

    def primal(self, s: View) -> Program:
        """Two parallel hyperplanes, one for each class, and slacks for the points beyond them."""
        w, rho_plus, rho_minus = s.weight("w"), cp.Variable(name="rho_plus"), cp.Variable(name="rho_minus")
        xi = cp.Variable(s.n, name="xi")
        plus, minus = 1.0 * (s.y > 0), 1.0 * (s.y < 0)
        return Program(
            cp.Maximize(rho_plus - rho_minus - 0.25 * w.norm_squared - self.D * s.costs @ xi),
            {
                "c": cp.multiply(s.y, w.values) >= plus * rho_plus - minus * rho_minus - xi,
                "mu": xi >= 0,
            },
        )

    def dual(self, s: View) -> Program:
        """A quadratic program over two simplices with their corners cut off."""
        c = cp.Variable(s.n, name="c")
        plus, minus = 1.0 * (s.y > 0), 1.0 * (s.y < 0)
        difference = s.combination(cp.multiply(s.y, c))
        return Program(
            cp.Minimize(difference.norm_squared),
            {
                "rho_plus": plus @ c == 1,
                "rho_minus": minus @ c == 1,
                "xi": c <= self.D * s.costs,
            },
            domain=[c >= 0],
            multipliers={"mu": self.D * s.costs - c},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = 2 (p - q); the hyperplanes are order statistics of its values."""
        w = s.combination(2 * s.y * dual.c)
        half, b = best_margin_and_offset(s.y, w.values, self.D * s.costs, gain=2.0)
        xi = np.maximum(0.0, half - s.y * (w.values + b))
        if 2 * half - self.D * s.costs @ xi < 0.25 * w.norm_squared:  # w = 0 has the value 0, which is better
            return {"w": 0.0 * w, "rho_plus": 0.0, "rho_minus": 0.0, "xi": np.zeros(s.n)}
        return {"w": w, "rho_plus": half - b, "rho_minus": -half - b, "xi": xi}

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """<w, phi(x)> - (rho_plus + rho_minus) / 2: halfway between the two hyperplanes."""
        return np.asarray(primal.w.values - (primal.rho_plus + primal.rho_minus) / 2)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The distance and the closest points from the hyperplanes and the slacks; the nu-property with nu l = 2/D."""
        p, q = hull_points(s, dual.c)
        w, rho_plus, rho_minus = primal.w, primal.rho_plus, primal.rho_minus
        size = radius(s) * (w.norm + NEARLY_MEET * radius(s))
        slack_plus, slack_minus = class_sums(s.y, self.D * s.costs * primal.xi)
        between = rho_plus - rho_minus - slack_plus - slack_minus
        yield equal("rho_plus - rho_minus - D sum xi = 2 d^2", between, 2 * (p - q).norm_squared, size)
        if w.norm <= NEARLY_MEET * radius(s):
            return
        at_p, at_q = (float(w.values @ point.coefficients) for point in (p, q))
        yield equal("<w, p> = rho_plus - D sum xi over the positive class", at_p, rho_plus - slack_plus, size)
        yield equal("<w, q> = rho_minus + D sum xi over the negative class", at_q, rho_minus + slack_minus, size)
        middle, half = (rho_plus + rho_minus) / 2, (rho_plus - rho_minus) / 2
        unit = float(np.max(np.abs(w.values)))
        yield from counting_claims(half - s.y * (w.values - middle), s.costs, 2 / self.D, unit)
