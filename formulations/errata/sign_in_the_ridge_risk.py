"""The risk of kernel ridge regression in the dual variables."""

import kopt
from formulations.errata.samples import noisy_sine
from formulations.regression import Ridge
from kopt import Claim, Reference, WrongStatement, equal


class SignInTheRidgeRisk(WrongStatement):
    """(K alpha - y)'(K alpha - y) expands to + y'y. The derivative does not show it, the value does."""

    reference = Reference("Scheffer", "Kernel Ridge Regression, dual regularized empirical risk")
    printed = "L(alpha) = alpha'K K alpha - 2 alpha'K y - y'y + lambda alpha'K alpha"
    correct = "L(alpha) = alpha'K K alpha - 2 alpha'K y + y'y + lambda alpha'K alpha"

    def claims(self) -> tuple[Claim, Claim]:
        """Both at the optimum, against its value."""
        sample, ridge = noisy_sine(), 0.5
        solution = kopt.solve(Ridge(ridge=ridge), sample)
        alpha, K, y = -solution.dual.beta / (2 * ridge), sample.gram().dense, sample.y
        without = alpha @ K @ K @ alpha - 2 * alpha @ K @ y + ridge * alpha @ K @ alpha
        return (
            equal("min L = L(alpha) with - y'y", solution.value, without - y @ y),
            equal("min L = L(alpha) with + y'y", solution.value, without + y @ y),
        )
