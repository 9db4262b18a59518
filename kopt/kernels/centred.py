"""The kernel centred in feature space."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kopt.errors import InputError
from kopt.kernels.composite import Composite
from kopt.kernels.kernel import Kernel
from kopt.kernels.points import Matrix, Points, blocks, row_blocks, squared_norms

BLOCK_BYTES = 16_000_000


@dataclass(frozen=True, eq=False)
class Centred(Composite):
    """k(x, z) = <phi(x) - mean, phi(z) - mean>, with the mean of the l training points, KMPA Algorithm 5.3:

    k1(x, z) - (1/l) sum_i k1(x, x_i) - (1/l) sum_i k1(z, x_i) + (1/l^2) sum_ij k1(x_i, x_j).

    `fit` binds the training points; the same mean is then subtracted from new points.

    >>> from kopt.kernels import Linear
    >>> k = Linear().centred().fit([[1.0], [3.0]])
    >>> k([[5.0]], [[1.0]])
    array([[-3.]])
    """

    kernel: Kernel
    training: Points = field(default=None, repr=False)

    def fit(self, X: Points) -> "Centred":
        """The kernel centred at the mean of these points."""
        return Centred(self.kernel.fit(X), self.kernel.check(X))

    def against(self, Z: Points) -> Callable[[Points], Matrix]:
        """K1 minus the means on both sides plus the mean of all; directly from the features where there are any."""
        F = self.features(Z)
        if F is not None:
            return lambda X: (F if X is Z else self._features(X)) @ F.T
        inner, means_Z = self.kernel.against(Z), self.means(Z)

        def values(X: Points) -> Matrix:
            K = inner(X)
            means_X = means_Z if X is Z else self.means(X)
            for rows in row_blocks(K):
                K[rows] -= (means_X[rows, None] + means_Z) - self._grand_mean
            return K

        return values

    def evaluate_diagonal(self, X: Points) -> Matrix:
        """k1(x, x) minus twice the mean at x plus the mean of all."""
        F = self.features(X)
        if F is not None:
            return squared_norms(F)
        return self.kernel.evaluate_diagonal(X) - 2 * self.means(X) + self._grand_mean

    def features(self, X: Points) -> Matrix | None:
        """The features minus their mean over the training points."""
        return None if self._feature_mean is None else self._features(X)

    def means(self, X: Points) -> Matrix:
        """The mean of k1(x, x_i) over the training points, at checked points x, by blocks of rows."""
        return self._training_means if X is self._bound else self._means(X)

    def _features(self, X: Points) -> Matrix:
        F = self.kernel.features(X)
        assert F is not None
        assert self._feature_mean is not None
        return F - self._feature_mean

    def _means(self, X: Points) -> Matrix:
        values = self.kernel.against(self._bound)
        size = BLOCK_BYTES // (8 * len(self._bound))
        return np.concatenate([values(X[rows]).mean(axis=1) for rows in blocks(len(X), size)])

    @property
    def _bound(self) -> Points:
        if self.training is None:
            raise InputError(
                "A centred kernel does not know its mean before it has seen the training points.",
                "Use kernel.fit(X) with the training points X, or Gram(kernel, X), which does so.",
            )
        return self.training

    @cached_property
    def _feature_mean(self) -> Matrix | None:
        F = self.kernel.features(self._bound)
        return None if F is None else F.mean(axis=0)

    @cached_property
    def _training_means(self) -> Matrix:
        return self._means(self._bound)

    @cached_property
    def _grand_mean(self) -> float:
        return float(self._training_means.mean())
