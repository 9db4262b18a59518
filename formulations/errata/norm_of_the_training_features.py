"""The norm of the features that kernel principal components analysis extracts."""

import numpy as np

from formulations.errata.spectra import centred, cloud, leading
from kopt import Claim, Reference, WrongStatement, equal


class NormOfTheTrainingFeatures(WrongStatement):
    """The Frobenius norm is a root; its square is the sum of the eigenvalues."""

    reference = Reference("Shawe-Taylor and Cristianini", "Code Fragment 6.1, comment")
    printed = "norm(TrainFeat, 'fro') = sum(diag(L))"
    correct = "norm(TrainFeat, 'fro')^2 = sum(diag(L))"

    def claims(self) -> tuple[Claim, Claim]:
        """The features sqrt(L) V' of a sample."""
        X = cloud()
        eigenvalues, V = leading(centred(X) @ centred(X).T, 2)
        norm = np.linalg.norm(np.sqrt(eigenvalues)[:, None] * V.T)
        return (
            equal("||sqrt(L) V'||_F = sum L", norm, np.sum(eigenvalues)),
            equal("||sqrt(L) V'||_F^2 = sum L", norm**2, np.sum(eigenvalues)),
        )
