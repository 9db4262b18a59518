"""The functional margin of the weight vector that the hard margin algorithm returns."""

import numpy as np

import kopt
from formulations.classification import UnitHardMargin
from formulations.errata.samples import two_classes
from kopt import Claim, Reference, WrongStatement, equal


class FunctionalMarginOfTheHardMarginMachine(WrongStatement):
    """A vector of length and geometric margin sqrt(-W) has functional margin -W, which is gamma^2 and not gamma.

    The formula for b in Code Fragment 7.4 has the square.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Theorem 7.22, proof")
    printed = "-W(alpha) = gamma"
    correct = "-W(alpha) = gamma^2"

    def claims(self) -> tuple[Claim, Claim]:
        """The functional margin of w = sum_i y_i alpha_i phi(x_i), half the distance between the classes along it."""
        sample = two_classes()
        solution = kopt.solve(UnitHardMargin(), sample)
        values = sample.gram().dense @ (sample.y * solution.dual.alpha)
        functional = (np.min(values[sample.y > 0]) - np.max(values[sample.y < 0])) / 2
        gamma = solution.primal.gamma
        return (
            equal("the functional margin of w is gamma", functional, gamma),
            equal("the functional margin of w is gamma^2", functional, gamma**2),
        )
