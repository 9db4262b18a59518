"""Large positive definite systems in the memory of their matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

#: Columns that are eliminated at a time.
WIDTH = 256


def solved_in_place(A: Matrix, B: Matrix) -> Matrix:
    """A^-1 B for a symmetric positive definite A, which is overwritten; LinAlgError where it is not definite.

    L L' = A, panel by panel: all products are NumPy's, because the threads of SciPy fight with them, and nothing larger
    than a panel is held beside A.

    >>> solved_in_place(np.array([[4.0, 0.0], [0.0, 2.0]]), np.array([[2.0], [3.0]])).ravel().round(6).tolist()
    [0.5, 1.5]
    """
    inverses = _factorise(A)
    X = np.array(B, dtype=np.float64)
    for a, inverse in inverses:
        b = a + len(inverse)
        X[a:b] = inverse @ (X[a:b] - A[a:b, :a] @ X[:a])
    for a, inverse in reversed(inverses):
        b = a + len(inverse)
        X[a:b] = inverse.T @ (X[a:b] - A[b:, a:b].T @ X[b:])
    return X


def _factorise(A: Matrix) -> list[tuple[int, Matrix]]:
    """Write L below the diagonal blocks of A, and return the inverses of its diagonal blocks with their places."""
    inverses = []
    for a in range(0, len(A), WIDTH):
        b = min(a + WIDTH, len(A))
        A[a:, a:b] -= A[a:, :a] @ A[a:b, :a].T
        inverse = np.linalg.inv(np.linalg.cholesky(A[a:b, a:b]))
        A[b:, a:b] = A[b:, a:b] @ inverse.T
        inverses.append((a, inverse))
    return inverses
