"""Which margin bounds the updates of on-line ranking."""

import kopt
from formulations.classification import HardMargin, HardMarginWithoutOffset
from formulations.errata.ranking_step import online_ranking
from formulations.errata.samples import far_and_near_the_origin
from kopt import Claim, Reference, WrongStatement, at_most


class MarginInTheOnlineRankingBound(WrongStatement):
    """Novikoff's theorem needs the margin of (w, b) as one vector of length 1, the batch algorithm has ||w|| = 1 alone.

    Thresholds far from 0 make the two differ by a large factor. A counter-example with two ranks, where both margins
    are those of hard margin machines: with offset, and without it on the points with a constant feature.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Corollary 8.16")
    printed = "updates <= (|Y| - 1) (R^2 + 1)/gamma^2, gamma of the batch algorithm (implied)"
    correct = "updates <= (|Y| - 1) (R^2 + 1)/gamma^2, gamma the margin for ||w||^2 + ||b||^2 = 1"

    def claims(self) -> tuple[Claim, Claim]:
        """The points 12 and 16, of ranks 1 and 2."""
        with_constant = far_and_near_the_origin()
        plain = kopt.Sample(with_constant.X[:, :1], with_constant.y)
        K = plain.gram().dense
        *_, updates = online_ranking(K, (with_constant.y.astype(int) + 3) // 2, sweeps=10_000)
        batch = kopt.solve(HardMargin(), plain).primal.w.norm_squared
        augmented = kopt.solve(HardMarginWithoutOffset(), with_constant).primal.w.norm_squared
        size = K.diagonal().max() + 1
        return (
            at_most("updates <= (R^2 + 1)/gamma^2, ||w|| = 1", updates, size * batch),
            at_most("updates <= (R^2 + 1)/gamma^2, ||w||^2 + b^2 = 1", updates, size * augmented),
        )
