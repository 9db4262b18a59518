"""A measured number beside the one that was aimed at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Comparison:
    """One line of the table.

    what      what is compared, such as "LIBSVM / kopt"
    value     the number measured
    target    the number aimed at; None where there is none
    at_most   whether smaller is better
    spoilt    why the target counts as missed whatever the number, where it does
    note      what has to be known to read the number
    other     the time and gap of the other side, where there is one
    """

    what: str
    value: float
    target: float | None = None
    at_most: bool = False
    spoilt: str = ""
    note: str = ""
    other: dict[str, Any] | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.target is None:
            return None
        return not self.spoilt and (self.value <= self.target if self.at_most else self.value >= self.target)

    def record(self) -> dict[str, Any]:
        """As it stands in the JSON."""
        return {**asdict(self), "met": self.met}
