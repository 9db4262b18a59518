"""When the incomplete Cholesky decomposition stops."""

import numpy as np

from formulations.errata.spectra import cloud
from kopt import Claim, Reference, WrongStatement, at_most
from kopt.kernels import Gaussian


class ThresholdOfTheIncompleteCholesky(WrongStatement):
    """The code compares eta with d, which holds the squares of the residual norms."""

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 5.12, Code Fragment 5.4")
    printed = "the residual norms are all smaller than eta"
    correct = "the squared residual norms are all at most eta"

    def claims(self) -> tuple[Claim, Claim]:
        """The code of the fragment, and the residuals of the matrix that it returns."""
        K, eta = Gaussian(sigma=2.0)(cloud(25)), 0.04
        R = _incomplete_cholesky(K, eta)
        largest = np.max(np.diag(K - R.T @ R))
        return (
            at_most("max ||residual|| <= eta", np.sqrt(largest), eta),
            at_most("max ||residual||^2 <= eta", largest, eta),
        )


def _incomplete_cholesky(K: np.ndarray, eta: float) -> np.ndarray:
    d, rows = np.diag(K).copy(), np.zeros((0, len(K)))
    while (a := np.max(d)) > eta:
        pivot = int(np.argmax(d))
        row = (K[pivot] - rows[:, pivot] @ rows) / np.sqrt(a)
        rows = np.vstack([rows, row])
        d = d - row**2
    return rows
