"""A weighted sum of Gram matrices on the same points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kopt.gram.gram import Gram, _columns
from kopt.kernels import Weighted
from kopt.kernels.points import Matrix, blocks

#: The share of the budget that the matrices K_k may take together for each of them to be kept.
SHARE = 0.1
#: Bytes of rows of one matrix that are held beside the sum.
BLOCK_BYTES = 32_000_000


class Mixture(Gram):
    """K = sum_k mu_k K_k: what is known about the parts already serves for each choice of the weights.

    >>> from kopt.kernels import Gaussian, Linear
    >>> grams = [Gram(kernel, [[0.0], [1.0]]) for kernel in (Linear(), Gaussian(sigma=1.0))]
    >>> Mixture([2.0, 1.0], grams).dense.round(4).tolist()
    [[1.0, 0.6065], [0.6065, 3.0]]
    """

    def __init__(self, weights: ArrayLike, grams: Sequence[Gram]) -> None:
        self.parts = [(float(mu), gram) for mu, gram in zip(np.asarray(weights), grams, strict=True) if mu]
        self.count = len(grams)
        self.X, self.kernel = grams[0].X, Weighted.of(weights, [gram.kernel for gram in grams])
        self.block_bytes, self.budget = grams[0].block_bytes, grams[0].budget
        self._last = None

    @cached_property
    def diagonal(self) -> Matrix:
        """sum_k mu_k k_k(x_i, x_i)."""
        return np.asarray(sum(mu * gram.diagonal for mu, gram in self.parts))

    @cached_property
    def features(self) -> Matrix | None:
        """The features of all parts side by side, where these are fewer than the points."""
        if any(mu < 0 or gram.features is None for mu, gram in self.parts):
            return None
        widths = [gram.features.shape[1] for _, gram in self.parts if gram.features is not None]
        return self.kernel.features(self.X) if sum(widths) < self.n else None

    @cached_property
    def fused(self) -> Any:
        """The compiled values of all parts."""
        from kopt.fused.weighted import FusedWeighted

        weights = [mu for mu, _ in self.parts]
        return FusedWeighted.of(weights, ((gram.fused, gram.features) for _, gram in self.parts))

    @cached_property
    def dense(self) -> Matrix:
        """The matrix K; those of the parts are kept where all of them are small beside the budget."""
        self._afford("K", self.n, "products, rows and low-rank methods do not form it")
        kept = 8 * self.n**2 * self.count <= SHARE * self.budget
        K = np.zeros((self.n, self.n))
        if kept:
            for mu, gram in self.parts:
                K += mu * gram.dense
        elif self.fused is not None:
            self.fused.block(np.arange(self.n), K)
        else:
            for mu, gram in self.parts:
                for rows in blocks(self.n, BLOCK_BYTES // (8 * self.n)):
                    K[rows] += mu * gram.block(rows, slice(None))
        K.flags.writeable = False
        return K

    def rows(self, indices: ArrayLike) -> Matrix:
        """The rows of K with these indices, m x n."""
        if "dense" in self.__dict__:
            return super().rows(indices)
        return np.asarray(sum(mu * gram.rows(indices) for mu, gram in self.parts))

    def block(self, rows: slice, columns: slice, out: Matrix | None = None) -> Matrix:
        """The part of K between two ranges of points, in memory of one's own where that is given."""
        if "dense" in self.__dict__:
            return super().block(rows, columns, out)
        total = sum(mu * gram.block(rows, columns) for mu, gram in self.parts)
        if out is None:
            return np.asarray(total)
        out[:] = total
        return out

    def product(self, c: ArrayLike) -> Matrix:
        """K c, for c of shape (n,) or (n, m)."""
        if "dense" in self.__dict__:
            return super().product(c)
        c = _columns(c, self.n, "c", "number of points")
        return np.asarray(sum(mu * gram.product(c) for mu, gram in self.parts))
