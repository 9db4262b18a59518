"""The triangular factor of a positive semi-definite matrix."""

import numpy as np

from formulations.errata.spectra import cloud, root
from kopt import Claim, Reference, WrongStatement, equal
from kopt.kernels import Gaussian


class CholeskyOfASingularMatrix(WrongStatement):
    """A matrix that is only semi-definite has many triangular factors.

    Where a point lies in the span of those before it, the pivot is 0 and its row may hold anything that the later
    pivots make up for. The counter-example is a point at the origin followed by a unit vector.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 3.1.2, Definition 5.10")
    printed = "A = R'R with R upper triangular, R_ii >= 0, is unique for positive semi-definite A"
    correct = "it is unique for positive definite A"

    def claims(self) -> tuple[Claim, Claim]:
        """Two factors of diag(0, 1); two ways to the factor of a Gaussian kernel matrix."""
        singular = np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [0.0, 0.0]])
        K = Gaussian(sigma=1.0)(cloud(8))
        regular = np.linalg.cholesky(K).T, _triangular(root(K, 0.5))
        return (
            _same_where_products_agree("A = diag(0, 1)", *singular),
            _same_where_products_agree("A positive definite", *regular),
        )


def _triangular(B: np.ndarray) -> np.ndarray:
    R = np.linalg.qr(B).R
    return np.asarray(np.sign(np.diag(R))[:, None] * R)


def _same_where_products_agree(case: str, R: np.ndarray, S: np.ndarray) -> Claim:
    apart = float(np.linalg.norm(R.T @ R - S.T @ S))
    return equal(f"{case}: ||R - S|| = ||R'R - S'S||", np.linalg.norm(R - S), apart, scale=float(np.linalg.norm(R)))
