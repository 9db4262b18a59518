"""The nu-machine with a weight vector of unit length."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.classification.margins import (
    best_margin_and_offset,
    check_nu,
    class_claims,
    class_sums,
    unit_of_scores,
)
from formulations.statements import case_claims, radius, relaxation_claim
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, counting_claims, equal, fraction


class UnitNuSoftMargin(Formulation):
    r"""Soft margin in which nu bounds the fraction of margin errors, with a weight vector of length 1.

    Primal   min   -gamma + 1/(nu l) sum_i xi_i
             s.t.  y_i (<w, phi(x_i)> + b) >= gamma - xi_i                      : alpha_i
                   xi_i >= 0                                                    : mu_i
                   <w, w> <= 1                                                  : lambda
    Dual     max   -( sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j) )^(1/2)
             s.t.  sum_i y_i alpha_i = 0                                        : b
                   sum_i alpha_i = 1                                            : gamma
                   alpha_i <= 1/(nu l)                                          : xi_i
                   alpha_i >= 0

    nu can be at most twice the fraction of the smaller class. The text's <w, w> = 1 is relaxed to <w, w> <= 1; the
    two agree where lambda > 0. With costs c_i per point, 1/(nu l) becomes c_i/(nu l).

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    >>> round(float(kopt.solve(UnitNuSoftMargin(nu=1.0), sample).primal.w.norm), 6)
    1.0
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 7.32, Theorem 7.33")
    task = Task.CLASSIFICATION

    nu: float = fraction(default=0.5)

    def requires(self, s: Sample) -> None:
        """The multipliers of each class must be able to add up to 1/2."""
        check_nu(self.nu, s)

    def bound(self, s: View) -> np.ndarray:
        """Upper bound 1/(nu l) of each multiplier, times its cost."""
        return s.costs / (self.nu * s.n)

    def primal(self, s: View) -> Program:
        """Margin against slacks, for a vector of length at most 1."""
        w, b = s.weight("w"), cp.Variable(name="b")
        gamma, xi = cp.Variable(name="gamma"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(-gamma + self.bound(s) @ xi),
            {
                "alpha": cp.multiply(s.y, w.values + b) >= gamma - xi,
                "mu": xi >= 0,
                "lambda": w.norm_squared <= 1,
            },
        )

    def dual(self, s: View) -> Program:
        """Half the distance between the reduced convex hulls."""
        alpha = cp.Variable(s.n, name="alpha")
        u = s.combination(cp.multiply(s.y, alpha))
        return Program(
            cp.Maximize(-u.norm),
            {
                "b": s.y @ alpha == 0,
                "gamma": cp.sum(alpha) == 1,
                "xi": alpha <= self.bound(s),
            },
            domain=[alpha >= 0],
            multipliers={"mu": self.bound(s) - alpha, "lambda": 0.5 * u.norm},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w is the direction of sum_i y_i alpha_i phi(x_i); gamma and b are order statistics of its values."""
        w = s.combination(s.y * dual.alpha).direction()
        gamma, b = best_margin_and_offset(s.y, w.values, self.bound(s))
        xi = np.maximum(0.0, gamma - s.y * (w.values + b))
        if self.bound(s) @ xi > gamma:  # w = 0 has the value 0, which is better
            return {"w": 0.0 * w, "b": 0.0, "gamma": 0.0, "xi": np.zeros(s.n)}
        return {"w": w, "b": b, "gamma": gamma, "xi": xi}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """Theorem 7.33: nu bounds the margin errors from above and the support vectors from below; the slack sum."""
        C, u = self.bound(s), s.combination(s.y * dual.alpha)
        excess = primal.gamma - s.y * (primal.w.values + primal.b)
        yield from counting_claims(excess, s.costs, self.nu * s.n, unit_of_scores(s, primal))
        left = primal.gamma - u.norm
        yield equal("1/(nu l) sum xi = gamma - sqrt(-W)", C @ primal.xi, left, scale=radius(s))
        yield from class_claims(s.y, dual.alpha)
        yield from case_claims(dual.alpha, primal.xi, excess, C, radius(s), radius(s), ("y f", "gamma"), "1/(nu l)")
        yield relaxation_claim(s, primal, dual)
        halves = class_sums(s.y, s.costs)
        if np.allclose(halves, self.nu * s.n / 2, rtol=1e-12, atol=0.0):
            means = s.combination(s.y * s.costs / halves[0])
            value = primal.gamma - C @ primal.xi
            yield equal("every point counts: half the distance of the means", value, means.norm / 2, scale=radius(s))
