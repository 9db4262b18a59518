"""The dual of regularised canonical correlation analysis."""

import numpy as np

from formulations.errata.spectra import cloud
from kopt import Claim, Reference, WrongStatement, equal

Pair = tuple[np.ndarray, np.ndarray]


class ScaleOfDualRegularisedCorrelation(WrongStatement):
    """With w = X'alpha, w'C w is alpha'K^2 alpha / l and ||w||^2 is alpha'K alpha: the 1/l does not cancel.

    Without it tau means something else in Computation 6.35 than in 6.34, and the optimum is another.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Computation 6.35")
    printed = "max alpha_a'K_a K_b alpha_b s.t. (1 - tau) alpha'K^2 alpha + tau alpha'K alpha = 1 for both views"
    correct = "max alpha_a'K_a K_b alpha_b / l s.t. (1 - tau)/l alpha'K^2 alpha + tau alpha'K alpha = 1 for both views"

    def claims(self) -> tuple[Claim, Claim]:
        """Both optima against that of Computation 6.34, for kernel matrices of full rank."""
        n, d, tau = 12, 16, 0.3
        a, b = cloud(n, d), cloud(n, d, seed=3)
        K_a, K_b = a @ a.T, b @ b.T
        primal = _largest(a.T @ b / n, *_regularised(tau, (a.T @ a / n, np.eye(d)), (b.T @ b / n, np.eye(d))))
        printed = _largest(K_a @ K_b, *_regularised(tau, (K_a @ K_a, K_a), (K_b @ K_b, K_b)))
        correct = _largest(K_a @ K_b / n, *_regularised(tau, (K_a @ K_a / n, K_a), (K_b @ K_b / n, K_b)))
        return (
            equal("optimum as printed = optimum of 6.34", printed, primal),
            equal("optimum with 1/l = optimum of 6.34", correct, primal),
        )


def _regularised(tau: float, a: Pair, b: Pair) -> Pair:
    """(1 - tau) times the first matrix of a view plus tau times the second, for both views."""
    return (1 - tau) * a[0] + tau * a[1], (1 - tau) * b[0] + tau * b[1]


def _largest(M_ab: np.ndarray, M_a: np.ndarray, M_b: np.ndarray) -> float:
    """Max u'M_ab v subject to u'M_a u = v'M_b v = 1."""
    L_a, L_b = np.linalg.cholesky(M_a), np.linalg.cholesky(M_b)
    return float(np.linalg.norm(np.linalg.solve(L_a, np.linalg.solve(L_b, M_ab.T).T), ord=2))
