"""The means of the two classes, as Fisher's discriminant and the Parzen classifier use them."""

from typing import Any

import numpy as np

from kopt import View

# What a squared norm that cancels counts for, relative to its value for orthogonal points.
CANCELLED = 1e-4


def mean_weights(y: np.ndarray) -> np.ndarray:
    """1/l+ for the positive and 1/l- for the negative points, (5.21)."""
    return np.where(y > 0, 1 / np.sum(y > 0), 1 / np.sum(y < 0))


def other_class(y: np.ndarray) -> np.ndarray:
    """Twice the fraction of the other class: 2 l-/l for the positive and 2 l+/l for the negative points, (5.13)."""
    return 2 * np.where(y > 0, np.mean(y < 0), np.mean(y > 0))


def members(y: np.ndarray) -> np.ndarray:
    """The matrix whose rows sum over the positive and over the negative points."""
    return np.array([y > 0, y < 0], dtype=float)


def own_mean(y: np.ndarray) -> np.ndarray:
    """Where each point finds the mean of its class among the two: at 0 if it is positive, at 1 if negative."""
    return (y < 0).astype(int)


def means(y: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The means of values over the positive and over the negative points."""
    return np.array([values[y > 0].mean(), values[y < 0].mean()])


def variances(y: np.ndarray, values: np.ndarray) -> float:
    """The sum of the variances of values over the positive and over the negative points."""
    return float(values[y > 0].var() + values[y < 0].var())


def cancelled_square(s: View, coefficients: np.ndarray) -> float:
    """The least that ||sum_i c_i phi(x_i)||^2 is compared with, for points that may all be the same."""
    return CANCELLED * float(coefficients**2 @ s.diagonal())


def quotient(s: View, w: Any, ridge: float) -> float:
    """(5.11): the squared distance of the projected means by the variances and the squared norm; 0 for w = 0."""
    plus, minus = means(s.y, w.values)
    spread = variances(s.y, w.values) + ridge * w.norm_squared
    return float((plus - minus) ** 2 / spread) if spread > 0 else 0.0
