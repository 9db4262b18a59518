"""Sums of Gram matrices with weights, as a solver needs them again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from kopt.fused.threads import GRAIN, in_parallel
from kopt.gram import Gram
from kopt.kernels.points import blocks

Vector = np.ndarray
Matrix = np.ndarray

#: A matrix that is not held is computed in so many parts; a kernel that computes one may hold a few of its size.
PARTS, PARTS_HELD = 64, 10
#: Vectors that a solver holds for each point, and for each point and matrix.
VECTORS, VECTORS_FOR_EACH = 100, 12
#: Rows of a sum that are worked on at a time, so that they stay in cache.
ROWS = 64


def times(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A @ B without NumPy's linear algebra, whose threads fight for the cores with SciPy's, which factorises.

    >>> times(np.array([1.0, 2.0]), np.eye(2)).tolist()
    [1.0, 2.0]
    """
    left, right = "ab"[2 - A.ndim :], "bc"[: B.ndim]
    return np.asarray(np.einsum(f"{left},{right}", A, B))


def least_bytes(n: int, count: int) -> int:
    """What a solver takes for sums of so many matrices that are not held: one sum, a part of a matrix, and vectors.

    >>> least_bytes(5000, 20) / 1e9
    0.24485
    """
    return 8 * n**2 * (PARTS + PARTS_HELD) // PARTS + 8 * n * (VECTORS + VECTORS_FOR_EACH * count)


class WeightedGrams:
    """sum_k theta_k K_k, where K_k is scale_k times the k-th of some Gram matrices of the same points.

    The matrices are held where all of them and the sum fit into the budget, and computed part by part where they do
    not.

    >>> from kopt.kernels import Linear
    >>> G = Gram(Linear(), [[1.0], [2.0]])
    >>> grams = WeightedGrams([G, G], np.array([1.0, 10.0]), budget=10_000)
    >>> np.tril(grams.lower_sum(np.array([1.0, 0.5]))).tolist()
    [[6.0, 0.0], [12.0, 24.0]]
    >>> grams.images(np.array([1.0, -1.0])).tolist()
    [[-1.0, -2.0], [-10.0, -20.0]]
    """

    def __init__(self, grams: Sequence[Gram], scales: Vector, budget: int) -> None:
        self.grams, self.scales = grams, scales
        self.n, self.count = grams[0].n, len(grams)
        self.held = least_bytes(self.n, self.count) + 8 * self.n**2 * self.count <= budget
        self.diagonals = scales[:, None] * np.stack([gram.diagonal for gram in grams])

    def images(self, e: Vector) -> Matrix:
        """The vectors K_k e, a row for each matrix."""
        return np.stack([scale * self._image(gram, e) for scale, gram in zip(self.scales, self.grams, strict=True)])

    def _image(self, gram: Gram, e: Vector) -> Vector:
        if self.held:
            return times(gram.dense, e)
        if gram.features is not None:
            return gram.product(e)
        where = np.flatnonzero(e)
        if gram.fused is not None:
            return np.asarray(gram.fused.product(where, e[where]))
        return np.concatenate([times(gram.block(rows, slice(0, self.n)), e) for rows in _parts(self.n)])

    def lower_sum(self, theta: Vector) -> Matrix:
        """The sum on and below its diagonal, in the same memory each time."""
        total, factors = self._memory, theta * self.scales
        total[:] = 0.0
        if self.held:
            in_parallel(lambda start: self._add_held(factors, start), range(0, self.n, GRAIN))
            return total
        for factor, gram in zip(factors, self.grams, strict=True):
            _add_computed(float(factor), gram, total)
        return total

    @cached_property
    def _memory(self) -> Matrix:
        return np.empty((self.n, self.n))

    def _add_held(self, factors: Vector, start: int) -> None:
        for some in blocks(min(GRAIN, self.n - start), ROWS):
            rows = slice(start + some.start, start + some.stop)
            part = np.empty((some.stop - some.start, rows.stop))
            for factor, gram in zip(factors, self.grams, strict=True):
                np.multiply(gram.dense[rows, : rows.stop], factor, out=part)
                self._memory[rows, : rows.stop] += part


def _add_computed(factor: float, gram: Gram, total: Matrix) -> None:
    if gram.fused is not None:
        gram.fused.add_lower(factor, total)
        return
    for rows in _parts(len(total)):
        part = factor * gram.block(rows, slice(0, rows.stop))
        total[rows, : rows.stop] += part


def _parts(n: int) -> Iterator[slice]:
    return blocks(n, -(-n // PARTS))
