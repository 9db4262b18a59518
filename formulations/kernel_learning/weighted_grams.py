"""Sums of Gram matrices with weights, as a solver needs them again and again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from kopt.fused.threads import GRAIN, in_parallel
from kopt.gram import Gram
from kopt.kernels.points import blocks

Vector = np.ndarray
Matrix = np.ndarray

#: A matrix that is not held is computed in so many parts.
PARTS = 16
#: Rows of a sum that are worked on at a time, so that they stay in cache.
ROWS = 64


def least_bytes(n: int) -> int:
    """What a sum for n points takes where no matrix is held: itself, and a part of one."""
    return 8 * n**2 * (PARTS + 2) // PARTS


class WeightedGrams:
    """sum_k theta_k K_k, where K_k is scale_k times the k-th of some Gram matrices of the same points.

    The matrices are held where all of them and the sum fit into the budget, and computed part by part where they do
    not.

    >>> from kopt.kernels import Linear
    >>> G = Gram(Linear(), [[1.0], [2.0]])
    >>> grams = WeightedGrams([G, G], np.array([1.0, 10.0]), budget=1_000)
    >>> np.tril(grams.lower_sum(np.array([1.0, 0.5]))).tolist()
    [[6.0, 0.0], [12.0, 24.0]]
    >>> grams.images(np.array([1.0, -1.0])).tolist()
    [[-1.0, -2.0], [-10.0, -20.0]]
    """

    def __init__(self, grams: Sequence[Gram], scales: Vector, budget: int) -> None:
        self.grams, self.scales = grams, scales
        self.n, self.count = grams[0].n, len(grams)
        self.held = 8 * self.n**2 * (self.count + 1) <= budget
        self.diagonals = scales[:, None] * np.stack([gram.diagonal for gram in grams])

    def images(self, e: Vector) -> Matrix:
        """The vectors K_k e, a row for each matrix."""
        return np.stack([scale * self._image(gram, e) for scale, gram in zip(self.scales, self.grams, strict=True)])

    def _image(self, gram: Gram, e: Vector) -> Vector:
        """Where the matrix is held without NumPy's linear algebra, whose threads fight with SciPy's for the cores."""
        return np.asarray(np.einsum("ij,j->i", gram.dense, e)) if self.held else gram.product(e)

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
    n = len(total)
    for rows in blocks(n, -(-n // PARTS)):
        part = factor * gram.block(rows, slice(0, rows.stop))
        total[rows, : rows.stop] += part
