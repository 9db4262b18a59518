"""The spectrum of the kernel matrix of orthogonal points."""

import numpy as np

from kopt import Claim, Reference, WrongStatement, equal


class EigenvaluesOfOrthogonalInputs(WrongStatement):
    """The kernel matrix of orthogonal points is diagonal and holds their squared norms.

    Two sentences later the text has the squares: the eigenvalues add up to the sum of the squared norms.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 3.4.2, Subspace projection")
    printed = "if the inputs are orthogonal, the eigenvalues are the norms of the inputs"
    correct = "they are the squared norms of the inputs"

    def claims(self) -> tuple[Claim, Claim]:
        """Five orthogonal points of different lengths, in an arbitrary orientation."""
        rng = np.random.default_rng(0)
        X = rng.uniform(0.5, 3.0, size=(5, 1)) * np.linalg.qr(rng.normal(size=(5, 5))).Q
        eigenvalues, norms = np.linalg.eigvalsh(X @ X.T), np.sort(np.linalg.norm(X, axis=1))
        scale = float(np.linalg.norm(eigenvalues))
        return (
            equal("||lambda - norms|| = 0", np.linalg.norm(eigenvalues - norms), 0.0, scale=scale),
            equal("||lambda - norms^2|| = 0", np.linalg.norm(eigenvalues - norms**2), 0.0, scale=scale),
        )
