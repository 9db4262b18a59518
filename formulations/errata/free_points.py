"""Offset and margin from two free support vectors, by a rule."""

from collections.abc import Callable

import numpy as np

from kopt import View

Rule = Callable[[float, float, float], tuple[float, float]]


def as_printed(lambda_: float, s_i: float, s_j: float) -> tuple[float, float]:
    """b and gamma by lines 6 and 7 of Code Fragments 7.6 and 7.7."""
    b = -lambda_ * (s_i + s_j)
    return b, 2 * lambda_ * s_j + b


def from_free_points(s: View, alpha: np.ndarray, bound: np.ndarray, rule: Rule) -> dict[str, object] | None:
    """The unit vector w, and b and gamma by a rule; None where w = 0 or a class has no free support vector.

    The rule has lambda, s_i and s_j, where s_i = sum_k y_k alpha_k k(x_k, x_i), y_i = -1 and y_j = 1.
    """
    u = s.combination(s.y * alpha)
    freedom = np.minimum(alpha, bound - alpha)
    i, j = (max(np.flatnonzero(s.y == sign), key=lambda k: freedom[k]) for sign in (-1, 1))
    if min(freedom[i], freedom[j]) < 1e-4 * alpha.max() or u.norm < 1e-4 * np.sqrt(s.diagonal().max()):
        return None
    w = u.direction()
    b, gamma = rule(u.norm / 2, u.values[i], u.values[j])
    return {"w": w, "b": b, "gamma": gamma, "xi": np.maximum(0.0, gamma - s.y * (w.values + b))}
