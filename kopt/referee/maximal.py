"""Eliminated multipliers at which the dual function is not largest, where stationarity alone does not fix them."""

from __future__ import annotations

import numpy as np

from kopt.cones import Free, NonNegative
from kopt.referee.finding import Finding, Sentences
from kopt.referee.pointwise import Comparison
from kopt.referee.verdict import Kind

POINTS = 3
CHANGES = (0.1, -0.1, 0.01, -0.01)
# By so much, relative to the terms, another multiplier has to be better.
BETTER = 1e-6
CANCELLED = 1e-2


def not_maximal(comparison: Comparison) -> list[Finding]:
    """Eliminated multipliers with other values of which the minimum of the Lagrangian is larger.

    A claimed dual in which they are eliminated stands for the largest; with others it is a bound, but a weaker one.
    """
    trial, found = comparison.trial, []
    names = [name for name in trial.lagrangian.cones if trial.claimed.eliminated(name)]
    agreeing = np.flatnonzero(comparison.telling & (comparison.discrepancy <= comparison.tolerance))
    tried = agreeing[: 1 if trial.lagrangian.remainder is not None else POINTS]
    for name in names:
        for k in tried:
            better = _better(comparison, int(k), name)
            if better is not None:
                found.append(_finding(comparison, int(k), name, better))
                break
    return found


def _better(comparison: Comparison, k: int, name: str) -> float | None:
    """A larger minimum with another value of a multiplier; None where a few random changes find none."""
    trial = comparison.trial
    place, cone = trial.lagrangian.slices[name], trial.lagrangian.cones[name]
    m = trial.multipliers(comparison.points[k])
    size = float(np.max(np.abs(m)))
    # Where norms cancel, their rounding is that of the terms at other points.
    terms = max(float(comparison.size[k]), CANCELLED * float(np.median(comparison.size[comparison.known])))
    for change in CHANGES:
        other = m.copy()
        if isinstance(cone, Free | NonNegative):
            other[place] += change * size * trial.rng.random(place.stop - place.start)
        else:
            other[place] *= 1 + change
        if isinstance(cone, NonNegative):
            other[place] = np.maximum(other[place], 0.0)
        value = trial.lagrangian.minimise(other).value
        if value > comparison.true[k] + max(BETTER, 10 * comparison.tolerance) * terms:
            return value
    return None


def _finding(comparison: Comparison, k: int, name: str, better: float) -> Finding:
    sign = comparison.trial.claimed.sign

    def say(_: str) -> Sentences:
        return (
            f"The eliminated multiplier {name} is not the best one.",
            f"At the point shown the minimum of the Lagrangian is {sign * better:.6g} with another {name}, better than "
            "the claimed value.",
            f"Eliminate {name} at its maximiser, or keep it as a variable of the dual.",
        )

    point = comparison.points[k]
    claimed = sign * float(comparison.claimed[k])
    kind = Kind.WRONG_ELIMINATED_MULTIPLIER
    return Finding(kind, name, comparison.trial, say, None, point, claimed, sign * better, blocks=False)
