"""The alignment of two kernel matrices as a correlation coefficient."""

import numpy as np

from formulations.errata.spectra import cloud
from kopt import Claim, Reference, WrongStatement, alignment, equal
from kopt.kernels import Gaussian, Linear


class AlignmentAsACorrelation(WrongStatement):
    """Pearson's coefficient subtracts the mean of each variable; the alignment is a cosine and subtracts nothing.

    The two agree once the mean entry of each matrix has been subtracted from all its entries.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 3.3, after Proposition 3.21")
    printed = "A(K1, K2) is the Pearson correlation of the entries"
    correct = "A(K1 - mean, K2 - mean) is the Pearson correlation of the entries"

    def claims(self) -> tuple[Claim, Claim]:
        """A linear and a Gaussian kernel on the same points."""
        X = cloud()
        K1, K2 = Linear()(X), Gaussian(sigma=2.0)(X)
        pearson = np.corrcoef(K1.ravel(), K2.ravel())[0, 1]
        return (
            equal("A(K1, K2) = correlation", alignment(K1, K2), pearson),
            equal("A(K1 - mean, K2 - mean) = correlation", alignment(K1 - K1.mean(), K2 - K2.mean()), pearson),
        )
