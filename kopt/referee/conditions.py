"""Affine conditions: those that the Lagrangian imposes on multipliers, and those that a dual claims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from kopt.cones import Free, NonNegative
from kopt.referee.features import Group
from kopt.referee.lagrangian import SINGULAR, Lagrangian, Slopes, spectrum

# Coefficients this small beside the terms that make them up are rounding.
ROUNDING = 1e-11


class Role(Enum):
    """Where a condition comes from."""

    STATIONARITY = "the slope of the Lagrangian in a variable in which it is affine has to vanish"
    SIGN = "a multiplier has to lie in its cone"
    CURVATURE = "the Lagrangian has to be convex in a vector"
    CLAIMED = "the claimed dual says so"


@dataclass(frozen=True)
class Condition:
    """rows @ z + offset = 0, or <= 0, entry by entry.

    about   a primal variable, a multiplier, or the constraint of a dual that says so
    size    per row, the absolute terms of which the offset is a sum: below ROUNDING times that it is 0
    """

    about: str
    role: Role
    equality: bool
    rows: np.ndarray
    offset: np.ndarray
    size: np.ndarray

    def after(self, matrix: np.ndarray, offset: np.ndarray) -> Condition:
        """The condition on z where its argument is matrix @ z + offset; coefficients that cancel become 0."""
        rows, terms = self.rows @ matrix, np.abs(self.rows) @ np.abs(matrix)
        size = np.abs(self.rows) @ np.abs(offset) + self.size
        constant = self.rows @ offset + self.offset
        return Condition(
            self.about,
            self.role,
            self.equality,
            np.where(np.abs(rows) <= ROUNDING * terms, 0.0, rows),
            np.where(np.abs(constant) <= ROUNDING * size, 0.0, constant),
            size,
        )

    def violation(self, z: np.ndarray, like: float) -> np.ndarray:
        """By how much each row is missed, relative to its terms if every entry of z were of a given size."""
        value = self.rows @ z + self.offset
        terms = np.abs(self.rows) @ np.full(len(z), like) + self.size
        missed = np.abs(value) if self.equality else np.maximum(value, 0.0)
        return np.divide(missed, terms, out=np.zeros_like(missed), where=terms > 0)


def condition(about: str, role: Role, equality: bool, rows: np.ndarray, offset: np.ndarray) -> Condition:
    """A condition whose offset is no sum."""
    return Condition(about, role, equality, rows, offset, np.abs(offset))


def true_conditions(lagrangian: Lagrangian) -> list[Condition]:
    """What the multipliers must satisfy for the Lagrangian to be bounded below, as far as that is affine in them."""
    return [*_stationarity(lagrangian), *_features(lagrangian), *_signs(lagrangian)]


def _stationarity(lagrangian: Lagrangian) -> Iterator[Condition]:
    """The slopes in the directions without curvature, those of one variable together."""
    if not lagrangian.smooth_width:
        return
    values, vectors, unit = spectrum(lagrangian.generic_hessian)
    found: dict[str, list[np.ndarray]] = {}
    divisors = lagrangian.divisors
    for direction in vectors.T[np.abs(values) <= SINGULAR]:
        column = int(np.argmax(np.abs(direction)))
        if column in divisors:  # vectors pull at it, by more than affine conditions can say
            continue
        found.setdefault(lagrangian.name_of(column)[0], []).append(direction / unit)
    slopes = lagrangian.smooth_slopes
    for name, directions in found.items():
        yield _vanishing(name, slopes, np.array(directions))


def _features(lagrangian: Lagrangian) -> Iterator[Condition]:
    """Vectors without a squared norm need a slope 0; a squared norm whose factor depends on multipliers, a sign."""
    for group in lagrangian.features.groups:
        for part in group.parts:
            curvature = part.slopes[1]
            if curvature.jacobian.any():
                yield condition(group.name, Role.CURVATURE, False, -curvature.jacobian, -curvature.constant)
        if (
            len(group.weights) == 1
            and not group.divided
            and not any(_occurs(part.slopes[k]) for part in group.parts for k in (1, 2))
        ):
            yield from _flat_vector(group)


def _flat_vector(group: Group) -> Iterator[Condition]:
    """sum_i q_i phi(x_i) = 0, in coordinates."""
    [part] = group.parts
    if part.vector.values.ndim > 1:
        return
    seen = slice(None) if part.vector.rows is None else part.vector.rows
    yield _vanishing(group.name, part.slopes[0], group.weights[0].gram.factor[seen].T)


def _signs(lagrangian: Lagrangian) -> Iterator[Condition]:
    for name, cone in lagrangian.cones.items():
        if isinstance(cone, NonNegative):
            place = lagrangian.slices[name]
            rows = np.zeros((place.stop - place.start, lagrangian.width))
            rows[np.arange(len(rows)), np.arange(place.start, place.stop)] = -1.0
            yield condition(name, Role.SIGN, False, rows, np.zeros(len(rows)))


def _vanishing(name: str, slopes: Slopes, directions: np.ndarray) -> Condition:
    jacobian, constant = directions @ slopes.jacobian, directions @ slopes.constant
    size = np.abs(directions) @ np.abs(slopes.constant)
    return Condition(name, Role.STATIONARITY, True, jacobian, constant, size)


def _occurs(slopes: Slopes) -> bool:
    return bool(slopes.constant.any() or slopes.jacobian.any())


def is_complete(lagrangian: Lagrangian) -> bool:
    """Whether the affine conditions are all that boundedness demands."""
    polyhedral = all(isinstance(cone, Free | NonNegative) for cone in lagrangian.cones.values())
    normed = any(_occurs(part.slopes[2]) for group in lagrangian.features.groups for part in group.parts)
    return polyhedral and not normed and not lagrangian.divisors and lagrangian.remainder is None
