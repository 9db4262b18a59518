"""The Gaussian process of a kernel as a prior over weights."""

import numpy as np

from formulations.errata.spectra import cloud
from kopt import Claim, Reference, WrongStatement, equal
from kopt.kernels import Gaussian


class PriorOfTheMercerWeights(WrongStatement):
    """The derivation that follows puts E psi_i^2 = lambda_i: root(lambda_i) is the standard deviation.

    It also uses the plain inner product; in the weighted one that the text defines the variance is 1/lambda_i.
    """

    reference = Reference("Cristianini and Shawe-Taylor", "Section 3.5")
    printed = "psi_i with variance root(lambda_i) gives outputs with covariance K"
    correct = "psi_i with variance lambda_i gives outputs with covariance K"

    def claims(self) -> tuple[Claim, Claim]:
        """On ten points, where the eigenvectors of the kernel matrix are the Mercer features."""
        K = Gaussian(sigma=2.0)(cloud(10))
        eigenvalues, features = np.linalg.eigh(K)
        printed, correct = (features * variance @ features.T for variance in (np.sqrt(eigenvalues), eigenvalues))
        scale = float(np.linalg.norm(K))
        return (
            equal("||covariance - K|| = 0, variance root(lambda)", np.linalg.norm(printed - K), 0.0, scale),
            equal("||covariance - K|| = 0, variance lambda", np.linalg.norm(correct - K), 0.0, scale),
        )
