"""The terms of two objectives, matched by their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kopt.derive.compare.comparison import AGREES

# Sums of at most so many terms are tried on either side, where there are few terms.
LARGEST_SUM = 4
FEW = 8


@dataclass(frozen=True)
class Values:
    """Terms of the derived and of the claimed objective at some points: a row for each point."""

    ours: np.ndarray
    theirs: np.ndarray


# Derived terms, claimed terms, and the coefficients that tie them: None where they are equal, none where nothing does.
Match = tuple[list[int], list[int], np.ndarray | None]


def matched(free: Values, feasible: Values) -> list[Match]:
    """The terms of two objectives, matched.

    free       values at points that need not satisfy the equalities of the dual
    feasible   values at points that do, where terms are equal that differ elsewhere

    First equal terms and sums, then multiples, then terms that are combinations of several others. What is left stands
    alone, but for two terms of which each is the last of its side: they stand together. Terms of one side that cancel
    are left out.

    >>> x, y = np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.0, -1.0, 0.5, 2.0])
    >>> values = Values(np.stack([x, y, x * y], axis=1), np.stack([x + y, x * y / 2, x**3], axis=1))
    >>> matched(values, values)
    [([0, 1], [0], None), ([2], [1], array([0.5])), ([], [2], None)]
    """
    matching = _Matching(free.ours.shape[1], free.theirs.shape[1])
    matching.take_equal(free)
    if not matching.take_rest(feasible):
        for values in (free, feasible):
            matching.take_equal(values)
            matching.take_combinations(values, single=True)
            matching.take_combinations(values, single=False)
    return matching.matches()


class _Matching:
    """What is matched so far, and the indices of what is left on either side."""

    def __init__(self, left: int, right: int) -> None:
        self.left, self.right = list(range(left)), list(range(right))
        self.found: list[Match] = []

    def take_equal(self, values: Values) -> None:
        """Equal terms, then equal sums."""
        while equal := next(_equal_sums(values, self.left, self.right), None):
            self._take(*equal, None)

    def take_rest(self, values: Values) -> bool:
        """All that is left, if it is the same on both sides."""
        same = _are_equal(values, self.left, self.right)
        if same:
            self._take(self.left, self.right, None)
        return same

    def take_combinations(self, values: Values, single: bool) -> None:
        """Terms of either side that are multiples of one term of the other, or combinations of several."""
        for k in list(self.right):
            some, fit = _fit(values.theirs[:, k], values.ours, self.left, single)
            if some:
                self._take(some, [k], fit)
        for k in list(self.left):
            some, fit = _fit(values.ours[:, k], values.theirs, self.right, single)
            if some:
                self._take([k], some, fit)

    def matches(self) -> list[Match]:
        """All matches in the order of the derived terms."""
        if len(self.left) == len(self.right) == 1:
            self._take(self.left, self.right, np.zeros(0))
        alone: list[Match] = [([k], [], None) for k in self.left]
        alone += [([], [k], None) for k in self.right]
        return sorted([*self.found, *alone], key=lambda each: (not each[0], each[0] or each[1]))

    def _take(self, left: Sequence[int], right: Sequence[int], coefficients: np.ndarray | None) -> None:
        if left and right:
            self.found.append((list(left), list(right), coefficients))
        self.left = [k for k in self.left if k not in left]
        self.right = [k for k in self.right if k not in right]


def _fit(term: np.ndarray, others: np.ndarray, left: list[int], single: bool) -> tuple[list[int], np.ndarray | None]:
    """Which of the others a term is a combination of, with which coefficients; none where it is none."""
    for some in ([k] for k in left) if single else [left]:
        fit = combination(term, others[:, some])
        if fit is not None:
            return [k for k, factor in zip(some, fit, strict=True) if factor], fit[fit != 0]
    return [], None


def _equal_sums(values: Values, left: Sequence[int], right: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Sums of some of both sides that are equal, the shortest first; the empty sum is 0."""
    most = LARGEST_SUM if max(len(left), len(right)) <= FEW else 1
    sizes = [(a, b) for a in range(most + 1) for b in range(most + 1) if a + b]
    for a, b in sorted(sizes, key=sum):
        for some in map(list, combinations(left, a)):
            yield from ((some, list(others)) for others in combinations(right, b) if _are_equal(values, some, others))


def _are_equal(values: Values, left: Sequence[int], right: Sequence[int]) -> bool:
    ours, theirs = values.ours[:, list(left)], values.theirs[:, list(right)]
    apart = np.linalg.norm(ours.sum(axis=1) - theirs.sum(axis=1))
    return bool(apart <= AGREES * (np.linalg.norm(ours) + np.linalg.norm(theirs)))


def combination(values: np.ndarray, others: np.ndarray) -> np.ndarray | None:
    """The coefficients with which a term is a combination of others that are independent; None where it is none."""
    size, whole = np.linalg.norm(others, axis=0), np.linalg.norm(values)
    if not others.size or not size.all() or not whole or not np.isfinite([*size, whole]).all():
        return None
    coefficients, _, rank, _ = np.linalg.lstsq(others / size, values, rcond=None)
    coefficients[np.abs(coefficients) <= AGREES * whole] = 0.0
    apart = np.linalg.norm(others / size @ coefficients - values)
    return np.asarray(coefficients / size) if rank == others.shape[1] and apart <= AGREES * whole else None
