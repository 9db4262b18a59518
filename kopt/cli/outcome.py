"""What came of refereeing one formulation."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Any

from kopt.errors import KoptError
from kopt.formulation import Formulation
from kopt.referee.verdict import Judgement, Verdict
from kopt.show.text import tree
from kopt.show.verdict import gist, short, shortened, word

HEADER = ("formulation", "verdict", "instances", "points", "discrepancy", "seconds", "first fault")


@dataclass(frozen=True)
class Outcome:
    """A verdict, an error where the declaration fails, or neither where no dual is declared."""

    formulation: type[Formulation]
    verdict: Verdict | None = None
    error: KoptError | None = None

    @property
    def name(self) -> str:
        """The formulation's name."""
        return self.formulation.__name__

    @property
    def file(self) -> str | None:
        """Where the formulation stands."""
        try:
            return inspect.getsourcefile(self.formulation)
        except TypeError:
            return None

    @property
    def word(self) -> str:
        """The outcome in a few words."""
        if self.error is not None:
            return "FAILED"
        return "no dual declared" if self.verdict is None else word(self.verdict.judgement)

    @property
    def wrong(self) -> bool:
        """Whether the dual is wrong, or the declaration fails."""
        return self.error is not None or self._is(Judgement.WRONG)

    @property
    def undecided(self) -> bool:
        """Whether the evidence did not suffice."""
        return self._is(Judgement.UNDECIDED)

    def _is(self, judgement: Judgement) -> bool:
        return self.verdict is not None and self.verdict.judgement is judgement

    def row(self) -> tuple[str, ...]:
        """The outcome under the header."""
        if self.error is not None:
            return (self.name, self.word, "", "", "", "", shortened(_without_place(self.error.what)))
        if self.verdict is None:
            return (self.name, self.word, "", "", "", "", "")
        verdict = self.verdict
        numbers = (str(verdict.instances), str(verdict.points), short(verdict.discrepancy, 2), f"{verdict.seconds:.1f}")
        return (self.name, self.word, *numbers, gist(verdict))

    def as_dict(self) -> dict[str, Any]:
        """The outcome as plain data."""
        known = {"name": self.name, "file": self.file}
        if self.verdict is not None:
            return {**known, **self.verdict.as_dict()}
        if self.error is not None:
            return {**known, "judgement": "failed", "error": self.error.what, "remedy": self.error.remedy}
        return {**known, "judgement": "no dual declared"}

    def __str__(self) -> str:
        if self.error is not None:
            return tree(f"{self.name}: {self.word}", [(self.error.what, []), (self.error.remedy, [])])
        return f"{self.name}: {self.word}" if self.verdict is None else str(self.verdict)


def _without_place(sentence: str) -> str:
    """A sentence without "(file, line 3)", which is too long for a table."""
    return re.sub(r" \([^()]*, line \d+\)", "", sentence)
