"""Ridge regression."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.scikit_learn import estimator, expect
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, equal, positive


class Ridge(Formulation):
    r"""Least squares with a penalty on the norm of the weight vector, without offset.

    Primal   min   ridge <w, w> + sum_i xi_i^2
             s.t.  xi_i = y_i - <w, phi(x_i)>                                   : beta_i
    Dual     max   -sum_i beta_i y_i - 1/4 sum_i beta_i^2 - 1/(4 ridge) sum_ij beta_i beta_j k(x_i, x_j)

    The text's dual variables are alpha = -beta / (2 ridge), so that w = sum_i alpha_i phi(x_i) and
    (K + ridge I) alpha = y. With costs c_i per point, xi_i^2 becomes c_i xi_i^2.

    >>> import kopt
    >>> solution = kopt.solve(Ridge(ridge=1.0), kopt.Sample([[1.0], [2.0]], [1.0, 2.0]))
    >>> round(float(solution.primal.w.norm), 6)
    0.833333
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 2.5, (2.6)")
    task = Task.REGRESSION

    ridge: float = positive(default=1.0)

    def primal(self, s: View) -> Program:
        """The residuals are variables, so that their definition carries the multipliers."""
        w, xi = s.weight("w"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(self.ridge * w.norm_squared + cp.sum(cp.multiply(s.costs, cp.square(xi)))),
            {"beta": xi == s.y - w.values},
        )

    def dual(self, s: View) -> Program:
        """Without constraints: its optimum is a linear system."""
        beta = cp.Variable(s.n, name="beta")
        u = s.combination(beta)
        squares = cp.sum(cp.multiply(1 / s.costs, cp.square(beta)))
        return Program(cp.Maximize(-s.y @ beta - squares / 4 - u.norm_squared / (4 * self.ridge)))

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = -1/(2 ridge) sum_i beta_i phi(x_i)."""
        w = s.combination(dual.beta) * (-0.5 / self.ridge)
        return {"w": w, "xi": s.y - w.values}

    def to_scikit_learn(self, s: Sample) -> Any:
        """KernelRidge with alpha = ridge; costs are its sample_weight."""
        return estimator("kernel_ridge", "KernelRidge", alpha=self.ridge)

    @classmethod
    def from_scikit_learn(cls, fitted: Any, s: Sample) -> tuple[Formulation, dict[str, Any]]:
        """dual_coef_ holds the text's alpha = -beta / (2 ridge)."""
        expect(fitted, "KernelRidge", s.n)
        return cls(ridge=fitted.alpha), {"beta": -2 * fitted.alpha * fitted.dual_coef_}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """(2.6): the linear system of the dual variables, and the value."""
        alpha = -dual.beta / (2 * self.ridge)
        residual = s.combination(alpha).values + self.ridge * alpha / s.costs - s.y
        yield equal("||(K + ridge I) alpha - y|| = 0", np.linalg.norm(residual), 0.0, scale=float(np.linalg.norm(s.y)))
        value = self.ridge * primal.w.norm_squared + s.costs @ primal.xi**2
        yield equal("value = ridge y' alpha", value, self.ridge * s.y @ alpha, scale=float(s.costs @ s.y**2))
