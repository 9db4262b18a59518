"""The regularised Fisher discriminant as the quotient that it maximises."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.classification.means import mean_weights, means, members, own_mean, quotient, variances
from kopt import Claim, Formulation, InputError, Point, Program, Reference, Sample, Task, View, at_most, equal, positive

# Below this fraction of its terms the difference of the means is rounding.
ROUNDING = 1e-7


class FisherQuotient(Formulation):
    r"""Regularised Fisher discriminant, scaled so that the projected means have distance 1.

    Primal   min   1/2 sum_i t_i xi_i^2 + ridge/2 <w, w>
             s.t.  1 - sum_i y_i t_i (m_(y_i) + xi_i) = 0                       : nu
                   m_(y_i) + xi_i = <w, phi(x_i)>                               : alpha_i
    Dual     max   nu - 1/2 sum_i (nu y_i t_i - alpha_i)^2 / t_i - 1/(2 ridge) sum_ij alpha_i alpha_j k(x_i, x_j)
             s.t.  sum_(i: y_i = 1) alpha_i = -sum_(i: y_i = -1) alpha_i = nu   : m

    t_i = 1/l+ for the l+ positive and 1/l- for the l- negative points, (5.21), so that the first constraint is about
    the distance of the projected means; at the optimum m holds these two means, and the first sum is the sum of the
    two variances. The quotient (5.11) does not depend on the length of w: with its numerator at 1, maximising J means
    minimising its denominator, the value is 1/(2 J), and nu = 1/J. The ridge is the lambda of (5.11). The decision is
    <w, phi(x)> - b, with b midway between the means.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [2.0], [5.0], [6.0], [7.0]], [-1, -1, 1, 1, 1])
    >>> solution = kopt.solve(FisherQuotient(ridge=1.0), sample)
    >>> round(1 / float(solution.dual.nu), 6)  # 25 / (1 + 2/3 + 1)
    9.375
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 5.14, (5.11), (5.20)")
    task = Task.CLASSIFICATION

    ridge: float = positive(default=1.0)

    def requires(self, s: Sample) -> None:
        """Means that coincide have no distance to be scaled to 1."""
        d = s.y * mean_weights(s.y)
        distance, terms = np.sqrt(s.gram().norm_squared(d)), s.gram().uncancelled(d)
        if distance <= ROUNDING * terms:
            raise InputError(
                f"The means of the two classes have distance {distance:.1e} in feature space, so that no direction "
                "tells them apart.",
                "Use a kernel with a richer feature space.",
            )

    def primal(self, s: View) -> Program:
        """The variances and the norm, for means at distance 1."""
        w, m, xi = s.weight("w"), cp.Variable(2, name="m"), cp.Variable(s.n, name="xi")
        t, values = s.named("t", mean_weights(s.y)), m[own_mean(s.y)] + xi
        return Program(
            cp.Minimize(0.5 * t @ cp.square(xi) + 0.5 * self.ridge * w.norm_squared),
            {
                "nu": 1 - (s.y * t) @ values == 0,
                "alpha": values == w.values,
            },
        )

    def dual(self, s: View) -> Program:
        """A quadratic program with one row for each class."""
        nu, alpha = cp.Variable(name="nu"), cp.Variable(s.n, name="alpha")
        t, w = mean_weights(s.y), s.combination(alpha)
        return Program(
            cp.Maximize(nu - 0.5 * (1 / t) @ cp.square(nu * (s.y * t) - alpha) - 0.5 / self.ridge * w.norm_squared),
            {"m": members(s.y) @ alpha == nu * np.array([1.0, -1.0])},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i alpha_i phi(x_i) scaled to distance 1, or mu_+ - mu_- where that does not tell the means apart."""
        d = s.y * mean_weights(s.y)
        w = s.combination(dual.alpha)
        if d @ w.values <= 0:
            w = s.combination(d)
        w = w / (d @ w.values)
        m = means(s.y, w.values)
        return {"w": w, "m": m, "xi": w.values - m[own_mean(s.y)]}

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """<w, phi(x)> - b with b midway between the projected means, (5.20)."""
        return np.asarray(primal.w.values - np.mean(primal.m))

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """nu is 1/J, and the conditions of (5.18)-(5.20) in this scale."""
        alpha, t, values = dual.alpha / self.ridge, mean_weights(s.y), primal.w.values
        spread = variances(s.y, values) + self.ridge * primal.w.norm_squared
        yield equal("nu = sigma_+^2 + sigma_-^2 + lambda ||w||^2", dual.nu, spread)
        yield equal("nu = 1 / J(w)", dual.nu * quotient(s, primal.w, self.ridge), 1.0)
        simple = quotient(s, s.combination(s.y * t), self.ridge)
        yield at_most("J(mu_+ - mu_-) <= 1 / nu", simple * dual.nu, 1.0)
        for name, total, sign in zip(("positive", "negative"), members(s.y) @ alpha, (1, -1), strict=True):
            yield equal(
                f"sum of alpha over the {name} points = {sign:+d} nu / lambda", total, sign * dual.nu / self.ridge
            )
        u = s.combination(alpha)
        system = t * (u.values - means(s.y, u.values)[own_mean(s.y)]) + self.ridge * alpha - dual.nu * s.y * t
        size = float(np.linalg.norm(t * u.values) + abs(dual.nu) * np.linalg.norm(t))
        yield equal("||(l/(2 l+ l-) B K + lambda I) alpha - nu d|| = 0", np.linalg.norm(system), 0.0, scale=size)
        size = max(1.0, float(np.max(np.abs(values))))
        yield equal("b = 1/2 alpha' K t, midway between the means", np.mean(primal.m), u.values @ t / 2, scale=size)
