"""The objective in the code of nu-regression."""

import cvxpy as cp

from formulations.regression.nu_regression import NuRegression
from kopt import Program, Reference, View, WrongPair, positive


class LeftoverTermOfNuRegression(WrongPair):
    """The objective keeps a term of regression with a given epsilon, which is a variable of the primal here.

    Its multiplier condition sum_i |alpha_i| <= C nu takes the place of the term. epsilon is no input of the algorithm
    either; for the optimal one the print is too small by C nu epsilon.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Code Fragment 7.11")
    printed = "sum y_i alpha_i - epsilon sum |alpha_i| - 1/2 sum alpha_i alpha_j k(x_i, x_j)"
    correct = "sum y_i alpha_i - 1/2 sum alpha_i alpha_j k(x_i, x_j)"

    class Printed(NuRegression):
        r"""The objective as printed; epsilon stands for any positive number.

        Dual     max   sum_i y_i (alpha_hat_i - alpha_i) - epsilon sum_i (alpha_hat_i + alpha_i)
                       - 1/2 sum_ij (alpha_hat_i - alpha_i) (alpha_hat_j - alpha_j) k(x_i, x_j)
        """

        epsilon: float = positive(default=0.1)

        def dual(self, s: View) -> Program:
            """The right dual with the term subtracted."""
            right = super().dual(s)
            alpha, alpha_hat = right.variables["alpha"], right.variables["alpha_hat"]
            return Program(
                cp.Maximize(right.objective.expr - self.epsilon * cp.sum(alpha_hat + alpha)),
                right.constraints,
                domain=right.domain,
                multipliers=right.multipliers,
            )

    Corrected = NuRegression
