"""Clusters from the largest entries of a triangular factor."""

import numpy as np
from scipy.linalg import qr

from formulations.errata.clusterings import groups, sum_of_squares
from kopt import Claim, Reference, WrongStatement, equal


class SignsInTheTriangularApproach(WrongStatement):
    """The signs of a triangular factor are arbitrary, and its rows are the clusters of its first columns.

    If the first points are of one cluster, the other rows are made of what little they differ by. With pivoting the
    rows start from points that differ much, and absolute values do not depend on signs.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 8.2.3, QR approach")
    printed = "V_N' = QR, the largest entry in each column of R"
    correct = "V_N' = QR with pivoting, the largest absolute value in each column of R"

    def claims(self) -> tuple[Claim, Claim]:
        """For three well separated groups, one after the other."""
        K, labels = groups(4, 6, 8)
        V = np.linalg.eigh(K)[1][:, -3:]
        plain = qr(V.T, mode="r")[0]
        pivoted, order = qr(V.T, mode="r", pivoting=True)
        found = np.empty(len(K), dtype=int)
        found[order] = np.abs(pivoted).argmax(axis=0)
        best = sum_of_squares(K, labels)
        return (
            equal("ss of the clusters is that of the groups", sum_of_squares(K, plain.argmax(axis=0)), best),
            equal("ss of the clusters is that of the groups", sum_of_squares(K, found), best),
        )
