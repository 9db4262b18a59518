"""Thresholding the first eigenvector."""

import numpy as np

from formulations.errata.clusterings import groups
from kopt import Claim, Reference, WrongStatement, equal


class BalanceOfTheSpectralClusters(WrongStatement):
    """The derivation supposes clusters of equal size, y'j = 0, and then drops the condition.

    Without it y = j is best, one cluster and no cut; the first eigenvector of a matrix with positive entries, such as
    that of a Gaussian kernel, has entries of one sign. With it the matrix is the centred one.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 8.2.3, before Remark 8.23")
    printed = "threshold the first eigenvector of K"
    correct = "threshold the first eigenvector of the centred K: max y'Ky/y'y subject to y'j = 0"

    def claims(self) -> tuple[Claim, Claim]:
        """Points that are not with their group, for two groups of six."""
        K, labels = groups(6, 6)
        J = np.eye(len(K)) - 1 / len(K)
        return (
            equal("points in the wrong cluster = 0", _misplaced(K, labels), 0, scale=len(K)),
            equal("points in the wrong cluster = 0", _misplaced(J @ K @ J, labels), 0, scale=len(K)),
        )


def _misplaced(K: np.ndarray, labels: np.ndarray) -> int:
    """How many points the sign of the first eigenvector puts into the other group, whichever sign is which."""
    found = np.linalg.eigh(K)[1][:, -1] > 0
    differing = int(np.sum(found != labels.astype(bool)))
    return min(differing, len(labels) - differing)
