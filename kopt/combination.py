"""A vector in feature space, known by its representer coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kopt.gram import Gram

Array = np.ndarray

# Below this fraction of its terms the direction of a sum is known to less than half its digits.
CANCELLED = 1e-7


@dataclass(frozen=True)
class Evaluated:
    """A vector in feature space seen from some points: its values there, and its norm."""

    values: Array
    norm_squared: float

    @property
    def norm(self) -> float:
        """Length of the vector."""
        return float(np.sqrt(self.norm_squared))


class Combination:
    r"""The vector sum_i c_i phi(x_i), with numbers for coefficients c: (n,), or (n, m) for m outputs.

    Its values on the sample cost one product by K, taken once; sums and multiples of combinations take none.

    >>> from kopt.kernels import Linear
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> w = Combination(Gram(Linear(), X), np.array([1.0, 1.0]))
    >>> w.values, w.norm_squared, (w / 2).norm_squared
    (array([1., 4.]), 5.0, 1.25)
    """

    def __init__(
        self,
        gram: Gram,
        coefficients: Array,
        rows: Any = None,
        product: Callable[[Array], Array] | None = None,
    ) -> None:
        self.gram = gram
        self.coefficients = coefficients
        self.rows = slice(None) if rows is None else rows
        self._product = product or gram.product

    @cached_property
    def on_sample(self) -> Array:
        """Values on every point of the sample: K c."""
        return self._product(self.coefficients)

    @property
    def values(self) -> Array:
        """Values on the rows that the vector is declared for."""
        return self.on_sample[self.rows]

    @cached_property
    def norm_squared(self) -> float:
        """c' K c."""
        return self.gram.norm_squared(self.coefficients, self.on_sample)

    @property
    def norm(self) -> float:
        """Length of the vector."""
        return float(np.sqrt(self.norm_squared))

    def direction(self) -> Combination:
        """The vector of length 1 in the same direction; 0 where so much cancels that it has none."""
        if self.norm <= CANCELLED * self.gram.uncancelled(self.coefficients):
            return 0.0 * self
        return self / self.norm

    def at(self, X_new: Any) -> Evaluated:
        """The same vector seen from new points."""
        return Evaluated(self.gram.cross_product(X_new, self.coefficients), self.norm_squared)

    def _combined(self, other: Combination, sign: float) -> Combination:
        result = Combination(self.gram, self.coefficients + sign * other.coefficients, self.rows, self._product)
        result.on_sample = self.on_sample + sign * other.on_sample
        return result

    def __add__(self, other: Combination) -> Combination:
        return self._combined(other, 1.0)

    def __sub__(self, other: Combination) -> Combination:
        return self._combined(other, -1.0)

    def __mul__(self, factor: float) -> Combination:
        result = Combination(self.gram, factor * self.coefficients, self.rows, self._product)
        result.on_sample = factor * self.on_sample
        return result

    __rmul__ = __mul__

    def __neg__(self) -> Combination:
        return self * -1.0

    def __truediv__(self, divisor: float) -> Combination:
        return self * (1.0 / divisor)
