"""The update of the thresholds in the code of on-line ranking."""

import numpy as np

from formulations.errata.ranking_step import online_ranking, rank_of
from kopt import Claim, Reference, WrongStatement, equal


class UpdateOfTheRankingThresholds(WrongStatement):
    """The code assigns to the running index, so that the thresholds stay 0 and no rank but the two extremes is found.

    The text before it has the right rule: the thresholds between the two ranks move by 1.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Code Fragment 8.2, lines 5 and 8")
    printed = "y' = y' - 1 and y' = y' + 1"
    correct = "b_y' = b_y' - 1 and b_y' = b_y' + 1"

    def claims(self) -> tuple[Claim, Claim]:
        """Wrong ranks after the algorithm has run, on three ranks in order on a line."""
        y = np.repeat([1, 2, 3], 5)
        x = 2.0 * y + np.random.default_rng(0).uniform(-0.5, 0.5, len(y))
        K = np.outer(x, x)
        wrong = []
        for moves in (False, True):
            alpha, b, _ = online_ranking(K, y, sweeps=500, moves_thresholds=moves)
            wrong.append(sum(rank_of(value, b) != rank for value, rank in zip(K @ alpha, y, strict=True)))
        return (
            equal("wrong ranks = 0", wrong[0], 0, scale=len(y)),
            equal("wrong ranks = 0", wrong[1], 0, scale=len(y)),
        )
