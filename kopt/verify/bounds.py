"""Two numbers between which the optimum lies, from any dual variables whatever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kopt.errors import InputError
from kopt.formulation import Formulation
from kopt.polyhedra import feasible_polyhedron, nearby_point, split
from kopt.verify.conditions import Conditions
from kopt.verify.measure import measure
from kopt.verify.recovery import recovered

# A repaired point is feasible up to this, relative to the terms of each constraint.
FEASIBLE = 1e-10


@dataclass(frozen=True)
class Bounds:
    """lower <= optimum <= upper, in the user's sense of the objective.

    moved      distance by which the dual variables were moved to become feasible, and relative to their length
    gap        upper - lower
    notes      why a bound is missing, where one is
    """

    lower: float
    upper: float
    moved: float
    relative_moved: float
    relative_gap: float
    notes: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """Width of the enclosure."""
        return self.upper - self.lower

    @property
    def consistent(self) -> bool:
        """False if the lower bound exceeds the upper one by more than rounding: then the declaration is wrong."""
        return not self.relative_gap < -1e-12


def repaired_bounds(formulation: Formulation, conditions: Conditions, dual: Mapping[str, Any]) -> Bounds:
    """Move the dual variables into their feasible set, complete the primal, and evaluate both.

    The conditions are bound to the repaired point; products by K taken before are used again where nothing moved.
    """
    maximising = conditions.primal.sign < 0
    point, moved, relative, note = _projected(conditions, dual)
    if point is None:
        return _ordered(maximising, -np.inf, np.inf, np.inf, np.inf, np.inf, (note,))
    conditions.bind_dual(point, {})
    conditions.bind_primal(recovered(formulation, conditions, point))
    record = measure(conditions)
    lower, upper = conditions.dual_value, conditions.primal_value
    notes = []
    if not _feasible(record.dual_feasibility):
        lower = -np.inf
        notes.append("No lower bound: the dual variables could not be made feasible.")
    if not _feasible(record.primal_feasibility):
        upper = np.inf
        notes.append("No upper bound: the recovered primal point is not feasible.")
    gap = conditions.gap + 2 * conditions.price_of_violations if np.isfinite(lower + upper) else np.inf
    relative_gap = 0.0 if gap == 0 else gap / record.scale if record.scale > 0 else np.inf
    if np.isfinite(gap):
        # The gap without cancellation is the better number; the lower bound stays as it is.
        upper = max(upper, lower + gap)
    return _ordered(maximising, lower, upper, moved, relative, relative_gap, tuple(notes))


def _ordered(
    maximising: bool, lower: float, upper: float, moved: float, relative: float, gap: float, notes: tuple[str, ...]
) -> Bounds:
    if maximising:
        lower, upper = -upper, -lower
    return Bounds(lower, upper, moved, relative, gap, notes)


def _feasible(residuals: Mapping[str, Any]) -> bool:
    return all(residual.relative <= FEASIBLE for residual in residuals.values())


def _projected(
    conditions: Conditions, dual: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray] | None, float, float, str]:
    if conditions.dual is None:
        return None, np.inf, np.inf, "No bounds: no dual is declared."
    variables = {name: conditions.dual.variables[name] for name in conditions.dual_names}
    missing = [name for name in variables if name not in dual or not np.isfinite(dual[name]).all()]
    if missing:
        return None, np.inf, np.inf, f"No bounds: {', '.join(missing)} is not given or not finite."
    polyhedron = feasible_polyhedron(conditions.dual, variables)
    if polyhedron is None:
        return None, np.inf, np.inf, "No bounds: the dual's feasible set is not a box with a few rows."
    start = np.concatenate([np.asarray(dual[name], dtype=float).ravel(order="F") for name in variables])
    try:
        point = nearby_point(start, polyhedron)
    except InputError as error:
        return None, np.inf, np.inf, f"No bounds: {error.what}"
    length, moved = float(np.linalg.norm(point)), float(np.linalg.norm(point - start))
    relative = moved / length if length > 0 else (np.inf if moved else 0.0)
    return split(point, variables), moved, relative, ""
