"""The step of on-line support vector regression."""

import numpy as np

from formulations.errata.regression_step import online_regression
from formulations.errata.samples import noisy_sine
from kopt import Claim, Reference, WrongStatement, at_most
from kopt.kernels import Gaussian


class StepOfOnlineRegression(WrongStatement):
    """As in the adatron, a step of 1 is made for k(x, x) = 1 and overshoots where k(x, x) > 2."""

    reference = Reference("Shawe-Taylor and Cristianini", "Code Fragment 7.14, line 5")
    printed = "alpha_i <- alpha_i + (y_i - epsilon sgn(alpha_i) - sum_j alpha_j k(x_j, x_i))"
    correct = "alpha_i <- alpha_i + (y_i - epsilon sgn(alpha_i) - sum_j alpha_j k(x_j, x_i)) / k(x_i, x_i)"

    def claims(self) -> tuple[Claim, Claim]:
        """Whether the function stays in the tube after fifty sweeps, for a kernel with k(x, x) = 3."""
        sample, epsilon = noisy_sine(3.0 * Gaussian(sigma=0.3)), 0.1
        K, y = sample.gram().dense, sample.y
        errors = [
            np.max(np.abs(y - K @ online_regression(K, y, epsilon, steps, sweeps=50)))
            for steps in (np.ones(sample.n), 1 / K.diagonal())
        ]
        return (
            at_most("max |y_i - f(x_i)| <= epsilon after 50 sweeps", errors[0], epsilon),
            at_most("max |y_i - f(x_i)| <= epsilon after 50 sweeps", errors[1], epsilon),
        )
