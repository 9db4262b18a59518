"""The claimed feasible set against the set on which the Lagrangian is bounded below.

Conditions that stand on both sides are paired off; for each that is left over its violation is maximised over the
other set, by a linear program where that is polyhedral.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kopt.referee.across import across
from kopt.referee.conditions import Condition, Role
from kopt.referee.finding import Finding, Sentences
from kopt.referee.lifted import Lifted
from kopt.referee.lines import SAME, Line, left_over, lines, worst
from kopt.referee.region import FEASIBLE, parallel
from kopt.referee.trial import Trial
from kopt.referee.verdict import Kind

# Where a solver has to minimise the Lagrangian, so many entries of a constraint are tried.
FEW = 2
# The same where a conic solver has to look for a violation.
MANY = 6
# Fractions of the way to an extreme point at which a claimed objective may still be defined.
NEARER = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001)


def missing(trial: Trial) -> Iterator[Finding]:
    """Points that the claimed dual allows, where the Lagrangian is unbounded or a multiplier leaves its cone."""
    claimed_lines = lines(trial.claimed.conditions, trial.unit)
    demanded_lines = lines(trial.demanded, trial.unit)
    reported: set[tuple[str, Role]] = set()
    tried: Counter[tuple[str, Role]] = Counter()
    for line in left_over(demanded_lines, claimed_lines):
        key = (line.condition.about, line.condition.role)
        tried[key] += 1
        if key in reported or (trial.claimed_region.curved is not None and tried[key] > MANY):
            continue
        point = _allowed(trial, line, worst(trial.claimed_region, line))
        if point is not None:
            reported.add(key)
            yield _missing(trial, line, point, claimed_lines, demanded_lines)


def _allowed(trial: Trial, line: Line, far: np.ndarray | None) -> np.ndarray | None:
    """The point itself, or one nearer at which the line is violated as well, where the claimed objective is defined.

    An objective such as an entropy is -inf outside its own domain, which is a constraint of the claimed dual too.
    """
    if far is None or np.isfinite(np.sum(trial.claimed.values(far))):
        return far
    near = trial.claimed_region.nearest(np.zeros(len(far)))
    if near is None:
        return None
    for t in NEARER:
        point = t * far + (1 - t) * near
        value = float(line.row @ (point / trial.unit) + line.offset)
        violated = abs(value) if line.equality else value
        if violated > FEASIBLE and np.isfinite(np.sum(trial.claimed.values(point))):
            return point
    return None


def _missing(trial: Trial, line: Line, z: np.ndarray, claimed_lines: list[Line], demanded: list[Line]) -> Finding:
    about, role = line.condition.about, line.condition.role
    needed = _demand(trial, line)
    reason = _reason(trial, line, z)
    unmatched = [c for c in claimed_lines if not any(c.is_same(d) for d in demanded)]
    twin = _twin(line, unmatched)
    base = Finding(Kind.MISSING_CONSTRAINT, about, trial, lambda _: ("", "", ""), None, z, *trial.unbounded_at(z))
    if twin is not None:
        found = _wrong_bound(base, line, twin, needed, reason)
        wrong = [c.index for c in unmatched if c.condition is twin.condition]
        shown = trial.claimed.shown(twin.condition.about)
        if len(wrong) < len(twin.condition.offset):
            found = replace(found, factor=None, say=lambda _: _wrong_entries(shown, wrong, reason, needed))
        return found

    if line.constant and role is Role.STATIONARITY:
        return replace(base, kind=Kind.UNBOUNDED_PRIMAL, say=lambda _: _unbounded_in(about))

    def say(_: str) -> Sentences:
        return f"The dual does not impose {needed}.", reason, f"Add the constraint {needed}."

    kind = Kind.MISSING_CONSTRAINT if role is Role.STATIONARITY else Kind.MISSING_BOUND
    return replace(base, kind=kind, say=say)


def _wrong_entries(shown: str, entries: list[int], reason: str, needed: str) -> Sentences:
    listed = ", ".join(map(str, entries[:6])) + (", ..." if len(entries) > 6 else "")
    return (
        f"The constraint {shown!r} is wrong in some entries only: {listed}.",
        reason,
        f"Write {needed} in all of them.",
    )


def _unbounded_in(variable: str) -> Sentences:
    return (
        f"The primal is unbounded in {variable}, or infeasible.",
        f"The Lagrangian has a slope in {variable} that no multiplier changes, so that its minimum is -inf everywhere.",
        f"Constrain {variable} in the primal, or let a multiplier meet it.",
    )


def _wrong_bound(base: Finding, line: Line, twin: Line, needed: str, reason: str) -> Finding:
    """A claimed line with the coefficients of a demanded one, but another right-hand side or relation."""
    where, shown = twin.condition.about, base.trial.claimed.shown(twin.condition.about)
    factor = parallel(line.row, twin.row)
    assert factor is not None
    same = abs(factor * twin.offset - line.offset) <= SAME * max(1.0, abs(line.offset))
    ratio = None if same or twin.offset == 0 else line.offset / (factor * twin.offset)
    relation = ("an equality", "an inequality")

    def say(times: str) -> Sentences:
        if same:
            is_, has_to_be = relation if twin.equality else relation[::-1]
            what = f"The constraint {shown!r} is {is_}, but has to be {has_to_be}."
        else:
            what = f"The right-hand side of the constraint {shown!r} is wrong"
            what += f": it has to be multiplied by {times}." if times else "."
        return what, reason, f"Write {needed}."

    kind = Kind.SUPERFLUOUS_CONSTRAINT if same and twin.equality else Kind.WRONG_BOUND
    return replace(base, kind=kind, where=where, factor=ratio, say=say)


def _twin(line: Line, others: list[Line]) -> Line | None:
    """The line with the same coefficients, on the same side where both are inequalities, and the nearest offset."""
    found = []
    for other in others:
        factor = parallel(line.row, other.row)
        if factor is not None and (factor > 0 or line.equality or other.equality):
            found.append((abs(factor * other.offset - line.offset), other))
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _demand(trial: Trial, line: Line) -> str:
    """A demanded line in words, over the dual variables."""
    blocks = {name: line.condition.rows[:, columns] for name, columns in trial.claimed.columns.items()}
    return trial.words.relation(blocks, line.condition.offset, line.equality, line.index)


def _reason(trial: Trial, line: Line, z: np.ndarray) -> str:
    about, role = line.condition.about, line.condition.role
    if role is Role.STATIONARITY:
        return (
            f"The Lagrangian is affine in {about}; at the point shown its slope does not vanish, so it is unbounded "
            f"below in {about}: stationarity in {about} demands {_demand(trial, line)}."
        )
    if role is Role.CURVATURE:
        return f"The factor of ||{about}||^2 in the Lagrangian is negative at the point shown: it is unbounded below."
    place = trial.lagrangian.slices[about]
    value = float(np.min(trial.multipliers(z)[place]))
    return f"The multiplier {about} of an inequality is {value:.6g} < 0 at the point shown: no bound follows from it."


def superfluous(trial: Trial) -> Iterator[Finding]:
    """Points that the claimed dual forbids although every multiplier has its sign and the Lagrangian is bounded."""
    claimed_lines = lines(trial.claimed.conditions, trial.unit)
    lifted = Lifted(trial)
    reported: set[str] = set()
    tried: Counter[str] = Counter()
    slow = trial.lagrangian.remainder is not None or lifted.region.curved is not None
    for line in left_over(claimed_lines, lifted.plain_lines()):
        where = line.condition.about
        tried[where] += 1
        if where in reported or (slow and tried[where] > FEW):
            continue
        for z, m in lifted.outside(line):
            true = trial.lagrangian.minimise(m)
            if np.isfinite(true.value) and trial.in_cones(m):
                reported.add(where)
                yield _superfluous(trial, line, z, true.value, lifted.demanded_lines())
                break
    for label in [*tried, *trial.claimed.curved]:
        if label not in reported and not (trial.certain or trial.is_empty):
            for found in _superfluous_beyond(trial, label):
                reported.add(label)
                yield found
    if trial.is_empty and not reported:
        yield from _empty(trial, lifted)


def _superfluous_beyond(trial: Trial, label: str) -> Iterator[Finding]:
    """The same at points just beyond one constraint, where the true domain is not known by its conditions."""
    for z in across(trial, label):
        m = trial.multipliers(z)
        true = trial.lagrangian.minimise(m)
        if np.isfinite(true.value) and trial.in_cones(m):
            yield _superfluous(trial, _no_line(label, trial), z, true.value, [])
            return


def _superfluous(trial: Trial, line: Line, z: np.ndarray, true: float, demanded: list[Line]) -> Finding:
    where, shown = line.condition.about, trial.claimed.shown(line.condition.about)
    reason = (
        "At the point shown every multiplier has its sign and the Lagrangian is bounded below, "
        "so the point belongs to the dual's feasible set."
    )
    base = Finding(
        Kind.SUPERFLUOUS_CONSTRAINT,
        where,
        trial,
        lambda _: (
            f"The constraint {shown!r} forbids points that the dual allows.",
            reason,
            f"Leave {shown!r} out, or say why it may be imposed.",
        ),
        None,
        z,
        np.nan,
        trial.claimed.sign * true,
        blocks=False,
    )
    twin = _twin(line, demanded)
    if twin is None:
        return base
    return _wrong_bound(base, twin, line, _demand(trial, twin), reason)


def _empty(trial: Trial, lifted: Lifted) -> Iterator[Finding]:
    """No point satisfies all claimed constraints, although the dual's own set is not empty."""
    for z, m in lifted.random_points():
        true = trial.lagrangian.minimise(m)
        if np.isfinite(true.value) and trial.in_cones(m):
            labels = ", ".join(map(trial.claimed.shown, trial.claimed.labels))
            yield _superfluous(trial, _no_line(labels, trial), z, true.value, [])
            return


def _no_line(label: str, trial: Trial) -> Line:
    nothing = Condition(label, Role.CLAIMED, False, np.zeros((0, trial.claimed.width)), np.zeros(0), np.zeros(0))
    return Line(nothing, 0, np.zeros(trial.claimed.width), 0.0)
