"""The distance of two normalised kernel matrices."""

import numpy as np

from formulations.errata.spectra import cloud
from kopt import Claim, Reference, WrongStatement, alignment, equal
from kopt.kernels import Gaussian, Linear


class DistanceOfNormalisedKernels(WrongStatement):
    """Two unit vectors with inner product A have the squared distance 2 - 2 A: a square and a factor are missing."""

    reference = Reference("Shawe-Taylor and Cristianini", "Section 3.3, after Proposition 3.21")
    printed = "||K1/||K1|| - K2/||K2|| || = 2 - A(K1, K2)"
    correct = "||K1/||K1|| - K2/||K2|| ||^2 = 2 - 2 A(K1, K2)"

    def claims(self) -> tuple[Claim, Claim]:
        """A linear and a Gaussian kernel on the same points."""
        X = cloud()
        K1, K2 = Linear()(X), Gaussian(sigma=2.0)(X)
        A, distance = alignment(K1, K2), np.linalg.norm(K1 / np.linalg.norm(K1) - K2 / np.linalg.norm(K2))
        return (
            equal("distance = 2 - A", distance, 2 - A),
            equal("distance^2 = 2 - 2 A", distance**2, 2 - 2 * A),
        )
