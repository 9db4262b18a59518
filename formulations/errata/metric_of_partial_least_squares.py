"""Partial least squares as Gram-Schmidt orthonormalisation."""

import numpy as np

from formulations.errata.spectra import centred, cloud, partial_least_squares, targets
from kopt import Claim, Reference, WrongStatement, equal


class MetricOfPartialLeastSquares(WrongStatement):
    """The directions u_j come from the Krylov vectors by Gram-Schmidt in the plain inner product.

    In the inner product a'X'X b the same vectors give multiples of the columns of U (P'U)^-1.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Remark 6.44")
    printed = "u_1, ..., u_k is Gram-Schmidt of X'y, X'X X'y, ... with respect to <a, b> = a'X'X b"
    correct = "with respect to <a, b> = a'b"

    def claims(self) -> tuple[Claim, Claim]:
        """Three directions, each against the one that Gram-Schmidt gives."""
        X = centred(cloud())
        y = centred(targets(X))
        A = X.T @ X
        U = partial_least_squares(X, y, 3).U
        krylov = np.column_stack([np.linalg.matrix_power(A, j) @ X.T @ y for j in range(3)])
        return (
            equal("largest sine of angle(u_j, q_j) = 0, X'X metric", _apart(U, _gram_schmidt(krylov, A)), 0.0, 1.0),
            equal("largest sine of angle(u_j, q_j) = 0", _apart(U, _gram_schmidt(krylov, np.eye(len(A)))), 0.0, 1.0),
        )


def _gram_schmidt(vectors: np.ndarray, metric: np.ndarray) -> np.ndarray:
    """Unit vectors, orthogonal in the metric."""
    done: list[np.ndarray] = []
    for vector in vectors.T:
        for q in done:
            vector = vector - q * (q @ metric @ vector) / (q @ metric @ q)
        done.append(vector / np.linalg.norm(vector))
    return np.column_stack(done)


def _apart(U: np.ndarray, Q: np.ndarray) -> float:
    cosines = np.sum(U * Q, axis=0)
    return float(np.max(np.linalg.norm(U - Q * cosines, axis=0)))
