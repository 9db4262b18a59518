"""Points of the cone of positive semi-definite matrices near given ones."""

import numpy as np

from kopt import View

# A combination counts as positive semi-definite if no eigenvalue is below this, relative to its size.
ROUNDING = 1e-13
MOST_STEPS = 60


def positive_part(Z: np.ndarray) -> np.ndarray:
    """The nearest positive semi-definite matrix, in the norm of Frobenius."""
    symmetric = (Z + Z.T) / 2
    if is_semidefinite(symmetric):
        return symmetric
    values, vectors = np.linalg.eigh(symmetric)
    kept = vectors[:, values > 0] * np.sqrt(values[values > 0])
    return np.asarray(kept @ kept.T)


def is_semidefinite(K: np.ndarray, rounding: float = ROUNDING) -> bool:
    """Whether no eigenvalue is negative beyond rounding."""
    shifted = K.copy()
    shifted[np.diag_indices(len(K))] += rounding * len(K) * float(np.max(np.abs(np.diag(K)), initial=1e-300))
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


def inside(s: View) -> np.ndarray:
    """Weights mu_k = 1/tr K_k, whose combination has an eigenvalue 0 only where every kernel has."""
    return np.divide(1.0, s.traces, out=np.zeros_like(s.traces), where=s.traces > 0)


def raised(s: View, mu: np.ndarray) -> np.ndarray:
    """mu + t nu, with nu_k = 1/tr K_k and about the least t >= 0 that makes the combination semi-definite.

    An eigenvector v of a negative eigenvalue says how large t has to be at least; a few of them say it all.
    """
    safe = inside(s)
    K0, t = s.mixture(safe), 0.0
    for _ in range(MOST_STEPS):
        K = s.mixture(mu + t * safe)
        if is_semidefinite(K):
            return mu + t * safe
        values, vectors = np.linalg.eigh(K)
        v = vectors[:, 0]
        t += max(1e-12 * np.max(np.abs(mu)) / np.max(safe), 1.01 * -float(values[0]) / float(v @ K0 @ v))
    return mu + 1e3 * t * safe
