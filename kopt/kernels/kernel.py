"""What every kernel can do."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from kopt.kernels.checks import finite
from kopt.kernels.points import Matrix, Points, sequence


class Kernel(ABC):
    """A symmetric function k(x, z) of two points.

    A new kernel is a frozen dataclass in a file of its own that defines `evaluate`, and says
    `positive_semidefinite = True` when that follows from its construction. Sums, products and non-negative multiples
    of kernels are kernels (KMPA Proposition 3.22).

    >>> from kopt.kernels import Gaussian, Polynomial
    >>> k = 0.5 * Gaussian(sigma=1.0) * Polynomial(degree=2)
    >>> k([[0.0], [1.0]]).round(3).tolist()
    [[0.5, 0.303], [0.303, 2.0]]
    """

    # An array times a kernel must be an error, not an array of kernels.
    __array_ufunc__ = None
    precedence: ClassVar[int] = 3

    @property
    def positive_semidefinite(self) -> bool:
        """Whether the construction proves every Gram matrix positive semidefinite; False means unknown."""
        return False

    @property
    def leaves(self) -> "list[Kernel]":
        """The kernels that it is made of in the end: those that are made of no others."""
        return [self]

    @abstractmethod
    def evaluate(self, X: Points, Z: Points) -> Matrix:
        """The values k(x_i, z_j) between checked points, in an array of their own; exactly symmetric if `Z is X`."""

    def evaluate_diagonal(self, X: Points) -> Matrix:
        """The values k(x_i, x_i) at checked points."""
        return np.array([self.evaluate(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(len(X))])

    def against(self, Z: Points) -> Callable[[Points], Matrix]:
        """The map from checked points X to k(X, Z), for use on many blocks X with one Z."""
        return partial(_evaluate_swapped, self, Z)

    def fused(self, X: Points) -> Any:
        """The values between checked points as compiled code that uses them at once (see `kopt.fused`); or None."""
        return None

    def __call__(self, X: Points, Z: Points | None = None) -> Matrix:
        """The matrix of k(x_i, z_j): new points X against training points Z, or X against itself."""
        if Z is None:
            X = Z = self.check(X)
        else:
            Z = self.check(Z)
            X = self.check_new(X, Z)
        with np.errstate(over="ignore", invalid="ignore"):
            return finite(self.evaluate(X, Z))

    def diagonal(self, X: Points) -> Matrix:
        """The vector of k(x_i, x_i), without the matrix."""
        return self.evaluate_diagonal(self.check(X))

    def check(self, X: Points) -> Points:
        """The points in the form the kernel works on; the same object when they already have it."""
        return sequence(X)

    def check_new(self, X: Points, Z: Points) -> Points:
        """The new points X, checked by themselves and against the checked training points Z."""
        return self.check(X)

    def fit(self, X: Points) -> "Kernel":
        """The kernel bound to the training points, where it depends on them."""
        return self

    def features(self, X: Points) -> Matrix | None:
        """A matrix F with F F' = k(X, X), one row per point, when the kernel has cheap explicit features."""
        return None

    def normalised(self) -> "Kernel":
        """The kernel k(x, z) / sqrt(k(x, x) k(z, z))."""
        from kopt.kernels.normalised import Normalised

        return Normalised(self)

    def centred(self) -> "Kernel":
        """The kernel with the training mean subtracted in feature space."""
        from kopt.kernels.centred import Centred

        return Centred(self)

    def __add__(self, other: Any) -> "Kernel":
        """The kernel k1 + k2."""
        from kopt.kernels.sum import Sum

        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> "Kernel":
        """The kernel itself when added to zero, as the builtin sum does."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, other: Any) -> "Kernel":
        """The kernel k1 * k2, or a * k1 for a number a >= 0."""
        from kopt.kernels.product import Product
        from kopt.kernels.scaled import Scaled

        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(float(other), self) if isinstance(other, Real) else NotImplemented

    def __rmul__(self, other: Any) -> "Kernel":
        """The kernel a * k1."""
        return self.__mul__(other)


def _evaluate_swapped(kernel: Kernel, Z: Points, X: Points) -> Matrix:
    return kernel.evaluate(X, Z)


def bracketed(kernel: Kernel, precedence: int) -> str:
    """The kernel as text, in brackets when it binds more loosely than its surroundings."""
    return repr(kernel) if kernel.precedence >= precedence else f"({kernel!r})"
