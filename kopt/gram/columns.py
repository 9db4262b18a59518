"""The Gram matrix as solvers see it: some columns times coefficients, and the block between some points."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kopt.gram.gram import Gram
from kopt.gram.row_cache import RowCache
from kopt.kernels.checks import finite
from kopt.kernels.points import take

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

#: The share of the memory budget that rows may take which are kept because computing them is slow.
SHARE = 0.4
#: With fewer than so many it is not worth the trouble.
LEAST_KEPT = 64


class Columns:
    """Columns of K, used as soon as they are computed; K itself only where it is there already or has features.

    Columns are kept, as many as fit into a share of the budget, where computing them is slow. Otherwise nothing larger
    than one block between the points asked for is held; blocks share one piece of memory, so a block is good until the
    next is asked for.

    >>> from kopt.kernels import Gaussian
    >>> columns = Columns(Gram(Gaussian(sigma=1.0), [[0.0], [1.0], [2.0]]))
    >>> out = np.zeros(3)
    >>> columns.add(np.array([0, 2]), np.array([1.0, -1.0]), out)
    >>> out.round(4).tolist()
    [0.8647, 0.0, -0.8647]
    """

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        self._memory: NDArray[Any] = np.empty(0)

    @property
    def single(self) -> bool:
        """Whether columns and blocks can be had in single precision, for less."""
        return "dense" not in self.gram.__dict__ and self.gram.features is None and self.gram.fused is not None

    @property
    def single_error(self) -> float:
        """The typical error of an entry in single precision; 0 where there is none."""
        return float(self.gram.fused.single_error) if self.single else 0.0

    def add(self, where: Indices, c: Vector, out: Vector, single: bool = True) -> None:
        """Add sum_j c_j K_ij over the j in `where` to out_i."""
        if len(where) == 0:
            return
        if (single or not self.single) and self._kept is not None:
            self._kept.add(where, c, out)
            return
        if single and self.single:
            self.gram.fused.add(where, c, out)
            return
        coefficients = np.zeros(self.gram.n)
        np.add.at(coefficients, where, c)
        out += self.gram.product(coefficients)

    def values(self, where: Indices, c: Vector) -> Vector:
        """(K c)_i for the few i in `where`, in double precision."""
        if not self.single:
            return np.asarray(self.gram.rows(where) @ c)
        support = np.flatnonzero(c)
        return np.asarray(self.gram.fused.values(where, support, c[support]))

    @cached_property
    def _kept(self) -> RowCache | None:
        """The columns that are kept; None where they are computed or read faster than from there, or none would fit."""
        gram = self.gram
        fast = "dense" in gram.__dict__ or gram.features is not None or (self.single and not gram.fused.slow)
        if fast or SHARE * gram.budget < LEAST_KEPT * gram.n * 8:
            return None
        budget = int(SHARE * gram.budget)
        if self.single:
            return RowCache(gram.n, np.float32, budget, gram.fused.rows)
        return RowCache(gram.n, np.float64, budget, lambda where, out: np.copyto(out, gram.rows(where)))

    def block(self, where: Indices, single: bool = True) -> NDArray[Any]:
        """The matrix between the points in `where`, in single precision where that can be had and is wanted."""
        gram = self.gram
        if "dense" in gram.__dict__:
            whole = np.array_equal(where, np.arange(gram.n))
            return gram.dense if whole else gram.dense[np.ix_(where, where)]
        if gram.features is not None:
            F = gram.features[where]
            return np.matmul(F, F.T, out=self._space(len(where), np.float64))
        if gram.fused is not None:
            space = self._space(len(where), np.float32 if single else np.float64)
            return gram.fused.block(where, space)
        points = take(gram.X, where)
        with np.errstate(over="ignore", invalid="ignore"):
            return finite(gram.kernel.evaluate(points, points))

    def _space(self, m: int, dtype: Any) -> NDArray[Any]:
        """Memory for m x m numbers, the same each time: the first touch of new memory is slow."""
        needed = m * m * np.dtype(dtype).itemsize
        if self._memory.nbytes < needed:
            self._memory = np.empty(needed // 8 + 1)
        return self._memory.view(dtype)[: m * m].reshape(m, m)
