"""The sum of two kernels."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kopt.kernels.composite import Composite
from kopt.kernels.kernel import Kernel, bracketed
from kopt.kernels.points import Matrix, Points


@dataclass(frozen=True, repr=False)
class Sum(Composite):
    """k(x, z) = k1(x, z) + k2(x, z), KMPA Proposition 3.22 (i); its features are those of both, side by side.

    >>> from kopt.kernels import Linear, Polynomial
    >>> (Linear() + Polynomial(degree=2, R=0.0))([[2.0]])
    array([[20.]])
    """

    left: Kernel
    right: Kernel

    precedence = 1

    def __repr__(self) -> str:
        """As one writes it: k1 + k2."""
        return f"{bracketed(self.left, 1)} + {bracketed(self.right, 2)}"

    def against(self, Z: Points) -> Callable[[Points], Matrix]:
        """K1 + K2."""
        left, right = self.left.against(Z), self.right.against(Z)

        def values(X: Points) -> Matrix:
            K = left(X)
            K += right(X)
            return K

        return values

    def evaluate_diagonal(self, X: Points) -> Matrix:
        """The sum of the diagonals."""
        return self.left.evaluate_diagonal(X) + self.right.evaluate_diagonal(X)

    def features(self, X: Points) -> Matrix | None:
        """Both kernels' features."""
        left, right = self.left.features(X), self.right.features(X)
        return None if left is None or right is None else np.hstack([left, right])
