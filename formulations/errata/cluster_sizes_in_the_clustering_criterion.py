"""Whether two criteria for a clustering have the same minimum."""

import numpy as np

from formulations.errata.clusterings import best_in_two, pairwise, sum_of_squares, to_centroids, uneven_line
from kopt import Claim, Reference, WrongStatement, equal


class ClusterSizesInTheClusteringCriterion(WrongStatement):
    """The distances of pairs are those from the centroids times twice the size of the cluster, which the text drops.

    The line before (8.8) has the sizes. A counter-example: with sizes, a small cluster away from a large one is
    cheaper if it takes points from it.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "(8.6) and (8.9)")
    printed = "(8.6) is equivalent to min_f sum_i ||phi(x_i) - mu_f(x_i)||^2"
    correct = "(8.6) is equivalent to min_f sum_i |f^-1(f(x_i))| ||phi(x_i) - mu_f(x_i)||^2"

    def claims(self) -> tuple[Claim, Claim]:
        """The clustering that minimises (8.6), by trying them all, under the two other criteria."""
        K = uneven_line()
        best = best_in_two(pairwise, K)
        return (
            equal(
                "(8.9) of the best clustering by (8.6) = min (8.9)",
                sum_of_squares(K, best),
                sum_of_squares(K, best_in_two(sum_of_squares, K)),
            ),
            equal(
                "weighted (8.9) of the best clustering by (8.6) = min weighted (8.9)",
                _weighted(K, best),
                _weighted(K, best_in_two(_weighted, K)),
            ),
        )


def _weighted(K: np.ndarray, labels: np.ndarray) -> float:
    """(8.9) with the sizes of the clusters."""
    distances = to_centroids(K, labels)[np.arange(len(K)), labels]
    return float(np.bincount(labels)[labels] @ distances)
