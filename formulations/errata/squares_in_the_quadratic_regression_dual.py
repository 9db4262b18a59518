"""The dual of regression with the quadratic epsilon-insensitive loss, to the letter."""

import cvxpy as cp

from formulations.errata.scale_of_the_quadratic_regression_dual import (
    ScaleOfTheQuadraticRegressionDual,
    printed_program,
)
from formulations.regression.quadratic_epsilon_insensitive import QuadraticEpsilonInsensitive
from kopt import Program, Reference, View, WrongPair


class SquaresInTheQuadraticRegressionDual(WrongPair):
    """alpha_i alpha_hat_i = 0 holds at the optimum only, and may not be used to write the dual function.

    Off the optimum the square of alpha_hat_i - alpha_i lacks 2 alpha_i alpha_hat_i, so that the print exceeds half the
    dual function by 1/C sum_i alpha_i alpha_hat_i; the optimum, and the factor 2, are the same.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 7.43, the dual after (7.22)")
    printed = "- 1/(2 C) sum_i (alpha_hat_i - alpha_i)^2"
    correct = "- 1/(4 C) sum_i (alpha_i^2 + alpha_hat_i^2)"

    class Printed(ScaleOfTheQuadraticRegressionDual.Printed):
        r"""The dual as printed, for all alpha, alpha_hat >= 0.

        Dual     max   sum_i y_i (alpha_hat_i - alpha_i) - epsilon sum_i (alpha_hat_i + alpha_i)
                       - 1/2 sum_ij (alpha_hat_i - alpha_i) (alpha_hat_j - alpha_j) (k(x_i, x_j) + delta_ij / C)
        """

        def dual(self, s: View) -> Program:
            """With the square of the difference."""
            alpha, alpha_hat = cp.Variable(s.n, name="alpha"), cp.Variable(s.n, name="alpha_hat")
            squares = cp.sum(cp.multiply(1 / s.costs, cp.square(alpha_hat - alpha)))
            return printed_program(s, alpha, alpha_hat, self.epsilon, squares / (2 * self.C))

    Corrected = QuadraticEpsilonInsensitive
