"""A convex set of dual points, from affine conditions and curved constraints: nearest points, extreme points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from kopt.errors import InputError
from kopt.polyhedra import tighten
from kopt.projection import Polyhedron, project
from kopt.referee.conditions import Condition
from kopt.referee.quiet import status_of

# Extreme points of unbounded sets are sought within this many units.
FAR = 10.0
# Linear programs are solved in units in which the set has size 1; their answers are exact to this.
FEASIBLE = 1e-7
SOLVED = (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
OPTIONS: dict[str, Any] = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-10, "tol_feas": 1e-11}


class Region:
    """All z that satisfy affine conditions, and constraints on a CVXPY variable where they are given.

    unit     the size of each entry of z
    curved   a variable for z, and CVXPY constraints on it
    """

    def __init__(
        self,
        conditions: Sequence[Condition],
        unit: np.ndarray,
        curved: tuple[cp.Expression, list[Any]] | None = None,
    ) -> None:
        self.conditions = [c for c in conditions if len(c.offset)]
        self.unit = unit
        self.curved = curved

    @cached_property
    def _rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All rows in units of z, divided by their size, their offsets, and which are equalities."""
        width = len(self.unit)
        rows = np.vstack([np.zeros((0, width)), *(c.rows * self.unit for c in self.conditions)])
        offset = np.concatenate([np.zeros(0), *(c.offset for c in self.conditions)])
        equal = np.concatenate(
            [np.zeros(0, dtype=bool), *(np.full(len(c.offset), c.equality) for c in self.conditions)]
        )
        scale = np.max(np.abs(rows), axis=1, initial=0.0)
        scale = np.where(scale > 0, scale, np.maximum(np.abs(offset), 1.0))
        return rows / scale[:, None], offset / scale, equal

    @cached_property
    def polyhedron(self) -> Polyhedron:
        """The affine conditions, in units of z; raises InputError where no point can satisfy them."""
        rows, offset, equal = self._rows
        lower, upper = np.full(len(self.unit), -np.inf), np.full(len(self.unit), np.inf)
        entries = np.count_nonzero(rows, axis=1)
        impossible = (entries == 0) & np.where(equal, np.abs(offset) > FEASIBLE, offset > FEASIBLE)
        if impossible.any():
            raise InputError("A condition fails at every point.", "Correct the dual.")
        for kind in (True, False):
            single = (entries == 1) & (equal == kind)
            tighten(lower, upper, sp.csr_array(rows[single]), -offset[single], kind)
        crossed = (lower > upper) & (lower - upper <= 1e-12 * np.abs(upper))
        lower = np.where(crossed, upper, lower)
        several = entries > 1
        A, b = rows[several & equal], -offset[several & equal]
        G, h = rows[several & ~equal], -offset[several & ~equal]
        return Polyhedron(lower, upper, A if len(A) else None, b, G if len(G) else None, h)

    def nearest(self, z: np.ndarray) -> np.ndarray | None:
        """The point nearest to z; None where the set is empty or a solver gives up."""
        try:
            if self.curved is None:
                return self.unit * project(z / self.unit, self.polyhedron).point
            _ = self.polyhedron
        except InputError:
            return None
        variable, constraints = self._program
        return self._solved(cp.Minimize(cp.sum_squares((variable - z) / self.unit)), constraints)

    def furthest(self, direction: np.ndarray) -> np.ndarray | None:
        """A point at which <direction, z> is largest, not beyond a few units; None where there is none."""
        if self.curved is None:
            return self._by_linear_program(direction)
        variable, constraints = self._program
        box = [variable <= FAR * self.unit, variable >= -FAR * self.unit]
        return self._solved(cp.Maximize((direction / np.max(np.abs(direction))) @ variable), [*constraints, *box])

    def _by_linear_program(self, direction: np.ndarray) -> np.ndarray | None:
        rows, offset, equal = self._rows
        cost = direction * self.unit
        answer = linprog(
            -cost / (np.max(np.abs(cost)) or 1.0),
            A_ub=rows[~equal] if (~equal).any() else None,
            b_ub=-offset[~equal] if (~equal).any() else None,
            A_eq=rows[equal] if equal.any() else None,
            b_eq=-offset[equal] if equal.any() else None,
            bounds=(-self._far, self._far),
        )
        return None if answer.x is None or answer.status != 0 else self.unit * answer.x

    @cached_property
    def _far(self) -> float:
        _, offset, _ = self._rows
        return FAR * max(1.0, float(np.max(np.abs(offset), initial=0.0)))

    @cached_property
    def _program(self) -> tuple[cp.Expression, list[Any]]:
        assert self.curved is not None
        variable, constraints = self.curved
        rows, offset, equal = self._rows
        scaled = cp.multiply(variable, 1 / self.unit)
        affine = [rows[equal] @ scaled + offset[equal] == 0] if equal.any() else []
        affine += [rows[~equal] @ scaled + offset[~equal] <= 0] if (~equal).any() else []
        return variable, [*affine, *constraints]

    def _solved(self, objective: cp.Minimize | cp.Maximize, constraints: list[Any]) -> np.ndarray | None:
        problem = cp.Problem(objective, constraints)
        assert self.curved is not None
        solved = status_of(problem, **OPTIONS) in SOLVED
        return self._on_the_hull(np.asarray(self.curved[0].value)) if solved else None

    def _on_the_hull(self, z: np.ndarray) -> np.ndarray:
        """A solver's point, moved to where the equalities hold to rounding."""
        rows, offset, equal = self._rows
        scaled = z / self.unit
        for _ in range(2):
            scaled = scaled - self._inverse @ (rows[equal] @ scaled + offset[equal])
        return scaled * self.unit

    @cached_property
    def _inverse(self) -> np.ndarray:
        """The way from what the equalities lack to the shortest step that mends it."""
        rows, _, equal = self._rows
        return np.asarray(np.linalg.pinv(rows[equal]))


def parallel(first: np.ndarray, second: np.ndarray) -> float | None:
    """The factor f with first = f * second, rows in the same units; None where they are not parallel."""
    k = int(np.argmax(np.abs(second)))
    if second[k] == 0 or first[k] == 0:
        return None
    factor = float(first[k] / second[k])
    return factor if np.max(np.abs(first - factor * second)) <= 1e-9 * float(np.max(np.abs(first))) else None
