"""The claimed objective against the minimum of the Lagrangian, point by point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kopt.referee.trial import Trial

# Closed forms agree to rounding; a solver's minimum is known to about 1e-8.
CLOSED = 1e-9
SOLVED = 1e-5
# A point whose claimed terms are all this small beside the largest at other points is 0.
NOTHING = 1e-12
# Where a solver is involved, terms below this fraction of the typical ones count for so much.
SMALL = 1e-1
# By how much a point is moved off a border of the claimed set that rounding has put it beyond.
INSIDE = 1e-12


@dataclass(frozen=True)
class Comparison:
    """Claimed terms and true minima at the points of one trial.

    terms   points x terms of the claimed objective
    true    the minimum of the Lagrangian, -inf where it is unbounded, nan where a solver could not say
    size    the absolute terms of both
    """

    trial: Trial
    points: list[np.ndarray]
    terms: np.ndarray
    true: np.ndarray
    size: np.ndarray
    escapes: list[str | None]

    @cached_property
    def claimed(self) -> np.ndarray:
        """The claimed objective, as a bound on the primal as a minimisation."""
        return np.asarray(self.terms.sum(axis=1))

    @cached_property
    def known(self) -> np.ndarray:
        """The points at which both values are finite."""
        return np.isfinite(self.claimed) & np.isfinite(self.true)

    @cached_property
    def telling(self) -> np.ndarray:
        """The points at which both values are finite and not all terms vanish."""
        return self.known & (self.size > self._floor)

    @property
    def tolerance(self) -> float:
        """What rounding, or a solver, excuses."""
        return CLOSED if self._exact else SOLVED

    @cached_property
    def discrepancy(self) -> np.ndarray:
        """|claimed - true| relative to the terms; inf where only one is finite, 0 where nothing is known."""
        result = np.zeros(len(self.points))
        result[self.known] = np.abs(self.claimed - self.true)[self.known] / np.maximum(
            self.size[self.known], self._floor
        )
        result[self.one_sided] = np.inf
        return result

    @cached_property
    def one_sided(self) -> np.ndarray:
        """The points at which one of the two is finite and the other -inf."""
        return (np.isfinite(self.claimed) & (self.true == -np.inf)) | (
            np.isfinite(self.true) & (self.claimed == -np.inf)
        )

    @property
    def compared(self) -> int:
        """The number of points at which something is known."""
        return int(np.sum(self.known | (self.true == -np.inf) | self.one_sided))

    @property
    def _floor(self) -> float:
        """What the terms count for at least: a solver's errors do not shrink with them."""
        known = self.size[self.known]
        if not len(known):
            return 1.0
        return (NOTHING * float(np.max(known)) if self._exact else SMALL * float(np.median(known))) or 1.0

    @property
    def _exact(self) -> bool:
        return self.trial.lagrangian.remainder is None and self.trial.claimed_region.curved is None

    @property
    def undecided(self) -> int:
        """The number of points about which nothing is known."""
        return len(self.points) - self.compared

    @property
    def differs(self) -> bool:
        """Whether the two differ at a point at which both are finite."""
        return bool(np.any((self.discrepancy > self.tolerance) & self.known))

    @property
    def worst(self) -> int:
        """A point at which they differ, with as few entries as possible."""
        differing = np.flatnonzero((self.discrepancy > self.tolerance) & self.known)
        entries = [np.count_nonzero(np.abs(self.points[i]) > 1e-9 * self.trial.unit) for i in differing]
        return int(differing[int(np.argmin(entries))])


def compare(trial: Trial, points: list[np.ndarray]) -> Comparison:
    """Evaluate the claimed terms and the Lagrangian's minimum at points."""
    points = [_defined(trial, z) for z in points]
    terms = np.array([trial.claimed.values(z) for z in points]).reshape(len(points), len(trial.claimed.terms))
    minima = [trial.minimum(z) for z in points]
    return Comparison(
        trial,
        points,
        terms,
        np.array([minimum.value for minimum in minima]),
        np.array([minimum.size for minimum in minima]) + np.abs(terms).sum(axis=1),
        [minimum.escapes for minimum in minima],
    )


def _defined(trial: Trial, z: np.ndarray) -> np.ndarray:
    """A point of the claimed set, moved inside where its last digits have left the domain of the objective."""
    if np.isfinite(np.sum(trial.claimed.values(z))):
        return z
    centre = trial.claimed_region.nearest(np.zeros(len(z)))
    moved = z if centre is None else z + INSIDE * (centre - z)
    return moved if np.isfinite(np.sum(trial.claimed.values(moved))) else z
