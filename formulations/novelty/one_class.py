"""The hyperplane that keeps the points away from the origin."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.limits import check_at_most
from formulations.novelty.spheres import squared_distances
from formulations.scikit_learn import coefficients, estimator, expect
from formulations.statements import NEARLY_CANCELS, case_claims, radius
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


class OneClass(Formulation):
    r"""Hyperplane far from the origin with at most a fraction nu of the points on the origin's side.

    Primal   min   1/2 <w, w> - rho + 1/(nu l) sum_i xi_i
             s.t.  <w, phi(x_i)> >= rho - xi_i                                  : alpha_i
                   xi_i >= 0                                                    : mu_i
    Dual     max   -1/2 sum_ij alpha_i alpha_j k(x_i, x_j)
             s.t.  sum_i alpha_i = 1                                            : rho
                   alpha_i <= 1/(nu l)                                          : xi_i
                   alpha_i >= 0

    w is the point nearest to the origin of a reduced convex hull. Where k(x, x) is the same for all points, nu alpha
    and the points outside are those of the sphere with the same nu: its centre is w, r^2 = k(x, x) - 2 rho + <w, w>.
    With costs c_i per point, 1/(nu l) becomes c_i/(nu l).

    >>> import kopt
    >>> solution = kopt.solve(OneClass(nu=0.4), kopt.Sample([[1.0], [2.0], [3.0], [4.0], [5.0]]))
    >>> solution.predict([[1.0], [6.0]]).tolist()
    [-1, 1]
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Remark 7.16")
    task = Task.NOVELTY

    nu: float = fraction(default=0.5)

    def requires(self, s: Sample) -> None:
        """The multipliers must be able to add up to 1."""
        check_at_most("nu", self.nu, float(np.sum(s.costs)) / s.n, "these costs")

    def bound(self, s: View) -> np.ndarray:
        """Upper bound 1/(nu l) of each multiplier, times its cost."""
        return s.costs / (self.nu * s.n)

    def primal(self, s: View) -> Program:
        """Distance from the origin against slacks."""
        w, rho, xi = s.weight("w"), cp.Variable(name="rho"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared - rho + self.bound(s) @ xi),
            {
                "alpha": w.values >= rho - xi,
                "mu": xi >= 0,
            },
        )

    def dual(self, s: View) -> Program:
        """The shortest vector of the reduced convex hull."""
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(alpha)
        return Program(
            cp.Maximize(-0.5 * w.norm_squared),
            {
                "rho": cp.sum(alpha) == 1,
                "xi": alpha <= self.bound(s),
            },
            domain=[alpha >= 0],
            multipliers={"mu": self.bound(s) - alpha},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i alpha_i phi(x_i), and rho is an order statistic of its values."""
        w = s.combination(dual.alpha)
        rho = minimise_hinges(-1.0, rising=(self.bound(s), w.values)).chosen
        return {"w": w, "rho": rho, "xi": np.maximum(0.0, rho - w.values)}

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """<w, phi(x)> - rho, negative for novel points."""
        return np.asarray(primal.w.values - primal.rho)

    def to_scikit_learn(self, s: Sample) -> Any:
        """OneClassSVM, whose nu is a fraction of the total cost."""
        return estimator("svm", "OneClassSVM", nu=self.nu / float(np.mean(s.costs)))

    @classmethod
    def from_scikit_learn(cls, fitted: Any, s: Sample) -> tuple[Formulation, dict[str, Any]]:
        """dual_coef_ holds nu l alpha_i, and intercept_ is -nu l rho."""
        expect(fitted, "OneClassSVM", s.n)
        nu = fitted.nu * float(np.mean(s.costs))
        alpha, rho = coefficients(fitted, s.n) / (nu * s.n), -fitted.intercept_[0] / (nu * s.n)
        xi = np.maximum(0.0, rho - s.gram().product(alpha))
        return cls(nu=nu), {"w": alpha, "rho": rho, "xi": xi, "alpha": alpha}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The nu-property, what rho consists of, which multipliers are at a bound, and the sphere."""
        w, rho, C = primal.w, primal.rho, self.bound(s)
        excess, unit = rho - w.values, radius(s) * max(w.norm, NEARLY_CANCELS * radius(s))
        yield from counting_claims(excess, s.costs, self.nu * s.n, unit)
        yield equal("rho = ||w||^2 + 1/(nu l) sum xi", rho, w.norm_squared + C @ primal.xi, scale=unit)
        yield from case_claims(dual.alpha, primal.xi, excess, C, unit, unit, ("<w, phi>", "rho"), "1/(nu l)")
        square = radius(s) ** 2
        if np.ptp(s.diagonal()) <= 1e-12 * square:
            distances, R = squared_distances(s, w), square - 2 * rho + w.norm_squared
            sphere = R + C @ np.maximum(0.0, distances - R)
            W = s.diagonal() @ dual.alpha - s.combination(dual.alpha).norm_squared
            yield equal("the sphere of the same alpha: r^2 + 1/(nu l) sum (d^2 - r^2)_+ = W", sphere, W, scale=square)
