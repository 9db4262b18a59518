"""Gaussian kernel values that are used as soon as they are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kopt.fused.lanes import BYTES
from kopt.fused.threads import GRAIN, in_parallel, over_ranges
from kopt.fused.tile import REGISTERS, ROWS, VERSION, add_tile, add_tile_twice, store_tile

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Bytes of the features of the columns that are worked on at a time: of few features they stay in the first-level
#: cache while the rows pass by, of many in the second.
FIRST_LEVEL, SECOND_LEVEL = 20_000, 400_000
MANY_FEATURES = 40
#: Points of which double-precision columns are held at a time.
AT_ONCE = 8192
#: Panels that are filled at a time.
PACKED = 64
#: Rows and columns of the part of K that is added at a time; the columns are a multiple of the width of a panel.
HEIGHT, WIDTH = 128, 256
#: From so many features on an entry takes longer to compute than to read from memory.
SLOW_FEATURES = 80


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
        self.columns32 = _columns(self.V32, self.half32, np.arange(len(V)))

    @property
    def work(self) -> int:
        """Multiplications for the exponent of an entry."""
        return self.V.shape[1]

    @property
    def slow(self) -> bool:
        """Whether an entry takes longer to compute than to read from memory."""
        return self.work >= SLOW_FEATURES

    @property
    def single_error(self) -> float:
        """The typical error of an entry in single precision: that of its exponent, and of exp."""
        return float(np.finfo(np.float32).eps) * (1.0 + float(self.half.mean()))

    def product(self, where: Indices, c: Vector) -> Vector:
        """sum_j c_j K_ij over the j in `where`, for every i; between the j themselves half of K is enough."""
        out, others = np.empty(len(self.V)), np.ones(len(self.V), dtype=bool)
        others[where] = False
        rest = np.flatnonzero(others)
        out[where], out[rest] = self._between(where, c), self.values(rest, where, c)
        return out

    def values(self, of: Indices, where: Indices, c: Vector) -> Vector:
        """sum_j c_j K_ij over the j in `where`, for the i in `of`."""
        out, rows = np.zeros(len(of)), (self.V, self.half, _in_fours(where), _in_fours(c))
        for start in range(0, len(of), AT_ONCE):
            self._add_exactly(rows, of[start : start + AT_ONCE], out[start : start + AT_ONCE])
        return out

    def _add_exactly(self, rows: Any, of: Indices, out: Vector) -> None:
        columns = _columns(self.V, self.half, of)
        over_ranges(lambda a, b: _add(*rows, *columns, a, b, out), len(of))

    def _between(self, where: Indices, c: Vector) -> Vector:
        """sum_j c_j K_ij over the j in `where`, for the i in `where`."""
        fours, c_rows = _in_fours(where), _in_fours(c)
        panels, half_columns = _columns(self.V, self.half, where)
        c_columns = np.append(c, np.zeros(len(half_columns) - len(c)))

        def upper_part(start: int) -> tuple[int, Vector, Vector]:
            stop = min(start + GRAIN, len(fours))
            sums, row_sums = np.zeros(len(half_columns) - start), np.zeros((stop - start, BYTES // 8))
            rows, columns = (self.V, self.half, fours, c_rows), (panels, half_columns, c_columns)
            _add_upper(*rows, *columns, start, stop, sums, row_sums)
            return start, sums, row_sums.sum(axis=1)

        out = np.zeros(len(half_columns) + GRAIN)
        for start, sums, row_sums in in_parallel(upper_part, range(0, len(c), GRAIN)):
            out[start : start + len(sums)] += sums
            out[start : start + len(row_sums)] += row_sums
        return out[: len(c)]

    def add(self, where: Indices, c: Vector, out: Vector) -> None:
        """Add sum_j c_j K_ij over the j in `where` to out_i, entries in single precision."""
        rows = self.V32, self.half32, _in_fours(where), _in_fours(c.astype(np.float32))
        over_ranges(lambda a, b: _add(*rows, *self.columns32, a, b, out), len(out))

    def rows(self, where: Indices, out: NDArray[Any]) -> None:
        """Write rows of K, in single precision."""
        rows = _in_fours(where)
        over_ranges(lambda a, b: _block(self.V32, self.half32, rows, *self.columns32, a, b, out), len(out))

    def block(self, where: Indices, out: NDArray[Any], rows: Indices | None = None) -> NDArray[Any]:
        """The matrix between some points, or some rows of it, in the precision of the memory that is given for it."""
        single = out.dtype == np.float32
        V, half = (self.V32, self.half32) if single else (self.V, self.half)
        fours, columns = _in_fours(where if rows is None else rows), _columns(V, half, where)
        over_ranges(lambda a, b: _block(V, half, fours, *columns, a, b, out), len(out))
        return out

    def add_lower(self, factor: float, out: Vector) -> None:
        """Add factor K, in double precision, to a matrix on and below its diagonal; above it anything may be left.

        >>> total = np.ones((2, 2))
        >>> FusedGaussian(np.array([[0.0], [1.0]])).add_lower(2.0, total)
        >>> total.diagonal()
        array([3., 3.])
        """
        n, everything = len(out), np.arange(len(out))
        panels, halves = _columns(self.V, self.half, everything)
        width = panels.shape[2]

        def add_rows(start: int) -> None:
            stop = min(start + HEIGHT, n)
            rows = _in_fours(everything[start:stop])
            for first in range(0, stop, WIDTH):
                last = min(first + WIDTH, stop)
                tile, part = np.empty((stop - start, last - first)), slice(first // width, -(-last // width))
                near = panels[part], halves[first : part.stop * width]
                _block(self.V, self.half, rows, *near, 0, len(tile), tile)
                tile *= factor
                out[start:stop, first:last] += tile

        in_parallel(add_rows, range(0, n, HEIGHT))


def _in_fours(values: Any) -> Any:
    """Points, or their coefficients, in fours; what is missing is 0: the first point, with the coefficient 0."""
    return np.append(values, np.zeros(-len(values) % ROWS, dtype=values.dtype))


def _columns(V: Any, half: Any, where: Indices) -> tuple[Any, Any]:
    """Points as columns, in panels as wide as a tile: those of one panel lie together, feature after feature."""
    width = REGISTERS * BYTES // V.itemsize
    count = -(-len(where) // width)
    panels, halves = np.empty((count, V.shape[1], width), dtype=V.dtype), np.empty(count * width, dtype=V.dtype)
    in_parallel(
        lambda start: _pack(V, half, where, start, min(start + PACKED, count), panels, halves), range(0, count, PACKED)
    )
    return panels, halves


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _pack(V: Any, half: Any, where: Any, start: int, stop: int, panels: Any, halves: Any) -> None:
    """Fill panels; columns that are missing at the end are 0."""
    width = panels.shape[2]
    for panel in range(start, stop):
        for i in range(width):
            position = panel * width + i
            if position < len(where):
                halves[position] = half[where[position]]
                panels[panel, :, i] = V[where[position]]
            else:
                halves[position] = 0.0
                panels[panel, :, i] = 0.0


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _at_a_time(panels: Any) -> int:
    """The columns whose features stay in the cache while the rows pass by."""
    _, d, width = panels.shape
    cache = FIRST_LEVEL if d < MANY_FEATURES else SECOND_LEVEL
    return max(1, cache // (d * width * panels.itemsize)) * width


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _add(
    U: Any,
    half_u: Any,
    where: Any,
    c: Any,
    panels: Any,
    half: Any,
    start: int,
    stop: int,
    out: Any,
    version: int = VERSION,
) -> None:
    width, tile = _at_a_time(panels), panels.shape[2]
    sums = np.empty(width)
    for a in range(start, stop, width):
        w = min(width, stop - a)
        sums[:] = 0.0
        for r in range(0, len(c), ROWS):
            for i in range(0, w, tile):
                add_tile(U, half_u, where, c, r, panels, half, a + i, sums, i)
        out[a : a + w] += sums[:w]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _add_upper(
    U: Any,
    half_u: Any,
    where: Any,
    c: Any,
    panels: Any,
    half: Any,
    c_columns: Any,
    start: int,
    stop: int,
    sums: Any,
    row_sums: Any,
    version: int = VERSION,
) -> None:
    """What rows of a symmetric matrix add to a product: their square on the diagonal, and all to its right twice.

    sums       for the columns from `start` on
    row_sums   for the rows, a register each
    """
    width, tile = _at_a_time(panels), panels.shape[2]
    for first in range(start, len(half), width):
        for r in range(start, stop, ROWS):
            for a in range(first, min(first + width, len(half)), tile):
                if a < stop:
                    add_tile(U, half_u, where, c, r, panels, half, a, sums, a - start)
                else:
                    add_tile_twice(
                        U, half_u, where, c, r, panels, half, a, sums, a - start, c_columns, row_sums, r - start
                    )


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _block(
    U: Any, half_u: Any, where: Any, panels: Any, half: Any, start: int, stop: int, out: Any, version: int = VERSION
) -> None:
    """Tiles that do not fit into `out` are written elsewhere first."""
    width, tile, n = _at_a_time(panels), panels.shape[2], out.shape[1]
    edge = np.empty((ROWS, tile), panels.dtype)
    for first in range(0, n, width):
        for r in range(start, stop, ROWS):
            rows = min(ROWS, stop - r)
            for a in range(first, min(first + width, n), tile):
                columns = min(tile, n - a)
                if rows == ROWS and columns == tile:
                    store_tile(U, half_u, where, r, panels, half, a, out, r, a)
                else:
                    store_tile(U, half_u, where, r, panels, half, a, edge, 0, 0)
                    out[r : r + rows, a : a + columns] = edge[:rows, :columns]
