"""Rows of K that are kept in memory: as many as fit, those that were used last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

#: What rows may take that are on their way to their places.
BLOCK_BYTES = 64_000_000


class RowCache:
    """Sums of rows of an n x n matrix; each row is computed when it is first asked for, and again when it was dropped.

    compute   writes the rows with some indices into memory that it is given, of the type `dtype`
    budget    the bytes that the rows may take; memory is touched only as they come

    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> cache = RowCache(2, np.float64, 64, lambda where, out: np.copyto(out, K[where]))
    >>> out = np.zeros(2)
    >>> cache.add(np.array([1]), np.array([2.0]), out)
    >>> out.tolist(), cache.kept
    ([1.0, 2.0], 1)
    """

    def __init__(self, n: int, dtype: Any, budget: int, compute: Callable[[Indices, NDArray[Any]], object]) -> None:
        capacity = min(n, budget // (n * np.dtype(dtype).itemsize))
        self._rows = np.empty((capacity, n), dtype)
        self._compute = compute
        self._slot = np.full(n, -1)
        self._owner = np.full(capacity, -1)
        self._last_use = np.zeros(capacity, dtype=np.int64)
        self._clock = 0

    @property
    def capacity(self) -> int:
        """How many rows fit."""
        return len(self._rows)

    @property
    def kept(self) -> int:
        """How many rows are there."""
        return int(np.count_nonzero(self._owner >= 0))

    def add(self, where: Indices, c: Vector, out: Vector) -> None:
        """Add sum_j c_j K_ji over the j in `where` to out_i."""
        for start in range(0, len(where), self.capacity):
            part = slice(start, start + self.capacity)
            self._add(self._slots(where[part]), c[part].astype(self._rows.dtype), out)

    def _add(self, slots: Indices, c: NDArray[Any], out: Vector) -> None:
        from kopt.fused.sums import add_rows
        from kopt.fused.threads import over_ranges

        over_ranges(lambda a, b: add_rows(self._rows, slots, c, a, b, out), len(out))

    def _slots(self, where: Indices) -> Indices:
        """Where the rows are, after those that were missing have taken the places of those not used for longest."""
        self._clock += 1
        missing = np.unique(where[self._slot[where] < 0])
        self._last_use[self._slot[where[self._slot[where] >= 0]]] = self._clock
        if len(missing):
            free = np.argsort(self._last_use, kind="stable")[: len(missing)]
            dropped = self._owner[free]
            self._slot[dropped[dropped >= 0]] = -1
            self._owner[free] = -1
            self._fill(free, missing)  # interrupted here, it has neither the old rows nor the new ones
            self._slot[missing], self._owner[free], self._last_use[free] = free, missing, self._clock
        return self._slot[where]

    def _fill(self, slots: Indices, where: Indices) -> None:
        """Compute rows, a few at a time: where their places are not side by side they are written elsewhere first."""
        few = max(1, BLOCK_BYTES // self._rows[:1].nbytes)
        for start in range(0, len(slots), few):
            places, rows = slots[start : start + few], where[start : start + few]
            if np.all(np.diff(places) == 1):
                self._compute(rows, self._rows[places[0] : places[-1] + 1])
            else:
                beside = np.empty((len(places), self._rows.shape[1]), self._rows.dtype)
                self._compute(rows, beside)
                self._rows[places] = beside
