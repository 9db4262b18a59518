"""The product of two kernels."""

from collections.abc import Callable
from dataclasses import dataclass

from kopt.kernels.composite import Composite
from kopt.kernels.kernel import Kernel, bracketed
from kopt.kernels.points import Matrix, Points


@dataclass(frozen=True, repr=False)
class Product(Composite):
    """k(x, z) = k1(x, z) k2(x, z), KMPA Proposition 3.22 (iii).

    >>> from kopt.kernels import Linear
    >>> (Linear() * Linear())([[2.0]], [[3.0]])
    array([[36.]])
    """

    left: Kernel
    right: Kernel

    precedence = 2

    def __repr__(self) -> str:
        """As one writes it: k1 * k2."""
        return f"{bracketed(self.left, 2)} * {bracketed(self.right, 3)}"

    def against(self, Z: Points) -> Callable[[Points], Matrix]:
        """K1 times K2, entry by entry."""
        left, right = self.left.against(Z), self.right.against(Z)

        def values(X: Points) -> Matrix:
            K = left(X)
            K *= right(X)
            return K

        return values

    def evaluate_diagonal(self, X: Points) -> Matrix:
        """The product of the diagonals."""
        return self.left.evaluate_diagonal(X) * self.right.evaluate_diagonal(X)
