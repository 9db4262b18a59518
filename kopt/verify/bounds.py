"""Two numbers between which the optimum lies, from any dual variables whatever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kopt.errors import DeclarationError, InputError
from kopt.formulation import Formulation
from kopt.locations import FaultsOf, method_with_place
from kopt.point import Point
from kopt.polyhedra import feasible_polyhedron, nearby_point, split
from kopt.verify.conditions import Conditions
from kopt.verify.measure import measure
from kopt.verify.record import Record
from kopt.verify.recovery import recovered
from kopt.views.products import fitting

# A repaired point is feasible up to this, relative to the terms of each constraint.
FEASIBLE = 1e-10


@dataclass(frozen=True)
class Bounds:
    """lower <= optimum <= upper, in the user's sense of the objective.

    gap, relative_gap       upper - lower, computed without cancellation, and relative to the size of the objective
    moved, relative_moved   how far the dual variables were moved to become feasible, and relative to their length
    rounding                an estimate of the rounding in the two values, by which each bound has been widened
    scale                   the size of the objective at the repaired point
    notes                   why a bound is missing, where one is
    promised                whether the formulation says itself how its dual is repaired
    """

    lower: float = -np.inf
    upper: float = np.inf
    gap: float = np.inf
    relative_gap: float = np.inf
    moved: float = np.inf
    relative_moved: float = np.inf
    rounding: float = 0.0
    scale: float = np.inf
    notes: tuple[str, ...] = ()
    promised: bool = False

    @property
    def known(self) -> bool:
        """Whether there are two bounds."""
        return not self.notes

    @property
    def consistent(self) -> bool:
        """False if the lower bound exceeds the upper one: then the declaration is wrong."""
        return not self.gap < 0

    def agree_with(self, record: Record, tolerance: float) -> bool:
        """Whether the bounds are as tight as the tolerance, rounding apart, and a record's values lie between them.

        Bounds that are not known disagree with nothing. Where the formulation says how to find them, they have to be
        known, and their rounding has to be below the tolerance, too.
        """
        if not self.known:
            return not self.promised
        allowed = tolerance * self.scale
        width = max(self.gap - 2 * self.rounding, self.rounding if self.promised else 0.0)
        values = np.array([record.primal_value, record.dual_value])
        inside = np.all((self.lower - allowed <= values) & (values <= self.upper + allowed))
        return bool(self.consistent and width <= allowed and inside)


def repaired_bounds(
    formulation: Formulation, conditions: Conditions, dual: Mapping[str, Any], bound: Record | None
) -> Bounds:
    """Move the dual variables into their feasible set, complete the primal, and evaluate both.

    bound   the record of these dual variables with the primal point that follows from them, to which the conditions
            are bound; None where they are bound to another one. Where nothing moves it is the one wanted
    """
    promised = type(formulation).repair is not Formulation.repair
    try:
        point, moved = _feasible_dual(formulation, conditions, dual)
    except InputError as error:
        return Bounds(notes=(f"No bounds: {error.what}",), promised=promised)
    if moved == 0 and bound is not None:
        record = bound
    else:
        conditions.bind_dual(point, {})
        conditions.bind_primal(recovered(formulation, conditions, point))
        record = measure(conditions)
    lower, upper, gap = conditions.dual_value, conditions.primal_value, conditions.gap
    notes = []
    if not _feasible(record.dual_feasibility):
        lower = -np.inf
        notes.append("No lower bound: the dual variables could not be made feasible.")
    if not _feasible(record.primal_feasibility):
        upper = np.inf
        notes.append("No upper bound: the recovered primal point is not feasible.")
    if notes:
        gap = np.inf
    else:
        # A point that a solver completed may undercut the optimum by the price of what it violates.
        gap += 2 * conditions.price_of_violations + 2 * conditions.rounding
        lower -= conditions.rounding
        upper = lower + gap
    length = float(np.sqrt(sum(np.sum(part**2) for part in point.values())))
    maximising = conditions.primal.sign < 0
    return Bounds(
        lower=-upper if maximising else lower,
        upper=-lower if maximising else upper,
        gap=gap,
        relative_gap=_ratio(gap, record.scale),
        moved=moved,
        relative_moved=_ratio(moved, length),
        rounding=conditions.rounding,
        scale=record.scale,
        notes=tuple(notes),
        promised=promised,
    )


def _ratio(value: float, scale: float) -> float:
    if value == 0:
        return 0.0
    return value / scale if scale > 0 else np.inf


def _feasible(residuals: Mapping[str, Any]) -> bool:
    return all(residual.relative <= FEASIBLE for residual in residuals.values())


def _feasible_dual(
    formulation: Formulation, conditions: Conditions, dual: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], float]:
    """Feasible dual variables near the given ones, and how far they were moved; refused where that is impossible."""
    if conditions.dual is None:
        raise InputError("no dual is declared.", "Declare it.")
    variables = {name: conditions.dual.variables[name] for name in conditions.dual_names}
    missing = [name for name in variables if name not in dual or not np.isfinite(dual[name]).all()]
    if missing:
        raise InputError(f"{', '.join(missing)} is not given or not finite.", "Give all dual variables.")
    given = {name: np.asarray(dual[name], dtype=float) for name in variables}
    point = _by_own_rule(formulation, conditions, given)
    if point is None:
        polyhedron = feasible_polyhedron(conditions.dual, variables)
        if polyhedron is None:
            raise InputError("the dual's feasible set is not a box with a few rows.", "No repair is known for it.")
        stacked = np.concatenate([value.ravel(order="F") for value in given.values()])
        point = split(nearby_point(stacked, polyhedron), variables)
    return point, float(np.sqrt(sum(np.sum((point[name] - value) ** 2) for name, value in given.items())))


def _by_own_rule(
    formulation: Formulation, conditions: Conditions, given: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray] | None:
    with FaultsOf(formulation, "repair"):
        point = formulation.repair(conditions.dual_view, Point(given))
    if point is None:
        return None
    if set(point) != set(given):
        raise DeclarationError(
            f"{method_with_place(formulation, 'repair')} returned {', '.join(point) or 'nothing'}.",
            f"Return all dual variables and nothing else: {', '.join(given)}.",
        )
    return {name: fitting(name, point[name], value.shape) for name, value in given.items()}
