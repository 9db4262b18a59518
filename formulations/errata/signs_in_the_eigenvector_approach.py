"""Clusters from the largest entries of the eigenvectors."""

from itertools import product

import numpy as np

from formulations.errata.clusterings import groups, sum_of_squares
from kopt import Claim, Reference, WrongStatement, equal


class SignsInTheEigenvectorApproach(WrongStatement):
    """The sign of an eigenvector is arbitrary, and with the wrong one the largest entry of a row is in another column.

    The largest absolute value does not depend on signs.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 8.2.3, eigenvector approach")
    printed = "the largest entry in each row of V_N sqrt(Lambda_N)"
    correct = "the largest absolute value in each row of V_N sqrt(Lambda_N)"

    def claims(self) -> tuple[Claim, Claim]:
        """The worst result over all signs, for three well separated groups."""
        K, labels = groups(4, 6, 8)
        eigenvalues, vectors = np.linalg.eigh(K)
        W = vectors[:, -3:] * np.sqrt(eigenvalues[-3:])
        signed = [W * signs for signs in product((-1, 1), repeat=3)]
        printed, correct = (
            max(sum_of_squares(K, entries.argmax(axis=1)) for entries in each)
            for each in (signed, [np.abs(entries) for entries in signed])
        )
        best = sum_of_squares(K, labels)
        return (
            equal("ss of the worst choice of signs is that of the groups", printed, best),
            equal("ss of the worst choice of signs is that of the groups", correct, best),
        )
