"""The constraints of two duals, matched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kopt.derive.compare.comparison import AGREES, MISSING, SAME, SUPERFLUOUS, NamedWords, Row
from kopt.referee.conditions import Condition
from kopt.referee.region import Region, parallel

IDLE = ", of no effect on this instance"


@dataclass(frozen=True, eq=False)
class Constraint:
    """A constraint of either dual on z.

    name        the primal variable that is its multiplier, or nothing
    affine      its rows; None where it is curved in z
    violation   of a point, relative to the terms of the constraint
    points      at which curved constraints are compared
    """

    name: str
    text: str
    affine: Condition | None
    violation: Callable[[np.ndarray], float]
    points: Sequence[np.ndarray]

    @property
    def part(self) -> str:
        """What it is called in a row."""
        return self.name or "domain"

    @cached_property
    def forbidden(self) -> np.ndarray:
        """Which of the points it forbids; one at which it has no value is forbidden."""
        return np.array([not self.violation(z) <= AGREES for z in self.points])


class Constraints:
    """The constraints of both duals.

    unit   the size of each entry of z
    """

    def __init__(
        self, derived: Sequence[Constraint], claimed: Sequence[Constraint], unit: np.ndarray, words: NamedWords
    ) -> None:
        self.derived, self.claimed, self.unit, self.words = derived, claimed, unit, words

    def rows(self) -> Iterator[Row]:
        """The derived constraints in their order, then those that only the claim has."""
        found, alone = self._found()
        for one in self.derived:
            yield found[one] if one in found else Row(one.part, one.text, "", self._alone(one, self.claimed))
        yield from (Row(other.part, "", other.text, self._alone(other, self.derived)) for other in alone)

    def _found(self) -> tuple[dict[Constraint, Row], list[Constraint]]:
        """The derived constraints with a counterpart, and the claimed ones without."""
        right = list(self.claimed)
        found: dict[Constraint, Row] = {}
        for paired in (self._is_same, self._has_its_name, self._is_parallel):
            for one in (each for each in self.derived if each not in found):
                by_name = sorted(right, key=lambda other: other.name != one.name)
                other = next((each for each in by_name if paired(one, each)), None)
                if other is not None:
                    note = SAME if paired == self._is_same else self._difference(one, other)
                    found[one] = Row(one.part, one.text, other.text, note)
                    right.remove(other)
        return found, right

    def _alone(self, one: Constraint, others: Sequence[Constraint]) -> str:
        """What is said of a constraint without a counterpart."""
        ours = others is self.claimed
        if self._follows(one, others):
            return f"{SAME}: follows from the {'claim' if ours else 'derived ones'}"
        return MISSING if ours else SUPERFLUOUS

    def _is_same(self, one: Constraint, other: Constraint) -> bool:
        if one.affine is None or other.affine is None:
            return 0 < np.mean(one.forbidden) < 1 and bool(np.array_equal(one.forbidden, other.forbidden))
        equality, factors = one.affine.equality, self._factors(one.affine, other.affine, offsets=True)
        return factors is not None and equality == other.affine.equality and (equality or factors[0] > 0)

    def _has_its_name(self, one: Constraint, other: Constraint) -> bool:
        return bool(one.name) and one.name == other.name

    def _is_parallel(self, one: Constraint, other: Constraint) -> bool:
        return self._factors(one.affine, other.affine) is not None

    def _factors(self, one: Condition | None, other: Condition | None, offsets: bool = False) -> np.ndarray | None:
        """The numbers of one sign by which the rows of the one have to be multiplied to give those of the other."""
        if one is None or other is None or one.rows.shape != other.rows.shape:
            return None
        ours, theirs = (np.column_stack([c.rows * self.unit, offsets * c.offset]) for c in (one, other))
        factors = np.array([parallel(b, a) for a, b in zip(ours, theirs, strict=True)], dtype=float)  # nan for none
        return factors if np.all(factors > 0) or np.all(factors < 0) else None

    def _difference(self, one: Constraint, other: Constraint) -> str:
        equivalent = self._follows(one, self.claimed) and self._follows(other, self.derived)
        factors = self._factors(one.affine, other.affine)
        if factors is None or one.affine is None or other.affine is None:
            return f"{SAME}: the two are equivalent" if equivalent else "claimed has other coefficients"
        # Whether another bound matters may depend on the parameters, so it is a difference all the same.
        return self._row_by_row(one.affine, other.affine, factors) + (IDLE if equivalent else "")

    def _row_by_row(self, one: Condition, other: Condition, factors: np.ndarray) -> str:
        """How two constraints with the same left-hand sides differ."""
        if one.equality != other.equality:
            return f"claimed is an {'equality' if other.equality else 'inequality'}"
        if not one.equality and np.all(factors < 0):
            return "claimed is the other way round"
        return self._bounds_note(-one.offset, -other.offset / factors)

    def _bounds_note(self, derived: np.ndarray, claimed: np.ndarray) -> str:
        """How two right-hand sides of the same rows differ."""
        if not derived.all():
            return "claimed bound differs" if derived.any() else "claimed bound is not 0"
        ratio = claimed / derived
        if np.ptp(ratio) <= AGREES * abs(ratio[0]):
            return self.words.multiple("claimed bound", float(ratio[0]))
        for name, vector in self.words.vectors.items():
            if len(vector) == len(ratio) and np.allclose(ratio, vector, rtol=AGREES, atol=0):
                return f"claimed bound is {name}_i times it"
        return "claimed bound differs"

    def _follows(self, one: Constraint, others: Sequence[Constraint]) -> bool:
        """Whether no point that the others allow violates it: by linear programs, or on the points."""
        affine = [each.affine for each in others if each.affine is not None]
        if one.affine is not None and self._follows_by_rows(one.affine, affine):
            return True
        if one.affine is not None and len(affine) == len(others):
            return False
        allowed = ~np.any([np.zeros(len(one.points), dtype=bool), *(each.forbidden for each in others)], axis=0)
        return bool(allowed.any()) and not one.forbidden[allowed].any()

    def _follows_by_rows(self, affine: Condition, others: Sequence[Condition]) -> bool:
        region = Region(others, self.unit)
        for row, offset in zip(affine.rows, affine.offset, strict=True):
            for sign in (1.0, -1.0) if affine.equality else (1.0,):
                z = region.furthest(sign * row) if row.any() else np.zeros(len(row))
                if z is None or sign * (row @ z + offset) > 1e-6 * (np.abs(row) @ self.unit + abs(offset)):
                    return False
        return True
