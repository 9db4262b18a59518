"""Which eigenvectors of the Laplacian matrix the visualisation uses."""

import numpy as np

from formulations.errata.clusterings import groups
from kopt import Claim, Reference, WrongStatement, equal


class ZeroEigenvaluesInVisualisation(WrongStatement):
    """The code leaves out every eigenvalue near 0, but only the one of the constant vector j has to go.

    For groups that hardly touch, the vectors that tell them apart have eigenvalues near 0 and are the optimum. Adding
    a large multiple of jj' takes j out and nothing else.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Code Fragment 8.4")
    printed = "the eigenvectors of L with the smallest eigenvalues of absolute value > 0.00001"
    correct = "the eigenvectors of L with the smallest eigenvalues among those orthogonal to j"

    def claims(self) -> tuple[Claim, Claim]:
        """The objective of (8.14) for two dimensions, against its minimum on the complement of j."""
        K, _ = groups(4, 6, 8)
        K = K**4  # a kernel half as wide
        L = np.diag(K.sum(axis=0)) - K
        eigenvalues, vectors = np.linalg.eigh(L)
        printed = vectors[:, np.abs(eigenvalues) > 0.00001][:, :2]
        correct = np.linalg.eigh(L + np.trace(L) * np.ones_like(L) / len(L))[1][:, :2]
        complement = np.linalg.qr(np.column_stack([np.ones(len(L)), np.eye(len(L))[:, 1:]]))[0][:, 1:]
        minimum = 2 * np.linalg.eigvalsh(complement.T @ L @ complement)[:2].sum()
        scale = float(np.trace(L))
        return (
            equal("E(tau) is the minimum of (8.14)", _objective(K, printed), minimum, scale),
            equal("E(tau) is the minimum of (8.14)", _objective(K, correct), minimum, scale),
        )


def _objective(K: np.ndarray, tau: np.ndarray) -> float:
    """(8.14): sum_ij k(x_i, x_j) ||tau(x_i) - tau(x_j)||^2."""
    return float(np.sum(K * np.sum((tau[:, None] - tau) ** 2, axis=2)))
