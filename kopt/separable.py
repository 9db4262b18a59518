"""A dual as fast solvers see it: one kernel form, terms in single variables, and sums over groups that are fixed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kopt.gram import Gram
from kopt.polyhedra import nearby_point
from kopt.quadratic import QuadraticProgram

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Rows of which two columns agree to this are the same for both variables.
SAME = 1e-12


@dataclass(frozen=True, eq=False)
class SeparableProgram:
    r"""min 1/2 c' K c + sum_a ( 1/2 shift_a c_a^2 - gain_a c_a + width_a |c_a| ), over a box, sums of groups fixed.

        lower_a <= c_a <= upper_a,      sum_(a in group g) c_a = totals_g

    points   the point whose coefficient c_a is (part of): c' K c is over all pairs of variables, by their points
    group    the group of each variable, or -1
    patterns the rows of the source as sums over groups: one line for each row, one column for each group
    source   the quadratic program that it was read off, z_a = c_a / scale_a; its value is `factor` times the one here
    """

    source: QuadraticProgram
    gram: Gram
    points: Indices
    gain: Vector
    width: Vector
    shift: Vector
    lower: Vector
    upper: Vector
    group: Indices
    totals: Vector
    patterns: NDArray[np.float64]
    factor: float
    sides: tuple[Side, ...]

    @property
    def size(self) -> int:
        """The number of variables."""
        return len(self.points)

    @cached_property
    def one_per_point(self) -> bool:
        """Whether the variables are the coefficients of the points, in their order."""
        return self.size == self.gram.n and bool(np.all(self.points == np.arange(self.size)))

    def coefficients(self, c: Vector) -> Vector:
        """One coefficient per point: the sum over its variables."""
        return c if self.one_per_point else np.bincount(self.points, c, minlength=self.gram.n).astype(np.float64)

    def slope(self, values: Vector, c: Vector) -> Vector:
        """The gradient in c without the terms width |c|, from values = K c on the points."""
        return values[self.points] + self.shift * c - self.gain

    def value(self, values: Vector, c: Vector) -> float:
        """The objective, from values = K c on the points."""
        single = 0.5 * self.shift * c - self.gain
        # Sums of products rather than inner products, for which BLAS would wake up its threads.
        return float(np.sum(c * (0.5 * values[self.points] + single) + self.width * np.abs(c)))

    def feasible_dual(self, c: Vector) -> Vector:
        """The stacked dual variables of c, moved to where they are feasible to rounding."""
        z = np.zeros(len(self.source.linear))
        for side in self.sides:
            z[side.columns] = side.of_dual(c[side.variables])
        return nearby_point(z, self.source.feasible)

    def of_dual(self, z: Vector) -> Vector:
        """The variables c of stacked dual variables."""
        c = np.zeros(self.size)
        for side in self.sides:
            c[side.variables] += side.scale * z[side.columns]
        return c

    def multipliers_of_rows(self, rho: Vector) -> Vector:
        """The multipliers mu of the rows of the source, where rho are those of the sums: patterns' mu = rho."""
        return np.asarray(np.linalg.lstsq(self.patterns.T, rho, rcond=None)[0])


@dataclass(frozen=True, eq=False)
class Side:
    """Variables of the dual that are multiples of variables c, or of their positive or negative parts: c = scale z."""

    columns: Indices
    variables: Indices
    scale: Vector
    part: bool

    def of_dual(self, c: Vector) -> Vector:
        """The z with c = scale z; where z is one part of c, 0 where c has the other sign."""
        z = c / self.scale
        return np.maximum(z, 0.0) if self.part else z


def separable(program: QuadraticProgram | str) -> SeparableProgram | str:
    """A quadratic program in this form, or the reason why it is not of this form.

    Inequality rows are taken as equalities: `kopt.solvers.decomposition` looks at the sign of their multipliers.
    """
    if isinstance(program, str):
        return program
    if len(program.terms) != 1:
        return f"the dual has {len(program.terms)} kernel terms, not one"
    term = program.terms[0]
    J = sp.csc_array(term.J)
    if np.any(np.diff(J.indptr) != 1):
        return "a variable of the dual does not belong to exactly one point"
    scale, points, factor = J.data, J.indices.astype(np.intp), 2 * term.factor
    if not factor > 0:
        return "the kernel term of the dual has the factor 0"
    rows = _rows(program, scale)
    pairs = _pairs(program, points, scale, rows)
    split = _merged(program, points, scale, pairs) if pairs is not None else _single(program, points, scale)
    variables, linear, width, shift, lower, upper, sides = split
    groups = _groups(program, rows[:, variables])
    if isinstance(groups, str):
        return groups
    return SeparableProgram(
        source=program,
        gram=term.gram,
        points=points[variables],
        gain=-linear / factor,
        width=width / factor,
        shift=shift / factor,
        lower=lower,
        upper=upper,
        group=groups[0],
        totals=groups[1],
        patterns=groups[2],
        factor=factor,
        sides=sides,
    )


