"""Sums of rows that are in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

#: Columns that are worked on at a time: their sums stay in the first-level cache.
WIDTH = 2048


@njit(fastmath={"contract"}, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def add_rows(rows: Any, slots: Any, c: Any, start: int, stop: int, out: Any) -> None:
    """Add sum_j c_j rows[slots_j] to `out` from a column to another, four products at a time, the sums in double."""
    sums = np.empty(WIDTH)
    fours = len(slots) // 4 * 4
    for a in range(start, stop, WIDTH):
        w = min(WIDTH, stop - a)
        s = sums[:w]
        s[:] = 0.0
        for r in range(0, fours, 4):
            _add_four(rows, slots[r : r + 4], c[r : r + 4], a, s)
        for r in range(fours, len(slots)):
            x, factor = rows[slots[r], a : a + w], c[r]
            for i in range(w):
                s[i] += factor * x[i]
        out[a : a + w] += s


@njit(fastmath={"contract"}, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _add_four(rows: Any, slots: Any, c: Any, a: int, sums: Any) -> None:
    w = len(sums)
    x0, x1 = rows[slots[0], a : a + w], rows[slots[1], a : a + w]
    x2, x3 = rows[slots[2], a : a + w], rows[slots[3], a : a + w]
    c0, c1, c2, c3 = c
    for i in range(w):
        sums[i] += (c0 * x0[i] + c1 * x1[i]) + (c2 * x2[i] + c3 * x3[i])
