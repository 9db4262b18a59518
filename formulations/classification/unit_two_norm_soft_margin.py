"""The soft margin machine with a quadratic penalty and a weight vector of unit length."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import nnls

from formulations.classification.margins import best_margin_and_offset, class_claims, nearest_claims
from formulations.statements import radius, relaxation_claim
from kopt import Claim, Formulation, Point, Program, Reference, Task, View, equal, positive

# Below this fraction of its terms the direction of a sum that a solver found may be the solver's error.
NEARLY_VANISHES = 1e-3
# By so much of the margin the conditions are relaxed, because a solver's alpha may miss feasibility by its last digits.
TOLERATED = 1e-7


class UnitTwoNormSoftMargin(Formulation):
    r"""Soft margin with the slacks penalised by their squares and a weight vector of length 1.

    Primal   min   -gamma + C sum_i xi_i^2
             s.t.  y_i (<w, phi(x_i)> + b) >= gamma - xi_i                      : alpha_i
                   <w, w> <= 1                                                  : lambda
    Dual     max   -1/(4C) sum_i alpha_i^2 - ( sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j) )^(1/2)
             s.t.  sum_i y_i alpha_i = 0                                        : b
                   sum_i alpha_i = 1                                            : gamma
                   alpha_i >= 0

    The text's <w, w> = 1 is relaxed to <w, w> <= 1; the two agree where lambda > 0, and for classes that are not
    separable lambda = 0 if C is too large. With costs c_i per point, C becomes C c_i.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    >>> kopt.solve(UnitTwoNormSoftMargin(C=2.0), sample).certificate.holds(1e-6)
    True
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 7.36")
    task = Task.CLASSIFICATION

    C: float = positive(default=1.0)

    def primal(self, s: View) -> Program:
        """Margin against squared slacks, for a vector of length at most 1."""
        w, b = s.weight("w"), cp.Variable(name="b")
        gamma, xi = cp.Variable(name="gamma"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(-gamma + self.C * cp.sum(cp.multiply(s.costs, cp.square(xi)))),
            {
                "alpha": cp.multiply(s.y, w.values + b) >= gamma - xi,
                "lambda": w.norm_squared <= 1,
            },
        )

    def dual(self, s: View) -> Program:
        """A norm and a sum of squares over the simplex with one row."""
        alpha = cp.Variable(s.n, name="alpha")
        u = s.combination(cp.multiply(s.y, alpha))
        squares = cp.sum(cp.multiply(1 / s.costs, cp.square(alpha)))
        return Program(
            cp.Maximize(-squares / (4 * self.C) - u.norm),
            {
                "b": s.y @ alpha == 0,
                "gamma": cp.sum(alpha) == 1,
            },
            domain=[alpha >= 0],
            multipliers={"lambda": 0.5 * u.norm},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w is the direction of sum_i y_i alpha_i phi(x_i); gamma and b balance the slacks of the two classes.

        Where that sum vanishes, lambda = 0 and w follows from the slacks xi_i = alpha_i / (2C) of the support vectors;
        where it nearly does, its direction may be rounding, and the better of the two is taken.
        """
        u = s.combination(s.y * dual.alpha)
        candidates = [self._completed(s, u.direction())]
        if u.norm <= NEARLY_VANISHES * radius(s) * np.sum(np.abs(dual.alpha)):
            candidates.append(self._completed(s, self._with_slacks(s, dual.alpha)))
        return min(candidates, key=lambda point: self.C * s.costs @ point["xi"] ** 2 - point["gamma"])

    def _completed(self, s: View, w: Any) -> dict[str, Any]:
        gamma, b = best_margin_and_offset(s.y, w.values, self.C * s.costs, power=2)
        return {"w": w, "b": b, "gamma": gamma, "xi": np.maximum(0.0, gamma - s.y * (w.values + b))}

    def _with_slacks(self, s: View, alpha: np.ndarray) -> Any:
        """The shortest w with y_i (<w, phi(x_i)> + b) >= gamma - xi_i for some b, where lambda = 0.

        The offset is eliminated by a support vector, whose condition is an equality. Least-distance programming
        (Lawson and Hanson, chapter 23) turns min ||w|| s.t. G w >= h into non-negative least squares.
        """
        xi = alpha / (2 * self.C * s.costs)
        margin = (1 - TOLERATED) * float(alpha @ xi) - xi
        k = int(np.argmax(alpha))
        values, vectors = np.linalg.eigh(s.gram())
        kept = values > 1e-12 * np.max(values)
        Phi = vectors[:, kept] * np.sqrt(values[kept])
        G, h = s.y[:, None] * (Phi - Phi[k]), margin - s.y * s.y[k] * margin[k]
        size = float(np.max(np.abs(h))) or 1.0
        system = np.vstack([G.T, h / size])
        residual = system @ nnls(system, np.eye(len(system))[-1])[0] - np.eye(len(system))[-1]
        z = -size * residual[:-1] / residual[-1] if residual[-1] else np.zeros(len(residual) - 1)
        w = s.combination(vectors[:, kept] @ (z / np.sqrt(values[kept])))
        return w / max(1.0, w.norm)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The margin and the slacks from the multipliers, which points have that margin, and the relaxation."""
        gamma, u, prices = primal.gamma, s.combination(s.y * dual.alpha), 2 * self.C * s.costs
        shares = dual.alpha / prices
        yield equal("gamma = sqrt(alpha' G alpha) + 1/(2C) sum alpha^2", gamma, u.norm + dual.alpha @ shares)
        missed = np.sum(np.abs(prices * primal.xi - dual.alpha))
        yield equal("the slacks are alpha / (2C): sum |2C xi - alpha| = 0", missed, 0.0, scale=1.0)
        yield from class_claims(s.y, dual.alpha)
        margins, size = s.y * (primal.w.values + primal.b) + shares, max(radius(s), gamma)
        yield from nearest_claims(s.y, margins, gamma, scale=size, name="gamma, with its slack")
        away = np.abs(dual.alpha) @ np.abs(margins - gamma)
        yield equal("alpha > 0 only where y f = gamma - xi: sum alpha |y f + xi - gamma| = 0", away, 0.0, scale=size)
        yield relaxation_claim(s, primal, dual)
