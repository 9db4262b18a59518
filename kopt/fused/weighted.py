"""Sums of kernels whose values are used as soon as they are computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kopt.fused.features import FusedFeatures
from kopt.fused.gaussian import SLOW_FEATURES

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Bytes of the values of one part that are held beside their sum.
BLOCK_BYTES = 64_000_000


class FusedWeighted:
    """sum_k mu_k K_k: all that is asked for is linear in K, and is asked for one part after the other.

    >>> from kopt.fused.gaussian import FusedGaussian
    >>> points = np.array([[0.0], [1.0]])
    >>> K = FusedWeighted([2.0, 0.5], [FusedGaussian(points), FusedFeatures(points)])
    >>> K.product(np.array([1]), np.array([1.0])).round(4).tolist()
    [1.2131, 2.5]
    """

    def __init__(self, weights: Sequence[float], parts: Sequence[Any]) -> None:
        self.terms = list(zip(weights, parts, strict=True))

    @classmethod
    def of(cls, weights: Sequence[float], grams: Iterable[tuple[Any, Any]]) -> FusedWeighted | None:
        """From the compiled values of each part, or else its features; None where a part has neither."""
        parts = [_compiled(fused, features) for fused, features in grams]
        return None if any(part is None for part in parts) else cls(weights, parts)

    @property
    def work(self) -> int:
        """Multiplications for one entry."""
        return sum(part.work for _, part in self.terms)

    @property
    def slow(self) -> bool:
        """Whether an entry takes longer to compute than to read from memory."""
        return self.work >= SLOW_FEATURES

    @property
    def single_error(self) -> float:
        """The typical error of an entry in single precision."""
        return sum(abs(weight) * part.single_error for weight, part in self.terms)

    def product(self, where: Indices, c: Vector) -> Vector:
        """sum_j c_j K_ij over the j in `where`, for every i."""
        return self._sum([part.product(where, weight * c) for weight, part in self.terms])

    def values(self, of: Indices, where: Indices, c: Vector) -> Vector:
        """sum_j c_j K_ij over the j in `where`, for the i in `of`."""
        return self._sum([part.values(of, where, weight * c) for weight, part in self.terms])

    def _sum(self, vectors: list[Vector]) -> Vector:
        return np.sum(vectors, axis=0)

    def add(self, where: Indices, c: Vector, out: Vector) -> None:
        """Add sum_j c_j K_ij over the j in `where` to out_i, entries in single precision."""
        for weight, part in self.terms:
            part.add(where, weight * c, out)

    def rows(self, where: Indices, out: NDArray[Any]) -> None:
        """Write rows of K, in single precision."""
        self._in_pieces(out, lambda part, piece, into: part.rows(where[piece], into))

    def block(self, where: Indices, out: NDArray[Any], rows: Indices | None = None) -> NDArray[Any]:
        """The matrix between some points, or some rows of it, in the precision of the memory that is given for it."""
        of = where if rows is None else rows
        self._in_pieces(out, lambda part, piece, into: part.block(where, into, of[piece]))
        return out

    def _in_pieces(self, out: NDArray[Any], write: Any) -> None:
        """One part after the other, a few rows at a time: no more than these is held beside the sum."""
        few = max(1, BLOCK_BYTES // max(1, out[:1].nbytes))
        for start in range(0, len(out), few):
            piece = slice(start, start + few)
            into, (weight, first) = out[piece], self.terms[0]
            write(first, piece, into)
            into *= out.dtype.type(weight)
            beside = np.empty_like(into)
            for weight, part in self.terms[1:]:
                write(part, piece, beside)
                beside *= out.dtype.type(weight)
                into += beside


def _compiled(fused: Any, features: Any) -> Any:
    return FusedFeatures(features) if fused is None and features is not None else fused
