"""Order-statistic rules that the soft margin machines share."""

from typing import Literal

import numpy as np

from kopt import minimise_hinges


def class_sums(y: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Total weight of the positive and of the negative class."""
    return float(weights[y > 0].sum()), float(weights[y < 0].sum())


def best_offset(
    y: np.ndarray, scores: np.ndarray, weights: np.ndarray, margin: float = 1.0, power: Literal[1, 2] = 1
) -> float:
    """The b that minimises sum_i c_i (margin - y_i (s_i + b))_+^power."""
    plus, minus = y > 0, y < 0
    return minimise_hinges(
        0.0,
        rising=(weights[minus], -margin - scores[minus]),
        falling=(weights[plus], margin - scores[plus]),
        power=power,
    ).chosen


def best_margin_and_offset(
    y: np.ndarray, scores: np.ndarray, weights: np.ndarray, gain: float = 1.0, power: Literal[1, 2] = 1
) -> tuple[float, float]:
    """The (gamma, b) that minimise -gain gamma + sum_i c_i (gamma - y_i (s_i + b))_+^power.

    With u = gamma - b and v = gamma + b the problem falls apart into one for each class.
    """
    u, v = (
        minimise_hinges(-gain / 2, rising=(weights[y == sign], sign * scores[y == sign]), power=power).chosen
        for sign in (1, -1)
    )
    return (u + v) / 2, (v - u) / 2
