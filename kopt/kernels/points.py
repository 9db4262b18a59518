"""Points and how to pick some of them: rows of an array, or items of any sequence."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from kopt.errors import InputError

Points: TypeAlias = Any
Matrix: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]


def sequence(X: Points) -> Points:
    """The points as something with a length, an order and slices; points of any kind.

    >>> sequence(word for word in ("cat", "car"))
    ['cat', 'car']
    """
    try:
        points = X if isinstance(X, np.ndarray | list | tuple) else list(X)
    except TypeError:
        raise InputError(f"X is a {type(X).__name__}, not a sequence of points.", "Give a list or an array.") from None
    if len(points) == 0:
        raise InputError("X has no points.", "Give at least one.")
    return points


def vectors(X: Points) -> Matrix:
    """The points as the rows of a finite float64 array, or the reason why they are not.

    >>> vectors([[1, 2], [3, 4]]).dtype.name
    'float64'
    """
    points = _numeric(X)
    if points.ndim == 1 and points.size:
        raise InputError(
            f"X is 1-D with {len(points)} numbers, but a point is a row of a 2-D array.",
            "Use X.reshape(-1, 1) for points on the line, X.reshape(1, -1) for a single point.",
        )
    if points.size == 0:
        raise InputError(
            f"X is empty: its shape is {points.shape}.", "Give at least one point with at least one feature."
        )
    if points.ndim != 2:
        raise InputError(
            f"X is {points.ndim}-D with shape {points.shape}, but a point is a row of a 2-D array.",
            "Use X.reshape(len(X), -1) to make each point one row.",
        )
    _refuse_missing(points)
    # X X' is computed exactly symmetric only for rows without gaps.
    return np.ascontiguousarray(points)


def _numeric(X: Points) -> Matrix:
    if issparse(X):
        raise InputError("X is a sparse matrix, and kernels work on dense ones.", "Use X.toarray().")
    try:
        raw = np.asarray(X)
    except ValueError:
        raise InputError("X has rows of different lengths.", "Give every point the same features.") from None
    except TypeError:
        raise InputError(
            f"X is a {type(X).__name__}, not an array of vectors.", "Give a 2-D array with one row for each point."
        ) from None
    try:
        if raw.dtype.kind not in "biufO":
            raise TypeError
        return raw.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise InputError(
            f"X holds {raw.dtype} values, not real numbers.",
            "Encode them as numbers, or use FromFunction for points of another kind.",
        ) from None


def _refuse_missing(points: Matrix) -> None:
    missing = ~np.isfinite(points)
    if missing.any():
        row, column = np.argwhere(missing)[0]
        raise InputError(
            f"X has {missing.sum()} values that are NaN or infinite, the first at row {row}, column {column}.",
            "Remove those points or fill the values in.",
        )


def squared_norms(X: Matrix) -> Matrix:
    """The vector of ||x_i||^2.

    >>> squared_norms(np.array([[3.0, 4.0]]))
    array([25.])
    """
    squares: Matrix = np.einsum("ij,ij->i", X, X)
    return squares


def take(points: Points, where: ArrayLike) -> Points:
    """The points at the indices `where`, as a new array or list.

    >>> take(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    where = np.asarray(where)
    return points[where] if isinstance(points, np.ndarray) else [points[i] for i in where]


def blocks(n: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most `size` (at least one) that cover 0..n-1.

    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, size)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def row_blocks(K: Matrix) -> Iterator[slice]:
    """Slices of the rows of K small enough to stay in cache while several in-place operations pass over them."""
    return blocks(len(K), 2**15 // K.shape[1])
