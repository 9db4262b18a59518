"""The points of a sweep, and their table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from kopt.errors import InputError
from kopt.formulation import Formulation
from kopt.show import html
from kopt.show.verdict import counted
from kopt.solution import Solution
from kopt.sweep.sweep_point import COLUMNS, SweepPoint, text


@dataclass(frozen=True, eq=False)
class Sweep(Sequence[SweepPoint]):
    """The points of a sweep in the order in which the values were given, the last parameter fastest.

    planned       how many points were asked for; an interrupted sweep has the finished ones only
    interrupted   whether Ctrl-C ended it
    """

    formulation: type[Formulation]
    points: tuple[SweepPoint, ...]
    tolerance: float
    planned: int
    interrupted: bool = False

    def __len__(self) -> int:
        return len(self.points)

    @overload
    def __getitem__(self, index: int) -> SweepPoint: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SweepPoint, ...]: ...
    def __getitem__(self, index: int | slice) -> SweepPoint | tuple[SweepPoint, ...]:
        return self.points[index]

    @property
    def table(self) -> list[dict[str, Any]]:
        """A row for each point, as pandas.DataFrame(sweep.table) takes it.

        The parameters, then value, relative_gap, holds (to the tolerance of the sweep), support_vectors, seconds and
        method, which are None where the point failed; then the error, which is None where it did not.
        """
        return [point.row(self.tolerance) for point in self.points]

    def best(self, score: Callable[[Solution], float]) -> SweepPoint:
        """The point whose solution has the largest score, the first of several; failed points have none.

        The accuracy on other points, for example, is `lambda solution: np.mean(solution.predict(X_new) == y_new)`.
        """
        scores = [(float(score(each.solution)), each) for each in self.points if each.solution is not None]
        comparable = [pair for pair in scores if not np.isnan(pair[0])]
        if not comparable:
            raise InputError(
                f"None of the {len(self)} points of the sweep has a score.",
                "Look at the errors in sweep.table, and let the score be a number.",
            )
        return max(comparable, key=lambda pair: pair[0])[1]

    @property
    def doubtful(self) -> list[SweepPoint]:
        """The points whose certificate does not hold to the tolerance of the sweep."""
        solved = [(point, point.solution) for point in self.points if point.solution is not None]
        return [point for point, solution in solved if not solution.certificate.holds(self.tolerance)]

    def __str__(self) -> str:
        header, rows = self._cells()
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [
            "  ".join([*(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False)), row[-1]])
            for row in (header, *rows)
        ]
        return "\n".join([self._headline, *(line.rstrip() for line in lines)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        header, rows = self._cells()
        tone = html.Tone.MIXED if self.interrupted or len(self._solved) < len(self) else html.Tone.GOOD
        headline = html.badge(self._headline, html.Tone.BAD if self.doubtful else tone)
        return str(html.block(headline, html.table(rows, header)))

    @property
    def _solved(self) -> list[SweepPoint]:
        return [point for point in self.points if point.solution is not None]

    @property
    def _headline(self) -> str:
        """How many points there are, and what is wrong with how many of them."""
        planned = counted(self.planned, "point")
        count = f"{len(self)} of {planned}, interrupted" if self.interrupted else planned
        solved, doubtful = len(self._solved), len(self.doubtful)
        parts = [f"sweep of {self.formulation.__name__}: {count}"]
        if solved < len(self):
            parts.append(f"{len(self) - solved} failed")
        if solved:
            holding = f"{doubtful} of {solved} certificates DO NOT HOLD" if doubtful else "all certificates hold"
            parts.append(f"{holding} to {self.tolerance:g}")
        return ", ".join(parts)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows as text; the last column names the method, or says what is wrong."""
        names = list(self.points[0].parameters) if self.points else []
        return [*names, *(name.replace("_", " ") for name in COLUMNS)], [self._row(point) for point in self.points]

    def _row(self, point: SweepPoint) -> list[str]:
        row = point.row(self.tolerance)
        cells = [text(value) for value in point.parameters.values()]
        if point.error is not None:
            return [*cells, *["-"] * (len(COLUMNS) - 1), point.error.what]
        row["holds"] = "yes" if row["holds"] else "NO"
        return [*cells, *(form.format(row[name]) for name, form in COLUMNS.items())]
