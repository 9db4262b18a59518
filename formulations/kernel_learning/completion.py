"""The rest of a primal point where directions in the feature spaces are given: weights of kernels, offset, slacks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from formulations.classification.margins import best_offset
from formulations.kernel_learning.directions import INTERIOR, Directions


class Completion(ABC):
    """How a machine completes directions: by the best weights, and for given scores by the best offset and slacks.

    upper    the largest multipliers
    missed   by so much the best weights may miss a row
    """

    upper: Any = np.inf
    missed: ClassVar[float] = 1e-9

    @abstractmethod
    def weights(self, directions: Directions) -> np.ndarray:
        """The best coordinates x."""

    @abstractmethod
    def rest(self, f: np.ndarray) -> tuple[float, dict[str, Any]]:
        """By what to multiply scores without offset, and the offset and the slacks that belong to the product."""


@dataclass(frozen=True)
class Hinges(Completion):
    """Slacks that cost `price` each."""

    y: np.ndarray
    price: np.ndarray

    @property
    def upper(self) -> Any:
        """The largest multipliers."""
        return self.price

    def weights(self, directions: Directions) -> np.ndarray:
        """Minimise 1/2 q'x + sum_i price_i xi_i: a linear program."""
        return directions.least_slacks(self.price)

    def rest(self, f: np.ndarray) -> tuple[float, dict[str, Any]]:
        """The offset minimises the sum of the slacks."""
        b = best_offset(self.y, f, self.price)
        return 1.0, {"b": b, "xi": np.maximum(0.0, 1 - self.y * (f + b))}


@dataclass(frozen=True)
class SquaredHinges(Completion):
    """Slacks whose squares cost half of `price` each."""

    missed = INTERIOR

    y: np.ndarray
    price: np.ndarray

    def weights(self, directions: Directions) -> np.ndarray:
        """Minimise 1/2 q'x + 1/2 sum_i price_i xi_i^2: a quadratic program."""
        return directions.least_slacks(self.price, power=2)

    def rest(self, f: np.ndarray) -> tuple[float, dict[str, Any]]:
        """The offset minimises the sum of the squared slacks."""
        b = best_offset(self.y, f, self.price, power=2)
        return 1.0, {"b": b, "xi": np.maximum(0.0, 1 - self.y * (f + b))}


@dataclass(frozen=True)
class NoSlack(Completion):
    """Functional margins of 1 at least."""

    y: np.ndarray

    def weights(self, directions: Directions) -> np.ndarray:
        """Maximise the smallest margin: a linear program. Where the multipliers are optimal, that margin is 1."""
        return directions.largest_margin()

    def rest(self, f: np.ndarray) -> tuple[float, dict[str, Any]]:
        """The offset halfway between the classes, scaled to functional margin 1; as it is where nothing separates."""
        nearest_plus, nearest_minus = f[self.y > 0].min(), f[self.y < 0].max()
        margin, b = (nearest_plus - nearest_minus) / 2, -(nearest_plus + nearest_minus) / 2
        return (1 / margin, {"b": b / margin}) if margin > 0 else (1.0, {"b": b})
