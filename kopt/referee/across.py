"""Points just beyond one constraint of a claimed dual that satisfy all the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kopt.referee.region import Region
from kopt.referee.trial import Trial

DIRECTIONS = 4
# How far beyond the boundary, relative to its distance from the middle of the set.
STEPS = (0.3, 0.03)
# Further than a solver misses a boundary, relative to the constraint's terms.
BEYOND = 1e-4


def across(trial: Trial, label: str) -> Iterator[np.ndarray]:
    """Random points beyond a constraint."""
    inside, others = trial.claimed_region, without(trial, label)
    middle = [inside.nearest(trial.unit * trial.rng.standard_normal(len(trial.unit))) for _ in range(DIRECTIONS)]
    known = [point for point in middle if point is not None]
    if not known:
        return
    centre = np.mean(known, axis=0)
    for _ in range(DIRECTIONS):
        away = trial.unit * trial.rng.standard_normal(len(trial.unit))
        edge = inside.nearest(centre + 10 * away)
        for step in STEPS if edge is not None else ():
            point = others.nearest(edge + step * (edge - centre) + 0.1 * step * away)
            if point is not None and trial.claimed.violation(label, point, trial.unit) > BEYOND:
                yield point


def without(trial: Trial, label: str) -> Region:
    """The claimed feasible set without one constraint."""
    conditions = [each for each in trial.claimed.conditions if each.about != label]
    return Region(conditions, trial.unit, trial.curved_constraints(leaving_out=label))
