"""Which variables a descent works on next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kopt.separable import SeparableProgram

if TYPE_CHECKING:
    from kopt.solvers.descent import State

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

#: The variables that are worked on at a time, and the share of them that is kept.
BLOCK, KEPT = 1536, 0.5
#: Where so few variables may still move, these are the working set: no further on the right side of their margin than
#: so many times as far as the worst is on the wrong one.
FEW, FEW_WITHIN = 3072, 2.0
#: After so many rounds, and so many times as many as it takes to work on each support vector once, and with a gap below
#: a limit, the working set becomes all variables that may still move ("the band").
FIRST_ROUNDS, TIMES_EACH, BAND_FROM = 10, 6.0, 0.2
#: How near the margin these are, in units of the mean distance, at first and at last.
BAND_WIDTH, BAND_LEAST = 0.4, 0.02
#: No more than so many times those that have to be in it.
BAND_MOST = 1.5


class WorkingSets:
    """Blocks of the variables that violate most, and where few may still move, or blocks are slow, all of these.

    largest   the most variables whose matrix may be formed
    band      the variables near the margin, once blocks were slow
    """

    def __init__(self, program: SeparableProgram, largest: int) -> None:
        self.program, self.largest = program, largest
        self.band: Indices | None = None
        self.rounds = 0
        self._few: Indices | None = None
        self._block: Indices = np.zeros(0, dtype=np.intp)
        self._band_width = BAND_WIDTH

    @property
    def in_block(self) -> bool:
        """Whether the last one was a block."""
        return len(self._block) > 0

    def next(self, state: State, c: Vector) -> Indices:
        """The variables to work on next."""
        self.rounds += 1
        chosen = self._few_that_move(state)
        if chosen is None and self._blocks_are_slow(state, c):
            chosen = self._in_band(state, c)
        if chosen is not None:
            self._block = self._block[:0]
            return chosen
        self._block = self._next_block(state)
        return self._block

    def _few_that_move(self, state: State) -> Indices | None:
        """The variables that are not far on the right side of their margin, as far as the worst goes; None if many."""
        far = FEW_WITHIN * state.violation
        if self._few is not None:
            outside = (state.up < 0) | (state.down > 0)
            outside[self._few] = False
            if not outside.any():
                return self._few  # its matrix is there already
        near = np.flatnonzero((state.up < far) | (state.down > -far))
        self._few = near if len(near) <= min(FEW, self.largest) else None
        return self._few

    def _blocks_are_slow(self, state: State, c: Vector) -> bool:
        """Whether blocks take long to come to an end; once they did, they are not tried again."""
        enough = FIRST_ROUNDS + TIMES_EACH * np.count_nonzero(c) / ((1 - KEPT) * BLOCK)
        return self.band is not None or bool(state.relative_gap < BAND_FROM and self.rounds > enough)

    def _in_band(self, state: State, c: Vector) -> Indices | None:
        """All variables between their bounds, on the wrong side of the margin, or near it; None if these are many."""
        p, distance = self.program, np.abs(state.slope)
        # strictly inside, and not at rest in a kink
        inside = (p.lower < c) & (c < p.upper) & ((c != 0) | (p.width == 0))
        must = inside | (state.up < 0) | (state.down > 0)
        if self.band is not None and np.count_nonzero(must[self.band]) == np.count_nonzero(must):
            return self.band  # its matrix is there already
        count = np.count_nonzero(must)
        if count > self.largest:
            return None
        width = self._band_width * float(np.mean(distance))
        if p.width.any():
            distance = np.minimum(np.abs(state.slope - p.width), np.abs(state.slope + p.width))
        distance[must] = 0.0
        near = np.flatnonzero(distance < max(width, np.finfo(float).tiny))
        most = min(self.largest, int(BAND_MOST * count) + BLOCK)
        self.band = near if len(near) <= most else np.sort(near[np.argpartition(distance[near], most)[:most]])
        self._band_width = max(BAND_LEAST, self._band_width / 2)
        return self.band

    def _next_block(self, state: State) -> Indices:
        """The variables that violate most in either direction, and a part of those worked on last."""
        size = min(BLOCK, self.largest)
        kept = self._block[len(self._block) - int(KEPT * size) :] if len(self._block) >= size // 2 else self._block[:0]
        rising, falling = -state.up, state.down
        rising[kept] = falling[kept] = -np.inf
        half = (size - len(kept)) // 2
        new = np.union1d(_largest(rising, half), _largest(falling, half))
        return np.concatenate([kept, new])


def _largest(values: Vector, count: int) -> Indices:
    """The places of the largest values, those that are not positive left out."""
    places = np.argpartition(-values, min(count, len(values) - 1))[:count]
    return places[values[places] > 0]
