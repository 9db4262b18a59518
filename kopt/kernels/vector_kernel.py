"""Kernels whose points are vectors."""

from abc import ABC

from kopt.errors import InputError
from kopt.kernels.kernel import Kernel
from kopt.kernels.points import Matrix, Points, vectors


class VectorKernel(Kernel, ABC):
    """A kernel on the rows of a finite 2-D array.

    >>> from kopt.kernels import Linear
    >>> Linear().check([[1, 2]])
    array([[1., 2.]])
    """

    def check(self, X: Points) -> Matrix:
        """The points as rows of a finite float64 array."""
        return vectors(X)

    def check_new(self, X: Points, Z: Points) -> Matrix:
        """The new points, with as many features as the training points."""
        points = vectors(X)
        if points.shape[1] != Z.shape[1]:
            raise InputError(
                f"The new points have {points.shape[1]} features but the training points have {Z.shape[1]}.",
                "Give both the same columns in the same order.",
            )
        return points
