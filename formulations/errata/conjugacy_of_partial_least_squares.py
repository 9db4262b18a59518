"""The directions of partial least squares."""

import numpy as np

from formulations.errata.spectra import centred, cloud, off_diagonal, partial_least_squares, targets
from kopt import Claim, Reference, WrongStatement, equal


class ConjugacyOfPartialLeastSquares(WrongStatement):
    """Orthogonal are the features X_j u_j of the deflated data, and these are X times the columns of U (P'U)^-1.

    The u_j themselves are orthogonal as vectors; with respect to X'X they are not, not even for one output.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 6.7.1, before (6.28)")
    printed = "the u_j are not only conjugate but also orthogonal"
    correct = "the u_j are orthogonal, and the columns of U (P'U)^-1 are conjugate"

    def claims(self) -> tuple[Claim, Claim]:
        """u_i'X'X u_j for i != j, relative to the largest u_i'X'X u_i."""
        X = centred(cloud())
        U, P, _ = partial_least_squares(X, centred(targets(X)), 3)
        R = np.linalg.solve((P.T @ U).T, U.T).T
        return (
            equal("largest |u_i'X'X u_j| = 0", off_diagonal(U.T @ X.T @ X @ U), 0.0, scale=1.0),
            equal(
                "largest |r_i'X'X r_j| and |u_i'u_j| = 0",
                max(off_diagonal(R.T @ X.T @ X @ R), off_diagonal(U.T @ U)),
                0.0,
                scale=1.0,
            ),
        )
