"""What a declaration sees of a sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import cvxpy as cp
import numpy as np
from cvxpy.constraints.constraint import Constraint

from kopt.combination import Combination
from kopt.errors import DeclarationError
from kopt.gram import FrobeniusProducts, Gram
from kopt.kernels import Kernel
from kopt.locations import calling_place
from kopt.sample import Sample


class FeatureVector(Protocol):
    """A vector in feature space inside a declaration: it enters through these expressions only."""

    @property
    def values(self) -> Any:
        """Its inner products with the points: <w, phi(x_i)>."""

    @property
    def norm_squared(self) -> Any:
        """<w, w>, summed over the outputs."""

    @property
    def norm(self) -> Any:
        """sqrt(<w, w>)."""

    def norm_squared_over(self, t: Any) -> Any:
        """<w, w> / t for an expression t > 0."""


class View(ABC):
    """A sample as `primal(s)` and `dual(s)` see it; subclasses say how feature space is represented.

    n, y, costs, X   as in the sample
    diagonal()       the numbers k(x_i, x_i)
    weight(name)     a free vector in feature space
    combination(c)   the vector sum_i c_i phi(x_i)
    gram()           the matrix K, for programs over matrices

    Of several kernels, for machines that learn a kernel:

    kernels            by name
    matrix(name)       a symmetric matrix between the points, as a variable
    mixture(mu)        the matrix sum_k mu_k K_k
    against(Z)         the inner products <K_k, Z> with a symmetric matrix Z
    stacked_grams      the matrices K_k as columns
    traces, frobenius  the numbers tr K_k and <K_k, K_l>
    centred            the sample with centred kernels and targets
    """

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.n = sample.n
        self.X = sample.X
        self.y: Any = sample.y
        self.uses_costs = False

    @property
    def costs(self) -> np.ndarray:
        """Cost per point."""
        self.uses_costs = True
        return self.sample.costs

    def diagonal(self, kernel: str | None = None) -> np.ndarray:
        """The numbers k(x_i, x_i)."""
        return self.sample.gram(kernel).diagonal

    def gram(self, kernel: str | None = None) -> np.ndarray:
        """The Gram matrix itself."""
        return self.sample.gram(kernel).dense

    @property
    def kernels(self) -> dict[str, Kernel]:
        """The kernels by name."""
        return self.sample.kernels

    @property
    def traces(self) -> np.ndarray:
        """The numbers tr K_k."""
        return np.array([np.sum(gram.diagonal) for gram in self.sample.grams.values()])

    @property
    def frobenius(self) -> FrobeniusProducts:
        """The numbers <K_k, K_l>, and what else follows from one pass over the matrices."""
        return self.sample.frobenius

    @property
    def centred(self) -> Sample:
        """The sample with centred kernels and targets."""
        return self.sample.centred

    @property
    def stacked_grams(self) -> np.ndarray:
        """The matrices K_k as columns."""
        return self.sample.stacked_grams

    def matrix(self, name: str, blocks: int = 1) -> cp.Variable:
        """A symmetric matrix between the points, as a variable; of several times that order where it has blocks."""
        order = blocks * self.sample.n
        return cp.Variable((order, order), name=name, symmetric=True)

    def mixture(self, mu: Any) -> Any:
        """The matrix sum_k mu_k K_k."""
        return _square(self.stacked_grams @ mu, self.n)

    def against(self, Z: Any) -> Any:
        """The inner products <K_k, Z>, one for each kernel."""
        flat = cp.vec(Z, order="F") if isinstance(Z, cp.Expression) else np.ravel(Z)
        return self.stacked_grams.T @ flat

    @abstractmethod
    def weight(
        self, name: str, kernel: str | None = None, rows: Any = None, outputs: int | None = None
    ) -> FeatureVector:
        """A free vector in the feature space of a kernel.

        rows      the points on which it is evaluated (an index array); all where not given
        outputs   number of vectors held together, for machines with several outputs; values then is a matrix
        """

    def combination(self, coefficients: Any, kernel: str | None = None, rows: Any = None) -> Any:
        """The vector sum_i c_i phi(x_i) for coefficients that are numbers or a CVXPY expression.

        With `rows`, the coefficients belong to these points only.
        """
        gram = self.sample.gram(kernel)
        shape, seen = np.shape(coefficients), len(np.arange(self.n)[slice(None) if rows is None else rows])
        if shape[:1] != (seen,):
            raise DeclarationError(
                f"The combination at {calling_place()} has coefficients of shape {shape} for {seen} points.",
                "Give one coefficient per point, or one row of them.",
            )
        if isinstance(coefficients, cp.Expression):
            return self._symbolic_combination(gram, coefficients, rows)
        return self.numeric(gram, coefficients, rows)

    def vanishing(self, coefficients: cp.Expression, kernel: str | None = None, rows: Any = None) -> Constraint:
        """sum_i c_i phi(x_i) = 0, in coordinates; c = 0 where the points are independent in feature space."""
        Phi = self.sample.gram(kernel).factor[slice(None) if rows is None else rows]
        if Phi.shape[1] == len(Phi):
            return coefficients == 0
        return cp.Constant((Phi if Phi.shape[1] else np.zeros((len(Phi), 1))).T, name="Phi'") @ coefficients == 0

    def named(self, letter: str, values: Any) -> Any:
        """A number, or numbers with one for each point, under the letter that a derivation writes for them."""
        return values

    def numeric(self, gram: Gram, coefficients: Any, rows: Any = None) -> Combination:
        """A combination whose coefficients are numbers."""
        values = np.asarray(coefficients, dtype=float)
        spread = values
        if rows is not None:
            spread = np.zeros((self.n, *values.shape[1:]))
            spread[rows] = values
        return Combination(gram, spread, rows, self._product(gram))

    @abstractmethod
    def _symbolic_combination(self, gram: Gram, coefficients: cp.Expression, rows: Any) -> FeatureVector:
        """A combination whose coefficients are an expression."""

    def _product(self, gram: Gram) -> Callable[[np.ndarray], np.ndarray]:
        return gram.product


def _square(stacked: Any, n: int) -> Any:
    return cp.reshape(stacked, (n, n), order="F") if isinstance(stacked, cp.Expression) else stacked.reshape(n, n)
