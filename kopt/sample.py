"""Data, labels or targets, costs and kernels: what a formulation is solved on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from kopt.errors import InputError
from kopt.gram import FrobeniusProducts, Gram, check_positive_semidefinite
from kopt.kernels import Kernel, Linear, Precomputed, Weighted


class Sample:
    r"""Points with their labels or targets, a cost per point, and one or several kernels.

    X        the points: a matrix with one row per point, or any sequence that the kernel understands
    y        labels -1/+1 or targets; None where the task needs none
    kernel   a kernel, or a mapping from name to kernel for machines that use several (the first is the default)
    budget   the most bytes that any one matrix may need
    costs    how much an error at each point costs, relative to the formulation's own parameter; 1 where not given

    Nothing is computed before something needs it.

    >>> sample = Sample([[0.0], [1.0], [3.0]], [-1, -1, 1])
    >>> sample
    Sample(n=3, kernel=Linear())
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        kernel: Kernel | Mapping[str, Kernel] | None = None,
        costs: Any = None,
        budget: int = 2_000_000_000,
    ) -> None:
        kernels = _named(kernel if kernel is not None else Linear())
        self.X = X
        for each in kernels.values():
            self.X = each.check(self.X)
        self.n = len(self.X)
        if self.n == 0:
            raise InputError("The sample is empty.", "Give at least one point.")
        self.y: Any = None if y is None else _vector("y", y, self.n)
        self.costs = np.ones(self.n) if costs is None else _checked_costs(_vector("costs", costs, self.n))
        self.budget = budget
        self.grams = {name: Gram(each, self.X, budget=budget) for name, each in kernels.items()}

    @classmethod
    def from_gram(cls, K: Any, y: Any = None, *, costs: Any = None) -> Sample:
        """A sample of which only the Gram matrix is known (or several, as a mapping from name to matrix).

        New points then come as the matrix K(new, train) of their kernel values with the training points: one row for
        each new point, one column for each training point. For a machine that uses several matrices they come as a
        mapping from the same names to such matrices, with the same new points in their rows.

        >>> import kopt
        >>> from formulations.classification import SoftMargin
        >>> from formulations.kernel_learning import SoftMarginKernelLearning
        >>> x, new, y = np.array([[-2.0], [-1.0], [1.0]]), np.array([[-3.0], [2.0]]), [-1, -1, 1]
        >>> kopt.solve(SoftMargin(), Sample.from_gram(x @ x.T, y)).predict(new @ x.T)
        array([-1,  1])
        >>> sample = Sample.from_gram({"linear": x @ x.T, "cubic": x**3 @ x.T**3}, y)
        >>> kopt.solve(SoftMarginKernelLearning(), sample).predict({"linear": new @ x.T, "cubic": new**3 @ x.T**3})
        array([-1,  1])
        """
        matrices = K if isinstance(K, Mapping) else {"K": K}
        words = {name: f"The matrix {name!r}" if isinstance(K, Mapping) else "K" for name in matrices}
        kernels = {
            name: Precomputed(
                check_positive_semidefinite(matrix, words[name]),
                positive_semidefinite=True,
                name=name if isinstance(K, Mapping) else None,
            )
            for name, matrix in matrices.items()
        }
        sizes = {name: len(kernel.K) for name, kernel in kernels.items()}
        n = next(iter(sizes.values()), 0)
        if len(set(sizes.values())) > 1:
            raise InputError(
                f"The Gram matrices have different sizes: {', '.join(f'{k} {v}' for k, v in sizes.items())}.",
                "Give one matrix per kernel, all on the same points.",
            )
        return cls(np.arange(n), y, kernel=kernels, costs=costs)

    def relabelled(self, y: Any, costs: Any = ...) -> Sample:
        """The same points and kernels with other labels; with the same costs where none are given, None for none.

        >>> Sample([[0.0], [1.0]], [1, 2]).relabelled([-1, 1]).y
        array([-1.,  1.])
        """
        costs = self.costs if costs is ... else costs
        return Sample(self.X, y, kernel=self.kernels, costs=costs, budget=self.budget)

    def taking(self, rows: Any) -> Sample:
        """Some of the points, in the order of an index array, under the same kernels.

        >>> Sample([[0.0], [1.0], [4.0]], [-1, 1, 1]).taking([2, 0]).y
        array([ 1., -1.])
        """
        rows = np.asarray(rows)
        X = self.X[rows] if isinstance(self.X, np.ndarray) else [self.X[i] for i in rows]
        y = None if self.y is None else self.y[rows]
        return Sample(X, y, kernel=self.kernels, costs=self.costs[rows], budget=self.budget)

    def under(self, kernels: Kernel | Mapping[str, Kernel]) -> Sample:
        """The same points, labels and costs under other kernels.

        >>> from kopt.kernels import Gaussian
        >>> Sample([[0.0], [1.0]], [-1, 1]).under(Gaussian(sigma=1.0))
        Sample(n=2, kernel=Gaussian(sigma=1.0))
        """
        return Sample(self.X, self.y, kernel=kernels, costs=self.costs, budget=self.budget)

    @property
    def kernels(self) -> dict[str, Kernel]:
        """The kernels by name."""
        return {name: gram.kernel for name, gram in self.grams.items()}

    def gram(self, kernel: str | None = None) -> Gram:
        """The Gram matrix of one kernel, by name; the first one where none is named."""
        if kernel is None:
            return next(iter(self.grams.values()))
        try:
            return self.grams[kernel]
        except KeyError:
            known = ", ".join(self.grams)
            raise InputError(f"The sample has no kernel named {kernel!r}.", f"Known are: {known}.") from None

    def combined(self, mu: Any) -> Weighted:
        """The kernel sum_k mu_k k_k of the kernels of the sample, bound to its points.

        >>> from kopt.kernels import Gaussian
        >>> Sample([[0.0], [1.0]], kernel={"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}).combined([2.0, -0.5])
        2 * Linear() - 0.5 * Gaussian(sigma=1.0)
        """
        return Weighted.of(mu, list(self.kernels.values()))

    @cached_property
    def frobenius(self) -> FrobeniusProducts:
        """The inner products of the Gram matrices, and their products with y; computed once, in one pass."""
        return FrobeniusProducts.of(list(self.grams.values()), self.y)

    @cached_property
    def centred(self) -> Sample:
        """The same points with centred kernels and, where there are targets, these minus their mean.

        >>> Sample([[0.0], [1.0], [5.0]], [1, 1, 4]).centred.y
        array([-1., -1.,  2.])
        """
        y = None if self.y is None else self.y - self.y.mean()
        kernels = {name: gram.kernel.centred() for name, gram in self.grams.items()}
        return Sample(self.X, y, kernel=kernels, costs=self.costs, budget=self.budget)

    @cached_property
    def stacked_grams(self) -> np.ndarray:
        """The Gram matrices as columns, for programs over matrices."""
        needed = 8 * len(self.grams) * self.n**2
        if needed > self.budget:
            raise InputError(
                f"{len(self.grams)} Gram matrices for n = {self.n} points need {needed / 1e9:.3g} GB, more than the "
                f"budget of {self.budget / 1e9:.3g} GB.",
                f"Raise the budget, as in Sample(..., budget={needed}), or take fewer points.",
            )
        return np.column_stack([gram.dense.ravel() for gram in self.grams.values()])

    def __repr__(self) -> str:
        if len(self.grams) == 1:
            return f"Sample(n={self.n}, kernel={self.gram().kernel!r})"
        return f"Sample(n={self.n}, kernels={', '.join(self.grams)})"


