"""Which problem on-line support vector regression solves."""

import numpy as np

import kopt
from formulations.errata.regression_step import online_regression
from formulations.errata.samples import noisy_sine
from formulations.regression import EpsilonInsensitiveWithoutOffset
from kopt import Claim, Reference, WrongStatement, equal


class BoxOfOnlineRegression(WrongStatement):
    """The algorithm has no C: as printed it forbids errors beyond the tube instead of giving them a linear price.

    Clipped to [-C, C] the steps lead to the linear epsilon-insensitive machine with offset 0 that the text announces.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 7.61, Code Fragment 7.14")
    printed = "no bound on alpha_i"
    correct = "alpha_i clipped to [-C, C] after every step"

    def claims(self) -> tuple[Claim, Claim]:
        """The length of the vector of errors, against that of the machine, for a kernel with k(x, x) = 1."""
        sample, machine = noisy_sine(), EpsilonInsensitiveWithoutOffset(C=0.5, epsilon=0.1)
        K, y, steps = sample.gram().dense, sample.y, np.ones(sample.n)
        expected = np.linalg.norm(y - kopt.solve(machine, sample).primal.w.values)
        found = [
            np.linalg.norm(y - K @ online_regression(K, y, machine.epsilon, steps, 200, C)) for C in (np.inf, machine.C)
        ]
        return (
            equal("||y - f|| is that of the linear machine", found[0], expected),
            equal("||y - f|| is that of the linear machine", found[1], expected),
        )
