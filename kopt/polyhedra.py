"""The feasible set of a program as a box with a few rows."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kopt.cones import Cone, Free, NonNegative
from kopt.errors import InputError
from kopt.gradients import affine_parts
from kopt.program import Program
from kopt.projection import ROUNDING, Polyhedron, corrected, project

MOST_ROWS = 64
#: A row missed by this part of its terms, or less, is missed by rounding alone.
ROUNDED = 1e-9


def split(stacked: np.ndarray, variables: Mapping[str, cp.Variable]) -> dict[str, np.ndarray]:
    """Stacked values by variable."""
    sizes = np.cumsum([v.size for v in variables.values()])[:-1]
    return {
        name: part.reshape(variable.shape, order="F")
        for (name, variable), part in zip(variables.items(), np.split(stacked, sizes), strict=True)
    }


def feasible_polyhedron(program: Program, variables: Mapping[str, cp.Variable]) -> Polyhedron | None:
    """The feasible set of a program as a box and a few rows; None where it is something else."""
    columns = np.cumsum([0, *(v.size for v in variables.values())])
    offsets = {v.id: (int(start), v.size) for v, start in zip(variables.values(), columns, strict=False)}
    lower, upper = np.full(columns[-1], -np.inf), np.full(columns[-1], np.inf)
    rows: dict[type[Cone], list[Any]] = {Free: [], NonNegative: []}
    sides: dict[type[Cone], list[float]] = {Free: [], NonNegative: []}
    for cone in [*program.cones.values(), *program.domain_cones.values()]:
        if type(cone) not in rows or not cone.residual.is_affine():
            return None
        if any(v.id not in offsets for v in cone.residual.variables()):
            return None
        matrix, offset = _stacked(cone, offsets, int(columns[-1]))
        single = np.diff(matrix.indptr) == 1
        tighten(lower, upper, matrix[single], -offset[single], isinstance(cone, Free))
        general = np.flatnonzero(~single & (np.diff(matrix.indptr) > 0))
        rows[type(cone)].extend(matrix[[i]] for i in general)
        sides[type(cone)].extend(-offset[general])
        if len(rows[Free]) + len(rows[NonNegative]) > MOST_ROWS:
            return None
    A, G = (sp.vstack(rows[kind], format="csr") if rows[kind] else None for kind in (Free, NonNegative))
    # A box that rounding turned inside out by a last digit is a point.
    crossed = (lower > upper) & (lower - upper <= 4 * np.finfo(float).eps * np.abs(upper))
    return Polyhedron(np.where(crossed, upper, lower), upper, A, sides[Free], G, sides[NonNegative])


def _stacked(cone: Cone, offsets: Mapping[int, tuple[int, int]], width: int) -> tuple[sp.csr_array, np.ndarray]:
    jacobian, offset = affine_parts(cone.residual)
    matrix = sp.csr_array((offset.size, width))
    for variable, block in jacobian.items():
        start, size = offsets[variable]
        right = sp.csr_array((offset.size, width - start - size))
        matrix = matrix + sp.hstack([sp.csr_array((offset.size, start)), block, right], format="csr")
    matrix.eliminate_zeros()
    return matrix, offset


def tighten(lower: np.ndarray, upper: np.ndarray, matrix: sp.csr_array, side: np.ndarray, equal: bool) -> None:
    """Turn rows with one entry into bounds."""
    column, slope = matrix.indices, matrix.data
    bound = side / slope
    above = (slope > 0) | equal
    below = (slope < 0) | equal
    np.minimum.at(upper, column[above], bound[above])
    np.maximum.at(lower, column[below], bound[below])


def membership(polyhedron: Polyhedron, z: cp.Expression) -> list[cp.Constraint]:
    """The constraints that z lies in a polyhedron, for CVXPY."""
    lower, upper = polyhedron.box
    below, above = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
    rows = [z[below] >= lower[below]] if len(below) else []
    rows += [z[above] <= upper[above]] if len(above) else []
    rows += [polyhedron.A @ z == np.asarray(polyhedron.b)] if polyhedron.A is not None else []
    rows += [polyhedron.G @ z <= np.asarray(polyhedron.h)] if polyhedron.G is not None else []
    return rows


def nearby_point(z: np.ndarray, polyhedron: Polyhedron) -> np.ndarray:
    """A feasible point near z that leaves the coordinates at their bounds alone where it can.

    The projection would move every coordinate a little, and a product by K with all points costs more than one with
    the support vectors.

    >>> whole = Polyhedron(np.zeros(3), np.full(3, 0.5), np.ones((1, 3)), [1.0])
    >>> nearby_point(np.array([0.5, 0.5, 1e-13]), whole).tolist()
    [0.5, 0.5, 0.0]
    """
    lower, upper = polyhedron.box
    start = np.clip(z, lower, upper)
    free = np.flatnonzero((lower < start) & (start < upper))
    if 0 < len(free) < len(start) and not _is_rounded(start, polyhedron):
        fixed = np.where((lower < start) & (start < upper), 0.0, start)
        A, b = _restricted(polyhedron.A, polyhedron.b, free, fixed)
        G, h = _restricted(polyhedron.G, polyhedron.h, free, fixed)
        # Where there is no such point the coordinates at their bounds have to move as well.
        with suppress(InputError):
            start[free] = project(start[free], Polyhedron(lower[free], upper[free], A, b, G, h)).point
    return corrected(start, polyhedron) if _is_rounded(start, polyhedron) else project(z, polyhedron).point


def _is_rounded(z: np.ndarray, polyhedron: Polyhedron) -> bool:
    """Whether a point in the box meets the rows but for rounding, in it or in the rows."""
    _, excused = polyhedron.residuals(z)
    return bool(np.all(polyhedron.violations(z) <= ROUNDED / ROUNDING * excused))


def _restricted(rows: Any, side: Any, free: np.ndarray, fixed: np.ndarray) -> tuple[Any, np.ndarray]:
    if rows is None:
        return None, np.asarray(side, dtype=float)
    return rows[:, free], np.asarray(side, dtype=float) - rows @ fixed
