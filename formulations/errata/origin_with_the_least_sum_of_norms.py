"""What the centre of mass minimises."""

import numpy as np

from kopt import Claim, Reference, WrongStatement, at_most


class OriginWithTheLeastSumOfNorms(WrongStatement):
    """The mean minimises the sum of the squared distances; the sum of the distances is least at the median.

    The trace of the kernel matrix, which the text goes on with, is the sum of the squared norms.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 3.4.2, Centering data")
    printed = "the centre of mass is the origin for which the sum of the norms of the points is minimal"
    correct = "the sum of the squared norms is minimal"

    def claims(self) -> tuple[Claim, Claim]:
        """The mean of a skewed sample on a line against its median."""
        x = np.random.default_rng(0).exponential(size=25)
        from_mean, from_median = np.abs(x - x.mean()), np.abs(x - np.median(x))
        return (
            at_most("sum |x - mean| <= sum |x - median|", np.sum(from_mean), np.sum(from_median)),
            at_most("sum |x - mean|^2 <= sum |x - median|^2", np.sum(from_mean**2), np.sum(from_median**2)),
        )
