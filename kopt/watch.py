"""How far a method has come: a record of its iterations, shown and told as they happen."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """A moment of a run: the two values between which the optimum lies, as the method itself measures them.

    iteration         counted from 1
    seconds           since the run began
    primal, dual      the upper and the lower value; the certificate measures them again
    support_vectors   how many coefficients are not 0
    """

    iteration: int
    seconds: float
    primal: float
    dual: float
    support_vectors: int

    @property
    def relative_gap(self) -> float:
        """(primal - dual) / |primal|."""
        gap = self.primal - self.dual
        return gap / abs(self.primal) if self.primal else float("inf") if gap else 0.0


class Watch:
    """Records what a method reports, and passes it on to a callback."""

    def __init__(self, callback: Callable[[Progress], object] | None = None) -> None:
        self.callback = callback
        self.history: list[Progress] = []
        self._start = time.perf_counter()

    def report(self, primal: float, dual: float, support_vectors: int) -> None:
        """One more iteration is done."""
        moment = Progress(len(self.history) + 1, time.perf_counter() - self._start, primal, dual, support_vectors)
        self.history.append(moment)
        if self.callback is not None:
            self.callback(moment)
