"""What the maps share: divisors, refused where they vanish, and changes of unit."""

import math
from typing import Any

import numpy as np

from kopt import InputError, Solution

# Below this fraction of its unit a margin or a multiplier that a solver found is a zero.
VANISHING = 1e-7
# What rounding adds to a quotient of two numbers that are equal.
LAST_DIGITS = 1e-12


def divisor(name: str, value: float, unit: float, solution: Solution) -> float:
    """The value, or a refusal where it is 0: then the solution has no counterpart."""
    if value <= VANISHING * unit:
        raise InputError(
            f"{name} is {value:.1e} at this solution of {solution.formulation!r}, so that it has no counterpart.",
            "Choose parameters for which it is positive.",
        )
    return value


def radius(solution: Solution) -> float:
    """The length of the longest point in feature space: the unit of margins."""
    return float(solution.sample.gram().diagonal.max() ** 0.5)


def per_radius(solution: Solution) -> float:
    """The unit of a weight vector with functional margins; infinite where all points are 0 and no vector has any."""
    return 1 / radius(solution) if radius(solution) > 0 else math.inf


def as_fraction(nu: float) -> float:
    """A nu that only its last digits carry beyond 1."""
    return 1.0 if 1 < nu <= 1 + LAST_DIGITS else nu


def in_margins(solution: Solution) -> tuple[float, float, dict[str, Any]]:
    """A machine with a unit vector in units of its margin gamma: gamma, sqrt(alpha' G alpha), and the canonical answer.

    The root is the length of sum_i y_i alpha_i phi(x_i), twice the multiplier lambda.
    """
    primal, dual = solution.primal, solution.dual
    gamma = divisor("The margin gamma", primal.gamma, radius(solution), solution)
    root = divisor("The multiplier lambda", 2 * float(dual["lambda"]), radius(solution), solution)
    answer = {name: primal[name] / gamma for name in ("w", "b", "xi")}
    return gamma, root, {**answer, "alpha": dual.alpha / (root * gamma)}


def in_lengths(solution: Solution) -> tuple[float, float, dict[str, Any]]:
    """A canonical machine in units of ||w||: ||w||, sum_i alpha_i, and the answer with a unit vector.

    The margin 1 / ||w|| is one of several where a class has no free multiplier.
    """
    primal, alpha = solution.primal, solution.dual.alpha
    length = divisor("The length of w", primal.w.norm, per_radius(solution), solution)
    total = float(np.sum(alpha))
    answer = {name: primal[name] / length for name in ("w", "b", "xi")}
    return length, total, {**answer, "gamma": 1 / length, "alpha": alpha / total}
