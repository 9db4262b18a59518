"""The guarantee of simple novelty detection."""

from math import comb, log, sqrt

import numpy as np

from kopt import Claim, Reference, WrongStatement, at_most

LENGTH, DELTA, RARE = 400, 0.01, 1 / 300


class NoveltyDetectionOnMostSamples(WrongStatement):
    """Symmetry bounds the probability over sample and new point together, not the new point's for most samples.

    Counter-example on a line: x is 0, but now and then 1 or -1. Every fourth sample has only zeros, and calls novel
    what is as likely as 1/300. Over both draws the probability is at most 1/(l + 1) plus the delta of (5.5).
    """

    reference = Reference("Shawe-Taylor and Cristianini", "(5.7), Proposition 5.5")
    printed = "with probability 1 - delta over S, P(f(x) = 1 | S) <= 1/(l + 1)"
    correct = "P(f(x) = 1) <= 1/(l + 1) + delta over S and x together"

    def claims(self) -> tuple[Claim, Claim]:
        """Exact sums over how often 1 and -1 occur in a sample."""
        plus, minus = np.meshgrid(np.arange(LENGTH + 1), np.arange(LENGTH + 1), indexing="ij")
        likely = _probability(plus, minus)
        called_novel = _called_novel(plus, minus)
        violated = np.sum(likely[called_novel > 1 / (LENGTH + 1)])
        return (
            at_most("P(P(f = 1 | S) > 1/(l + 1)) <= delta", violated, DELTA),
            at_most("P(f = 1) <= 1/(l + 1) + delta", np.sum(likely * called_novel), 1 / (LENGTH + 1) + DELTA),
        )


def _probability(plus: np.ndarray, minus: np.ndarray) -> np.ndarray:
    """Of samples with so many 1 and -1: binomial in their sum, and then in how the sum is shared."""
    extreme = np.array([comb(LENGTH, k) * RARE**k * (1 - RARE) ** (LENGTH - k) for k in range(LENGTH + 1)])
    log_factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, LENGTH + 1)))])
    total = np.minimum(plus + minus, LENGTH)
    logs = log_factorials[total] - log_factorials[plus] - log_factorials[minus] - total * log(2)
    return np.where(plus + minus <= LENGTH, extreme[total] * np.exp(np.minimum(logs, 0.0)), 0.0)


def _called_novel(plus: np.ndarray, minus: np.ndarray) -> np.ndarray:
    """P(f(x) = 1 | S) for each pair of counts, with R = 1."""
    mean = (plus - minus) / LENGTH
    seen = {1.0: plus > 0, -1.0: minus > 0, 0.0: plus + minus < LENGTH}
    farthest = np.max([np.where(there, np.abs(x - mean), 0.0) for x, there in seen.items()], axis=0)
    threshold = farthest + 2 * sqrt(2 / LENGTH) * (sqrt(2) + sqrt(log(1 / DELTA)))
    chances = {1.0: RARE / 2, -1.0: RARE / 2, 0.0: 1 - RARE}
    return np.asarray(sum(chance * (np.abs(x - mean) > threshold) for x, chance in chances.items()))
