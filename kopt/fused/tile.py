"""A tile of a Gaussian Gram matrix, four rows by a few columns: from inner products to its use inside the registers."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from kopt.fused import lanes
from kopt.fused.lanes import Lanes

#: The rows of a tile, and the registers that each of them takes.
ROWS, REGISTERS = 4, 2
#: Changes with the code of the tiles. An argument of every compiled function that has some: compiled code is kept on
#: disk by the types of its arguments and the file of its function, not by the files of what that one uses.
VERSION = zlib.crc32(b"".join(Path(module).read_bytes() for module in (__file__, lanes.__file__)))


@intrinsic  # type: ignore[untyped-decorator]
def add_tile(
    typing_context: Any,
    U: Any,
    half_u: Any,
    where: Any,
    c: Any,
    r: Any,
    panels: Any,
    half: Any,
    a: Any,
    sums: Any,
    place: Any,
) -> Any:
    """Add sum_k c_k K_ki over four points to `sums` from `place` on, for one tile of columns i from a on.

    The points are the rows u_k of U that `where` names from r on, and K_ki = exp(<u_k, v_i> - half_u_k - half_i), v_i
    the columns of `panels`, in which those of a tile lie together, feature after feature. The sums are in double.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        tile = _Tile(context, builder, signature.args, arguments)
        tile.add_to_columns(tile.exponentials(), tile.data[8], arguments[9])
        return context.get_dummy_value()

    return types.void(U, half_u, where, c, r, panels, half, a, sums, place), build


@intrinsic  # type: ignore[untyped-decorator]
def add_tile_twice(
    typing_context: Any,
    U: Any,
    half_u: Any,
    where: Any,
    c: Any,
    r: Any,
    panels: Any,
    half: Any,
    a: Any,
    sums: Any,
    place: Any,
    c_columns: Any,
    row_sums: Any,
    row: Any,
) -> Any:
    """As `add_tile`, and sum_i c_i K_ki over the columns i to `row_sums` from `row` on, a register for each row."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        tile = _Tile(context, builder, signature.args, arguments)
        values = tile.exponentials()
        tile.add_to_columns(values, tile.data[8], arguments[9])
        tile.add_to_rows(values, tile.data[10], tile.data[11], arguments[12])
        return context.get_dummy_value()

    return types.void(U, half_u, where, c, r, panels, half, a, sums, place, c_columns, row_sums, row), build


@intrinsic  # type: ignore[untyped-decorator]
def store_tile(
    typing_context: Any,
    U: Any,
    half_u: Any,
    where: Any,
    r: Any,
    panels: Any,
    half: Any,
    a: Any,
    out: Any,
    row: Any,
    place: Any,
) -> Any:
    """Write the tile of K, as in `add_tile`, to `out`, from a row and a column `place` on."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        no_coefficients = slice(1, 2)  # the second argument stands for them
        kinds = [*signature.args[:3], *signature.args[no_coefficients], *signature.args[3:]]
        tile = _Tile(context, builder, kinds, [*arguments[:3], *arguments[no_coefficients], *arguments[3:]])
        row, place = arguments[8], arguments[9]
        for column, values in zip(tile.columns, tile.exponentials(), strict=True):
            for k, value in enumerate(values):
                begin = builder.mul(tile.width(8), builder.add(row, ir.Constant(row.type, k)))
                tile.lanes.store(value, tile.data[8], builder.add(begin, builder.add(place, column)))
        return context.get_dummy_value()

    return types.void(U, half_u, where, r, panels, half, a, out, row, place), build


def _array(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.make_array(kind)(context, builder, value)


class _Tile:
    """Where the arguments of an intrinsic are: U, half_u, where, c, r, panels, half, a, the target, the place in it."""

    def __init__(self, context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
        self.builder = builder
        self.arrays = {
            position: _array(context, builder, kind, value)
            for position, (kind, value) in enumerate(zip(kinds, arguments, strict=True))
            if isinstance(kind, types.Array)
        }
        self.data = {position: array.data for position, array in self.arrays.items()}
        self.lanes = Lanes(builder, kinds[0].dtype == types.float32)
        self.first, self.start = arguments[4], arguments[7]

    def width(self, position: int) -> Any:
        """The number of columns of an array."""
        return cgutils.unpack_tuple(self.builder, self.arrays[position].shape)[1]

    @property
    def rows(self) -> list[Any]:
        """The positions of the four points in `where` and c."""
        return [self.builder.add(self.first, ir.Constant(self.first.type, k)) for k in range(ROWS)]

    @property
    def columns(self) -> list[Any]:
        """Where the registers begin, in columns from the first of the tile on."""
        return [ir.Constant(self.start.type, j * self.lanes.count) for j in range(REGISTERS)]

    def exponentials(self) -> list[list[Any]]:
        """The values of the tile: for each register of columns one value of each row."""
        builder, lanes, data = self.builder, self.lanes, self.data
        places = [builder.add(self.start, column) for column in self.columns]
        points = [builder.load(builder.gep(data[2], [row])) for row in self.rows]
        halves = [[lanes.add(lanes.spread(data[1], u), lanes.load(data[6], place)) for u in points] for place in places]
        # What is large is subtracted last, so that the products are rounded as numbers of their own size.
        sums = [[cgutils.alloca_once_value(builder, lanes.constant(0.0)) for _ in self.rows] for _ in places]
        features = self.width(0)
        starts = [builder.mul(point, features) for point in points]
        panel, width = builder.mul(self.start, features), ir.Constant(features.type, REGISTERS * lanes.count)
        with cgutils.for_range(builder, features) as loop:
            first = builder.add(panel, builder.mul(loop.index, width))
            x = [lanes.load(data[5], builder.add(first, column)) for column in self.columns]
            u = [lanes.spread(data[0], builder.add(start, loop.index)) for start in starts]
            for xj, column in zip(x, sums, strict=True):
                for uk, total in zip(u, column, strict=True):
                    builder.store(lanes.times_plus(uk, xj, builder.load(total)), total)
        return [
            [lanes.exp(lanes.subtract(builder.load(total), half)) for total, half in zip(*each, strict=True)]
            for each in zip(sums, halves, strict=True)
        ]

    def add_to_columns(self, values: list[list[Any]], sums: Any, start: Any) -> None:
        """Add the values, each row times its coefficient, to sums in double precision."""
        builder, lanes = self.builder, self.lanes
        double = ir.VectorType(ir.DoubleType(), lanes.count)
        for column, of_rows in zip(self.columns, values, strict=True):
            weighted = [
                lanes.multiply(lanes.spread(self.data[3], row), x) for row, x in zip(self.rows, of_rows, strict=True)
            ]
            total = lanes.add(lanes.add(weighted[0], weighted[1]), lanes.add(weighted[2], weighted[3]))
            if total.type != double:
                total = builder.fpext(total, double)
            place = builder.add(start, column)
            lanes.store(builder.fadd(lanes.load(sums, place, double), total), sums, place)

    def add_to_rows(self, values: list[list[Any]], c: Any, sums: Any, first: Any) -> None:
        """Add the values, each column times its coefficient, to a register of sums for each row."""
        builder, lanes = self.builder, self.lanes
        factors = [lanes.load(c, builder.add(self.start, column)) for column in self.columns]
        for k in range(ROWS):
            row = builder.add(first, ir.Constant(first.type, k))
            place = builder.mul(row, ir.Constant(row.type, lanes.count))
            total = lanes.load(sums, place)
            for factor, of_rows in zip(factors, values, strict=True):
                total = lanes.times_plus(factor, of_rows[k], total)
            lanes.store(total, sums, place)
