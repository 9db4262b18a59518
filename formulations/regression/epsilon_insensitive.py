"""Support vector regression with the linear epsilon-insensitive loss."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp

from formulations.regression.tubes import best_offset, linear_loss_claims, multipliers, slacks
from formulations.scikit_learn import coefficients, estimator, expect
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, nonnegative, positive


class EpsilonInsensitive(Formulation):
    r"""Regression in which deviations up to epsilon cost nothing and larger ones cost linearly.

    Primal   min   1/2 <w, w> + C sum_i (xi_i + xi_hat_i)
             s.t.  <w, phi(x_i)> + b - y_i <= epsilon + xi_i                    : alpha_i
                   y_i - <w, phi(x_i)> - b <= epsilon + xi_hat_i                : alpha_hat_i
                   xi_i >= 0                                                    : mu_i
                   xi_hat_i >= 0                                                : mu_hat_i
    Dual     max   sum_i y_i (alpha_hat_i - alpha_i) - epsilon sum_i (alpha_hat_i + alpha_i)
                   - 1/2 sum_ij (alpha_hat_i - alpha_i) (alpha_hat_j - alpha_j) k(x_i, x_j)
             s.t.  sum_i (alpha_hat_i - alpha_i) = 0                            : b
                   alpha_i <= C                                                 : xi_i
                   alpha_hat_i <= C                                             : xi_hat_i
                   alpha_i, alpha_hat_i >= 0

    With costs c_i per point, C becomes C c_i.

    >>> import kopt
    >>> solution = kopt.solve(EpsilonInsensitive(C=10.0, epsilon=0.5), kopt.Sample([[0.0], [2.0]], [0.0, 2.0]))
    >>> round(float(solution.primal.w.norm), 6)
    0.5
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 7.46, Algorithm 7.47")
    task = Task.REGRESSION

    C: float = positive(default=1.0)
    epsilon: float = nonnegative(default=0.1)

    def primal(self, s: View) -> Program:
        """A tube of half-width epsilon, with slacks on either side."""
        w, b = s.weight("w"), cp.Variable(name="b")
        xi, xi_hat = cp.Variable(s.n, name="xi"), cp.Variable(s.n, name="xi_hat")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * s.costs @ (xi + xi_hat)),
            {
                "alpha": w.values + b - s.y <= self.epsilon + xi,
                "alpha_hat": s.y - w.values - b <= self.epsilon + xi_hat,
                "mu": xi >= 0,
                "mu_hat": xi_hat >= 0,
            },
        )

    def dual(self, s: View) -> Program:
        """A quadratic program in the difference of the two multipliers."""
        alpha, alpha_hat = cp.Variable(s.n, name="alpha"), cp.Variable(s.n, name="alpha_hat")
        w = s.combination(alpha_hat - alpha)
        C = self.C * s.costs
        return Program(
            cp.Maximize(s.y @ (alpha_hat - alpha) - self.epsilon * cp.sum(alpha_hat + alpha) - 0.5 * w.norm_squared),
            {
                "b": cp.sum(alpha_hat - alpha) == 0,
                "xi": alpha <= C,
                "xi_hat": alpha_hat <= C,
            },
            domain=[alpha >= 0, alpha_hat >= 0],
            multipliers={"mu": C - alpha, "mu_hat": C - alpha_hat},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i (alpha_hat_i - alpha_i) phi(x_i), and b is a median of the ends of the tube."""
        w = s.combination(dual.alpha_hat - dual.alpha)
        errors = s.y - w.values
        b = best_offset(errors, s.costs, self.epsilon)
        return {"w": w, "b": b, **slacks(errors - b, self.epsilon)}

    def to_scikit_learn(self, s: Sample) -> Any:
        """SVR with the same C and epsilon; costs are its sample_weight."""
        return estimator("svm", "SVR", C=self.C, epsilon=self.epsilon)

    @classmethod
    def from_scikit_learn(cls, fitted: Any, s: Sample) -> tuple[Formulation, dict[str, Any]]:
        """dual_coef_ holds alpha_hat_i - alpha_i."""
        expect(fitted, "SVR", s.n)
        w, b = coefficients(fitted, s.n), fitted.intercept_[0]
        errors = s.y - s.gram().product(w) - b
        answer = {"w": w, "b": b, **slacks(errors, fitted.epsilon), **multipliers(w)}
        return cls(C=fitted.C, epsilon=fitted.epsilon), answer

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """Remark 7.48: what the multipliers pay for, and where the errors lie."""
        yield from linear_loss_claims(s, primal, dual, self.C, self.epsilon)
