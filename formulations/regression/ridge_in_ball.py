"""Ridge regression with a bound on the norm of the weight vector."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.regression.fits import least_squares_value, residuals, shortest_fit
from kopt import Claim, Combination, Formulation, Point, Program, Reference, Task, View, at_most, equal, positive

# Below the first fraction of its terms the direction of u leaves too few digits to rely on it alone, below the second
# it says nothing.
SHORT = 1e-4
CANCELLED = 1e-7


class RidgeInBall(Formulation):
    r"""Least squares over the weight vectors of length at most B, without offset.

    Primal   min   sum_i xi_i^2
             s.t.  xi_i = y_i - <w, phi(x_i)>                                   : beta_i
                   <w, w> <= B^2                                                : lambda
    Dual     max   -sum_i beta_i y_i - 1/4 sum_i beta_i^2 - B ( sum_ij beta_i beta_j k(x_i, x_j) )^(1/2)

    The multiplier lambda = ||sum_i beta_i phi(x_i)|| / (2 B) is the ridge: where it is positive, ||w|| = B and
    alpha = -beta / (2 lambda) solves (K + lambda I) alpha = y; where it is 0, w is a least squares solution. With
    costs c_i per point, xi_i^2 becomes c_i xi_i^2.

    >>> import kopt
    >>> solution = kopt.solve(RidgeInBall(B=0.5), kopt.Sample([[1.0], [2.0]], [1.0, 2.0]))
    >>> round(float(solution.primal.w.norm), 6), round(float(solution.dual["lambda"]), 6)
    (0.5, 5.0)
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 7.40, (7.21), Algorithm 7.41")
    task = Task.REGRESSION

    B: float = positive(default=1.0)

    def primal(self, s: View) -> Program:
        """The residuals are variables, so that their definition carries the multipliers."""
        w, xi = s.weight("w"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(cp.sum(cp.multiply(s.costs, cp.square(xi)))),
            {
                "beta": xi == s.y - w.values,
                "lambda": w.norm_squared <= self.B**2,
            },
        )

    def dual(self, s: View) -> Program:
        """lambda is eliminated: - <u, u> / (4 lambda) - lambda B^2 is largest, -B ||u||, at lambda = ||u|| / (2 B)."""
        beta = cp.Variable(s.n, name="beta")
        u = s.combination(beta)
        squares = cp.sum(cp.multiply(1 / s.costs, cp.square(beta)))
        return Program(
            cp.Maximize(-s.y @ beta - squares / 4 - self.B * u.norm),
            multipliers={"lambda": u.norm / (2 * self.B)},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = -B u / ||u|| with u = sum_i beta_i phi(x_i); where u is short, that or the shortest fit of y - xi."""
        u = s.combination(dual.beta)
        w = u.direction() * -self.B
        if self._length(s, u) <= SHORT:
            w = min((w, self._inside(s, dual.beta)), key=lambda each: s.costs @ (s.y - each.values) ** 2)
        return {"w": w, "xi": residuals(s, w)}

    def _inside(self, s: View, beta: np.ndarray) -> Combination:
        """The shortest vector with the values y - xi = y + beta / 2, shortened to B if need be."""
        w = shortest_fit(s, s.y + beta / (2 * s.costs))
        return w if w.norm <= self.B else w * (self.B / w.norm)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """lambda is the ridge of (2.6) where the ball binds; least squares where it does not."""
        ridge, u = dual["lambda"], s.combination(dual.beta)
        value, size = s.costs @ primal.xi**2, float(s.costs @ s.y**2)
        yield equal("-y' beta / 2 = sum xi^2 + lambda B^2", -0.5 * s.y @ dual.beta, value + ridge * self.B**2, size)
        yield equal("lambda (||w||^2 - B^2) = 0", ridge * (primal.w.norm_squared - self.B**2), 0.0, scale=size)
        if self._length(s, u) > CANCELLED:
            alpha = u.direction() * -self.B
            left = np.linalg.norm(alpha.values - dual.beta / (2 * s.costs) - s.y)
            yield equal("||(K + lambda I) alpha - y|| = 0", left, 0.0, scale=float(np.linalg.norm(s.y)))
        else:
            yield at_most("||w|| <= B (lambda = 0: least squares)", primal.w.norm, self.B)
            yield equal("sum xi^2 = y' (I - K K^+) y", value, least_squares_value(s, s.y, s.costs), scale=size)

    def _length(self, s: View, u: Combination) -> float:
        """The length of u, relative to its terms laid end to end and to those of beta = -2 y, where w = 0."""
        gram = s.sample.gram()
        return u.norm / (gram.uncancelled(u.coefficients) + gram.uncancelled(2 * s.costs * s.y) or 1.0)
