"""Inner products of Gram matrices, by blocks of rows: no two matrices need to be held at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kopt.gram.gram import Gram
from kopt.kernels.points import Matrix, blocks

#: Blocks of rows of all matrices together take so many bytes.
BLOCK_BYTES = 32_000_000


@dataclass(frozen=True)
class FrobeniusProducts:
    """<K_k, K_l> = sum_ij (K_k)_ij (K_l)_ij of some kernels on the same points.

    products   the matrix of them
    sums       K_k j, a row for each kernel, j the vector of ones
    seen       K_k v for one more vector v, a row for each kernel

    >>> from kopt.kernels import Linear
    >>> G = Gram(Linear(), [[1.0], [2.0]])
    >>> FrobeniusProducts.of([G, G]).products
    array([[25., 25.],
           [25., 25.]])
    """

    products: Matrix
    sums: Matrix
    seen: Matrix

    @classmethod
    def of(cls, grams: Sequence[Gram], v: Matrix | None = None) -> FrobeniusProducts:
        """One pass over the upper halves of the matrices."""
        n, m = grams[0].n, len(grams)
        vectors = np.column_stack([np.ones(n), np.zeros(n) if v is None else v])
        products, images = np.zeros((m, m)), np.zeros((m, n, 2))
        for rows in blocks(n, BLOCK_BYTES // (8 * m * n)):
            right = slice(rows.stop, n)
            square, beside = (_part(grams, rows, columns) for columns in (rows, right))
            images[:, rows] += square @ vectors[rows] + beside @ vectors[right]
            images[:, right] += beside.transpose(0, 2, 1) @ vectors[rows]
            products += _products(square) + 2 * _products(beside)
        return cls(products, images[:, :, 0], images[:, :, 1])

    @property
    def centred(self) -> Matrix:
        """The same for the centred matrices H K_k H, H = I - j j'/l."""
        n = self.sums.shape[1]
        totals = self.sums.sum(axis=1)
        return self.products - 2 / n * self.sums @ self.sums.T + np.outer(totals, totals) / n**2


def _part(grams: Sequence[Gram], rows: slice, columns: slice) -> Matrix:
    """A part of all matrices."""
    part = np.empty((len(grams), rows.stop - rows.start, columns.stop - columns.start))
    for gram, out in zip(grams, part, strict=True):
        gram.block(rows, columns, out)
    return part


def _products(stack: Matrix) -> Matrix:
    flat = stack.reshape(len(stack), -1)
    return np.asarray(flat @ flat.T)
