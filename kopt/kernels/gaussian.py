"""The Gaussian kernel."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from kopt.kernels.checks import positive
from kopt.kernels.points import Matrix, row_blocks, squared_norms
from kopt.kernels.vector_kernel import VectorKernel

#: The error of the exponent above which ||x||^2 + ||z||^2 - 2 <x, z> is given up for ||x - z||^2.
EXPONENT_ERROR = 1e-11


@dataclass(frozen=True)
class Gaussian(VectorKernel):
    """k(x, z) = exp(-||x - z||^2 / (2 sigma^2)), KMPA Definition 9.8.

    Elsewhere the same kernel has gamma = 1 / (2 sigma^2), or a width with exp(-||x - z||^2 / width^2):
    `from_gamma` and `from_width` translate.

    >>> Gaussian(sigma=2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.6065]])
    >>> Gaussian.from_gamma(0.125)
    Gaussian(sigma=2.0)
    """

    sigma: float

    positive_semidefinite = True

    def __post_init__(self) -> None:
        """Refuse parameters outside their domain."""
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))
        positive(f"With sigma = {self.sigma}, gamma = 1 / (2 sigma^2)", self.gamma)

    @classmethod
    def from_gamma(cls, gamma: float) -> "Gaussian":
        """The kernel exp(-gamma ||x - z||^2)."""
        return cls(1 / sqrt(2 * positive("gamma", gamma)))

    @classmethod
    def from_width(cls, width: float) -> "Gaussian":
        """The kernel exp(-||x - z||^2 / width^2), Cristianini and Shawe-Taylor (2000), Corollary 3.13 (3)."""
        return cls(positive("width", width) / sqrt(2))

    @property
    def gamma(self) -> float:
        """The factor of the squared distance, 1 / (2 sigma^2)."""
        return 0.5 / self.sigma / self.sigma

    def against(self, Z: Matrix) -> Callable[[Matrix], Matrix]:
        """The exponential of <u, v> - ||u||^2 / 2 - ||v||^2 / 2, with u and v the centred points in units of sigma."""
        centre = Z.mean(axis=0)
        V = (Z - centre) / self.sigma
        half_v = squared_norms(V) / 2

        def values(X: Matrix) -> Matrix:
            U = V if X is Z else (X - centre) / self.sigma
            half_u = half_v if X is Z else squared_norms(U) / 2
            if not 8 * np.finfo(np.float64).eps * max(half_u.max(), half_v.max()) <= EXPONENT_ERROR:
                return self._from_differences(X, Z)
            K = _from_products(U, V, half_u, half_v)
            if X is Z:
                np.fill_diagonal(K, 1.0)
            return K

        return values

    def fused(self, X: Matrix) -> Any:
        """In compiled code, unless the points are so far apart that products of them lose too many digits."""
        from kopt.fused.gaussian import FusedGaussian

        V = X - X.mean(axis=0)
        V /= self.sigma  # in place: the first touch of new memory is slow
        return FusedGaussian(V) if 8 * np.finfo(np.float64).eps * squared_norms(V).max() / 2 <= EXPONENT_ERROR else None

    def evaluate(self, X: Matrix, Z: Matrix) -> Matrix:
        """The values between checked points."""
        return self.against(Z)(X)

    def evaluate_diagonal(self, X: Matrix) -> Matrix:
        """Ones."""
        return np.ones(len(X))

    def _from_differences(self, X: Matrix, Z: Matrix) -> Matrix:
        K: Matrix = cdist(X, Z, "sqeuclidean")
        K *= -self.gamma
        return np.exp(K, out=K)


def _from_products(U: Matrix, V: Matrix, half_u: Matrix, half_v: Matrix) -> Matrix:
    K = U @ V.T
    for rows in row_blocks(K):
        block = K[rows]
        # The sum of the squares is formed first: it commutes, so K stays exactly symmetric.
        block -= half_u[rows, None] + half_v
        # With both bounds numpy's clip is vectorised; its minimum with a number costs more than the exponential.
        np.clip(block, -np.inf, 0.0, out=block)
        np.exp(block, out=block)
    return K
