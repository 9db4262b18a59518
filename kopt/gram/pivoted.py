"""Pivoted partial Cholesky decomposition of a Gram matrix that is never formed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isqrt

import numpy as np

from kopt.gram.gram import Gram
from kopt.kernels.checks import finite
from kopt.kernels.points import Indices, Matrix, Points, take

#: Pivots are chosen among the points with at least this fraction of the largest diagonal entry that is left.
NEARLY_LARGEST = 0.25
#: No more points than this are compared with each other at once, nor more than their values cost as many rows as
#: ROWS_FOR_CANDIDATES.
CANDIDATES = 256
ROWS_FOR_CANDIDATES = 4
#: Diagonal entries of the rest, relative to the largest of K, that are nothing but the rounding in K and in L L'.
ROUNDING = 1e-14
#: A rest that turns negative by this fraction of its largest diagonal entry is made of rounding.
NEGATIVE = 0.1
#: Room for so many columns is made at first, and doubled when it is used up.
FIRST_COLUMNS = 64


@dataclass(frozen=True, eq=False)
class PartialCholesky:
    """K = L L' + a rest that is positive semidefinite.

    L           one row per point, one column per pivot
    pivots      the points whose columns were used, in their order; the rest vanishes in these rows and columns
    remaining   the diagonal of the rest, whose largest entry bounds all others
    """

    L: Matrix = field(repr=False)
    pivots: Indices
    remaining: Matrix = field(repr=False)

    @property
    def rank(self) -> int:
        """The number of columns of L."""
        return self.L.shape[1]


def pivoted_cholesky(
    gram: Gram,
    tolerance: float,
    most: int | None = None,
    start: PartialCholesky | None = None,
    enough: float = 0.0,
) -> PartialCholesky:
    """L with K = L L' + rest: columns are added until the rest is small, or until there are `most`.

    tolerance   the largest diagonal entry of the rest, relative to the largest of K
    start       a decomposition of the same matrix, to go on from
    enough      a trace of the rest that is small enough whatever its largest entry

    Each step takes several pivots at once: of the points whose diagonal entry in the rest is nearly the largest, those
    that keep it when the others are taken. All earlier columns are then read once for the step, not once for each
    pivot. Where the rounding in K is larger than what is asked for, the rest turns negative, and that is the end.

    >>> from kopt.kernels import Gaussian
    >>> gram = Gram(Gaussian(sigma=2.0), [[0.0], [0.5], [1.0], [1.5], [2.0]])
    >>> part = pivoted_cholesky(gram, tolerance=1e-3)
    >>> part.rank, bool(np.abs(gram.dense - part.L @ part.L.T).max() <= 1e-3)
    (3, True)
    """
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused with a sentence
        return _extended(_Values(gram), tolerance, most, start, enough)


class _Values:
    """The entries of K."""

    def __init__(self, gram: Gram) -> None:
        self._gram = gram
        self._against: Callable[[Points], Matrix] = gram.kernel.against(gram.X)
        self.diagonal = gram.diagonal

    def rows(self, where: Indices) -> Matrix:
        """The rows of these points."""
        if "dense" in vars(self._gram):
            return self._gram.dense[where]
        return finite(self._against(take(self._gram.X, where)))

    def among(self, where: Indices) -> Matrix:
        """The square matrix between these points."""
        if "dense" in vars(self._gram):
            return self._gram.dense[np.ix_(where, where)]
        X = take(self._gram.X, where)
        return finite(self._gram.kernel.evaluate(X, X))


def _extended(
    values: _Values, tolerance: float, most: int | None, start: PartialCholesky | None, enough: float
) -> PartialCholesky:
    n = len(values.diagonal)
    most = n if most is None else min(most, n)
    smallest = max(tolerance, ROUNDING) * float(values.diagonal.max(initial=0.0))
    rows = np.empty((min(FIRST_COLUMNS, most), n)) if start is None else start.L.T
    pivots = np.empty(0, dtype=np.intp) if start is None else start.pivots
    remaining = values.diagonal if start is None else start.remaining
    while len(pivots) < most and remaining.max() > smallest and remaining.sum() > enough:
        rank = len(pivots)
        new, U = _next_pivots(values, rows[:rank], remaining, smallest, most - rank)
        # The diagonal of U varies by no more than a factor of two: its inverse is harmless.
        columns = np.linalg.inv(U).T @ (values.rows(new) - rows[:rank, new].T @ rows[:rank])
        rest = remaining - np.einsum("ij,ij->j", columns, columns)
        if len(new) == 0 or rest.min() < -NEGATIVE * remaining.max():
            break
        rows = _with_room(rows, rank, rank + len(new), most)
        rows[rank : rank + len(new)] = columns
        pivots = np.append(pivots, new)
        rest[new] = 0.0
        remaining = np.maximum(rest, 0.0)
    return PartialCholesky(rows[: len(pivots)].T, pivots, remaining)


def _next_pivots(
    values: _Values, rows: Matrix, remaining: Matrix, smallest: float, most: int
) -> tuple[Indices, Matrix]:
    """Some pivots, and the triangular U with U'U = the rest among them."""
    cut = max(NEARLY_LARGEST * float(remaining.max()), smallest)
    near = np.flatnonzero(remaining >= cut)
    size = min(CANDIDATES, 1 + isqrt(ROWS_FOR_CANDIDATES * len(remaining)))
    if len(near) > size:
        spread = near[np.linspace(0, len(near) - 1, size - 1).astype(np.intp)]
        near = np.union1d(spread, [remaining.argmax()])
    rest = values.among(near) - rows[:, near].T @ rows[:, near]
    order, U = _one_by_one(rest, cut, most)
    return near[order], U


def _one_by_one(K: Matrix, cut: float, most: int) -> tuple[list[int], Matrix]:
    """The pivots of a small matrix with diagonal entries above `cut`, and U with U'U = K among them."""
    rows, remaining, order = np.empty((min(most, len(K)), len(K))), K.diagonal().copy(), list[int]()
    while len(order) < len(rows) and remaining.max() > cut:
        rank, pivot = len(order), int(remaining.argmax())
        rows[rank] = (K[pivot] - rows[:rank, pivot] @ rows[:rank]) / np.sqrt(remaining[pivot])
        remaining -= rows[rank] ** 2
        remaining[pivot] = 0.0
        order.append(pivot)
    return order, np.triu(rows[: len(order), order])


def _with_room(rows: Matrix, used: int, needed: int, most: int) -> Matrix:
    if needed <= len(rows):
        return rows
    wider = np.empty((min(most, max(2 * len(rows), needed)), rows.shape[1]))
    wider[:used] = rows[:used]
    return wider
