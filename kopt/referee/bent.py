"""Eliminated multipliers that are not affine in the dual variables, such as lambda = 1/2 ||w||: their sign and size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from kopt.cones import NonNegative
from kopt.referee.finding import Finding, Sentences
from kopt.referee.pointwise import Comparison
from kopt.referee.trial import Trial
from kopt.referee.verdict import Kind

# A search is expensive: so many points of an instance.
SEARCHED = 10
DECADES = 4.0
STEPS = 45
GOLDEN = (np.sqrt(5) - 1) / 2
# A factor is the same at all points to this: a maximiser is known to the root of the accuracy of the maximum.
CONSTANT = 1e-2


def negative_multipliers(trial: Trial, points: Sequence[np.ndarray]) -> Iterator[Finding]:
    """Eliminated multipliers that are negative at a point that the dual allows."""
    for name in trial.claimed.bent:
        if not isinstance(trial.lagrangian.cones[name], NonNegative):
            continue
        place = trial.lagrangian.slices[name]
        values = np.array([trial.multipliers(z)[place] for z in points])
        if values.size and np.min(values) < -1e-9 * np.max(np.abs(values)):
            worst = int(np.argmin(np.min(values, axis=1)))
            yield _negative(trial, name, points[worst], float(np.min(values)))


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


def with_best_multipliers(comparison: Comparison) -> tuple[Comparison, list[Finding]]:
    """Some points of a comparison with scalar bent multipliers at their best values, and those that were not there."""
    trial, findings = comparison.trial, []
    kept = np.flatnonzero(comparison.telling)[:SEARCHED]
    points = [comparison.points[i] for i in kept]
    multipliers = [trial.multipliers(z) for z in points]
    true, size = comparison.true[kept].copy(), comparison.size[kept]
    for name in trial.claimed.bent:
        place = trial.lagrangian.slices[name]
        if place.stop - place.start != 1:
            continue
        factors = np.ones(len(points))
        for i, m in enumerate(multipliers):
            declared = float(m[place][0])
            m[place] = abs(declared) or 1.0
            factor, value = _maximised(trial, m, place)
            if value > true[i] + 1e-7 * size[i] or declared < 0:
                true[i], factors[i] = value, np.sign(declared) * factor
                m[place] *= factor
            else:
                m[place] = declared
        if np.any(factors != 1):
            findings.append(_wrong(comparison, name, factors, kept[int(np.argmax(np.abs(np.log(np.abs(factors)))))]))
    part = replace(
        comparison, points=points, terms=comparison.terms[kept], true=true, size=size, escapes=[None] * len(kept)
    )
    return part, findings


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


def _wrong(comparison: Comparison, name: str, factors: np.ndarray, worst: int) -> Finding:
    same = np.ptp(factors) <= CONSTANT * abs(factors[0])

    def say(text: str) -> Sentences:
        change = f"has to be multiplied by {text}" if text else "does not have the value that stationarity gives"
        return (
            f"The eliminated multiplier {name} {change}.",
            f"With another {name} the minimum of the Lagrangian is larger at the point shown, and the dual function is "
            "the largest.",
            f"Multiply multipliers={{{name!r}: ...}} by {text}."
            if text
            else f"Derive multipliers={{{name!r}: ...}} again.",
        )

    # The factor is known to a few digits only: a maximum is flat.
    factor = float(f"{np.median(factors):.3g}") if same else None
    sign = comparison.trial.claimed.sign
    values = sign * float(comparison.claimed[worst]), sign * float(comparison.true[worst])
    point = comparison.points[worst]
    return Finding(Kind.WRONG_ELIMINATED_MULTIPLIER, name, comparison.trial, say, factor, point, *values)
