"""The dual Fisher discriminant of Computation 5.15, for the errata about what is made of it."""

import numpy as np


def within_classes(y: np.ndarray) -> np.ndarray:
    """The matrix B of (5.12) to (5.15)."""
    n, plus, minus = len(y), (y > 0).astype(float), (y < 0).astype(float)
    n_plus, n_minus = plus.sum(), minus.sum()
    D = np.diag(2 * n_minus / n * plus + 2 * n_plus / n * minus)
    C_plus = 2 * n_minus / (n * n_plus) * np.outer(plus, plus)
    C_minus = 2 * n_plus / (n * n_minus) * np.outer(minus, minus)
    return np.asarray(D - C_plus - C_minus)


def regularised_system(K: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    """B K + lambda I."""
    return np.asarray(within_classes(y) @ K + ridge * np.eye(len(y)))
