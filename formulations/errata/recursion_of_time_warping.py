"""The recursion of dynamic time warping."""

from collections.abc import Iterator

import numpy as np

from formulations.errata.warping import squared_differences, warped
from kopt import Claim, Reference, WrongStatement, equal

Pairs = list[tuple[int, int]]


class RecursionOfTimeWarping(WrongStatement):
    """The step compares a point of the first sequence with a point of the same sequence; the second plays no part."""

    reference = Reference("Scheffer", "Time Series: DTW Kernel, recursive update and algorithm")
    printed = "gamma(k, l) = (x_k - x_l)^2 + min{...}"
    correct = "gamma(k, l) = (x_k - x'_l)^2 + min{...}"

    def claims(self) -> tuple[Claim, Claim]:
        """Both against the least sum over all ways to match two short sequences."""
        rng = np.random.default_rng(0)
        x, z = rng.normal(size=6), rng.normal(size=5)
        costs = squared_differences(x, z)
        least = min(sum(costs[pair] for pair in path) for path in _matchings(len(x) - 1, len(z) - 1))
        return (
            equal("gamma from x_k - x_l = distance", warped(squared_differences(x, x[: len(z)])), least),
            equal("gamma from x_k - x'_l = distance", warped(costs), least),
        )


def _matchings(k: int, j: int) -> Iterator[Pairs]:
    """Every path from (0, 0) to (k, j) that goes on by one in one index or both."""
    if k == j == 0:
        yield [(0, 0)]
    for before in ((k - 1, j), (k, j - 1), (k - 1, j - 1)):
        if min(before) >= 0:
            for path in _matchings(*before):
                yield [*path, (k, j)]
