"""A non-negative multiple of a kernel."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kopt.kernels.checks import non_negative
from kopt.kernels.composite import Composite
from kopt.kernels.kernel import Kernel, bracketed
from kopt.kernels.points import Matrix, Points


@dataclass(frozen=True, repr=False)
class Scaled(Composite):
    """k(x, z) = a k1(x, z) with a >= 0, KMPA Proposition 3.22 (ii).

    >>> from kopt.kernels import Linear
    >>> (2 * Linear())([[2.0]], [[3.0]])
    array([[12.]])
    """

    scale: float
    kernel: Kernel

    precedence = 2

    def __post_init__(self) -> None:
        """Refuse parameters outside their domain."""
        object.__setattr__(self, "scale", non_negative("The scale of a kernel", self.scale))

    def __repr__(self) -> str:
        """As one writes it: a * k1."""
        return f"{self.scale} * {bracketed(self.kernel, 3)}"

    def against(self, Z: Points) -> Callable[[Points], Matrix]:
        """The multiple of K1."""
        inner = self.kernel.against(Z)

        def values(X: Points) -> Matrix:
            K = inner(X)
            K *= self.scale
            return K

        return values

    def evaluate_diagonal(self, X: Points) -> Matrix:
        """The multiple of the diagonal."""
        return self.scale * self.kernel.evaluate_diagonal(X)

    def features(self, X: Points) -> Matrix | None:
        """sqrt(a) times the features."""
        F = self.kernel.features(X)
        return None if F is None else np.sqrt(self.scale) * F
