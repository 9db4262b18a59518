"""Support vector regression with the quadratic epsilon-insensitive loss."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.regression.tubes import best_offset, objective_size, slacks
from kopt import Claim, Formulation, Point, Program, Reference, Task, View, equal, nonnegative, positive


class QuadraticEpsilonInsensitive(Formulation):
    r"""Regression in which deviations up to epsilon cost nothing and larger ones the square of their excess.

    Primal   min   <w, w> + C sum_i (xi_i^2 + xi_hat_i^2)
             s.t.  <w, phi(x_i)> + b - y_i <= epsilon + xi_i                    : alpha_i
                   y_i - <w, phi(x_i)> - b <= epsilon + xi_hat_i                : alpha_hat_i
    Dual     max   sum_i y_i (alpha_hat_i - alpha_i) - epsilon sum_i (alpha_hat_i + alpha_i)
                   - 1/4 sum_ij (alpha_hat_i - alpha_i) (alpha_hat_j - alpha_j) k(x_i, x_j)
                   - 1/(4 C) sum_i (alpha_i^2 + alpha_hat_i^2)
             s.t.  sum_i (alpha_hat_i - alpha_i) = 0                            : b
                   alpha_i, alpha_hat_i >= 0

    The text prints this dual with half the value, at half the multipliers: it belongs to half the primal, and its
    beta is (alpha_hat - alpha) / 2, so that w = sum_i beta_i phi(x_i). With epsilon = 0 the machine is ridge regression
    with an offset and the ridge 1/C. With costs c_i per point, C becomes C c_i.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [2.0]], [0.0, 3.0])
    >>> solution = kopt.solve(QuadraticEpsilonInsensitive(C=2.0, epsilon=0.5), sample)
    >>> round(float(solution.primal.w.norm), 6), round(solution.value, 6)
    (0.8, 0.8)
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 7.43, (7.22), Algorithm 7.45")
    task = Task.REGRESSION

    C: float = positive(default=1.0)
    epsilon: float = nonnegative(default=0.1)

    def primal(self, s: View) -> Program:
        """A tube of half-width epsilon, with slacks on either side that need no sign."""
        w, b = s.weight("w"), cp.Variable(name="b")
        xi, xi_hat = cp.Variable(s.n, name="xi"), cp.Variable(s.n, name="xi_hat")
        squares = cp.sum(cp.multiply(s.costs, cp.square(xi) + cp.square(xi_hat)))
        return Program(
            cp.Minimize(w.norm_squared + self.C * squares),
            {
                "alpha": w.values + b - s.y <= self.epsilon + xi,
                "alpha_hat": s.y - w.values - b <= self.epsilon + xi_hat,
            },
        )

    def dual(self, s: View) -> Program:
        """A quadratic program over the non-negative orthant with one row."""
        alpha, alpha_hat = cp.Variable(s.n, name="alpha"), cp.Variable(s.n, name="alpha_hat")
        u = s.combination(alpha_hat - alpha)
        linear = s.y @ (alpha_hat - alpha) - self.epsilon * cp.sum(alpha_hat + alpha)
        squares = cp.sum(cp.multiply(1 / s.costs, cp.square(alpha) + cp.square(alpha_hat)))
        return Program(
            cp.Maximize(linear - 0.25 * u.norm_squared - squares / (4 * self.C)),
            {"b": cp.sum(alpha_hat - alpha) == 0},
            domain=[alpha >= 0, alpha_hat >= 0],
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = 1/2 sum_i (alpha_hat_i - alpha_i) phi(x_i), and b minimises the squares of the slacks."""
        w = s.combination((dual.alpha_hat - dual.alpha) / 2)
        errors = s.y - w.values
        b = best_offset(errors, s.costs, self.epsilon, power=2)
        return {"w": w, "b": b, **slacks(errors - b, self.epsilon)}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The multipliers are the slacks, in the text's scale beta = C sgn(r) (|r| - epsilon)_+."""
        beta = (dual.alpha_hat - dual.alpha) / 2
        r = s.y - primal.w.values - primal.b
        C = self.C * s.costs
        excess = np.sign(r) * np.maximum(0.0, np.abs(r) - self.epsilon)
        left, size = np.linalg.norm(beta / C - excess), float(np.linalg.norm(s.y))
        yield equal("||beta / C - sgn(r) (|r| - epsilon)_+|| = 0", left, 0.0, scale=size)
        spent = primal.w.norm_squared + C @ (primal.xi**2 + primal.xi_hat**2)
        earned = s.y @ beta - self.epsilon * np.sum(dual.alpha_hat + dual.alpha) / 2
        terms = objective_size(s, beta)
        yield equal("y' beta - epsilon |beta| = ||w||^2 + C sum (xi^2 + xi_hat^2)", earned, spent, scale=terms)
        squares = float(dual.alpha @ dual.alpha + dual.alpha_hat @ dual.alpha_hat)
        yield equal("alpha_i alpha_hat_i = 0", dual.alpha @ dual.alpha_hat, 0.0, scale=squares)
        both, widest = primal.xi @ primal.xi_hat, float(s.y @ s.y)
        yield equal("xi_i xi_hat_i = 0", both, 0.0, scale=widest)
