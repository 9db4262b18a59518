"""Making an indefinite matrix positive semidefinite: on purpose, and with a record of what changed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from kopt.errors import InputError
from kopt.kernels.checks import ROUNDING, finite, square, symmetric
from kopt.kernels.points import Matrix

How: TypeAlias = Literal["clip", "shift", "flip"]

_SPECTRA: dict[str, Callable[[Matrix], Matrix]] = {
    "clip": lambda values: np.maximum(values, 0.0),
    "shift": lambda values: values - values.min(),
    "flip": np.abs,
}


@dataclass(frozen=True, eq=False)
class Repair:
    """A repaired matrix and its distance from the one given."""

    matrix: Matrix = field(repr=False)
    how: str
    changed: int
    smallest_before: float
    smallest_after: float
    distance: float

    def __str__(self) -> str:
        """What changed, in a sentence."""
        n = len(self.matrix)
        if self.changed == 0:
            return f"K is positive semidefinite up to rounding, and {self.how} changed nothing."
        return (
            f"{self.how.capitalize()} changed {self.changed} of {n} eigenvalues: the smallest went from "
            f"{self.smallest_before:.4g} to {self.smallest_after:.4g}, and K by {self.distance:.2%} in Frobenius norm."
        )


def repair(K: ArrayLike, how: How) -> Repair:
    """Replace the eigenvalues of K: clip, max(v, 0); shift, v - min v; flip, |v|.

    Clip gives the nearest positive semidefinite matrix in Frobenius norm (Higham 1988, Theorem 2.1). Only the values
    between the given points change: those of new points stay what the indefinite function says.

    >>> fixed = repair([[0.0, 1.0], [1.0, 0.0]], "clip")
    >>> fixed.matrix.round(3).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    >>> print(repair([[0.0, 1.0], [1.0, 0.0]], "shift"))
    Shift changed 2 of 2 eigenvalues: the smallest went from -1 to 0, and K by 100.00% in Frobenius norm.
    """
    if how not in _SPECTRA:
        raise InputError(f"There is no repair {how!r}.", 'Choose "clip", "shift" or "flip".')
    K = symmetric(finite(square(K)))
    K = (K + K.T) / 2
    values, vectors = np.linalg.eigh(K)
    tolerance = ROUNDING * np.abs(values).max()
    if values[0] >= -tolerance:
        return Repair(K, how, 0, float(values[0]), float(values[0]), 0.0)
    wanted = _SPECTRA[how](values)
    matrix = (vectors * wanted) @ vectors.T
    return Repair(
        matrix=(matrix + matrix.T) / 2,
        how=how,
        changed=int((np.abs(wanted - values) > tolerance).sum()),
        smallest_before=float(values[0]),
        smallest_after=float(wanted.min()),
        distance=float(np.linalg.norm(wanted - values) / np.linalg.norm(values)),
    )
