"""The normalised kernel."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kopt.errors import InputError
from kopt.kernels.composite import Composite
from kopt.kernels.kernel import Kernel
from kopt.kernels.points import Matrix, Points, row_blocks


@dataclass(frozen=True)
class Normalised(Composite):
    """k(x, z) = k1(x, z) / sqrt(k1(x, x) k1(z, z)): the cosine of the angle in feature space, KMPA Algorithm 5.1.

    >>> from kopt.kernels import Linear
    >>> Linear().normalised()([[3.0, 4.0]], [[1.0, 0.0]])
    array([[0.6]])
    """

    kernel: Kernel

    def against(self, Z: Points) -> Callable[[Points], Matrix]:
        """K1 divided by the norms on both sides; exact ones where a point meets itself."""
        inner, norms_Z = self.kernel.against(Z), self.norms(Z)

        def values(X: Points) -> Matrix:
            K = inner(X)
            norms_X = norms_Z if X is Z else self.norms(X)
            for rows in row_blocks(K):
                K[rows] /= norms_X[rows, None] * norms_Z
            if X is Z:
                np.fill_diagonal(K, 1.0)
            return K

        return values

    def evaluate_diagonal(self, X: Points) -> Matrix:
        """Ones, once no norm is zero."""
        return np.ones(len(self.norms(X)))

    def features(self, X: Points) -> Matrix | None:
        """The features, each point's divided by their norm."""
        F = self.kernel.features(X)
        return None if F is None else F / self.norms(self.check(X))[:, None]

    def norms(self, X: Points) -> Matrix:
        """sqrt(k1(x, x)) at checked points."""
        squares = self.kernel.evaluate_diagonal(X)
        wrong = np.flatnonzero(~(squares > 0))
        if len(wrong):
            raise InputError(
                f"Normalising divides by k(x, x), which is {squares[wrong[0]]:.4g} at point {wrong[0]}.",
                "Remove that point, or add a kernel that is positive there, such as Polynomial with R > 0.",
            )
        return np.sqrt(squares)
