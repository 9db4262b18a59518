"""The covariance of whitened data."""

import numpy as np

from formulations.errata.spectra import centred, cloud, leading
from kopt import Claim, Reference, WrongStatement, equal


class CovarianceOfWhitenedData(WrongStatement):
    """The text promises the identity, and its own display ends with I/l.

    The eigenvalues are those of l C: it takes another factor root(l) to arrive at the identity.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 6.2.2, Whitening, Algorithm 6.16")
    printed = "X U_k Lambda_k^(-1/2) has covariance I"
    correct = "X U_k Lambda_k^(-1/2) has covariance I/l"

    def claims(self) -> tuple[Claim, Claim]:
        """Three whitened features of 15 points."""
        X = centred(cloud(15))
        eigenvalues, U = leading(X.T @ X, 3)
        whitened = X @ U / np.sqrt(eigenvalues)
        covariance = np.cov(whitened, rowvar=False, bias=True)
        return (
            equal("||covariance - I|| = 0", np.linalg.norm(covariance - np.eye(3)), 0.0, scale=1.0),
            equal("||covariance - I/l|| = 0", np.linalg.norm(covariance - np.eye(3) / 15), 0.0, scale=1.0),
        )
