"""Order-statistic rules that the soft margin machines share."""

from typing import Literal

import numpy as np

from kopt import Claim, Combination, InputError, Point, Sample, View, at_most, equal, minimise_hinges


def class_sums(y: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Total weight of the positive and of the negative class."""
    return float(weights[y > 0].sum()), float(weights[y < 0].sum())


def largest_nu(s: Sample) -> float:
    """The largest nu for which the multipliers of each class can add up to their half."""
    return 2 * min(class_sums(s.y, s.costs)) / s.n


def smallest_cost(s: Sample) -> float:
    """The smallest C for which multipliers up to C c_i add up to 1/2 in each class."""
    return 0.5 / min(class_sums(s.y, s.costs))


def check_nu(nu: float, s: Sample) -> None:
    """Refuse a nu for which the multipliers of a class cannot add up to their half."""
    largest = largest_nu(s)
    if nu > largest * (1 + 1e-12):
        raise InputError(
            f"nu is {nu:.12g}, but with these classes it can be at most {largest:.12g}.",
            f"Choose nu <= {largest:.12g}.",
        )


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


def hull_points(s: View, c: np.ndarray) -> tuple[Combination, Combination]:
    """The points sum_i c_i phi(x_i) of the two classes, the positive one first."""
    return s.combination(c * (s.y > 0)), s.combination(c * (s.y < 0))


def relaxation_claim(s: View, primal: Point, dual: Point) -> Claim:
    """Whether <w, w> <= 1 stands for the text's <w, w> = 1: certainly where its multiplier lambda is positive."""
    if dual["lambda"] > 1e-6 * radius(s):
        return equal("||w||^2 = 1 (the relaxation is tight)", primal.w.norm_squared, 1.0)
    return at_most(
        "||w||^2 <= 1 (lambda = 0: a vector of length 1 may or may not attain this)", primal.w.norm_squared, 1.0
    )


def radius(s: View) -> float:
    """The length of the longest point in feature space: the unit of margins."""
    return float(np.sqrt(np.max(s.diagonal())))
