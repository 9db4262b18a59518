"""The Gram matrix of a sample, as far as it is asked for."""

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kopt.errors import InputError
from kopt.gram.diagnosis import check_positive_semidefinite
from kopt.kernels.checks import finite
from kopt.kernels.kernel import Kernel
from kopt.kernels.points import Indices, Matrix, Points, blocks, take

#: A composed kernel holds a few blocks of values at once.
BLOCKS_HELD = 4
#: A product with so many entries of K takes long enough for compiled code to pay.
MANY_ENTRIES = 4_000_000
#: A copy of a part of the points pays where they are at most one in so many.
FEW = 4
#: The rounding in a sum of products, relative to the sum of their absolute values.
DIGITS = 4 * float(np.finfo(np.float64).eps)
#: A sum that is no larger than so many times its rounding has at most three digits.
FEW_DIGITS = 1e3


class Gram:
    """K_ij = k(x_i, x_j) for n points: rows, products and factors; nothing is computed before it is asked for.

    The kernel is bound to the points with `kernel.fit`; the points are copied. Products use the explicit features of
    the kernel or the dense matrix when there is either, and otherwise blocks of rows of at most `block_bytes`.

    >>> from kopt.kernels import Gaussian
    >>> K = Gram(Gaussian(sigma=1.0), [[0.0], [1.0], [2.0]])
    >>> K.product([1.0, 0.0, -1.0]).round(4).tolist()
    [0.8647, 0.0, -0.8647]
    >>> K.factor.shape
    (3, 3)
    """

    def __init__(self, kernel: Kernel, X: Points, block_bytes: int = 64_000_000, budget: int = 2_000_000_000) -> None:
        """Check and copy the points; `budget` bounds, in bytes, what any one matrix may need."""
        self.X = copy(kernel.check(X))
        self.kernel = kernel.fit(self.X)
        self.block_bytes = min(block_bytes, budget)
        self.budget = budget
        self._last: tuple[Matrix, Matrix] | None = None

    def __repr__(self) -> str:
        """The kernel and the number of points."""
        return f"Gram({self.kernel!r}, {self.n} points)"

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.X)

    @cached_property
    def diagonal(self) -> Matrix:
        """The vector of k(x_i, x_i)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return finite(self.kernel.evaluate_diagonal(self.X))

    @cached_property
    def features(self) -> Matrix | None:
        """The kernel's explicit features F of the points, F F' = K, when it has any."""
        return self.kernel.features(self.X)

    @cached_property
    def fused(self) -> Any:
        """The kernel's values computed and used in one pass, by compiled code, where it has such."""
        return self.kernel.fused(self.X)

    @cached_property
    def dense(self) -> Matrix:
        """The matrix K, read-only; refused when it is indefinite, not finite, or larger than the budget."""
        self._afford("K", self.n, "products, rows and low-rank methods do not form it")
        K = self._values(self.X, self.X)
        if not self.kernel.positive_semidefinite:
            check_positive_semidefinite(K)
        K.flags.writeable = False
        return K

    @cached_property
    def factor(self) -> Matrix:
        """A matrix Phi, n x rank, with Phi Phi' = K: the points in coordinates of the span of their features."""
        U, scale = self._decomposition
        return U * scale

    def coefficients(self, w: ArrayLike) -> Matrix:
        """The coefficients c = U S^{-1} w with Phi' c = w, for w of shape (rank,) or (rank, m)."""
        U, scale = self._decomposition
        w = _columns(w, len(scale), "w", "rank of the factor")
        return U @ (w.T / scale).T

    def rows(self, indices: ArrayLike) -> Matrix:
        """The rows of K with these indices, m x n."""
        where = _indices(indices, self.n)
        if "dense" in self.__dict__:
            return np.asarray(self.dense[where])
        return self._values(take(self.X, where), self.X)

    def block(self, rows: slice, columns: slice, out: Matrix | None = None) -> Matrix:
        """The part of K between two ranges of points, in memory of one's own where that is given."""
        if out is None:
            out = np.empty((len(range(self.n)[rows]), len(range(self.n)[columns])))
        if out.size == 0:
            return out
        if "dense" in self.__dict__:
            out[:] = self.dense[rows, columns]
        elif self.fused is not None:
            count = np.arange(self.n)
            self.fused.block(count[columns], out, count[rows])
        else:
            out[:] = self._values(self.X[rows], self.X[columns])
        return out

    def product(self, c: ArrayLike) -> Matrix:
        """K c, for c of shape (n,) or (n, m)."""
        c = _columns(c, self.n, "c", "number of points")
        if "dense" in self.__dict__:
            return np.asarray(self.dense @ c)
        if self.features is None and c.ndim == 1 and self.n * np.count_nonzero(c) > MANY_ENTRIES:
            return self._long_product(c)
        return self._product(self.X, c, self.features)

    def known_product(self, c: Matrix) -> Matrix | None:
        """K c from the long product that was taken last, if c is a multiple of those coefficients, to rounding."""
        last = self._last  # one look: another thread may put its own there
        if last is None:
            return None
        largest = int(np.argmax(np.abs(last[0])))
        if last[0][largest] == 0:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            t = float(c[largest] / last[0][largest])
            same = self.uncancelled(c - t * last[0]) <= DIGITS * self.uncancelled(c)
        return t * last[1] if same else None

    def _long_product(self, c: Matrix) -> Matrix:
        """K c where that takes long; it is kept for whoever asks for the same again."""
        known = self.known_product(c)
        if known is not None:
            return known
        support = np.flatnonzero(c)
        fused = self.fused
        product = self._product(self.X, c, None) if fused is None else fused.product(support, c[support])
        self._last = c.copy(), product
        return product.copy()

    def norm_squared(self, c: Matrix, product: Matrix | None = None) -> float:
        """c' K c, from coordinates where they serve: the sum c' (K c) loses half the digits where it is small."""
        square = self._in_coordinates(c, product)
        return float(np.maximum(0.0, self._summed(c, product))) if square is None else square

    def rounding(self, c: Matrix) -> float:
        """An estimate of the rounding in `norm_squared`: a few last digits of the sum of its absolute terms."""
        # In coordinates the norm itself is a sum of few terms, good to its own last digits.
        digits = DIGITS if self._in_coordinates(c) is None else DIGITS**2
        return digits * float(np.square(self.uncancelled(c)))

    def _in_coordinates(self, c: Matrix, product: Matrix | None = None) -> float | None:
        """||Phi' c||^2; None where there are no coordinates, or where they have lost a part of c' K c.

        A factor of K leaves out its smallest eigenvalues, the products K c do not, and norms have to agree with them:
        where c' (K c) differs by more than its rounding, what was left out counts. Where nearly everything cancels
        the rounding in K itself shows as well.
        """
        if self.features is not None:
            return float(np.sum(self._in_features(c) ** 2))
        if "factor" not in self.__dict__:
            return None
        square = float(np.sum((self.factor.T @ c) ** 2))
        lost, rounding = abs(self._summed(c, product) - square), DIGITS * np.square(self.uncancelled(c))
        return square if lost <= (rounding if square > FEW_DIGITS * rounding else 4 * rounding) else None

    def _summed(self, c: Matrix, product: Matrix | None) -> float:
        return float(np.sum(c * (self.product(c) if product is None else product)))

    def uncancelled(self, c: Matrix) -> float:
        """sum_i |c_i| sqrt(k_ii): the length that sum_i c_i phi(x_i) would have if nothing cancelled."""
        return float(np.sum(np.abs(c).reshape(self.n, -1) * self.lengths[:, None]))

    @cached_property
    def lengths(self) -> Matrix:
        """The lengths sqrt(k_ii) of the points in feature space."""
        return np.sqrt(np.maximum(self.diagonal, 0.0))

    def cross(self, X: Points) -> Matrix:
        """The values k(x, x_j) of new points x, m x n."""
        X = self.kernel.check_new(X, self.X)
        self._afford("K(new, train)", len(X), "cross_product does not form it")
        return self._values(X, self.X)

    def cross_product(self, X: Points, c: ArrayLike) -> Matrix:
        """The values sum_j k(x, x_j) c_j at new points x, for c of shape (n,) or (n, m)."""
        c = _columns(c, self.n, "c", "number of points")
        X = self.kernel.check_new(X, self.X)
        return self._product(X, c, None if self.features is None else self.kernel.features(X))

    def _product(self, X: Points, c: Matrix, F: Matrix | None) -> Matrix:
        with np.errstate(over="ignore", invalid="ignore"):
            if F is None or self.features is None:
                return self._blocked_product(X, c)
            # No value of K exceeds the largest on its diagonal: that one being finite, so are all.
            assert self.diagonal is not None
            return F @ self._in_features(c)

    def _in_features(self, c: Matrix) -> Matrix:
        """F' c, from the rows of F that have a coefficient where these are few."""
        assert self.features is not None
        support = np.flatnonzero(c.any(axis=1) if c.ndim == 2 else c)
        if FEW * len(support) > self.n:
            return np.asarray(self.features.T @ c)
        return np.asarray(self.features[support].T @ c[support])

    def _blocked_product(self, X: Points, c: Matrix) -> Matrix:
        support = np.flatnonzero(c.any(axis=1) if c.ndim == 2 else c)
        out = np.zeros((len(X), *c.shape[1:]))
        if len(support) == 0:
            return out
        Z, c = (self.X, c) if len(support) == self.n else (take(self.X, support), c[support])
        values = self.kernel.against(Z)
        for rows in blocks(len(X), self.block_bytes // (8 * BLOCKS_HELD * len(support))):
            out[rows] = finite(values(X[rows])) @ c
        return out

    def _values(self, X: Points, Z: Points) -> Matrix:
        with np.errstate(over="ignore", invalid="ignore"):
            return finite(self.kernel.evaluate(X, Z))

    def _afford(self, name: str, rows: int, instead: str) -> None:
        needed = 8 * rows * self.n
        if needed > self.budget:
            raise InputError(
                f"{name} for n = {self.n} points needs {needed / 1e9:.3g} GB, "
                f"more than the budget of {self.budget / 1e9:.3g} GB.",
                f"Raise the budget, as in Sample(..., budget={needed}), or do without the matrix: {instead}.",
            )

    @cached_property
    def _decomposition(self) -> tuple[Matrix, Matrix]:
        return _from_matrix(self.dense) if self.features is None else _from_features(self.features)


def _indices(indices: ArrayLike, n: int) -> Indices:
    where = np.atleast_1d(indices)
    if where.ndim != 1 or where.dtype.kind not in "iu" or where.size == 0:
        raise InputError(
            f"Rows are named by integers, not by {where.dtype} values of shape {where.shape}.",
            "Use np.flatnonzero(mask) for a mask.",
        )
    outside = where[(where < 0) | (where >= n)]
    if outside.size:
        raise InputError(f"There is no row {outside[0]} among {n}.", f"Use indices from 0 to {n - 1}.")
    return where.astype(np.intp, copy=False)


def _from_features(F: Matrix) -> tuple[Matrix, Matrix]:
    U, scale, _ = np.linalg.svd(F, full_matrices=False)
    kept = scale > max(F.shape) * np.finfo(np.float64).eps * scale.max()
    return U[:, kept], scale[kept]


def _from_matrix(K: Matrix) -> tuple[Matrix, Matrix]:
    values, vectors = np.linalg.eigh(K)
    kept = values > len(K) * np.finfo(np.float64).eps * values.max()
    return vectors[:, kept], np.sqrt(values[kept])


def _columns(c: ArrayLike, length: int, name: str, meaning: str) -> Matrix:
    array = np.asarray(c, dtype=np.float64)
    if array.ndim not in (1, 2) or len(array) != length:
        raise InputError(
            f"{name} has shape {array.shape}, but the {meaning} is {length}.",
            f"Give {name} the shape ({length},) or ({length}, m).",
        )
    return array
