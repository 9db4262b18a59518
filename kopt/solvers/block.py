"""One block of a block decomposition: a dense quadratic program in the change of some variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import piqp
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: The accuracy of a block, in units in which its terms are about 1.
ACCURACY, MOST_ITERATIONS = 1e-12, 60
#: The part of a box that counts as no distance, for solutions that an interior point method found.
AT_BOUND = 1e-9


@dataclass(frozen=True, eq=False)
class Block:
    """min 1/2 d' P d + slope' d over the change d of some variables: lower <= z + d <= upper, B d = 0 or B d <= slack.

    >>> slope, z, lower, upper = np.array([[2.0, 0.0], [0.5, 0.5], [0.0, 0.0], [1.0, 1.0]])
    >>> block = Block(np.eye(2), slope, z, lower, upper, np.ones((1, 2)), np.zeros(1), np.array([True]))
    >>> d, y, found = block.solved()
    >>> block.snapped(d).tolist(), block.length(d)
    ([-0.5, 0.5], 1.0)
    """

    P: Matrix
    slope: Vector
    z: Vector
    lower: Vector
    upper: Vector
    B: Matrix
    slack: Vector
    equality: Mask

    def solved(self) -> tuple[Vector, Vector, bool]:
        """The change, the multipliers of the rows, and whether they were found, in units in which all is about 1."""
        lower, upper, kinds = self.lower - self.z, self.upper - self.z, (self.equality, ~self.equality)
        unit = self._unit(np.abs(np.concatenate([lower, upper])))
        size = max(unit * float(np.max(np.abs(self.slope))), unit**2 * float(np.mean(np.diag(self.P)))) or 1.0
        solver = piqp.DenseSolver()
        for name in ("eps_abs", "eps_rel", "eps_duality_gap_rel"):
            setattr(solver.settings, name, ACCURACY)
        solver.settings.eps_duality_gap_abs = ACCURACY**2  # what is still to be gained may be small
        solver.settings.max_iter = MOST_ITERATIONS
        (A, b), (G, h) = ((np.asfortranarray(self.B[kind]), self.slack[kind] / unit) for kind in kinds)
        quadratic, linear = np.asfortranarray(self.P * (unit**2 / size)), self.slope * (unit / size)
        equalities, inequalities = (A, b) if len(b) else (None, None), (G, None, h) if len(h) else (None, None, None)
        solver.setup(quadratic, linear, *equalities, *inequalities, lower / unit, upper / unit)
        found = solver.solve() == piqp.PIQP_SOLVED
        d, y = unit * solver.result.x, np.zeros(len(self.B))
        y[self.equality], y[~self.equality] = (size / unit * part for part in (solver.result.y, solver.result.z_u))
        if not (np.isfinite(d).all() and np.isfinite(y).all()):
            return np.zeros(len(d)), np.zeros(len(y)), False
        return np.clip(d, lower, upper), y, found

    def _unit(self, room: Vector) -> float:
        """The length of a step: as far as the bounds are, or as slope and curvature say where that is less."""
        diagonal = float(np.mean(np.diag(self.P)))
        newton = float(np.max(np.abs(self.slope))) / diagonal if diagonal > 0 else np.inf
        unit = min(float(np.max(room[np.isfinite(room)], initial=0.0)) or np.inf, newton)
        return unit if 0 < unit < np.inf else 1.0

    def snapped(self, d: Vector) -> Vector:
        """The change with variables that end at a bound exactly there; the others make up for what that does."""
        lower, upper = self.lower, self.upper
        end = at_bounds(self.z + d, lower, upper)
        inside = (lower < end) & (end < upper)
        excess = self.B @ (end - self.z) - self.slack
        excess = np.where(self.equality, excess, np.maximum(0.0, excess))
        if inside.any() and excess.any():
            end[inside] -= np.linalg.lstsq(self.B[:, inside], excess, rcond=None)[0]
        return np.asarray(np.clip(end, lower, upper) - self.z)

    def length(self, d: Vector) -> float:
        """The part of a change, at most all of it, at which the objective is lowest."""
        fall, curvature = -float(self.slope @ d), float(d @ self.P @ d)
        if fall <= 0:
            return 0.0
        return min(1.0, fall / curvature) if curvature > 0 else 1.0


def at_bounds(z: Vector, lower: Vector, upper: Vector, part: float = AT_BOUND) -> Vector:
    """The point with variables that are nearly at a bound exactly there: nearer than a part of what they vary by.

    >>> at_bounds(np.array([1e-12, 0.5, 2.0]), np.zeros(3), np.array([1.0, 1.0, np.inf])).tolist()
    [0.0, 0.5, 2.0]
    """
    near = part * np.where(np.isfinite(upper - lower), upper - lower, np.max(np.abs(z), initial=0.0))
    return np.where(z - lower <= near, lower, np.where(upper - z <= near, upper, z))
