"""A kernel from a Python function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kopt.errors import InputError
from kopt.kernels.checks import ROUNDING
from kopt.kernels.kernel import Kernel
from kopt.kernels.points import Matrix, Points


@dataclass(frozen=True, repr=False)
class FromFunction(Kernel):
    """k(x, z) = f(x, z) for any symmetric Python function of two points of any kind: strings, graphs, vectors.

    Between the points of one set f is called once per pair, and its symmetry is probed along neighbours.

    >>> common = FromFunction(lambda a, b: len(set(a) & set(b)), positive_semidefinite=True)
    >>> common(["cat", "car"]).tolist()
    [[3.0, 2.0], [2.0, 3.0]]
    """

    function: Callable[[Any, Any], float]
    positive_semidefinite: bool = False

    def __repr__(self) -> str:
        """The call that makes it, with the name of the function."""
        proven = ", positive_semidefinite=True" if self.positive_semidefinite else ""
        return f"FromFunction({getattr(self.function, '__name__', repr(self.function))}{proven})"

    def evaluate(self, X: Points, Z: Points) -> Matrix:
        """One call per pair."""
        if Z is X:
            return self._symmetric(X)
        return np.array([[self._value(x, z) for z in Z] for x in X])

    def evaluate_diagonal(self, X: Points) -> Matrix:
        """One call per point."""
        return np.array([self._value(x, x) for x in X])

    def _symmetric(self, X: Points) -> Matrix:
        K = np.empty((len(X), len(X)))
        for i, x in enumerate(X):
            K[i, : i + 1] = K[: i + 1, i] = [self._value(x, X[j]) for j in range(i + 1)]
            if i > 0:
                self._probe(K[i, i - 1], self._value(X[i - 1], x), i)
        return K

    def _probe(self, value: float, swapped: float, i: int) -> None:
        if abs(value - swapped) > ROUNDING * max(abs(value), abs(swapped)):
            raise InputError(
                f"The function is not symmetric: f(x, z) = {value:.6g} but f(z, x) = {swapped:.6g} "
                f"at points {i} and {i - 1}.",
                "A kernel has k(x, z) = k(z, x): use (f(x, z) + f(z, x)) / 2.",
            )

    def _value(self, x: Any, z: Any) -> float:
        value = self.function(x, z)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise InputError(
                f"The function returned {value!r} for a pair of points, not a number.", "Let it return a float."
            ) from None
