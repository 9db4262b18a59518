"""What the trace in multiclass clustering sums."""

import numpy as np

from formulations.errata.clusterings import groups, indicator
from kopt import Claim, Reference, WrongStatement, equal


class ClusterSizesInTheSumOfCentroids(WrongStatement):
    """The trace weighs the squared norm of each centroid with the size of its cluster.

    So does the sum of distances from the overall mean that the remark refers to.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Remark 8.26")
    printed = "tr(sqrt(D) A'KA sqrt(D)) = sum_k ||C_k||^2"
    correct = "tr(sqrt(D) A'KA sqrt(D)) = sum_k |f^-1(k)| ||C_k||^2"

    def claims(self) -> tuple[Claim, Claim]:
        """For three groups of different sizes."""
        K, labels = groups(3, 5, 7)
        A, sizes = indicator(labels), np.bincount(labels)
        root = np.diag(1 / np.sqrt(sizes))
        trace = np.trace(root @ A.T @ K @ A @ root)
        squares = np.diag((A / sizes).T @ K @ (A / sizes))
        return (
            equal("trace = sum ||C_k||^2", trace, squares.sum()),
            equal("trace = sum |f^-1(k)| ||C_k||^2", trace, float(sizes @ squares)),
        )
