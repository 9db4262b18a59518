"""The empirical Rademacher complexity of linear functions."""

from itertools import product

import numpy as np

from formulations.errata.spectra import cloud
from kopt import Claim, Reference, WrongStatement, at_most, equal


class RademacherComplexityAsATrace(WrongStatement):
    """Theorem 4.12, which the proof uses, is an inequality, by Jensen; the proof writes it as an equality.

    The supremum is attained at a multiple of sum_i s_i phi(x_i), so that the complexity is (2/l) E root(s'K s).
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Theorem 4.17, proof")
    printed = "R(F_1) = (2/l) root(tr K)"
    correct = "R(F_1) <= (2/l) root(tr K)"

    def claims(self) -> tuple[Claim, Claim]:
        """All sign vectors of ten points."""
        X = cloud(10)
        signs = np.array(list(product([-1.0, 1.0], repeat=10)))
        complexity = 0.2 * np.mean(np.linalg.norm(signs @ X, axis=1))
        trace = 0.2 * np.sqrt(np.sum(X**2))
        return (
            equal("(2/l) E root(s'K s) = (2/l) root(tr K)", complexity, trace),
            at_most("(2/l) E root(s'K s) <= (2/l) root(tr K)", complexity, trace),
        )
