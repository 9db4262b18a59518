"""The soft margin machine with a weight vector of unit length."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.classification.margins import (
    best_margin_and_offset,
    class_claims,
    order_statistic_claims,
    smallest_cost,
    unit_of_scores,
)
from formulations.limits import check_at_least
from formulations.statements import case_claims, radius, relaxation_claim
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, equal, positive


class UnitSoftMargin(Formulation):
    r"""Soft margin with the slacks penalised linearly and a weight vector of length 1.

    Primal   min   -gamma + C sum_i xi_i
             s.t.  y_i (<w, phi(x_i)> + b) >= gamma - xi_i                      : alpha_i
                   xi_i >= 0                                                    : mu_i
                   <w, w> <= 1                                                  : lambda
    Dual     max   -( sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j) )^(1/2)
             s.t.  sum_i y_i alpha_i = 0                                        : b
                   sum_i alpha_i = 1                                            : gamma
                   alpha_i <= C                                                 : xi_i
                   alpha_i >= 0

    The text's <w, w> = 1 is relaxed to <w, w> <= 1; the two agree where lambda > 0. The primal is bounded only if
    C is at least 1 / (2 l), l the size of the smaller class. With costs c_i per point, C becomes C c_i.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [3.0]], [-1, 1])
    >>> round(float(kopt.solve(UnitSoftMargin(C=1.0), sample).primal.gamma), 6)
    1.5
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 7.28, Algorithm 7.29")
    task = Task.CLASSIFICATION

    C: float = positive(default=1.0)

    def requires(self, s: Sample) -> None:
        """The multipliers of each class must be able to add up to 1/2."""
        check_at_least("C", self.C, smallest_cost(s), "these classes")

    def primal(self, s: View) -> Program:
        """Margin against slacks, for a vector of length at most 1."""
        w, b = s.weight("w"), cp.Variable(name="b")
        gamma, xi = cp.Variable(name="gamma"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(-gamma + self.C * s.costs @ xi),
            {
                "alpha": cp.multiply(s.y, w.values + b) >= gamma - xi,
                "mu": xi >= 0,
                "lambda": w.norm_squared <= 1,
            },
        )

    def dual(self, s: View) -> Program:
        """Half the distance between the reduced convex hulls, with weights at most 2C."""
        alpha = cp.Variable(s.n, name="alpha")
        u = s.combination(cp.multiply(s.y, alpha))
        return Program(
            cp.Maximize(-u.norm),
            {
                "b": s.y @ alpha == 0,
                "gamma": cp.sum(alpha) == 1,
                "xi": alpha <= self.C * s.costs,
            },
            domain=[alpha >= 0],
            multipliers={"mu": self.C * s.costs - alpha, "lambda": 0.5 * u.norm},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w is the direction of sum_i y_i alpha_i phi(x_i); gamma and b are order statistics of its values."""
        w = s.combination(s.y * dual.alpha).direction()
        gamma, b = best_margin_and_offset(s.y, w.values, self.C * s.costs)
        xi = np.maximum(0.0, gamma - s.y * (w.values + b))
        if self.C * s.costs @ xi > gamma:  # w = 0 has the value 0, which is better
            return {"w": 0.0 * w, "b": 0.0, "gamma": 0.0, "xi": np.zeros(s.n)}
        return {"w": w, "b": b, "gamma": gamma, "xi": xi}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """Theorem 7.30's slack sum, where alpha is 0 or C, the rule for gamma and b, and the relaxation."""
        C, u = self.C * s.costs, s.combination(s.y * dual.alpha)
        left = primal.gamma - u.norm
        yield equal(
            "C sum xi = gamma - sqrt(-W), half the distance of the reduced hulls", C @ primal.xi, left, radius(s)
        )
        yield from class_claims(s.y, dual.alpha)
        excess = primal.gamma - s.y * (primal.w.values + primal.b)
        yield from case_claims(dual.alpha, primal.xi, excess, C, radius(s), radius(s), ("y f", "gamma"))
        yield from order_statistic_claims(s, excess, self.C, unit_of_scores(s, primal))
        yield relaxation_claim(s, primal, dual)
