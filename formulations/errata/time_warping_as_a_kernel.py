"""Dynamic time warping as a kernel."""

import numpy as np

from formulations.errata.warping import squared_differences, warped
from kopt import Claim, Reference, WrongStatement, at_most


class TimeWarpingAsAKernel(WrongStatement):
    """exp(-distance) need not be positive semi-definite where the distance is not a squared metric.

    Counter-example: 0 and 0, 0, 0 have distance 0, but different distances from 1.
    """

    reference = Reference("Scheffer", "Time Series: DTW Kernel")
    printed = "exp(-DTW(x, x')) is a kernel function"
    correct = "its matrix can have a negative eigenvalue"

    def claims(self) -> tuple[Claim, Claim]:
        """The smallest eigenvalue of the matrix of three sequences."""
        sequences = [np.zeros(1), np.ones(1), np.zeros(3)]
        K = np.exp([[-warped(squared_differences(x, z)) for z in sequences] for x in sequences])
        smallest, _, largest = np.linalg.eigvalsh(K)
        return (
            at_most("0 <= smallest eigenvalue", 0.0, smallest, scale=float(largest)),
            at_most("smallest eigenvalue < 0", smallest, 0.0, scale=float(largest)),
        )
