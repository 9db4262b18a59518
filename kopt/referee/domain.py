"""The claimed feasible set against the set on which the Lagrangian is bounded below.

Conditions that stand on both sides are paired off; for each that is left over its violation is maximised over the
other set, by a linear program where that is polyhedral.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.referee.claimed import AffineMap
from kopt.referee.conditions import Condition, Role
from kopt.referee.finding import Finding, Sentences
from kopt.referee.region import FEASIBLE, Region, parallel
from kopt.referee.trial import Trial
from kopt.referee.verdict import Kind

# Offsets, in units of the set, and coefficients that agree to this are the same.
SAME = 1e-9
# How far beyond the claimed set, towards the most extreme point, one is sought at which the Lagrangian is bounded.
FRACTIONS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.001)


@dataclass(frozen=True)
class Line:
    """One row of a condition: row @ (z / unit) + offset, divided by its largest coefficient."""

    condition: Condition
    index: int
    row: np.ndarray
    offset: float

    @property
    def equality(self) -> bool:
        """Whether it is an equality."""
        return self.condition.equality

    @property
    def constant(self) -> bool:
        """Whether it says the same at every point."""
        return not self.row.any()

    def holds_everywhere(self) -> bool:
        """Whether a constant line is true."""
        return abs(self.offset) <= SAME if self.equality else self.offset <= SAME

    def is_same(self, other: Line) -> bool:
        """Whether the two lines say the same."""
        return self.equality == other.equality and self.follows_from(other) and other.follows_from(self)

    def follows_from(self, other: Line) -> bool:
        """Whether this line is the other one, or a weaker one."""
        factor = parallel(self.row, other.row)
        if factor is None:
            return False
        weaker = factor * other.offset - self.offset
        same = abs(weaker) <= SAME * max(1.0, abs(self.offset))
        if self.equality or (other.equality and same):
            return other.equality and same
        return not other.equality and factor > 0 and weaker >= -SAME * max(1.0, abs(self.offset))


def lines(conditions: list[Condition], unit: np.ndarray) -> list[Line]:
    """The rows of conditions in units of z."""
    found = []
    for each in conditions:
        rows = each.rows * unit
        for i, (row, offset) in enumerate(zip(rows, each.offset, strict=True)):
            size = float(np.max(np.abs(row), initial=0.0)) or max(abs(offset), float(each.size[i])) or 1.0
            found.append(Line(each, i, row / size, float(offset) / size))
    return found


def left_over(these: list[Line], those: list[Line]) -> list[Line]:
    """The lines that neither hold everywhere nor follow from a single one of the others."""
    return [
        line
        for line in these
        if not (line.holds_everywhere() if line.constant else any(line.follows_from(other) for other in those))
    ]


def repaired_multipliers(trial: Trial) -> Iterator[Finding]:
    """Eliminated multipliers for which stationarity fails, although it holds with others; the trial then uses those."""
    claimed, L = trial.claimed, trial.lagrangian
    free = [name for name in L.cones if claimed.eliminated(name) and name not in claimed.bent]
    columns = np.concatenate([np.arange(L.width)[L.slices[name]] for name in free] or [np.zeros(0, dtype=int)])
    touching = [c for c in trial.true_conditions if c.role is Role.STATIONARITY and c.rows[:, columns].any()]
    composed = [c.after(trial.map.matrix, trial.map.offset) for c in touching]
    failing = left_over(lines(composed, trial.unit), lines(claimed.conditions, trial.unit))
    region = Region([], trial.unit) if trial.is_empty else trial.claimed_region
    if all(_worst(region, line) is None for line in failing):
        return
    R = np.vstack([c.rows[:, columns] for c in touching])
    residual = AffineMap(np.vstack([c.rows for c in composed]), np.concatenate([c.offset for c in composed]))
    correction = -np.linalg.pinv(R)
    matrix, offset = trial.map.matrix.copy(), trial.map.offset.copy()
    matrix[columns] += correction @ residual.matrix
    offset[columns] += correction @ residual.offset
    repaired = [c.after(matrix, offset) for c in touching]
    if left_over(lines(repaired, trial.unit), lines(claimed.conditions, trial.unit)):
        return
    before = trial.map
    trial.map = AffineMap(matrix, offset)
    for name in free:
        place = L.slices[name]
        change = AffineMap(matrix[place] - before.matrix[place], offset[place] - before.offset[place])
        size = np.abs(before.matrix[place]) @ trial.unit + np.abs(before.offset[place])
        if np.any(np.abs(change.matrix) @ trial.unit + np.abs(change.offset) > SAME * np.maximum(size, SAME)):
            yield _wrong_multiplier(trial, name, before)


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
    row = {n: trial.map.matrix[place][k][columns] for n, columns in _columns(trial).items()}
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

    return Finding(Kind.WRONG_ELIMINATED_MULTIPLIER, name, trial, say, factor, z, *_unbounded_at(trial, z))


def _unbounded_at(trial: Trial, z: np.ndarray) -> tuple[float, float]:
    """The claimed value at a point, and the true one where the Lagrangian is unbounded, in the user's sense."""
    sign = trial.claimed.sign
    return sign * float(np.sum(trial.claimed.values(z))), -sign * np.inf


