"""Points of the cone of positive semi-definite matrices near given ones."""

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh

from kopt import View

# A combination counts as positive semi-definite if no eigenvalue is below this, relative to its size.
ROUNDING = 1e-13
MOST_STEPS = 60
# Negative eigenvalues count beside the most negative one from this fraction of it.
COUNTS = 1e-3
# Singular values of some matrices of length 1 that count as 0.
DEPENDENT = 1e-11


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
        cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True


def raised(s: View, mu: np.ndarray) -> np.ndarray:
    """mu + t nu, with nu_k = 1/tr K_k and about the least t >= 0 that makes the combination semi-definite.

    An eigenvector v of a negative eigenvalue says how large t has to be at least; a few of them say it all.
    """
    inside = np.divide(1.0, s.traces, out=np.zeros_like(s.traces), where=s.traces > 0)
    safe, t = s.mixture(inside), 0.0
    for _ in range(MOST_STEPS):
        K = s.mixture(mu + t * inside)
        if is_semidefinite(K):
            return mu + t * inside
        value, v = eigh(K, subset_by_index=[0, 0])
        gain = float(v[:, 0] @ safe @ v[:, 0])
        t += max(1e-12 * np.max(np.abs(mu)) / np.max(inside), 1.01 * -float(value[0]) / gain)
    return mu + 1e3 * t * inside


def most_negative(K: np.ndarray, most: int) -> np.ndarray:
    """Eigenvectors of the smallest eigenvalues below 0, as columns: some of them, one at least.

    Those that are 0 but for rounding beside the smallest say nothing about K.
    """
    values, vectors = eigh(K, subset_by_index=[0, min(most, len(K)) - 1])
    return np.asarray(vectors[:, values <= COUNTS * values[0]])


def semidefinite_near(s: View, Z: np.ndarray, products: np.ndarray) -> tuple[np.ndarray, float]:
    """A matrix S near Z and a number t >= 0: <K_k, S> = products_k, and S + t I positive semi-definite.

    The products are reached by the smallest change in the norm of Frobenius, which is a combination of the kernels.
    """
    S = positive_part(Z)
    A = s.sample.stacked_grams
    lengths = np.linalg.norm(A, axis=0)
    missing = (products - s.against(S)) / lengths
    if np.max(np.abs(missing)) > ROUNDING * np.linalg.norm(S):
        U, sizes, Vt = np.linalg.svd(A / lengths, full_matrices=False)
        kept = sizes > DEPENDENT * sizes[0]
        change = U[:, kept] @ ((Vt[kept] @ missing) / sizes[kept])
        S = S + change.reshape(S.shape)
        S = (S + S.T) / 2
    least = float(eigh(S, subset_by_index=[0, 0], eigvals_only=True)[0])
    return S, max(0.0, -least)
