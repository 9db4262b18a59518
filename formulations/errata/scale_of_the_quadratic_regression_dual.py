"""The dual of regression with the quadratic epsilon-insensitive loss."""

import cvxpy as cp

from formulations.regression.quadratic_epsilon_insensitive import QuadraticEpsilonInsensitive
from formulations.regression.tubes import best_offset, slacks
from kopt import Judgement, Point, Program, Reference, View, WrongPair


class ScaleOfTheQuadraticRegressionDual(WrongPair):
    """The printed dual belongs to half the printed primal: it has half the value, at half the multipliers.

    The primal is ||w||^2 + C sum_i (...), without the 1/2 that the dual supposes. Of the quadratic term the diagonal
    part is read here as 1/(2 C) sum_i (alpha_i^2 + alpha_hat_i^2), which is the same where alpha_i alpha_hat_i = 0.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 7.43, the dual after (7.22)")
    printed = "- 1/2 sum_ij beta_i beta_j (k(x_i, x_j) + delta_ij/C), beta = alpha_hat - alpha"
    correct = "- 1/4 sum_ij beta_i beta_j k(x_i, x_j) - 1/(4 C) sum_i (alpha_i^2 + alpha_hat_i^2)"
    expected = Judgement.SCALED

    class Printed(QuadraticEpsilonInsensitive):
        r"""The dual as printed, and the recovery of Code Fragment 7.9, which is right for its multipliers.

        Dual     max   sum_i y_i (alpha_hat_i - alpha_i) - epsilon sum_i (alpha_hat_i + alpha_i)
                       - 1/2 sum_ij (alpha_hat_i - alpha_i) (alpha_hat_j - alpha_j) k(x_i, x_j)
                       - 1/(2 C) sum_i (alpha_i^2 + alpha_hat_i^2)
        """

        def dual(self, s: View) -> Program:
            """With 1/2 for 1/4."""
            alpha, alpha_hat = cp.Variable(s.n, name="alpha"), cp.Variable(s.n, name="alpha_hat")
            squares = cp.sum(cp.multiply(1 / s.costs, cp.square(alpha) + cp.square(alpha_hat)))
            return printed_program(s, alpha, alpha_hat, self.epsilon, squares / (2 * self.C))

        def recover(self, s: View, dual: Point) -> dict[str, object]:
            """w = sum_i (alpha_hat_i - alpha_i) phi(x_i)."""
            w = s.combination(dual.alpha_hat - dual.alpha)
            errors = s.y - w.values
            b = best_offset(errors, s.costs, self.epsilon, power=2)
            return {"w": w, "b": b, **slacks(errors - b, self.epsilon)}

    Corrected = QuadraticEpsilonInsensitive


def printed_program(
    s: View, alpha: cp.Variable, alpha_hat: cp.Variable, epsilon: float, squares: cp.Expression
) -> Program:
    """The printed dual, with the diagonal part of its quadratic term as given."""
    u = s.combination(alpha_hat - alpha)
    linear = s.y @ (alpha_hat - alpha) - epsilon * cp.sum(alpha_hat + alpha)
    return Program(
        cp.Maximize(linear - 0.5 * u.norm_squared - squares),
        {"b": cp.sum(alpha_hat - alpha) == 0},
        domain=[alpha >= 0, alpha_hat >= 0],
    )
