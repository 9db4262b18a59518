"""The loss function in the analysis of regression with a tube."""

import numpy as np

import kopt
from formulations.errata.samples import noisy_sine
from formulations.regression import EpsilonInsensitive
from kopt import Claim, Reference, WrongStatement, at_most
from kopt.kernels import Gaussian


class LossBelowTheInsensitiveLoss(WrongStatement):
    """Between epsilon and gamma the loss A rises with slope 1/(gamma - epsilon), which may exceed 1.

    Theorem 7.49 has the factor. A counter-example: any gamma < 1 + epsilon and a deviation between the two.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 7.3.3, before Theorem 7.49")
    printed = "A(|y - g(x)|) <= |y - g(x)|_epsilon"
    correct = "A(|y - g(x)|) <= |y - g(x)|_epsilon / (gamma - epsilon)"

    def claims(self) -> tuple[Claim, Claim]:
        """At the points of a sample, for the function of the linear machine."""
        sample, epsilon, gamma = noisy_sine(Gaussian(sigma=1.0)), 0.1, 0.5
        solution = kopt.solve(EpsilonInsensitive(C=1.0, epsilon=epsilon), sample)
        insensitive = np.maximum(0.0, np.abs(sample.y - solution.decision_function(sample.X)) - epsilon)
        A = np.minimum(1.0, insensitive / (gamma - epsilon))
        return (
            at_most("max_i A - |y_i - g(x_i)|_epsilon <= 0", np.max(A - insensitive), 0.0, scale=1.0),
            at_most(
                "max_i A - |y_i - g(x_i)|_epsilon/(gamma - epsilon) <= 0",
                np.max(A - insensitive / (gamma - epsilon)),
                0.0,
                scale=1.0,
            ),
        )
