"""Single conditions side by side: which are the same, which follow from another, where one is violated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kopt.referee.conditions import Condition
from kopt.referee.region import FEASIBLE, Region, parallel

# Offsets, in units of the set, and coefficients that agree to this are the same.
SAME = 1e-9


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


def worst(region: Region, line: Line) -> np.ndarray | None:
    """The point of a region at which a line is violated most; None where it never is."""
    if line.constant:
        return region.nearest(np.zeros(len(region.unit)))
    found, violation = None, FEASIBLE
    for sign in (1.0, -1.0) if line.equality else (1.0,):
        z = region.furthest(sign * line.row / region.unit)
        if z is not None:
            excess = sign * float(line.row @ (z / region.unit) + line.offset)
            if excess > violation:
                found, violation = z, excess
    return found
