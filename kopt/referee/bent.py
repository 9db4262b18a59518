"""Eliminated multipliers that are not affine in the dual variables, such as lambda = 1/2 ||w||: their sign and size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from kopt.cones import Free, NonNegative
from kopt.referee.finding import Finding, Sentences
from kopt.referee.pointwise import Comparison
from kopt.referee.trial import Trial
from kopt.referee.verdict import Kind

# A violation, relative to the multiplier, that no solver's point explains.
OUTSIDE = 1e-6
# A search is expensive: so many points of an instance.
SEARCHED = 10
DECADES = 4.0
STEPS = 45
GOLDEN = (np.sqrt(5) - 1) / 2
# A factor is the same at all points to this: a maximiser is known to the root of the accuracy of the maximum.
CONSTANT = 1e-2


def outside_their_cone(trial: Trial, points: Sequence[np.ndarray]) -> Iterator[Finding]:
    """Multipliers that leave their cone at a point that the dual allows, where no affine condition says so."""
    for name, cone in trial.lagrangian.cones.items():
        if isinstance(cone, Free) or (isinstance(cone, NonNegative) and name not in trial.claimed.bent):
            continue
        place, shape = trial.lagrangian.slices[name], cone.residual.shape
        values = [trial.multipliers(z)[place].reshape(shape, order="F") for z in points]
        violations = [cone.multiplier_violation(value) for value in values]
        size = max((float(np.max(np.abs(value), initial=0.0)) for value in values), default=0.0)
        if violations and max(violations) > OUTSIDE * size:
            worst = int(np.argmax(violations))
            yield _outside(trial, name, points[worst], violations[worst])


def _outside(trial: Trial, name: str, z: np.ndarray, violation: float) -> Finding:
    bent = name in trial.claimed.bent

    def say(_: str) -> Sentences:
        return (
            f"The multiplier {name} leaves its cone by {violation:.6g} at a point that the dual allows.",
            f"The constraint {name!r} is an inequality, so no bound follows from such a multiplier.",
            f"Correct multipliers={{{name!r}: ...}}." if bent else f"Constrain the dual so that {name} is in its cone.",
        )

    kind = Kind.WRONG_ELIMINATED_MULTIPLIER if bent else Kind.MISSING_BOUND
    return Finding(kind, name, trial, say, None, z, *trial.unbounded_at(z))


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
                true[i], factors[i] = value, np.sign(declared) * factor if declared else np.nan
                m[place] *= factor
            else:
                m[place] = declared
        if np.any(factors != 1):  # also where one is not a number
            findings.append(_wrong(comparison, name, factors, kept[int(np.argmax(factors != 1))]))
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
    same = bool(np.ptp(factors) <= CONSTANT * abs(factors[0]))

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