def _columns(trial: Trial) -> dict[str, slice]:
    """The place of each dual variable in z."""
    start, found = 0, {}
    for name, variable in trial.claimed.variables.items():
        found[name] = slice(start, start + variable.size)
        start += variable.size
    return found


def missing(trial: Trial) -> Iterator[Finding]:
    """Points that the claimed dual allows, where the Lagrangian is unbounded or a multiplier leaves its cone."""
    claimed_lines = lines(trial.claimed.conditions, trial.unit)
    demanded_lines = lines(trial.demanded, trial.unit)
    reported: set[tuple[str, Role]] = set()
    for line in left_over(demanded_lines, claimed_lines):
        key = (line.condition.about, line.condition.role)
        if key in reported:
            continue
        point = _worst(trial.claimed_region, line)
        if point is not None:
            reported.add(key)
            yield _missing(trial, line, point, claimed_lines, demanded_lines)


def _worst(region: Region, line: Line) -> np.ndarray | None:
    """The point of a region at which a line is violated most; None where it never is."""
    worst, violation = None, FEASIBLE
    for sign in (1.0, -1.0) if line.equality else (1.0,):
        z = region.furthest(sign * line.row / region.unit)
        if z is not None:
            excess = sign * float(line.row @ (z / region.unit) + line.offset)
            if excess > violation:
                worst, violation = z, excess
    return worst


def _missing(trial: Trial, line: Line, z: np.ndarray, claimed_lines: list[Line], demanded: list[Line]) -> Finding:
    about, role = line.condition.about, line.condition.role
    needed = _demand(trial, line)
    reason = _reason(trial, line, z)
    twin = _twin(line, [c for c in claimed_lines if not any(c.is_same(d) for d in demanded)])
    base = Finding(Kind.MISSING_CONSTRAINT, about, trial, lambda _: ("", "", ""), None, z, *_unbounded_at(trial, z))
    if twin is not None:
        return replace(_wrong_bound(base, line, twin, needed, reason), blocks=True)

    def say(_: str) -> Sentences:
        return f"The dual does not impose {needed}.", reason, f"Add the constraint {needed}."

    kind = Kind.MISSING_CONSTRAINT if role is Role.STATIONARITY else Kind.MISSING_BOUND
    return replace(base, kind=kind, say=say)


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
    blocks = {name: line.condition.rows[:, columns] for name, columns in _columns(trial).items()}
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
    for line in left_over(claimed_lines, lifted.plain_lines()):
        where = line.condition.about
        if where in reported:
            continue
        for z, m in lifted.outside(line):
            true = trial.lagrangian.minimise(m)
            if np.isfinite(true.value):
                reported.add(where)
                yield _superfluous(trial, line, z, true.value, lifted.demanded_lines())
                break
    yield from _superfluous_curved(trial, lifted, reported)
    if trial.is_empty and not reported:
        yield from _empty(trial, lifted)


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
        if np.isfinite(true.value):
            labels = ", ".join(trial.claimed.labels)
            yield _superfluous(trial, _no_line(labels, trial), z, true.value, [])
            return


def _superfluous_curved(trial: Trial, lifted: Lifted, reported: set[str]) -> Iterator[Finding]:
    """The same for claimed constraints that are not affine, at random points of the true domain."""
    if not trial.claimed.curved:
        return
    points = lifted.random_points()
    for label in trial.claimed.curved:
        sizes = [np.max(np.abs(_residual(trial, label, z)), initial=0.0) for z, _ in points]
        for (z, m), size in zip(points, sizes, strict=True):
            if label not in reported and trial.claimed.curved_violation(label, z) > 1e-5 * size:
                true = trial.lagrangian.minimise(m)
                if np.isfinite(true.value):
                    reported.add(label)
                    yield _superfluous(trial, _no_line(label, trial), z, true.value, [])


def _residual(trial: Trial, label: str, z: np.ndarray) -> np.ndarray:
    trial.claimed.curved_violation(label, z)  # binds the variables
    return np.asarray(trial.claimed.curved[label].residual.value, dtype=float)