def _named(kernel: Kernel | Mapping[str, Kernel]) -> dict[str, Kernel]:
    kernels = dict(kernel) if isinstance(kernel, Mapping) else {"k": kernel}
    for each in kernels.values():
        if not isinstance(each, Kernel):
            raise InputError(
                f"The kernel is {each!r:.60}, of type {type(each).__name__}.",
                "Use a kernel from kopt.kernels, FromFunction(f) for a function of two points, or Sample.from_gram(K).",
            )
    if not kernels:
        raise InputError("The mapping of kernels is empty.", "Name at least one kernel.")
    return kernels


def _vector(name: str, values: Any, n: int) -> np.ndarray:
    array = np.asarray(values)
    if array.shape != (n,):
        raise InputError(f"{name} has shape {array.shape}, but there are {n} points.", f"Give {n} values.")
    try:
        array = array.astype(float)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} holds {array.flat[0]!r}, which is not a number.",
            "Convert it first, for labels for example: y = np.where(y == 'positive', 1, -1).",
        ) from None
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise InputError(
            f"{name} has {len(bad)} values that are not finite, the first at position {bad[0]}.",
            "Remove these points or repair their values.",
        )
    return array


def _checked_costs(costs: np.ndarray) -> np.ndarray:
    bad = np.flatnonzero(costs <= 0)
    if len(bad):
        raise InputError(
            f"The cost of point {bad[0]} is {costs[bad[0]]:g}, but costs must be > 0.",
            "Leave a point out instead of giving it no cost.",
        )
    return costs
