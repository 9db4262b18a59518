"""Support vector regression with the linear epsilon-insensitive loss, through the origin."""

from collections.abc import Iterator

import cvxpy as cp

from formulations.regression.tubes import linear_loss_claims, slacks
from kopt import Claim, Formulation, Point, Program, Reference, Task, View, nonnegative, positive


class EpsilonInsensitiveWithoutOffset(Formulation):
    r"""Regression without offset in which deviations up to epsilon cost nothing and larger ones cost linearly.

    Primal   min   1/2 <w, w> + C sum_i (xi_i + xi_hat_i)
             s.t.  <w, phi(x_i)> - y_i <= epsilon + xi_i                        : alpha_i
                   y_i - <w, phi(x_i)> <= epsilon + xi_hat_i                    : alpha_hat_i
                   xi_i >= 0                                                    : mu_i
                   xi_hat_i >= 0                                                : mu_hat_i
    Dual     max   sum_i y_i (alpha_hat_i - alpha_i) - epsilon sum_i (alpha_hat_i + alpha_i)
                   - 1/2 sum_ij (alpha_hat_i - alpha_i) (alpha_hat_j - alpha_j) k(x_i, x_j)
             s.t.  alpha_i <= C                                                 : xi_i
                   alpha_hat_i <= C                                             : xi_hat_i
                   alpha_i, alpha_hat_i >= 0

    It is what the on-line algorithm of the text finds if its steps are clipped to [-C, C]. With costs c_i per point,
    C becomes C c_i.

    >>> import kopt
    >>> sample = kopt.Sample([[1.0], [2.0]], [1.0, 3.0])
    >>> solution = kopt.solve(EpsilonInsensitiveWithoutOffset(C=10.0, epsilon=0.5), sample)
    >>> round(float(solution.primal.w.norm), 6)
    1.25
    """

    reference = Reference("Shawe-Taylor and Cristianini", "(7.23) without b, Algorithm 7.61")
    task = Task.REGRESSION

    C: float = positive(default=1.0)
    epsilon: float = nonnegative(default=0.1)

    def primal(self, s: View) -> Program:
        """A tube of half-width epsilon around <w, phi(x)>, with slacks on either side."""
        w = s.weight("w")
        xi, xi_hat = cp.Variable(s.n, name="xi"), cp.Variable(s.n, name="xi_hat")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * s.costs @ (xi + xi_hat)),
            {
                "alpha": w.values - s.y <= self.epsilon + xi,
                "alpha_hat": s.y - w.values <= self.epsilon + xi_hat,
                "mu": xi >= 0,
                "mu_hat": xi_hat >= 0,
            },
        )

    def dual(self, s: View) -> Program:
        """A quadratic program over a box."""
        alpha, alpha_hat = cp.Variable(s.n, name="alpha"), cp.Variable(s.n, name="alpha_hat")
        w = s.combination(alpha_hat - alpha)
        C = self.C * s.costs
        return Program(
            cp.Maximize(s.y @ (alpha_hat - alpha) - self.epsilon * cp.sum(alpha_hat + alpha) - 0.5 * w.norm_squared),
            {
                "xi": alpha <= C,
                "xi_hat": alpha_hat <= C,
            },
            domain=[alpha >= 0, alpha_hat >= 0],
            multipliers={"mu": C - alpha, "mu_hat": C - alpha_hat},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i (alpha_hat_i - alpha_i) phi(x_i), and the slacks are what its errors exceed epsilon by."""
        w = s.combination(dual.alpha_hat - dual.alpha)
        return {"w": w, **slacks(s.y - w.values, self.epsilon)}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """Remark 7.48: what the multipliers pay for, and where the errors lie."""
        yield from linear_loss_claims(s, primal, dual, self.C, self.epsilon)
