"""Eliminated multipliers that are affine in the dual variables: are they what stationarity gives?"""

from __future__ import annotations

import numpy as np

from kopt.referee.claimed import AffineMap
from kopt.referee.conditions import Role
from kopt.referee.finding import Finding, Sentences
from kopt.referee.lines import SAME, left_over, lines, worst
from kopt.referee.region import Region, parallel
from kopt.referee.trial import Trial
from kopt.referee.verdict import Kind


def repair_multipliers(trial: Trial) -> list[Finding]:
    """Let a trial use multipliers for which stationarity holds, where that fails with the eliminated ones as declared.

    The declared ones that were replaced are the findings.
    """
    claimed, L = trial.claimed, trial.lagrangian
    free = [name for name in L.cones if claimed.eliminated(name) and name not in claimed.bent]
    columns = np.concatenate([np.arange(L.width)[L.slices[name]] for name in free] or [np.zeros(0, dtype=int)])
    touching = [c for c in trial.true_conditions if c.role is Role.STATIONARITY and c.rows[:, columns].any()]
    composed = [c.after(trial.map.matrix, trial.map.offset) for c in touching]
    failing = left_over(lines(composed, trial.unit), lines(claimed.conditions, trial.unit))
    region = Region([], trial.unit) if trial.is_empty else trial.claimed_region
    if all(worst(region, line) is None for line in failing):
        return []
    R = np.vstack([c.rows[:, columns] for c in touching])
    residual = AffineMap(np.vstack([c.rows for c in composed]), np.concatenate([c.offset for c in composed]))
    correction = -np.linalg.pinv(R)
    matrix, offset = trial.map.matrix.copy(), trial.map.offset.copy()
    matrix[columns] += correction @ residual.matrix
    offset[columns] += correction @ residual.offset
    repaired = [c.after(matrix, offset) for c in touching]
    if left_over(lines(repaired, trial.unit), lines(claimed.conditions, trial.unit)):
        return []
    before = trial.map
    trial.map = AffineMap(matrix, offset)
    return [_wrong_multiplier(trial, name, before) for name in free if _differs(trial, name, before)]


def _differs(trial: Trial, name: str, before: AffineMap) -> bool:
    place = trial.lagrangian.slices[name]
    change = np.abs(trial.map.matrix[place] - before.matrix[place]) @ trial.unit
    change += np.abs(trial.map.offset[place] - before.offset[place])
    size = np.abs(before.matrix[place]) @ trial.unit + np.abs(before.offset[place])
    return bool(np.any(change > SAME * np.maximum(size, SAME)))


def _wrong_multiplier(trial: Trial, name: str, before: AffineMap) -> Finding:
    place = trial.lagrangian.slices[name]
    z = trial.claimed_region.nearest(trial.unit * trial.rng.random(len(trial.unit)))
    z = trial.unit if z is None else z
    was, needed = before(z)[place], trial.map(z)[place]
    k = int(np.argmax(np.abs(was - needed)))
    factor = parallel(
        np.append(trial.map.matrix[place], trial.map.offset[place]),
        np.append(before.matrix[place], before.offset[place]),
    )
    row = {n: trial.map.matrix[place][k][columns] for n, columns in trial.claimed.columns.items()}
    text = trial.words.affine(row, float(trial.map.offset[place][k]))
    entry = f"{name}_{k}" if len(was) > 1 else name

    def say(factor: str) -> Sentences:
        times = f", that is the declared one times {factor}" if factor else ""
        return (
            f"The eliminated multiplier {name} is not the one that stationarity gives: {entry} is {was[k]:.6g} at a "
            f"point where it has to be {needed[k]:.6g}.",
            f"The Lagrangian is bounded below only with {entry} = {text}{times}.",
            f"Declare multipliers={{{name!r}: ...}} with {entry} = {text}.",
        )

    return Finding(Kind.WRONG_ELIMINATED_MULTIPLIER, name, trial, say, factor, z, *trial.unbounded_at(z))
