"""A kernel with other eigenvalues on its training points."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kopt.errors import InputError
from kopt.kernels.checks import finite
from kopt.kernels.composite import Composite
from kopt.kernels.kernel import Kernel
from kopt.kernels.points import Matrix, Points


@dataclass(frozen=True, eq=False, repr=False)
class Reweighted(Composite):
    """k(x, z) = sum_i mu_i v_i(x) v_i(z), with v_i(x) = sum_j k1(x, x_j) v_ij / lambda_i.

    v_i and lambda_i > 0 are eigenvectors (as columns) and eigenvalues of K1 on the training points x_j, where v_i(x_j)
    is v_ij; mu_i >= 0 are the new eigenvalues. With mu_i = lambda_i it is k1 again on the training points, if no
    eigenvector is left out.

    >>> from kopt.kernels import Linear
    >>> k = Reweighted(Linear(), [[1.0], [2.0]], np.array([[1.0], [2.0]]) / 5**0.5, [5.0], [1.0])
    >>> k([[3.0]], [[1.0]]).round(6)
    array([[0.6]])
    """

    kernel: Kernel
    training: Points
    eigenvectors: Any
    eigenvalues: Any
    weights: Any

    def __post_init__(self) -> None:
        """Refuse what does not fit together, and eigenvalues by which nothing can be divided."""
        V, old, new = (finite(np.asarray(part, dtype=float)) for part in self._numbers)
        object.__setattr__(self, "training", self.kernel.check(self.training))
        if V.ndim != 2 or len(V) != len(self.training) or not old.shape == new.shape == V.shape[1:]:
            raise InputError(
                f"There are eigenvectors of shape {V.shape}, eigenvalues of shape {old.shape} and weights of shape "
                f"{new.shape} for {len(self.training)} training points.",
                "Give eigenvectors as columns, and for each one eigenvalue and one weight.",
            )
        if not (np.all(old > 0) and np.all(new >= 0)):
            raise InputError(
                f"The smallest eigenvalue is {np.min(old):.4g} and the smallest weight {np.min(new):.4g}.",
                "Leave out the eigenvectors of eigenvalues that are not positive, and choose weights >= 0.",
            )
        for name, part in zip(("eigenvectors", "eigenvalues", "weights"), (V, old, new), strict=True):
            object.__setattr__(self, name, part)

    def __repr__(self) -> str:
        """The kernel, and how many of its eigenvalues there are."""
        return f"Reweighted({self.kernel!r}, {np.count_nonzero(self.weights)} eigenvalues)"

    @property
    def _numbers(self) -> tuple[Any, Any, Any]:
        return self.eigenvectors, self.eigenvalues, self.weights

    @property
    def positive_semidefinite(self) -> bool:
        """It has features."""
        return True

    def fit(self, X: Points) -> Kernel:
        """It is bound to its training points for good."""
        return self

    def against(self, Z: Points) -> Callable[[Points], Matrix]:
        """The inner products of the features."""
        F = self.features(Z)
        return lambda X: (F if X is Z else self.features(X)) @ F.T

    def evaluate_diagonal(self, X: Points) -> Matrix:
        """Squared lengths of the features."""
        return np.asarray(np.sum(self.features(X) ** 2, axis=1))

    def features(self, X: Points) -> Matrix:
        """mu_i^(1/2) v_i(x), a column for each weight that is not 0."""
        return np.asarray(self.kernel.evaluate(X, self.training) @ self._coefficients)

    @cached_property
    def _coefficients(self) -> Matrix:
        kept = self.weights > 0
        return np.asarray(self.eigenvectors[:, kept] * (np.sqrt(self.weights[kept]) / self.eigenvalues[kept]))
