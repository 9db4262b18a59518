"""The true domain of the dual function, eliminated multipliers included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.referee.claimed import AffineMap
from kopt.referee.lines import Line, lines
from kopt.referee.region import FEASIBLE, Region
from kopt.referee.trial import Trial

# How far beyond the claimed set, towards the most extreme point, one is sought at which the Lagrangian is bounded.
FRACTIONS = (0.3, 0.1, 0.03, 0.01, 0.001)


class Lifted:
    """The true domain in z together with the eliminated multipliers, which are then free.

    A dual whose variables are not multipliers themselves has no such domain: there the declared map decides.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        L, claimed = trial.lagrangian, trial.claimed
        own = trial.own
        names = [name for name in L.cones if claimed.eliminated(name)] if own else []
        self.columns = np.concatenate([np.arange(L.width)[L.slices[n]] for n in names] or [np.zeros(0, dtype=int)])
        width = claimed.width
        matrix = np.zeros((L.width, width + len(self.columns)))
        matrix[:, :width] = trial.map.matrix
        matrix[self.columns, :width] = 0.0
        matrix[self.columns, width + np.arange(len(self.columns))] = 1.0
        offset = trial.map.offset.copy()
        offset[self.columns] = 0.0
        self.map = AffineMap(matrix, offset)
        sizes = np.abs(trial.map.matrix[self.columns]) @ trial.unit + np.abs(trial.map.offset[self.columns])
        sizes = np.where(sizes > 0, sizes, np.median(trial.unit))
        conditions = trial.demanded if not own else [c.after(matrix, offset) for c in trial.true_conditions]
        self.region = Region(conditions, np.concatenate([trial.unit, sizes]) if own else trial.unit, self._curved())

    def _curved(self) -> tuple[cp.Expression, list[Any]] | None:
        z = self.trial.stacked
        if len(self.columns):
            z = cp.hstack([z, cp.Variable(len(self.columns))])
        constraints = self.trial.cone_constraints(z, self.map)
        return (z, constraints) if constraints or self.trial.symmetric else None

    def plain_lines(self) -> list[Line]:
        """The demanded lines that involve no eliminated multiplier, and the inequalities that do."""
        return [line for line in self.demanded_lines() if not line.equality or not self._involves(line)]

    def demanded_lines(self) -> list[Line]:
        """All demanded lines on z, the eliminated multipliers as declared."""
        return lines(self.trial.demanded, self.trial.unit)

    def _involves(self, line: Line) -> bool:
        original = next(
            c for c in self.trial.true_conditions if c.about == line.condition.about and c.role is line.condition.role
        )
        return bool(original.rows[:, self.columns].any())

    def outside(self, line: Line) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Points of the true domain, with their multipliers, that violate a line, the furthest first."""
        width, unit = len(line.row), self.trial.unit
        for sign in (1.0, -1.0) if line.equality else (1.0,):
            direction = np.zeros(len(self.region.unit))
            direction[:width] = sign * line.row / unit
            far = self.region.furthest(direction)
            if far is None:
                continue
            for point in self._beyond(far, sign * line.row / unit, sign * line.offset):
                if sign * float(line.row @ (point[:width] / unit) + line.offset) > FEASIBLE:
                    yield self._split(point)

    def _beyond(self, far: np.ndarray, row: np.ndarray, offset: float) -> Iterator[np.ndarray]:
        """A far point, then points towards the inside of the domain, as long as row @ z + offset > 0."""
        yield far
        near = self.region.nearest(np.zeros(len(self.region.unit)))
        if near is None:
            return
        inside, outside = (float(row @ point[: len(row)]) + offset for point in (near, far))
        crossing = -inside / (outside - inside) if inside < 0 < outside else 0.0
        for fraction in FRACTIONS:
            t = crossing + fraction * (1 - crossing)
            yield t * far + (1 - t) * near

    def _split(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        trial = self.trial
        z = point[: trial.claimed.width]
        m = trial.multipliers(z)
        if trial.own:
            straight = self.map(point)
            for name, place in trial.lagrangian.slices.items():
                # A multiplier such as lambda = 1/2 ||w|| may be 0 at an extreme point, where nothing is bounded.
                m[place] = m[place] if name in trial.claimed.bent else straight[place]
        return z, m

    def random_points(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Some points of the true domain, with their multipliers."""
        rng, unit = self.trial.rng, self.region.unit
        starts = [unit * scale * rng.standard_normal(len(unit)) for scale in (0.3, 1.0, 3.0, 3.0, 10.0, 10.0)]
        nearest = [self.region.nearest(start) for start in starts]
        return [self._split(point) for point in nearest if point is not None]
