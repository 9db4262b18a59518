"""The Laplacian kernel."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from kopt.kernels.checks import positive
from kopt.kernels.points import Matrix
from kopt.kernels.vector_kernel import VectorKernel


@dataclass(frozen=True)
class Laplacian(VectorKernel):
    """k(x, z) = exp(-||x - z|| / sigma) with the 2-norm, Mohri et al. (2018), Exercise 6.2 (g).

    >>> Laplacian(sigma=5.0)([[0.0, 0.0]], [[3.0, 4.0]]).round(4)
    array([[0.3679]])
    """

    sigma: float

    positive_semidefinite = True

    def __post_init__(self) -> None:
        """Refuse parameters outside their domain."""
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))

    def evaluate(self, X: Matrix, Z: Matrix) -> Matrix:
        """The exponential of the distances, taken from the differences: a root would amplify cancellation."""
        K: Matrix = cdist(X, Z)
        K /= -self.sigma
        np.exp(K, out=K)
        return K

    def evaluate_diagonal(self, X: Matrix) -> Matrix:
        """Ones."""
        return np.ones(len(X))
