"""The Lagrangian's minimum over vectors in feature space, in closed form.

For one vector it is min_w <sum_i q_i phi(x_i), w> + a ||w||^2 + k ||w||, with slopes q, a, k that are affine in the
multipliers: -(t - k)_+^2 / (4 a) with t = (q' K q)^(1/2). Vectors that enter through their sums and differences
are minimised together; then only squared norms may occur.

A vector whose squared norm is divided by a variable, min_w <sum_i q_i phi(x_i), w> + f ||w||^2 / t, leaves the
minimum -t q' K q / (4 f): it pulls at t, which has to stay non-negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.views.products import ProductVector

# A vector vanishes if it is this short beside its terms, laid end to end.
SHORT = 1e-9


@dataclass(frozen=True)
class Pull:
    """The slope -strength in one entry of a variable, which has to be non-negative, and the size of its terms."""

    variable: cp.Variable
    entry: int
    strength: float


class NeedsCoordinates(Exception):
    """A vector enters in a way that only coordinates can express."""


@dataclass(frozen=True)
class _Part:
    """A vector that occurs, as a sum of multiples of the weights of a group, and the slopes in its leaves."""

    vector: ProductVector
    factors: np.ndarray
    slopes: tuple[Any, Any, Any]
    quotient: Any = None

    def coefficients(self, m: np.ndarray, size: bool = False) -> np.ndarray:
        """The slope of the values on all points, or the size of its terms."""
        slopes = self.slopes[0]
        values = slopes.size(m) if size else slopes.at(m)
        return self.vector.spread(values.reshape(self.vector.values.shape, order="F"))


@dataclass(frozen=True)
class Group:
    """Free vectors that are minimised together."""

    weights: tuple[ProductVector, ...]
    parts: tuple[_Part, ...]

    @property
    def name(self) -> str:
        """The names of the vectors."""
        return ", ".join(weight.name for weight in self.weights)

    def curvature(self, m: np.ndarray) -> np.ndarray:
        """The matrix M of the squared norms: sum_kl M_kl <w_k, w_l>."""
        return sum(
            (float(part.slopes[1].at(m)[0]) * np.outer(part.factors, part.factors) for part in self.parts),
            np.zeros((len(self.weights), len(self.weights))),
        )

    def curvature_size(self, m: np.ndarray) -> float:
        """The size of the terms of M."""
        return sum(float(part.slopes[1].size(m)[0]) * float(part.factors @ part.factors) for part in self.parts)

    def linear(self, m: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """For each weight, the coefficients of the points in the slope, and the size of their terms."""
        q, size = [], []
        for k in range(len(self.weights)):
            used = [part for part in self.parts if part.factors[k]]
            q.append(sum((part.factors[k] * part.coefficients(m) for part in used), np.array(0.0)))
            size.append(sum((abs(part.factors[k]) * part.coefficients(m, size=True) for part in used), np.array(0.0)))
        return q, size

    def norm_slope(self, m: np.ndarray) -> float:
        """The slope in the norm of a single vector."""
        return sum(float(part.slopes[2].at(m)[0]) for part in self.parts)

    @property
    def divided(self) -> bool:
        """Whether a squared norm is divided by a variable."""
        return any(part.vector.quotients for part in self.parts)

    def pull(self, m: np.ndarray) -> Pull:
        """What the vector leaves behind where its squared norm is divided by a variable."""
        [part] = self.parts
        [quotient] = part.vector.quotients
        factor = float(part.quotient.at(m)[0])
        strength = self.weights[0].gram.norm_squared(part.coefficients(m)) / (4 * factor) if factor > 0 else np.inf
        return Pull(*quotient.entry, strength)

    def minimise(self, m: np.ndarray) -> Iterator[tuple[float, str | None]]:
        """One part of the minimum for each direction in the group."""
        if self.divided:
            return
        gram = self.weights[0].gram
        values, directions = np.linalg.eigh(self.curvature(m))
        q, size = self.linear(m)
        k = self.norm_slope(m)
        for a, direction in zip(values, directions.T, strict=True):
            along = sum((e * each for e, each in zip(direction, q, strict=True)), np.array(0.0))
            laid_out = sum((abs(e) * each for e, each in zip(direction, size, strict=True)), np.array(0.0))
            t, most = float(np.sqrt(gram.norm_squared(along))), gram.uncancelled(laid_out)
            excess = t - k
            if excess <= SHORT * most and a >= -SHORT * self.curvature_size(m):
                yield (0.0, None) if t <= k or a <= 0 else (-(max(0.0, excess) ** 2) / (4 * a), None)
            elif a <= SHORT * self.curvature_size(m):
                yield -np.inf, self.name
            else:
                yield -(excess**2) / (4 * a), None


class FeatureSpace:
    """All vectors of a primal, in groups."""

    def __init__(self, vectors: list[ProductVector], slopes_in: Callable[[cp.Variable], Any]) -> None:
        self.groups = [_group(weights, vectors, slopes_in) for weights in _tied(vectors)]

    def minimise(self, m: np.ndarray) -> Iterator[tuple[float, str | None]]:
        """The parts of the minimum."""
        for group in self.groups:
            yield from group.minimise(m)

    def pulls(self, m: np.ndarray) -> list[Pull]:
        """What vectors leave behind whose squared norms are divided by variables."""
        return [group.pull(m) for group in self.groups if group.divided]

    @property
    def divisors(self) -> list[tuple[cp.Variable, int]]:
        """The entries of variables by which squared norms are divided."""
        return [q.entry for group in self.groups for part in group.parts for q in part.vector.quotients]


def _group(weights: list[ProductVector], vectors: list[ProductVector], slopes_in: Callable[..., Any]) -> Group:
    parts = []
    for vector in vectors:
        factors = np.array([sum(factor for factor, w in vector.terms if w is weight) for weight in weights])
        if factors.any():
            values, norm_squared, norm = (slopes_in(leaf) for leaf in vector.parts)
            quotient = slopes_in(vector.quotients[0].leaf) if vector.quotients else None
            parts.append(_Part(vector, factors, (values, norm_squared, norm), quotient))
    if any(part.vector.quotients for part in parts):
        _check_divided(parts)
    for part in parts:
        normed = part.slopes[2].constant.any() or part.slopes[2].jacobian.any()
        if normed and (len(weights) > 1 or part.factors[0] != 1):
            raise NeedsCoordinates("a norm of a sum of vectors")
    _ = weights[0].gram.factor  # lengths are then computed in coordinates, to their last digits
    return Group(tuple(weights), tuple(parts))


def _check_divided(parts: list[_Part]) -> None:
    lone = len(parts) == 1 and len(parts[0].vector.quotients) == 1 and len(parts[0].factors) == 1
    if not lone or any(slopes.constant.any() or slopes.jacobian.any() for slopes in parts[0].slopes[1:]):
        raise NeedsCoordinates("a vector with a squared norm that is divided by a variable enters otherwise as well")


def _tied(vectors: list[ProductVector]) -> list[list[ProductVector]]:
    """The free vectors, those together that occur in one sum."""
    groups: list[list[ProductVector]] = []
    for vector in vectors:
        members = [weight for _, weight in vector.terms]
        touched = [group for group in groups if any(w is member for w in group for member in members)]
        merged = [w for group in touched for w in group]
        merged += [w for i, w in enumerate(members) if not any(w is x for x in [*merged, *members[:i]])]
        groups = [group for group in groups if not any(group is each for each in touched)] + [merged]
    return groups
