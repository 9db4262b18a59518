"""A kernel given by its values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kopt.errors import InputError
from kopt.kernels.checks import finite, square, symmetric
from kopt.kernels.cross_matrices import CrossMatrices
from kopt.kernels.kernel import Kernel
from kopt.kernels.points import Indices, Matrix, Points

#: What serves wherever cross matrices do not.
_FULL = "build the sample from full matrices over training and new points, with indices as points"


@dataclass(frozen=True, eq=False, repr=False)
class Precomputed(Kernel):
    """k(i, j) = K_ij for a symmetric matrix K between n points.

    A point is an index 0..n-1, or, for a point outside those n, the row of its n kernel values against them. New
    points are therefore given as the cross matrix K(new, train), and centring and prediction work as for any kernel.
    Where several precomputed kernels are used together, new points are a mapping from their names to cross matrices.
    The value between two new points is in neither matrix, and is refused. Two kernels are equal only if they are the
    same object. `positive_semidefinite` tells that the matrix has been checked to be so.

    >>> k = Precomputed([[2.0, 1.0], [1.0, 2.0]])
    >>> k(k.points).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    >>> k([[0.5, 0.7]], [1])
    array([[0.7]])
    >>> total = Precomputed(np.eye(2), name="a") + Precomputed(np.ones((2, 2)), name="b")
    >>> total
    Precomputed('a', 2 x 2 matrix) + Precomputed('b', 2 x 2 matrix)
    >>> total({"a": [[0.5, 0.0]], "b": [[1.0, 3.0]]}, [0, 1])
    array([[1.5, 3. ]])
    """

    K: Any
    positive_semidefinite: bool = False
    name: Any = None

    def __post_init__(self) -> None:
        """Keep a symmetric, read-only copy of K."""
        K = symmetric(finite(square(self.K)))
        K = (K + K.T) / 2
        K.flags.writeable = False
        object.__setattr__(self, "K", K)

    def __repr__(self) -> str:
        """The name, and the size instead of the values."""
        name = "" if self.name is None else f"{self.name!r}, "
        return f"Precomputed({name}{len(self.K)} x {len(self.K)} matrix)"

    @property
    def points(self) -> Indices:
        """The indices of all points."""
        return np.arange(len(self.K))

    def check(self, X: Points) -> Any:
        """Indices as a vector of integers, or a cross matrix with one column for each of the n points, or several."""
        points = CrossMatrices(X) if isinstance(X, Mapping) else X
        if isinstance(points, CrossMatrices):
            self._check_cross(points.of(self.name), f"The cross matrix {self.name!r}")
            return points
        points = np.asarray(X)
        return self._check_cross(points) if points.ndim == 2 else self._check_indices(points)

    def evaluate(self, X: Any, Z: Any) -> Matrix:
        """The values looked up in K or in the cross matrix."""
        X, Z = self._own(X), self._own(Z)
        if X.ndim == Z.ndim == 2:
            raise InputError(
                "A precomputed kernel has no values between two new points.",
                "Compare the rows of K(new, train) with indices of training points.",
            )
        if X.ndim == 2:
            return np.asarray(X[:, Z])
        return np.asarray(self.K[np.ix_(X, Z)] if Z.ndim == 1 else Z[:, X].T)

    def evaluate_diagonal(self, X: Any) -> Matrix:
        """K_ii."""
        if self._own(X).ndim == 2:
            raise InputError(
                "A precomputed kernel has no k(x, x) of new points.",
                "Pass them, as in solution.predict(K_new, diagonal=...), or normalise the matrices beforehand.",
            )
        return np.asarray(self.K[X, X])

    def _own(self, X: Any) -> Any:
        return X.of(self.name) if isinstance(X, CrossMatrices) else X

    def _check_cross(self, points: Any, called: str = "The cross matrix") -> Matrix:
        n = len(self.K)
        if points.shape[1] != n:
            raise InputError(
                f"{called} has {points.shape[1]} columns but the precomputed kernel has {n} points.",
                "Give K(new, train), with one row for each new and one column for each training point.",
            )
        return finite(points.astype(np.float64, copy=False), called)

    def _check_indices(self, points: Any) -> Indices:
        n = len(self.K)
        if points.ndim != 1 or points.dtype.kind not in "iu" or points.size == 0:
            raise InputError(
                f"The points of a precomputed kernel are indices, not {points.dtype} values of shape {points.shape}.",
                "Use kernel.points for all of them, or a cross matrix K(new, train) for new points.",
            )
        outside = points[(points < 0) | (points >= n)]
        if outside.size:
            raise InputError(
                f"Index {outside[0]} is outside the {n} points of the precomputed kernel.", f"Use 0 to {n - 1}."
            )
        return np.asarray(points.astype(np.intp, copy=False))


def precomputed_in(kernel: Kernel) -> set[Precomputed]:
    """The precomputed kernels that a kernel is made of.

    >>> a = Precomputed(np.eye(2), name="a")
    >>> precomputed_in(a + 2 * a.centred())
    {Precomputed('a', 2 x 2 matrix)}
    """
    return {leaf for leaf in kernel.leaves if isinstance(leaf, Precomputed)}


def refuse_shared(kernels: Iterable[Precomputed], X: Points) -> None:
    """Refuse new points that would be one and the same cross matrix for different precomputed kernels."""
    names = [kernel.name for kernel in kernels]
    if len(names) < 2:
        return
    if isinstance(X, CrossMatrices):
        if len(set(names)) < len(names):
            raise InputError(
                f"{len(names)} different precomputed kernels have only {len(set(names))} different names.",
                f"Name each differently, as in Precomputed(K, name='a'), or {_FULL}.",
            )
    elif np.ndim(X) == 2:
        given = "Name them, as in Precomputed(K, name='a'), and give" if None in names else "Give"
        raise InputError(
            f"One cross matrix of shape {np.shape(X)} is given for {len(names)} different precomputed kernels.",
            f"{given} a mapping from name to cross matrix, as in {{'a': K_a, 'b': K_b}}, or {_FULL}.",
        )
