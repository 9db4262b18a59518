"""Whether the best clustering assigns points to the nearest centroid."""

import numpy as np

from formulations.errata.clusterings import best_in_two, pairwise, sum_of_squares, to_centroids, uneven_line
from kopt import Claim, Reference, WrongStatement, equal


class NearestCentroidsOfThePairwiseCriterion(WrongStatement):
    """The theorem is stated for the distances of pairs, (8.6), and proved for those from the centroids, (8.9).

    For clusters of different sizes only the latter has its minimum at nearest centroids. A counter-example.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Theorem 8.18")
    printed = "the solution of (8.6) has f(x_i) = argmin_k ||phi(x_i) - mu_k||"
    correct = "the solution of (8.9) has f(x_i) = argmin_k ||phi(x_i) - mu_k||"

    def claims(self) -> tuple[Claim, Claim]:
        """Points that are nearer to the other centroid, for both minimisers."""
        K = uneven_line()
        by_pairs, by_centroids = (_not_nearest(K, best_in_two(each, K)) for each in (pairwise, sum_of_squares))
        return (
            equal("points not at the nearest centroid, best by (8.6) = 0", by_pairs, 0, scale=len(K)),
            equal("points not at the nearest centroid, best by (8.9) = 0", by_centroids, 0, scale=len(K)),
        )


def _not_nearest(K: np.ndarray, labels: np.ndarray) -> int:
    return int(np.sum(to_centroids(K, labels).argmin(axis=1) != labels))
