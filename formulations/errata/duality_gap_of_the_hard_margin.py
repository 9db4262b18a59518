"""The duality gap as an indicator of convergence."""

import numpy as np

import kopt
from formulations.classification import UnitHardMargin
from formulations.errata.samples import two_classes
from kopt import Claim, Reference, WrongStatement, equal


class DualityGapOfTheHardMargin(WrongStatement):
    """The printed gap has the wrong sign, and its margin belongs to a vector that is not of length 1.

    The primal minimises -gamma, so that the gap is -gamma + sqrt(-W), with gamma the margin of w/||w||.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Remark 7.25")
    printed = "gap = -sqrt(-W(alpha)) + gamma(w)"
    correct = "gap = sqrt(-W(alpha)) - gamma(w) / ||w||"

    def claims(self) -> tuple[Claim, Claim]:
        """At multipliers that are equal in each class, against the difference of the two objectives."""
        sample = two_classes()
        y, K = sample.y, sample.gram().dense
        alpha = np.where(y > 0, 0.5 / np.sum(y > 0), 0.5 / np.sum(y < 0))
        gap = kopt.verify(UnitHardMargin(), sample, {"alpha": alpha}).bounds.gap
        values = K @ (y * alpha)
        length = np.sqrt(y * alpha @ values)
        gamma = (values[y > 0].min() - values[y < 0].max()) / 2
        return (
            equal("gap = -sqrt(-W) + gamma(w)", gap, -length + gamma),
            equal("gap = sqrt(-W) - gamma(w)/||w||", gap, length - gamma / length),
        )
