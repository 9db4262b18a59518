"""Which margin bounds the mistakes of the perceptron."""

import numpy as np

import kopt
from formulations.classification import HardMargin, HardMarginWithoutOffset
from formulations.errata.samples import far_and_near_the_origin
from kopt import Claim, Reference, WrongStatement, at_most


class MarginInThePerceptronBound(WrongStatement):
    """The perceptron has no offset, and Novikoff's theorem speaks of the margin without one; the corollary forgets it.

    The margin of the hard margin machine, with its offset, may be much larger. A counter-example: two points that are
    4 apart, but seen from the origin nearly in the same direction.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Corollary 7.55")
    printed = "updates <= R^2/gamma^2, gamma the margin of the hard margin machine (implied)"
    correct = "updates <= R^2/gamma^2, gamma its margin without offset"

    def claims(self) -> tuple[Claim, Claim]:
        """The updates of Algorithm 7.52 in batch mode, against both bounds."""
        sample = far_and_near_the_origin()
        K = sample.gram().dense
        with_offset, without = (
            K.diagonal().max() * kopt.solve(machine, sample).primal.w.norm_squared
            for machine in (HardMargin(), HardMarginWithoutOffset())
        )
        updates = _updates_of_the_perceptron(K, sample.y)
        return (
            at_most("updates <= R^2/gamma^2 with offset", updates, with_offset),
            at_most("updates <= R^2/gamma^2 without offset", updates, without),
        )


def _updates_of_the_perceptron(K: np.ndarray, y: np.ndarray) -> int:
    """Until every point is classified correctly."""
    alpha = np.zeros(len(y))
    while np.any(y * (K @ (alpha * y)) <= 0):
        for i in range(len(y)):
            if y[i] * (K[i] @ (alpha * y)) <= 0:
                alpha[i] += 1
    return int(alpha.sum())
