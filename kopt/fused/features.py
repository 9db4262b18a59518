"""Products of explicit features, in the form in which other kernel values are used as soon as they are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kopt.fused.gaussian import SLOW_FEATURES

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]


class FusedFeatures:
    """K_ij = <f_i, f_j> for the rows f_i of a matrix, beside kernels that are computed as they are used.

    `add` and `rows` are in single precision, `product` and `values` in double.

    >>> K = FusedFeatures(np.array([[1.0], [2.0], [3.0]]))
    >>> K.product(np.array([0, 2]), np.array([1.0, 1.0])).tolist()
    [4.0, 8.0, 12.0]
    """

    def __init__(self, F: NDArray[np.float64]) -> None:
        self.F = F
        self.F32 = F.astype(np.float32)

    @property
    def work(self) -> int:
        """Multiplications for one entry."""
        return self.F.shape[1]

    @property
    def slow(self) -> bool:
        """Whether an entry takes longer to compute than to read from memory."""
        return self.work >= SLOW_FEATURES

    @property
    def single_error(self) -> float:
        """The typical error of an entry in single precision."""
        return float(np.finfo(np.float32).eps) * float(np.mean(np.einsum("ij,ij->i", self.F, self.F)))

    def product(self, where: Indices, c: Vector) -> Vector:
        """sum_j c_j K_ij over the j in `where`, for every i."""
        return np.asarray(self.F @ (self.F[where].T @ c))

    def values(self, of: Indices, where: Indices, c: Vector) -> Vector:
        """sum_j c_j K_ij over the j in `where`, for the i in `of`."""
        return np.asarray(self.F[of] @ (self.F[where].T @ c))

    def add(self, where: Indices, c: Vector, out: Vector) -> None:
        """Add sum_j c_j K_ij over the j in `where` to out_i, in single precision."""
        out += self.F32 @ (self.F32[where].T @ c.astype(np.float32))

    def rows(self, where: Indices, out: NDArray[Any]) -> None:
        """Write rows of K, in single precision."""
        np.matmul(self.F32[where], self.F32.T, out=out)

    def block(self, where: Indices, out: NDArray[Any], rows: Indices | None = None) -> NDArray[Any]:
        """The matrix between some points, or some rows of it, in the precision of the memory that is given for it."""
        F = self.F32 if out.dtype == np.float32 else self.F
        return np.matmul(F[where if rows is None else rows], F[where].T, out=out)
