"""Eliminated multipliers that are not affine in the dual variables, such as lambda = 1/2 ||w||: their sign and size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kopt.cones import NonNegative
from kopt.referee.finding import Finding, Sentences
from kopt.referee.pointwise import Comparison
from kopt.referee.trial import Trial
from kopt.referee.verdict import Kind

# A maximiser is known to the root of the accuracy of the maximum.
CLOSE = 1e-5
DECADES = 4.0
STEPS = 60
GOLDEN = (np.sqrt(5) - 1) / 2


def negative_multipliers(trial: Trial, points: Sequence[np.ndarray]) -> Iterator[Finding]:
    """Eliminated multipliers that are negative at a point that the dual allows."""
    for name in trial.claimed.bent:
        if not isinstance(trial.lagrangian.cones[name], NonNegative):
            continue
        place = trial.lagrangian.slices[name]
        values = [float(np.min(trial.multipliers(z)[place])) for z in points]
        size = max((float(np.max(np.abs(trial.multipliers(z)[place]))) for z in points), default=0.0)
        if values and min(values) < -1e-9 * size:
            yield _negative(trial, name, points[int(np.argmin(values))], min(values))


def _negative(trial: Trial, name: str, z: np.ndarray, value: float) -> Finding:
    def say(_: str) -> Sentences:
        return (
            f"The eliminated multiplier {name} is {value:.6g} at a point that the dual allows.",
            f"{name} belongs to an inequality, so it must not be negative.",
            f"Correct multipliers={{{name!r}: ...}}, or constrain the dual to {name} >= 0.",
        )

    claimed = trial.claimed.sign * float(np.sum(trial.claimed.values(z)))
    true = -trial.claimed.sign * np.inf
    return Finding(Kind.WRONG_ELIMINATED_MULTIPLIER, name, trial, say, None, z, claimed, true)


def wrong_multiplier(comparisons: Sequence[Comparison]) -> list[Finding]:
    """A scalar multiplier with another value of which the claimed objective is exact at every point."""
    for name in comparisons[0].trial.claimed.bent:
        if comparisons[0].trial.lagrangian.cones[name].residual.size != 1:
            continue
        found = [_needed_factor(comparison, name) for comparison in comparisons]
        if all(factor is not None for factor in found):
            return [_wrong(c, name, f) for c, f in zip(comparisons, found, strict=True)]
    return []


def _needed_factor(comparison: Comparison, name: str) -> float | None:
    """By what the multiplier has to be multiplied for the Lagrangian's minimum to be largest, if the claim is that."""
    trial, factors = comparison.trial, []
    place = trial.lagrangian.slices[name]
    for z, claimed, size in zip(comparison.points, comparison.claimed, comparison.size, strict=True):
        m = trial.multipliers(z)
        if abs(m[place][0]) <= 1e-9 * float(np.max(np.abs(m))) or not np.isfinite(size):
            continue
        start = m.copy()
        start[place] = abs(m[place][0])
        factor, value = _maximised(trial, start, place)
        if abs(value - claimed) > CLOSE * size:
            return None
        factors.append(factor * float(np.sign(m[place][0])))
    if not factors or np.ptp(factors) > 1e-2 * abs(factors[0]):
        return None
    return float(np.median(factors))


def _maximised(trial: Trial, m: np.ndarray, place: slice) -> tuple[float, float]:
    """The factor of one multiplier at which the minimum of the Lagrangian is largest, by golden section in its log."""

    def value(exponent: float) -> float:
        changed = m.copy()
        changed[place] *= 10.0**exponent
        return trial.lagrangian.minimise(changed).value

    low, high = -DECADES, DECADES
    inner, outer = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_inner, at_outer = value(inner), value(outer)
    for _ in range(STEPS):
        if at_inner >= at_outer:
            high, outer, at_outer = outer, inner, at_inner
            inner = high - GOLDEN * (high - low)
            at_inner = value(inner)
        else:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + GOLDEN * (high - low)
            at_outer = value(outer)
    best = (low + high) / 2
    return 10.0**best, value(best)


def _wrong(comparison: Comparison, name: str, factor: float | None) -> Finding:
    def say(text: str) -> Sentences:
        return (
            f"The eliminated multiplier {name} has to be multiplied by {text}.",
            f"The claimed objective is the minimum of the Lagrangian with the best value of {name}, which is not the "
            "declared one.",
            f"Multiply multipliers={{{name!r}: ...}} by {text}.",
        )

    # The factor is known to a few digits only: a maximum is flat.
    rounded = None if factor is None else float(f"{factor:.3g}")
    k, sign = comparison.worst, comparison.trial.claimed.sign
    values = sign * float(comparison.claimed[k]), sign * float(comparison.true[k])
    trial = comparison.trial
    return Finding(Kind.WRONG_ELIMINATED_MULTIPLIER, name, trial, say, rounded, comparison.points[k], *values)
