"""Inner products of Gram matrices, by blocks of rows: no two matrices need to be held at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import qr

from kopt.gram.gram import Gram
from kopt.kernels.points import Matrix, blocks

#: Blocks of rows of all matrices together take so many bytes.
BLOCK_BYTES = 32_000_000
#: Squared lengths of combinations of matrices of length 1 from which on their inner products say enough about them,
#: and below which they say nothing.
ENOUGH, NOTHING = 1e-6, 1e-14
#: A matrix of length 1 is a combination of others if it is no further from their span than this.
DEPENDENT = 1e-9


@dataclass(frozen=True, eq=False)
class FrobeniusProducts:
    """<K_k, K_l> = sum_ij (K_k)_ij (K_l)_ij of some kernels on the same points.

    products   the matrix of them
    seen       K_k v for a vector v, a row for each kernel

    >>> from kopt.kernels import Linear
    >>> G = Gram(Linear(), [[1.0], [2.0]])
    >>> FrobeniusProducts.of([G, G]).products
    array([[25., 25.],
           [25., 25.]])
    """

    grams: Sequence[Gram]
    products: Matrix
    seen: Matrix

    @classmethod
    def of(cls, grams: Sequence[Gram], v: Matrix | None = None) -> FrobeniusProducts:
        """One pass over the upper halves of the matrices."""
        n, m = grams[0].n, len(grams)
        products, seen, v = np.zeros((m, m)), np.zeros((m, n)), np.zeros(n) if v is None else v
        for rows, right, square, beside in _upper_half(grams):
            seen[:, rows] += square @ v[rows] + beside @ v[right]
            seen[:, right] += v[rows] @ beside
            products += _products(square) + 2 * _products(beside)
        return cls(grams, products, seen)

    @cached_property
    def root(self) -> Matrix:
        """R with R'R = products, as exact as the kernel values also for combinations that nearly vanish.

        Of a combination of matrices of length 1 that is shorter than 1e-8, the products say nothing. Where one is
        short, one more pass takes the products of combinations that are not, and are nearly orthogonal.
        """
        lengths = np.sqrt(np.diag(self.products))
        lengths = np.where(lengths > 0, lengths, 1.0)
        values, vectors = np.linalg.eigh(self.products / np.outer(lengths, lengths))
        sizes = np.sqrt(np.maximum(values, NOTHING * values[-1]))
        root = sizes[:, None] * vectors.T
        if values[0] < ENOUGH * values[-1]:
            values, vectors = np.linalg.eigh(self._products_of(vectors / sizes / lengths[:, None]))
            root = (np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T) @ root
        return np.asarray(root * lengths)

    @cached_property
    def independent(self) -> np.ndarray:
        """For each matrix whether it is kept among those that span all of them; the others are combinations of these.

        A combination to nine digits is one: rounding in the kernel values leaves what it is beside that no digits
        that a solver could use.
        """
        lengths = np.linalg.norm(self.root, axis=0)
        R, order = qr(self.root / np.where(lengths > 0, lengths, 1.0), mode="r", pivoting=True)
        kept = np.abs(np.diag(R)) > DEPENDENT
        independent = np.zeros(len(lengths), dtype=bool)
        independent[order[kept]] = True
        return independent

    def _products_of(self, W: Matrix) -> Matrix:
        """The inner products of the combinations sum_k w_k K_k, for every column w."""
        products = np.zeros((W.shape[1], W.shape[1]))
        for _, _, *parts in _upper_half(self.grams):
            square, beside = (np.tensordot(W.T, part, axes=1) for part in parts)
            products += _products(square) + 2 * _products(beside)
        return products


def _upper_half(grams: Sequence[Gram]) -> Iterator[tuple[slice, slice, Matrix, Matrix]]:
    """Blocks of rows, the columns to the right of each, and both parts of all matrices there."""
    n, m = grams[0].n, len(grams)
    for rows in blocks(n, BLOCK_BYTES // (8 * m * n)):
        right = slice(rows.stop, n)
        yield rows, right, _part(grams, rows, rows), _part(grams, rows, right)


def _part(grams: Sequence[Gram], rows: slice, columns: slice) -> Matrix:
    """A part of all matrices."""
    part = np.empty((len(grams), rows.stop - rows.start, columns.stop - columns.start))
    for gram, out in zip(grams, part, strict=True):
        gram.block(rows, columns, out)
    return part


def _products(stack: Matrix) -> Matrix:
    flat = stack.reshape(len(stack), -1)
    return np.asarray(flat @ flat.T)
