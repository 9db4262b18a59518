"""The linear kernel."""

from dataclasses import dataclass

from kopt.kernels.points import Matrix, Points, squared_norms
from kopt.kernels.vector_kernel import VectorKernel


@dataclass(frozen=True)
class Linear(VectorKernel):
    """k(x, z) = <x, z>, Cristianini and Shawe-Taylor (2000), Section 3.2.

    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    positive_semidefinite = True

    def evaluate(self, X: Matrix, Z: Matrix) -> Matrix:
        """X Z'."""
        return X @ Z.T

    def evaluate_diagonal(self, X: Matrix) -> Matrix:
        """Squared norms."""
        return squared_norms(X)

    def features(self, X: Points) -> Matrix:
        """The points themselves."""
        return self.check(X)