def _no_line(label: str, trial: Trial) -> Line:
    nothing = Condition(label, Role.CLAIMED, False, np.zeros((0, trial.claimed.width)), np.zeros(0), np.zeros(0))
    return Line(nothing, 0, np.zeros(trial.claimed.width), 0.0)


def _beyond(near: np.ndarray, far: np.ndarray, row: np.ndarray, offset: float) -> Iterator[np.ndarray]:
    """Points from far to near, as far as row @ z + offset > 0."""
    inside, outside = (float(row @ point[: len(row)]) + offset for point in (near, far))
    crossing = -inside / (outside - inside) if inside < 0 < outside else 0.0
    for fraction in FRACTIONS:
        t = crossing + fraction * (1 - crossing)
        yield t * far + (1 - t) * near


class Lifted:
    """The true domain in z together with the eliminated multipliers, which are then free.

    A dual whose variables are not multipliers themselves has no such domain: there the declared map decides.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        L, claimed = trial.lagrangian, trial.claimed
        own = all(name in L.cones and not claimed.eliminated(name) for name in claimed.variables)
        names = [name for name in L.cones if claimed.eliminated(name)] if own else []
        self.columns = np.concatenate([np.arange(L.width)[L.slices[n]] for n in names] or [np.zeros(0, dtype=int)])
        width = claimed.width
        matrix = np.zeros((L.width, width + len(self.columns)))
        matrix[:, :width] = trial.map.matrix
        matrix[self.columns, :width] = 0.0
        matrix[self.columns, width + np.arange(len(self.columns))] = 1.0
        offset = trial.map.offset.copy()
        offset[self.columns] = 0.0
        self.map = AffineMap(matrix, offset)
        sizes = np.abs(trial.map.matrix[self.columns]) @ trial.unit + np.abs(trial.map.offset[self.columns])
        sizes = np.where(sizes > 0, sizes, np.median(trial.unit))
        conditions = trial.demanded if not own else [c.after(matrix, offset) for c in trial.true_conditions]
        self.region = Region(conditions, np.concatenate([trial.unit, sizes]) if own else trial.unit, self._curved())
        self.own = own

    def _curved(self) -> tuple[cp.Expression, list[Any]] | None:
        z = self.trial.stacked
        if len(self.columns):
            z = cp.hstack([z, cp.Variable(len(self.columns))])
        constraints = self.trial.cone_constraints(z, self.map)
        return (z, constraints) if constraints or self.trial.symmetric else None

    def plain_lines(self) -> list[Line]:
        """The demanded lines that involve no eliminated multiplier, and the inequalities that do."""
        return [line for line in self.demanded_lines() if not line.equality or not self._involves(line)]

    def demanded_lines(self) -> list[Line]:
        """All demanded lines on z, the eliminated multipliers as declared."""
        return lines(self.trial.demanded, self.trial.unit)

    def _involves(self, line: Line) -> bool:
        original = next(
            c for c in self.trial.true_conditions if c.about == line.condition.about and c.role is line.condition.role
        )
        return bool(original.rows[:, self.columns].any())

    def outside(self, line: Line) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Points of the true domain, with their multipliers, that violate a line, the furthest first."""
        width, unit = len(line.row), self.trial.unit
        for sign in (1.0, -1.0) if line.equality else (1.0,):
            direction = np.zeros(len(self.region.unit))
            direction[:width] = sign * line.row / unit
            far = self.region.furthest(direction)
            if far is None:
                continue
            near = None if self.trial.complete else self.region.nearest(np.zeros(len(self.region.unit)))
            for point in [far] if near is None else _beyond(near, far, sign * line.row / unit, sign * line.offset):
                if sign * float(line.row @ (point[:width] / unit) + line.offset) > FEASIBLE:
                    yield self._split(point)

    def _split(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        trial = self.trial
        z = point[: trial.claimed.width]
        m = trial.multipliers(z)
        if self.own:
            straight = self.map(point)
            for name, place in trial.lagrangian.slices.items():
                # A multiplier such as lambda = 1/2 ||w|| may be 0 at an extreme point, where nothing is bounded.
                m[place] = m[place] if name in trial.claimed.bent else straight[place]
        return z, m

    def random_points(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Some points of the true domain, with their multipliers."""
        rng, unit = self.trial.rng, self.region.unit
        starts = [unit * scale * rng.standard_normal(len(unit)) for scale in (0.3, 1.0, 3.0, 3.0, 10.0, 10.0)]
        nearest = [self.region.nearest(start) for start in starts]
        return [self._split(point) for point in nearest if point is not None]
