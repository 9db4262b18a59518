"""Points of the cone of positive semi-definite matrices near given ones."""

import numpy as np
from scipy.linalg import eigh

from formulations.kernel_learning.free_weights import FreeWeights
from formulations.kernel_learning.span import DEPENDENT, ROUNDING
from kopt import View

EPS = float(np.finfo(float).eps)
# A combination counts as positive semi-definite if no eigenvalue is further below 0 than this, relative to its size.
INDEFINITE = 1e-13
MOST_STEPS = 60
# A program is cut by so many eigenvectors at once; others count beside the most negative one from this fraction of it.
AT_ONCE = 4
COUNTS = 1e-3


def positive_part(Z: np.ndarray) -> np.ndarray:
    """The nearest positive semi-definite matrix, in the norm of Frobenius."""
    symmetric = (Z + Z.T) / 2
    if is_semidefinite(symmetric):
        return symmetric
    values, vectors = np.linalg.eigh(symmetric)
    kept = vectors[:, values > 0] * np.sqrt(values[values > 0])
    return np.asarray(kept @ kept.T)


def rounding_of(K: np.ndarray, rounding: float = INDEFINITE) -> float:
    """The size of an eigenvalue that may be rounding: errors of many entries add up to less than their sum."""
    n = len(K)
    return rounding * min(n, 10 * np.sqrt(n)) * float(np.max(np.abs(np.diag(K)), initial=1e-300))


def is_semidefinite(K: np.ndarray, rounding: float = INDEFINITE) -> bool:
    """Whether no eigenvalue is negative beyond rounding."""
    shifted = K.copy()
    shifted[np.diag_indices(len(K))] += rounding_of(K, rounding)
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


def raised(s: View, mu: np.ndarray) -> np.ndarray:
    """mu + t nu, with nu_k = 1/tr K_k and about the least t >= 0 that makes the combination semi-definite.

    An eigenvector v of a negative eigenvalue says how large t has to be at least; a few of them say it all.
    """
    safe = FreeWeights(s).even
    K0, t = s.mixture(safe), 0.0
    for _ in range(MOST_STEPS):
        K = s.mixture(mu + t * safe)
        if is_semidefinite(K):
            return mu + t * safe
        values, vectors = eigh(K, subset_by_index=(0, 0), check_finite=False)
        v = vectors[:, 0]
        t += max(1e-12 * np.max(np.abs(mu)) / np.max(safe), 1.01 * -float(values[0]) / float(v @ K0 @ v))
    return mu + 1e3 * t * safe


def of_trace(s: View, mu: np.ndarray, trace: float) -> np.ndarray:
    """Weights near a multiple of mu whose combination is positive semi-definite and has the trace given."""
    mu = raised(s, mu)
    own = float(s.traces @ mu)
    if own <= 0:
        mu = FreeWeights(s).even
        own = float(np.count_nonzero(mu))
    return np.asarray(mu * (trace / own))


def without_rounding(s: View, mu: np.ndarray) -> np.ndarray:
    """The weights, 0 where a kernel has less than the last digits of the combination."""
    sizes = np.abs(mu) * s.traces
    return np.where(sizes > ROUNDING * np.max(sizes, initial=0.0), mu, 0.0)


def most_negative(K: np.ndarray, most: int = AT_ONCE) -> np.ndarray:
    """Eigenvectors of the smallest eigenvalues below 0, as columns: some of them, one at least.

    Those that are 0 but for rounding beside the smallest say nothing about K.
    """
    values, vectors = np.linalg.eigh(K)
    return np.asarray(vectors[:, :most][:, values[:most] <= COUNTS * values[0]])


def semidefinite_near(s: View, Z: np.ndarray, products: np.ndarray) -> tuple[np.ndarray, float]:
    """A matrix S near Z and a number t >= 0: <K_k, S> = products_k, and S + t I positive semi-definite."""
    S = with_products(s, positive_part(Z), products)
    return S, lacking(S)


def with_products(s: View, Z: np.ndarray, products: np.ndarray) -> np.ndarray:
    """The nearest matrix with <K_k, Z> = products_k for the kernels that are used; Z itself where it is one.

    The smallest change in the norm of Frobenius is a combination of these kernels. Where they are nearly dependent, it
    comes from their singular vectors to more digits than from weights of them.
    """
    used = FreeWeights(s).used
    A = s.stacked_grams[:, used]
    lengths = np.linalg.norm(A, axis=0)
    missing = (products - s.against(Z))[used] / lengths
    if np.max(np.abs(missing)) <= ROUNDING * np.linalg.norm(Z):
        return Z
    U, sizes, Vt = np.linalg.svd(A / lengths, full_matrices=False)
    kept = sizes > DEPENDENT * sizes[0]
    changed = Z + np.reshape(U[:, kept] @ ((Vt[kept] @ missing) / sizes[kept]), Z.shape)
    return np.asarray((changed + changed.T) / 2)


def lacking(Z: np.ndarray) -> float:
    """By how much the eigenvalues have to grow to be positive whatever rounding made of them; 0 where they are.

    A bound that takes Z for positive semi-definite is one: the trace of a large K would multiply what is left out.
    """
    values = np.linalg.eigvalsh(Z)
    enough = EPS * len(Z) * float(np.max(np.abs(values)))
    return 0.0 if values[0] >= enough / 2 else enough - float(values[0])


def forms(s: View, V: np.ndarray) -> np.ndarray:
    """v'K_k v, a row for each kernel and a column for each column v."""
    return np.array([np.einsum("ij,ij->j", V, s.gram(name) @ V) for name in s.kernels])
