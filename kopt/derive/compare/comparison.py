"""The rows of a comparison, and what is said in them."""

from __future__ import annotations

from dataclasses import dataclass

from kopt.referee.factors import named_number
from kopt.referee.words import Words
from kopt.show.verdict import comparison_table

SAME = "same"
MISSING = "missing in the claim"
SUPERFLUOUS = "only in the claim"
# Values and rows that agree to this are the same.
AGREES = 1e-8


@dataclass(frozen=True)
class Row:
    """A part of the derived dual beside the part of the claimed one that corresponds to it.

    part      "objective", the primal variable whose constraint it is, "domain", or "multiplier" for an eliminated one
    derived   in the words of the derivation; empty where nothing corresponds
    claimed   in the words of the declaration; empty where nothing corresponds
    note      "same", or what differs
    """

    part: str
    derived: str
    claimed: str
    note: str

    @property
    def same(self) -> bool:
        """Whether the two say the same."""
        return self.note.startswith(SAME)


@dataclass(frozen=True)
class Comparison:
    """A claimed dual beside the derived one."""

    rows: tuple[Row, ...]

    @property
    def same(self) -> bool:
        """Whether every part is the same."""
        return not self.differences

    @property
    def differences(self) -> tuple[Row, ...]:
        """The rows that differ."""
        return tuple(row for row in self.rows if not row.same)

    def __str__(self) -> str:
        return comparison_table(self)

    __repr__ = __str__


class NamedWords(Words):
    """Parameters by their names even where they are short numbers such as 7.8, as on the derived side."""

    def number(self, value: float) -> str:
        """The parameter that is this number, unless it is a multiple of 1/8, which anybody may have written."""
        own = (name for name, number in self.numbers.items() if number == value and not (8 * value).is_integer())
        return next(own, None) or super().number(value)

    def factor(self, value: float) -> str:
        """A factor, as an expression of the parameters where a simple one fits."""
        return named_number(value, self.numbers) or f"{value:.4g}"

    def multiple(self, what: str, factor: float) -> str:
        """That something is a multiple of what it should be."""
        if abs(factor - 1) <= AGREES:
            return SAME
        if abs(factor + 1) <= AGREES:
            return f"{what} has the opposite sign"
        return f"{what} is {self.factor(factor)} {'of' if 0 < factor < 1 else 'times'} it"
