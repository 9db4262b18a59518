"""Names that tie a dual to its primal, against where the conditions come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kopt.cones import Free
from kopt.referee.conditions import Condition, Role
from kopt.referee.finding import Finding, Sentences
from kopt.referee.lines import Line, lines
from kopt.referee.pointwise import Comparison
from kopt.referee.trial import Trial
from kopt.referee.verdict import Kind


def misnamed_constraints(trial: Trial) -> Iterator[Finding]:
    """Dual constraints that carry the name of one primal variable but come from stationarity in another."""
    claimed = lines([c for c in trial.claimed.conditions if c.about in trial.claimed.program.cones], trial.unit)
    demanded = lines(trial.demanded, trial.unit)
    reported: set[str] = set()
    for line in claimed:
        sources = [other for other in demanded if not line.constant and line.is_same(other)]
        origins = {name for other in sources for name in _variables(trial, other)}
        where = line.condition.about
        if origins and where not in origins and where not in reported:
            reported.add(where)
            yield _misnamed(trial, where, ", ".join(sorted(origins)))


def _variables(trial: Trial, line: Line) -> list[str]:
    """The primal variables whose stationarity a demanded line expresses."""
    if line.condition.role is Role.STATIONARITY:
        return [line.condition.about]
    if line.condition.role is not Role.SIGN or not trial.claimed.eliminated(line.condition.about):
        return []
    place = trial.lagrangian.slices[line.condition.about]
    return [c.about for c in trial.true_conditions if c.role is Role.STATIONARITY and _touches(c, place)]


def _touches(condition: Condition, place: slice) -> bool:
    return bool(condition.rows[:, place].any())


def _misnamed(trial: Trial, where: str, origin: str) -> Finding:
    def say(_: str) -> Sentences:
        return (
            f"The dual constraint {where!r} does not come from stationarity in {where}.",
            f"It is what stationarity in {origin} demands, so its multiplier is {origin}.",
            f"Name it {origin!r}.",
        )

    return Finding(Kind.WRONG_NAMED_MULTIPLIER, where, trial, say)


def exchanged(comparisons: Sequence[Comparison]) -> list[Finding]:
    """Multipliers with which the claimed objective is exact if one changes its sign, or two their places."""
    first = comparisons[0].trial
    own = [name for name in first.lagrangian.cones if not first.claimed.eliminated(name)]
    changes = [(name, name) for name in own if isinstance(first.lagrangian.cones[name], Free)]
    shapes = {name: first.lagrangian.cones[name].residual.shape for name in own}
    changes += [(a, b) for i, a in enumerate(own) for b in own[i + 1 :] if shapes[a] == shapes[b]]
    for a, b in changes:
        if all(_explains(comparison, a, b) for comparison in comparisons):
            return [_exchanged(comparison, a, b) for comparison in comparisons]
    return []


def _explains(comparison: Comparison, a: str, b: str) -> bool:
    trial = comparison.trial
    for z, claimed, size in zip(comparison.points, comparison.claimed, comparison.size, strict=True):
        m = trial.multipliers(z)
        first, second = trial.lagrangian.slices[a], trial.lagrangian.slices[b]
        m[first], m[second] = (-m[first], -m[second]) if a == b else (m[second].copy(), m[first].copy())
        value = trial.lagrangian.minimise(m).value
        bound = np.abs(claimed) if not np.isfinite(size) else size
        if not np.isfinite(value) or not abs(value - claimed) <= comparison.tolerance * max(bound, abs(value)):
            return False
    return True


def _exchanged(comparison: Comparison, a: str, b: str) -> Finding:
    change = f"-{a} for {a}" if a == b else f"{a} and {b} exchanged"

    def say(_: str) -> Sentences:
        return (
            f"The dual variable {a} is not the multiplier of the constraint {a!r}.",
            f"With {change} the claimed objective is the minimum of the Lagrangian at every point tried.",
            "Turn the two sides of the equality round, or change the sign in the dual."
            if a == b
            else f"Exchange the names {a!r} and {b!r} on one side.",
        )

    point = comparison.worst if np.any(comparison.known & (comparison.discrepancy > comparison.tolerance)) else 0
    sign = comparison.trial.claimed.sign
    values = sign * float(comparison.claimed[point]), sign * float(comparison.true[point])
    return Finding(Kind.WRONG_NAMED_MULTIPLIER, a, comparison.trial, say, None, comparison.points[point], *values)
