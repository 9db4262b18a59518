"""The dual variables of ridge regression with a mean loss."""

import numpy as np

import kopt
from formulations.errata.samples import noisy_sine
from formulations.regression import Ridge
from kopt import Claim, Reference, WrongStatement, equal


class RidgeOfTheMeanLoss(WrongStatement):
    """The squares in (16) have no factor 1/2, the norm has one: the derivative of the loss keeps a 2 that is lost.

    The printed system belongs to the squares divided by 2 n. (16) is n times smaller than the sum of the squares plus
    n lambda / 2 <w, w>.
    """

    reference = Reference("6.867 lectures 7-8", "(16), (17)")
    printed = "alpha = (K + n lambda I)^-1 y"
    correct = "alpha = (K + n lambda/2 I)^-1 y"

    def claims(self) -> tuple[Claim, Claim]:
        """The residuals of both systems at the optimum of (16)."""
        sample, decay = noisy_sine(), 0.1
        K, y, n = sample.gram().dense, sample.y, sample.n
        ridge = n * decay / 2
        alpha = -kopt.solve(Ridge(ridge=ridge), sample).dual.beta / (2 * ridge)
        scale = float(np.linalg.norm(y))
        printed, correct = (np.linalg.norm(K @ alpha + shift * alpha - y) for shift in (n * decay, n * decay / 2))
        return (
            equal("||(K + n lambda I) alpha - y|| = 0", printed, 0.0, scale),
            equal("||(K + n lambda/2 I) alpha - y|| = 0", correct, 0.0, scale),
        )
