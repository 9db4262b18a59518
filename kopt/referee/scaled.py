"""Whether a claimed dual is exact for a multiple of the primal, or with rescaled multipliers.

The dual function of c times the primal is c g(m / c). A claim D(z) is scaled if D(z) = s g(t m(z)) on its whole domain
with t = 1/s (a multiple of the primal) or s = 1 (rescaled multipliers).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kopt.referee.bent import outside_their_cone, with_best_multipliers
from kopt.referee.domain import missing, superfluous
from kopt.referee.eliminated import repair_multipliers
from kopt.referee.factors import evaluated, factor_text, simple_factors
from kopt.referee.pointwise import compare
from kopt.referee.trial import Trial

CONSTANT = 1e-6
POINTS = 6


def scaling(trials: Sequence[Trial], settings: Sequence[Mapping[str, float]]) -> str | None:
    """The two factors in words; None where no simple ones fit all instances."""
    for text, factor in simple_factors(settings):
        multiples = [evaluated(factor, setting) for setting in settings]
        if not _allowed([_value_factor(trials[0], multiples[0])], multiples[:1]):
            continue
        values = [_scaled_everywhere(trial, multiple) for trial, multiple in zip(trials, multiples, strict=True)]
        if _allowed(values, multiples):
            value_text = factor_text([float(value or 0.0) for value in values], settings)
            return f"{value_text} times the dual function, at multipliers times {text}"
    return None


def _allowed(values: Sequence[float | None], multiples: Sequence[float]) -> bool:
    if None in values:
        return False
    s, t = np.array(values, dtype=float), np.array(multiples)
    product, value, multiple = (np.allclose(each, 1.0, rtol=CONSTANT) for each in (s * t, s, t))
    return bool((product or value) and not multiple)


def _value_factor(trial: Trial, multiple: float) -> float | None:
    """The s with D(z) = s g(t m(z)) at a few points; None where there is none."""
    ratios = []
    for z in _some_points(trial):
        minimum = trial.lagrangian.minimise(multiple * trial.claimed.multipliers(z))
        claimed = float(np.sum(trial.claimed.values(z)))
        if not np.isfinite(minimum.value):
            return None
        if abs(minimum.value) > 1e-6 * minimum.size:
            ratios.append(claimed / minimum.value)
    if not ratios or not np.isfinite(ratios).all() or np.ptp(ratios) > CONSTANT * abs(ratios[0]):
        return None
    return float(np.mean(ratios)) or None


def _some_points(trial: Trial) -> list[np.ndarray]:
    starts = [trial.unit * scale * trial.rng.random(len(trial.unit)) for scale in np.linspace(0.3, 2.0, POINTS)]
    return [point for point in map(trial.claimed_region.nearest, starts) if point is not None]


def _scaled_everywhere(trial: Trial, multiple: float) -> float | None:
    """The value factor, if with these multipliers the feasible set is right as well."""
    other = Trial(trial.instance, trial.rng, multiple)
    if any(True for check in (repair_multipliers, missing, superfluous) for _ in check(other)):
        return None
    points = _some_points(trial)
    if any(True for _ in outside_their_cone(other, points)):
        return None
    if other.claimed.bent and with_best_multipliers(compare(other, points))[1]:
        return None
    return _value_factor(trial, multiple)
