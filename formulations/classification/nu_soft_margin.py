"""The nu-machine in the form with a squared norm."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.classification.margins import best_margin_and_offset, best_offset, check_nu, class_sums, hull_points
from formulations.scikit_learn import coefficients, estimator, expect
from formulations.statements import NEARLY_CANCELS, case_claims, radius
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, counting_claims, equal, fraction


class NuSoftMargin(Formulation):
    r"""Soft margin in which nu bounds the fraction of margin errors.

    Primal   min   1/2 <w, w> - nu rho + 1/l sum_i xi_i
             s.t.  y_i (<w, phi(x_i)> + b) >= rho - xi_i                        : alpha_i
                   xi_i >= 0                                                    : mu_i
                   rho >= 0                                                     : delta
    Dual     max   -1/2 sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j)
             s.t.  sum_i y_i alpha_i = 0                                        : b
                   sum_i alpha_i >= nu                                          : rho
                   alpha_i <= 1/l                                               : xi_i
                   alpha_i >= 0

    nu can be at most twice the fraction of the smaller class. The geometric margin is rho / ||w||. With costs c_i
    per point, 1/l becomes c_i/l.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    >>> kopt.solve(NuSoftMargin(nu=0.5), sample).predict([[0.5], [3.5]]).tolist()
    [-1, 1]
    """

    reference = Reference("6.867 lectures 7-8", "(11)")
    task = Task.CLASSIFICATION

    nu: float = fraction(default=0.5)

    def requires(self, s: Sample) -> None:
        """The multipliers of each class must be able to add up to nu/2."""
        check_nu(self.nu, s)

    def primal(self, s: View) -> Program:
        """The margin rho is a variable."""
        w, b = s.weight("w"), cp.Variable(name="b")
        rho, xi = cp.Variable(name="rho"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared - self.nu * rho + s.costs @ xi / s.n),
            {
                "alpha": cp.multiply(s.y, w.values + b) >= rho - xi,
                "mu": xi >= 0,
                "delta": rho >= 0,
            },
        )

    def dual(self, s: View) -> Program:
        """A homogeneous quadratic program over a box with two rows."""
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, alpha))
        return Program(
            cp.Maximize(-0.5 * w.norm_squared),
            {
                "b": s.y @ alpha == 0,
                "rho": cp.sum(alpha) >= self.nu,
                "xi": alpha <= s.costs / s.n,
            },
            domain=[alpha >= 0],
            multipliers={"mu": s.costs / s.n - alpha, "delta": cp.sum(alpha) - self.nu},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i y_i alpha_i phi(x_i); rho and b are order statistics of its values."""
        w = s.combination(s.y * dual.alpha)
        rho, b = best_margin_and_offset(s.y, w.values, s.costs / s.n, gain=self.nu)
        if rho < 0:
            rho, b = 0.0, best_offset(s.y, w.values, s.costs, margin=0.0)
        return {"w": w, "b": b, "rho": rho, "xi": np.maximum(0.0, rho - s.y * (w.values + b))}

    def to_scikit_learn(self, s: Sample) -> Any:
        """NuSVC, whose nu is a fraction of the total cost."""
        return estimator("svm", "NuSVC", nu=self.nu / float(np.mean(s.costs)))

    @classmethod
    def from_scikit_learn(cls, fitted: Any, s: Sample) -> tuple[Formulation, dict[str, Any]]:
        """dual_coef_ holds y_i alpha_i / rho and intercept_ is b / rho; the sum of the alpha_i is nu."""
        expect(fitted, "NuSVC", s.n)
        nu = fitted.nu * float(np.mean(s.costs))
        in_units_of_rho = coefficients(fitted, s.n)
        rho = nu / float(np.sum(np.abs(in_units_of_rho)))
        w, b = rho * in_units_of_rho, rho * fitted.intercept_[0]
        xi = np.maximum(0.0, rho - s.y * (s.gram().product(w) + b))
        return cls(nu=nu), {"w": w, "b": b, "rho": rho, "xi": xi, "alpha": s.y * w}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """What rho consists of and where alpha is 0 or 1/l; the nu-property and the hulls where rho is positive."""
        w, rho, spent = primal.w, primal.rho, s.costs @ primal.xi / s.n
        decision, total = w.values + primal.b, float(np.sum(dual.alpha))
        size = radius(s) * max(w.norm, NEARLY_CANCELS * radius(s) * total)
        yield equal("nu rho = ||w||^2 + 1/l sum xi", self.nu * rho, w.norm_squared + spent, scale=self.nu * size)
        excess = rho - s.y * decision
        symbols = ("y f", "rho"), "1/l"
        yield from case_claims(dual.alpha, primal.xi, excess, s.costs / s.n, self.nu * size, size, *symbols)
        unit = float(np.max(np.abs(decision)))
        if rho <= max(1e-5 * unit, 1e-9 * radius(s) ** 2 * total):
            return
        yield from counting_claims(excess, s.costs, self.nu * s.n, unit)
        for of, part in zip(("positive", "negative"), class_sums(s.y, dual.alpha), strict=True):
            yield equal(
                f"sum of alpha over the {of} points = nu/2, times rho", rho * part, rho * self.nu / 2, scale=unit
            )
        p, q = hull_points(s, 2 * dual.alpha / self.nu)
        value, d_squared = 0.5 * w.norm_squared - self.nu * rho + spent, (p - q).norm_squared
        yield equal(
            "value = -nu^2/8 d^2, d the distance of the reduced hulls",
            value,
            -(self.nu**2) / 8 * d_squared,
            scale=self.nu * size,
        )
