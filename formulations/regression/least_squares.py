"""Least squares."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.regression.fits import least_squares_value, residuals, shortest_fit
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, at_most, equal
from kopt.kernels import Linear, Polynomial


class LeastSquares(Formulation):
    r"""The smallest sum of squared residuals, without offset and without a penalty on the weight vector.

    Primal   min   sum_i xi_i^2
             s.t.  xi_i = y_i - <w, phi(x_i)>                                   : beta_i
    Dual     max   -sum_i beta_i y_i - 1/4 sum_i beta_i^2
             s.t.  sum_i beta_i phi(x_i) = 0                                    : w

    The weight vector is determined on the span of the points only; the shortest one is taken, as the pseudo-inverse
    does. Points that are independent in feature space are fitted exactly: then beta = 0 and the value is 0. With costs
    c_i per point, xi_i^2 becomes c_i xi_i^2.

    >>> import kopt
    >>> solution = kopt.solve(LeastSquares(), kopt.Sample([[1.0], [2.0]], [2.0, 3.0]))
    >>> round(float(solution.primal.w.norm), 6), round(solution.value, 6)
    (1.6, 0.2)
    """

    reference = Reference("Shawe-Taylor and Cristianini", "(2.1), (2.2), Remark 2.4")
    task = Task.REGRESSION

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """More points than dimensions: otherwise the optimum is 0."""
        cases = ((5, Linear(), 3), (7, Polynomial(degree=2, R=0.7), 1), (9, Linear(), 2))
        while True:
            for k in rng.permutation(len(cases)):
                n, kernel, features = cases[k]
                X = np.round(rng.normal(loc=(0.5, -0.3, 0.2), scale=1.2, size=(n, 3)), 1)[:, :features]
                y = np.round(np.sin(X[:, 0]) + 0.7 + 0.5 * rng.standard_normal(n), 1)
                yield cls(), Sample(X, y, kernel=kernel)
                yield cls(), Sample(X, y, kernel=kernel, costs=np.round(rng.uniform(0.4, 2.5, n), 1))

    def primal(self, s: View) -> Program:
        """The residuals are variables, so that their definition carries the multipliers."""
        w, xi = s.weight("w"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(cp.sum(cp.multiply(s.costs, cp.square(xi)))),
            {"beta": xi == s.y - w.values},
        )

    def dual(self, s: View) -> Program:
        """The Lagrangian is affine in w, whose slope has to vanish in feature space."""
        beta = cp.Variable(s.n, name="beta")
        squares = cp.sum(cp.multiply(1 / s.costs, cp.square(beta)))
        return Program(
            cp.Maximize(-s.y @ beta - squares / 4),
            domain=[s.vanishing(beta)],
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """xi = -beta / 2, so that w is the shortest vector with the values y + beta / 2."""
        w = shortest_fit(s, s.y + dual.beta / (2 * s.costs))
        return {"w": w, "xi": residuals(s, w)}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The normal equations (2.2), and the value."""
        value, size = s.costs @ primal.xi**2, float(s.costs @ s.y**2)
        weighted = s.costs * primal.xi
        slope, longest = s.combination(weighted).norm, s.sample.gram().uncancelled(s.costs * s.y)
        yield at_most("X' X w = X' y: ||sum xi_i phi(x_i)|| = 0", slope, 0.0, scale=longest)
        yield equal("sum xi^2 = y' xi", value, weighted @ s.y, scale=size)
        yield equal("sum xi^2 = y' (I - K K^+) y", value, least_squares_value(s, s.y, s.costs), scale=size)
        yield equal("sum xi^2 = -y' beta / 2", value, -0.5 * s.y @ dual.beta, scale=size)