def _rows(program: QuadraticProgram, scale: Vector) -> NDArray[np.float64]:
    """The rows of the feasible set, equalities first, in terms of c = scale z."""
    B, _, _ = program.feasible.rows
    return np.asarray(B.toarray() / scale)


def _single(program: QuadraticProgram, points: Indices, scale: Vector) -> tuple[Any, ...]:
    """One variable c for each variable of the dual."""
    ends = np.sort(np.array(program.feasible.box) * scale, axis=0)
    every = np.arange(len(points))
    side = Side(every, every, scale, part=False)
    return every, program.linear / scale, np.zeros(len(points)), program.shift / scale**2, *ends, (side,)


def _pairs(
    program: QuadraticProgram, points: Indices, scale: Vector, rows: NDArray[np.float64]
) -> tuple[Indices, Indices] | None:
    """The variables that are the positive and the negative parts of one coefficient each; None if they are not.

    Both begin at 0, rows see their difference only, and together they cost something: then one of the two is 0.
    """
    plus, minus = np.flatnonzero(scale > 0), np.flatnonzero(scale < 0)
    if len(plus) != len(minus):
        return None
    plus, minus = plus[np.argsort(points[plus], kind="stable")], minus[np.argsort(points[minus], kind="stable")]
    if np.any(points[plus] != points[minus]) or len(np.unique(points[plus])) != len(plus):
        return None
    lower = program.feasible.box[0]
    cost = program.linear / np.abs(scale)
    shift = program.shift / scale**2
    alike = np.array_equal(rows[:, plus], rows[:, minus]) and np.allclose(shift[plus], shift[minus], rtol=1e-9, atol=0)
    if not alike or np.any(lower[plus]) or np.any(lower[minus]) or np.any(cost[plus] + cost[minus] < 0):
        return None
    return plus, minus


def _merged(
    program: QuadraticProgram, points: Indices, scale: Vector, pairs: tuple[Indices, Indices]
) -> tuple[Any, ...]:
    """One variable c for each pair, with a kink at 0."""
    plus, minus = pairs
    cost, upper = program.linear / np.abs(scale), program.feasible.box[1] * np.abs(scale)
    every = np.arange(len(plus))
    sides = Side(plus, every, scale[plus], part=True), Side(minus, every, scale[minus], part=True)
    linear, width = (cost[plus] - cost[minus]) / 2, (cost[plus] + cost[minus]) / 2
    return plus, linear, width, program.shift[plus] / scale[plus] ** 2, -upper[minus], upper[plus], sides


def _groups(program: QuadraticProgram, rows: NDArray[np.float64]) -> tuple[Indices, Vector, NDArray[np.float64]] | str:
    """The group of each variable and the sum of each group, where the rows say nothing else; and what they say."""
    right = program.feasible.rows[1]
    if len(right) == 0:
        return np.full(rows.shape[1], -1), np.zeros(0), np.zeros((0, 0))
    alike = bool(np.all(rows == rows[:, :1]))  # usual, and found faster than by sorting
    group = np.zeros(rows.shape[1], dtype=np.intp)
    patterns, group = (rows[:, :1], group) if alike else np.unique(rows.round(12), axis=1, return_inverse=True)
    if not np.all(np.any(patterns, axis=0)):
        return "a variable of the dual is in no row while others are"
    if np.linalg.matrix_rank(patterns) < patterns.shape[1]:
        return "the rows of the dual tie sums of several groups of variables together"
    totals = np.asarray(np.linalg.lstsq(patterns, right, rcond=None)[0], dtype=np.float64)
    if np.any(np.abs(patterns @ totals - right) > SAME * (np.abs(patterns) @ np.abs(totals) + np.abs(right))):
        return "the rows of the dual contradict each other"
    return group.reshape(-1).astype(np.intp), totals, patterns
