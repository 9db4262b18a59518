"""Vectors in feature space that fit given values, for machines in which stationarity alone does not determine w."""

import numpy as np

from kopt import Combination, View

EPS = float(np.finfo(float).eps)


def shortest_fit(s: View, targets: np.ndarray) -> Combination:
    """The vector K^+ targets: of those whose values come nearest to the targets, the shortest."""
    gram = s.sample.gram()
    squares = np.sum(gram.factor**2, axis=0)  # the columns of the factor are orthogonal

    def fit(values: np.ndarray) -> Combination:
        return s.combination(gram.coefficients(gram.factor.T @ values / squares))

    w = fit(targets)
    return w + fit(targets - w.values)  # once more, for the last digits


def least_squares_value(s: View, targets: np.ndarray, weights: np.ndarray) -> float:
    """The least value of sum_i c_i (t_i - <w, phi(x_i)>)^2: what is left of the targets beyond the span of the points.

    With equal weights 1 it is t' (I - K K^+) t.
    """
    root = np.sqrt(weights)
    Q, _ = np.linalg.qr(root[:, None] * s.sample.gram().factor)
    left = root * targets - Q @ (Q.T @ (root * targets))
    return float(left @ left)


def residuals(s: View, w: Combination) -> np.ndarray:
    """y_i - <w, phi(x_i)>, and 0 where that is nothing but rounding."""
    gram = s.sample.gram()
    errors = s.y - w.values
    rounding = 8 * EPS * (np.abs(s.y) + gram.uncancelled(w.coefficients) * gram.lengths)
    return np.asarray(np.where(np.abs(errors) <= rounding, 0.0, errors))
