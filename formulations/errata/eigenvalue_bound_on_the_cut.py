"""The lower bound on the cut cost from the largest eigenvalue."""

from itertools import combinations

import numpy as np

from formulations.errata.clusterings import groups
from kopt import Claim, Reference, WrongStatement, at_most


class EigenvalueBoundOnTheCut(WrongStatement):
    """y'Ky is at most lambda_1 y'y, and y'y = l for labels -1 and 1, so that lambda_1 needs the factor l."""

    reference = Reference("Shawe-Taylor and Cristianini", "Section 8.2.3, before Remark 8.23")
    printed = "cut >= 1/2 (sum_ij k(x_i, x_j) - lambda_1)"
    correct = "cut >= 1/2 (sum_ij k(x_i, x_j) - l lambda_1)"

    def claims(self) -> tuple[Claim, Claim]:
        """Against the smallest cut into halves, by trying them all."""
        K, labels = groups(5, 5)
        n, total, largest = len(labels), K.sum(), np.linalg.eigvalsh(K)[-1]
        cuts = (_cut(K, np.array(half)) for half in combinations(range(n), n // 2))
        smallest = min(cuts)
        return (
            at_most("1/2 (sum k - lambda_1) <= smallest cut", (total - largest) / 2, smallest, scale=total),
            at_most("1/2 (sum k - l lambda_1) <= smallest cut", (total - n * largest) / 2, smallest, scale=total),
        )


def _cut(K: np.ndarray, half: np.ndarray) -> float:
    """The sum of k(x_i, x_j) over the pairs (i, j) and (j, i) in different clusters."""
    rest = np.setdiff1d(np.arange(len(K)), half)
    return float(2 * K[np.ix_(half, rest)].sum())
