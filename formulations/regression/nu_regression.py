"""Support vector regression in which the tube finds its own width."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.regression.tubes import best_offset, multipliers, objective_size, slacks, tube_claims
from formulations.scikit_learn import coefficients, estimator, expect
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
    positive,
)


class NuRegression(Formulation):
    r"""Regression with a tube that is just so wide that at most a fraction nu of the points lie outside.

    Primal   min   1/2 <w, w> + C (nu epsilon + 1/l sum_i (xi_i + xi_hat_i))
             s.t.  <w, phi(x_i)> + b - y_i <= epsilon + xi_i                    : alpha_i
                   y_i - <w, phi(x_i)> - b <= epsilon + xi_hat_i                : alpha_hat_i
                   xi_i >= 0                                                    : mu_i
                   xi_hat_i >= 0                                                : mu_hat_i
                   epsilon >= 0                                                 : delta
    Dual     max   sum_i y_i (alpha_hat_i - alpha_i)
                   - 1/2 sum_ij (alpha_hat_i - alpha_i) (alpha_hat_j - alpha_j) k(x_i, x_j)
             s.t.  sum_i (alpha_hat_i - alpha_i) = 0                            : b
                   sum_i (alpha_hat_i + alpha_i) <= C nu                        : epsilon
                   alpha_i <= C/l                                               : xi_i
                   alpha_hat_i <= C/l                                           : xi_hat_i
                   alpha_i, alpha_hat_i >= 0

    The text leaves epsilon >= 0 unsaid, which holds by itself if nu < 1, and its dual keeps a term in epsilon that
    does not belong there. It is the linear machine with C/l and the epsilon found. With costs c_i per point, C/l
    becomes C c_i/l.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 1.0, 9.0, 3.0, 4.0])
    >>> solution = kopt.solve(NuRegression(C=50.0, nu=0.3), sample)
    >>> round(float(solution.primal.w.norm), 6), round(float(solution.primal.epsilon), 6)
    (1.0, 3.5)
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 7.50, (7.24), Algorithm 7.51")
    task = Task.REGRESSION

    C: float = positive(default=1.0)
    nu: float = fraction(default=0.5)

    def primal(self, s: View) -> Program:
        """The width of the tube against the slacks on either side."""
        w, b, epsilon = s.weight("w"), cp.Variable(name="b"), cp.Variable(name="epsilon")
        xi, xi_hat = cp.Variable(s.n, name="xi"), cp.Variable(s.n, name="xi_hat")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * (self.nu * epsilon + s.costs @ (xi + xi_hat) / s.n)),
            {
                "alpha": w.values + b - s.y <= epsilon + xi,
                "alpha_hat": s.y - w.values - b <= epsilon + xi_hat,
                "mu": xi >= 0,
                "mu_hat": xi_hat >= 0,
                "delta": epsilon >= 0,
            },
        )

    def dual(self, s: View) -> Program:
        """A quadratic program over a box with two rows."""
        alpha, alpha_hat = cp.Variable(s.n, name="alpha"), cp.Variable(s.n, name="alpha_hat")
        w = s.combination(alpha_hat - alpha)
        C, total = self.C * s.costs / s.n, cp.sum(alpha_hat + alpha)
        return Program(
            cp.Maximize(s.y @ (alpha_hat - alpha) - 0.5 * w.norm_squared),
            {
                "b": cp.sum(alpha_hat - alpha) == 0,
                "epsilon": total <= self.C * self.nu,
                "xi": alpha <= C,
                "xi_hat": alpha_hat <= C,
            },
            domain=[alpha >= 0, alpha_hat >= 0],
            multipliers={"mu": C - alpha, "mu_hat": C - alpha_hat, "delta": self.C * self.nu - total},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i (alpha_hat_i - alpha_i) phi(x_i), and the walls b +- epsilon are order statistics of its errors."""
        w = s.combination(dual.alpha_hat - dual.alpha)
        errors = s.y - w.values
        b, epsilon = self._tube(errors, s.costs / s.n)
        return {"w": w, "b": b, "epsilon": epsilon, **slacks(errors - b, epsilon)}

    def _tube(self, errors: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """The b and epsilon that fit the errors best; in b + epsilon and b - epsilon the problem falls apart."""
        if self.nu >= np.sum(weights):  # a wider tube costs more than it saves
            return best_offset(errors, weights), 0.0
        top = minimise_hinges(self.nu / 2, falling=(weights, errors)).chosen
        bottom = -minimise_hinges(self.nu / 2, falling=(weights, -errors)).chosen
        return (top + bottom) / 2, max(0.0, (top - bottom) / 2)

    def to_scikit_learn(self, s: Sample) -> Any:
        """NuSVR, whose C is the one of a single point, C/l, and whose nu is a fraction of the total cost.

        Beyond the mean cost nu changes nothing.
        """
        return estimator("svm", "NuSVR", C=self.C / s.n, nu=min(1.0, self.nu / float(np.mean(s.costs))))

    @classmethod
    def from_scikit_learn(cls, fitted: Any, s: Sample) -> tuple[Formulation, dict[str, Any]]:
        """dual_coef_ holds alpha_hat_i - alpha_i; the width of the tube is not kept and is taken as best for it."""
        expect(fitted, "NuSVR", s.n)
        nu = fitted.nu * float(np.mean(s.costs))
        w, b = coefficients(fitted, s.n), fitted.intercept_[0]
        errors = s.y - s.gram().product(w) - b
        epsilon = minimise_hinges(nu, falling=(s.costs / s.n, np.abs(errors)), t_min=0.0).chosen
        answer = {"w": w, "b": b, "epsilon": epsilon, **slacks(errors, epsilon), **multipliers(w)}
        return cls(C=fitted.C * s.n, nu=nu), answer

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The nu-property, what the multipliers pay for, and where the errors lie."""
        excess = np.abs(s.y - primal.w.values - primal.b) - primal.epsilon
        # Beyond the sum of the costs nu changes nothing.
        budget = min(self.nu * s.n, float(np.sum(s.costs)))
        yield from counting_claims(excess, s.costs, budget, float(np.max(np.abs(s.y))))
        beta = dual.alpha_hat - dual.alpha
        C = self.C * s.costs / s.n
        spent = primal.w.norm_squared + self.C * self.nu * primal.epsilon + C @ (primal.xi + primal.xi_hat)
        size = objective_size(s, beta)
        yield equal("y' beta = ||w||^2 + C (nu epsilon + 1/l sum (xi + xi_hat))", s.y @ beta, spent, scale=size)
        unused = primal.epsilon * (self.C * self.nu - np.sum(np.abs(beta)))
        yield equal("|beta| = C nu where epsilon > 0: epsilon (C nu - |beta|) = 0", unused, 0.0, scale=size)
        yield from tube_claims(s, primal, dual, float(primal.epsilon), C, size)
