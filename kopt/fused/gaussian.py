"""Gaussian kernel values that are used as soon as they are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kopt.fused.lanes import BYTES
from kopt.fused.threads import over_ranges
from kopt.fused.tile import COLUMNS, ROWS, add_tile, exponentiate, store_tile

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Bytes of the features that are worked on at a time: they stay in the first-level cache.
CACHED = 20_000
#: From this many features on, products of matrices by BLAS are faster than the loops here.
WIDE = 96
#: Entries of K that BLAS prepares at a time.
TILE = 2**19


class FusedGaussian:
    """K_ij = exp(<v_i, v_j> - |v_i|^2 / 2 - |v_j|^2 / 2), v the centred points in units of sigma.

    `add` is in single precision, sums of four entries apart, which are added up in double; `product` is in double.

    >>> K = FusedGaussian(np.array([[0.0], [1.0], [3.0]]))
    >>> K.product(np.array([0, 2]), np.array([1.0, -1.0])).round(4).tolist()
    [0.9889, 0.4712, -0.9889]
    """

    def __init__(self, V: NDArray[np.float64]) -> None:
        self.V = np.ascontiguousarray(V)
        self.half = np.einsum("ij,ij->i", V, V) / 2
        self.V32, self.half32 = self.V.astype(np.float32), self.half.astype(np.float32)
        self.wide = V.shape[1] >= WIDE
        if not self.wide:
            self.columns, self.columns32 = _columns(self.V, self.half), _columns(self.V32, self.half32)

    @property
    def single_error(self) -> float:
        """The typical error of an entry in single precision: that of its exponent, and of exp."""
        return float(np.finfo(np.float32).eps) * (1.0 + float(self.half.mean()))

    def product(self, where: Indices, c: Vector) -> Vector:
        """sum_j c_j K_ij over the j in `where`, for every i."""
        out = np.zeros(len(self.V))
        if self.wide:
            self._by_tiles(self.V, self.half, where, c, out)
        else:
            rows = _rows(self.V[where], self.half[where], c)
            over_ranges(lambda a, b: _add(*rows, *self.columns, a, b, out), len(out))
        return out

    def add(self, where: Indices, c: Vector, out: Vector) -> None:
        """Add sum_j c_j K_ij over the j in `where` to out_i, entries in single precision."""
        c32 = c.astype(np.float32)
        if self.wide:
            self._by_tiles(self.V32, self.half32, where, c32, out)
            return
        rows = _rows(self.V32[where], self.half32[where], c32)
        over_ranges(lambda a, b: _add(*rows, *self.columns32, a, b, out), len(out))

    def block(self, where: Indices, out: NDArray[Any]) -> NDArray[Any]:
        """The matrix between some points, in the precision of the memory that is given for it."""
        single = out.dtype == np.float32
        V, half = (self.V32[where], self.half32[where]) if single else (self.V[where], self.half[where])
        if self.wide:
            np.matmul(V, V.T, out=out)
            over_ranges(lambda a, b: _exponentials(out[a:b], half[a:b], half), len(out))
        else:
            U, half_u, _ = _rows(V, half, half)
            columns = _columns(V, half)
            over_ranges(lambda a, b: _block(U, half_u, *columns, a, b, out), len(out))
        return out

    def _by_tiles(self, V: Any, half: Any, where: Indices, c: Any, out: Vector) -> None:
        U, half_u = V[where], half[where]
        height = max(64, TILE // max(1, len(where)))
        tile = np.empty((min(height, len(V)), len(where)), dtype=V.dtype)
        for start in range(0, len(V), height):
            stop = min(start + height, len(V))
            K = np.matmul(V[start:stop], U.T, out=tile[: stop - start])
            h = half[start:stop]
            over_ranges(lambda a, b, K=K, h=h: _exponentials(K[a:b], h[a:b], half_u), len(K))  # type: ignore[misc]
            out[start:stop] += K @ c


def _rows(U: Any, half: Any, c: Any) -> tuple[Any, Any, Any]:
    """Rows in fours; those that are missing have the coefficient 0."""
    missing = -len(c) % ROWS
    if not missing:
        return U, half, c
    zeros = np.zeros(missing, dtype=c.dtype)
    return np.vstack([U, np.zeros((missing, U.shape[1]), dtype=U.dtype)]), np.append(half, zeros), np.append(c, zeros)


def _columns(V: Any, half: Any) -> tuple[Any, Any]:
    """The points as columns, as many as fill their tiles."""
    n, d = V.shape
    filled = -(-n // COLUMNS) * COLUMNS
    Vt, padded = np.zeros((d, filled), dtype=V.dtype), np.zeros(filled, dtype=V.dtype)
    Vt[:, :n], padded[:n] = V.T, half
    return Vt, padded


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _at_a_time(Vt: Any) -> int:
    """The columns whose features stay in the cache while the rows pass by."""
    return max(1, CACHED // (len(Vt) * Vt.itemsize * COLUMNS + 1)) * COLUMNS


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _add(U: Any, half_u: Any, c: Any, Vt: Any, half: Any, start: int, stop: int, out: Any) -> None:
    width, tile = _at_a_time(Vt), 2 * BYTES // Vt.itemsize
    sums = np.empty(width)
    for a in range(start, stop, width):
        w = min(width, stop - a)
        sums[:] = 0.0
        for r in range(0, len(c), ROWS):
            for i in range(0, w, tile):
                add_tile(U, half_u, c, r, Vt, half, a + i, sums, i)
        out[a : a + w] += sums[:w]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _block(U: Any, half_u: Any, Vt: Any, half: Any, start: int, stop: int, out: Any) -> None:
    """Tiles that do not fit into `out` are written elsewhere first."""
    tile, n = 2 * BYTES // Vt.itemsize, out.shape[1]
    edge = np.empty((ROWS, tile), Vt.dtype)
    for r in range(start, stop, ROWS):
        rows = min(ROWS, stop - r)
        for a in range(0, n, tile):
            columns = min(tile, n - a)
            if rows == ROWS and columns == tile:
                store_tile(U, half_u, r, Vt, half, a, out, r, a)
            else:
                store_tile(U, half_u, r, Vt, half, a, edge, 0, 0)
                out[r : r + rows, a : a + columns] = edge[:rows, :columns]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _exponentials(K: Any, half_rows: Any, half_columns: Any) -> None:
    """K_ij = exp(K_ij - (half_i + half_j)); what does not fill a register at the end of a row is moved into one."""
    lanes = BYTES // K.itemsize
    whole = K.shape[1] // lanes * lanes
    rest, half_rest = np.zeros(lanes, K.dtype), np.zeros(lanes, K.dtype)
    left = K.shape[1] - whole
    half_rest[:left] = half_columns[whole:]
    for r in range(len(K)):
        row = K[r]
        for a in range(0, whole, lanes):
            exponentiate(row, a, half_rows[r], half_columns)
        if left:
            rest[:left] = row[whole:]
            exponentiate(rest, 0, half_rows[r], half_rest)
            row[whole:] = rest[:left]
