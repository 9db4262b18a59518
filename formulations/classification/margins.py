"""What the machines with a margin share: order-statistic rules, hulls, and what their multipliers say."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from formulations.limits import check_at_most
from formulations.statements import NEARLY_CANCELS, radius
from kopt import Claim, Combination, Point, Sample, View, counting_claims, equal, minimise_hinges

# Hulls that are closer than this fraction of the longest point may as well meet: no direction is left to speak of.
NEARLY_MEET = 1e-3


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
    check_at_most("nu", nu, largest_nu(s), "these classes")


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


def hard_margin_claims(s: View, primal: Point, dual: Point) -> Iterator[Claim]:
    """Theorem 7.27: the margin and the value from the multipliers, which sit on the margin only."""
    total, u = float(np.sum(dual.alpha)), s.combination(s.y * dual.alpha)
    margins = s.y * (primal.w.values + primal.get("b", 0.0))
    yield equal("sum alpha = ||w||^2 = 1 / gamma^2", total, primal.w.norm_squared)
    yield equal("W = 1/2 sum alpha = 1 / (2 gamma^2)", total - 0.5 * u.norm_squared, 0.5 * total)
    away = np.abs(dual.alpha) @ np.abs(margins - 1)
    yield equal("alpha > 0 only where y f = 1: sum alpha |y f - 1| = 0", away, 0.0, scale=total)


def two_norm_claims(s: View, primal: Point, dual: Point, C: float) -> Iterator[Claim]:
    """The hard margin for the kernel K + I/C: its margin, its value, its support vectors; and the slacks."""
    total, u = float(np.sum(dual.alpha)), s.combination(s.y * dual.alpha)
    shares = dual.alpha / (C * s.costs)
    enlarged = primal.w.norm_squared + dual.alpha @ shares
    yield equal("sum alpha = ||w||^2 + 1/C sum alpha^2 = 1 / gamma^2 for K + I/C", total, enlarged)
    spent = primal.w.norm_squared + C * s.costs @ primal.xi**2
    yield equal("sum alpha = ||w||^2 + C sum xi^2, twice the optimum", total, spent)
    W = total - 0.5 * u.norm_squared - 0.5 * dual.alpha @ shares
    yield equal("W = 1/2 sum alpha = 1 / (2 gamma^2) for K + I/C", W, 0.5 * total)
    missed = float(np.sum(np.abs(C * s.costs * primal.xi - dual.alpha)))
    yield equal("the slacks are alpha / C: sum |C xi - alpha| = 0", missed, 0.0, scale=total)
    away = np.abs(dual.alpha) @ np.abs(s.y * (primal.w.values + primal.get("b", 0.0)) + shares - 1)
    yield equal("alpha > 0 only on the margin for K + I/C: sum alpha |y f + alpha / C - 1| = 0", away, 0.0, scale=total)


def nearest_claims(y: np.ndarray, margins: np.ndarray, margin: float, scale: float, name: str) -> Iterator[Claim]:
    """The plane is halfway: the nearest points of both classes have the margin."""
    for of, side in (("positive", y > 0), ("negative", y < 0)):
        yield equal(f"the smallest margin of the {of} points is {name}", np.min(margins[side]), margin, scale)


def class_claims(y: np.ndarray, alpha: np.ndarray) -> Iterator[Claim]:
    """Twice the multipliers are the weights of a point in the hull of either class."""
    for of, total in zip(("positive", "negative"), class_sums(y, alpha), strict=True):
        yield equal(f"sum of alpha over the {of} points = 1/2", total, 0.5)


def order_statistic_claims(s: View, excess: np.ndarray, C: float, unit: float) -> Iterator[Claim]:
    """gamma - b and gamma + b are the scores of rank 1/(2C) in their class."""
    for of, side in (("positive", s.y > 0), ("negative", s.y < 0)):
        fewest, most = counting_claims(excess[side], s.costs[side], 1 / (2 * C), unit)
        yield replace(fewest, statement=f"weight of the {of} points on the wrong side of the margin <= 1/(2C)")
        yield replace(most, statement=f"1/(2C) <= weight of the {of} points on the margin or its wrong side")


def unit_of_scores(s: View, primal: Point) -> float:
    """The size of the scores of a vector of length 1; where they all vanish, a fraction of what they might be."""
    return max(float(np.max(np.abs(primal.w.values + primal.b))), NEARLY_CANCELS * radius(s))
