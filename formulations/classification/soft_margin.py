"""The soft margin machine with a linear penalty."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.classification.margins import best_offset
from formulations.scikit_learn import coefficients, estimator, expect
from formulations.statements import case_claims
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, equal, positive


class SoftMargin(Formulation):
    r"""Support vector machine with soft margin, the slacks penalised linearly.

    Primal   min   1/2 <w, w> + C sum_i xi_i
             s.t.  y_i (<w, phi(x_i)> + b) >= 1 - xi_i                          : alpha_i
                   xi_i >= 0                                                    : mu_i
    Dual     max   sum_i alpha_i - 1/2 sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j)
             s.t.  sum_i y_i alpha_i = 0                                        : b
                   alpha_i <= C                                                 : xi_i
                   alpha_i >= 0

    With costs c_i per point, C becomes C c_i.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1])
    >>> solution = kopt.solve(SoftMargin(C=10.0), sample)
    >>> round(float(solution.primal.b), 6), solution.certificate.holds(1e-6)
    (-3.0, True)
    """

    reference = Reference("6.867 lectures 7-8", "(9), (10)")
    task = Task.CLASSIFICATION

    C: float = positive(default=1.0)

    def primal(self, s: View) -> Program:
        """The norm and the slacks are minimised."""
        w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * s.costs @ xi),
            {
                "alpha": cp.multiply(s.y, w.values + b) >= 1 - xi,
                "mu": xi >= 0,
            },
        )

    def dual(self, s: View) -> Program:
        """A quadratic program over a box with one row."""
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, alpha))
        return Program(
            cp.Maximize(cp.sum(alpha) - 0.5 * w.norm_squared),
            {
                "b": s.y @ alpha == 0,
                "xi": alpha <= self.C * s.costs,
            },
            domain=[alpha >= 0],
            multipliers={"mu": self.C * s.costs - alpha},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i y_i alpha_i phi(x_i), and b minimises the sum of the slacks."""
        w = s.combination(s.y * dual.alpha)
        b = best_offset(s.y, w.values, s.costs)
        return {"w": w, "b": b, "xi": np.maximum(0.0, 1 - s.y * (w.values + b))}

    def to_scikit_learn(self, s: Sample) -> Any:
        """SVC with the same C; costs are its sample_weight."""
        return estimator("svm", "SVC", C=self.C)

    @classmethod
    def from_scikit_learn(cls, fitted: Any, s: Sample) -> tuple[Formulation, dict[str, Any]]:
        """dual_coef_ holds y_i alpha_i."""
        expect(fitted, "SVC", s.n)
        w, b = coefficients(fitted, s.n), fitted.intercept_[0]
        xi = np.maximum(0.0, 1 - s.y * (s.gram().product(w) + b))
        return cls(C=fitted.C), {"w": w, "b": b, "xi": xi, "alpha": s.y * w}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """What the multipliers add up to, 6.867 (7) for C beyond bounds; where they are 0 or C."""
        decision, spent = primal.w.values + primal.b, primal.w.norm_squared + self.C * s.costs @ primal.xi
        yield equal("sum alpha = ||w||^2 + C sum xi", np.sum(dual.alpha), spent)
        unit = max(1.0, float(np.max(np.abs(decision))))
        yield from case_claims(dual.alpha, primal.xi, 1 - s.y * decision, self.C * s.costs, spent, unit)
