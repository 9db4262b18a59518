"""The regularised Fisher discriminant as a penalised problem."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.classification.means import (
    cancelled_square,
    mean_weights,
    means,
    members,
    other_class,
    own_mean,
    quotient,
    variances,
)
from kopt import Claim, Formulation, Point, Program, Reference, Task, View, at_most, equal, positive


class FisherDiscriminant(Formulation):
    r"""Regularised Fisher discriminant: the distance of the projected means against the variances around them.

    Primal   min   1/2 sum_i D_i xi_i^2 + ridge/2 <w, w> - sum_i D_i y_i (m_(y_i) + xi_i)
             s.t.  m_(y_i) + xi_i = <w, phi(x_i)>                               : alpha_i
    Dual     max   -1/2 sum_i (D_i y_i - alpha_i)^2 / D_i - 1/(2 ridge) sum_ij alpha_i alpha_j k(x_i, x_j)
             s.t.  sum_(i: y_i = 1) alpha_i = -sum_(i: y_i = -1) alpha_i = 2 l+ l-/l   : m

    D_i = 2 l-/l for the l+ positive and 2 l+/l for the l- negative points, (5.13), so that the last sum of the primal
    is 2 l+ l-/l times the distance of the projected means. At the optimum m holds these two means, the first sum is
    2 l+ l-/l times the sum of the two variances, and w maximises the quotient (5.11) for lambda = ridge l / (2 l+ l-).
    The text's dual variables are alpha / ridge, for which (B K + ridge I) (alpha / ridge) = D y; it prints y for D y,
    which is right for classes of equal size. The decision is <w, phi(x)> - b, with b midway between the means.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [2.0], [5.0], [6.0], [7.0]], [-1, -1, 1, 1, 1])
    >>> solution = kopt.solve(FisherDiscriminant(ridge=1.0), sample)
    >>> solution.predict([[3.4], [3.6]]).tolist(), solution.certificate.holds(1e-6)
    ([-1, 1], True)
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 5.14, (5.11)-(5.20), Algorithm 5.16")
    task = Task.CLASSIFICATION

    ridge: float = positive(default=1.0)

    def primal(self, s: View) -> Program:
        """The deviations from the means are variables, so that their definition carries the multipliers."""
        w, m, xi = s.weight("w"), cp.Variable(2, name="m"), cp.Variable(s.n, name="xi")
        D, values = s.named("D", other_class(s.y)), m[own_mean(s.y)] + xi
        return Program(
            cp.Minimize(0.5 * D @ cp.square(xi) + 0.5 * self.ridge * w.norm_squared - (D * s.y) @ values),
            {"alpha": values == w.values},
        )

    def dual(self, s: View) -> Program:
        """A quadratic program with one row for each class."""
        alpha = cp.Variable(s.n, name="alpha")
        D, w = other_class(s.y), s.combination(alpha)
        return Program(
            cp.Maximize(-0.5 * (1 / D) @ cp.square(D * s.y - alpha) - 0.5 / self.ridge * w.norm_squared),
            {"m": members(s.y) @ alpha == members(s.y) @ (D * s.y)},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = 1/ridge sum_i alpha_i phi(x_i), and the means and deviations of its values."""
        w = s.combination(dual.alpha / self.ridge)
        m = means(s.y, w.values)
        return {"w": w, "m": m, "xi": w.values - m[own_mean(s.y)]}

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """<w, phi(x)> - b with b midway between the projected means, (5.20)."""
        return np.asarray(primal.w.values - np.mean(primal.m))

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """(5.11)-(5.20), with D y on the right of the linear system."""
        alpha, D, values = dual.alpha / self.ridge, other_class(s.y), primal.w.values
        u = s.combination(alpha)
        system = D * (u.values - means(s.y, u.values)[own_mean(s.y)]) + self.ridge * alpha - D * s.y
        size = float(np.linalg.norm(D) + np.linalg.norm(D * u.values))
        yield equal("||(B K + ridge I) alpha - D y|| = 0", np.linalg.norm(system), 0.0, scale=size)
        share = 2 * np.sum(s.y > 0) * np.sum(s.y < 0) / s.n
        for name, total, sign in zip(("positive", "negative"), members(s.y) @ alpha, (1, -1), strict=True):
            yield equal(f"sum of alpha over the {name} points = {sign:+d} / lambda", total, sign * share / self.ridge)
        plus, minus = means(s.y, values)
        spread = variances(s.y, values) + self.ridge / share * primal.w.norm_squared
        least = self.ridge / share * cancelled_square(s, alpha)
        scale = max(plus - minus, spread, least)
        yield equal("mu_+ - mu_- = sigma_+^2 + sigma_-^2 + lambda ||w||^2", plus - minus, spread, scale=scale)
        simple = quotient(s, s.combination(s.y * mean_weights(s.y)).direction(), self.ridge / share)
        yield at_most("J(mu_+ - mu_-) <= J(w) = mu_+ - mu_-", simple, plus - minus, scale=scale)
        middle = u.values @ mean_weights(s.y) / 2
        size = max(float(np.max(np.abs(u.values))), np.sqrt(cancelled_square(s, alpha) * np.max(s.diagonal())))
        yield equal("b = 1/2 alpha' K t, midway between the means", np.mean(primal.m), middle, scale=float(size))
