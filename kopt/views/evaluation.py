"""Feature space and matrices as leaves, for evaluating programs over matrices without CVXPY taking part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.gradients import affine_parts
from kopt.sample import Sample
from kopt.views.products import EPS, ProductView


@dataclass(frozen=True)
class Image:
    """A linear map of an affine expression, as a leaf.

    plain               the same as a CVXPY expression
    forward, backward   the map and its transpose on stacked entries; `absolute` is that of the absolute values
    """

    leaf: cp.Variable
    argument: cp.Expression
    plain: cp.Expression
    forward: Callable[[np.ndarray], np.ndarray]
    backward: Callable[[np.ndarray], np.ndarray]
    absolute: Callable[[np.ndarray], np.ndarray]

    @property
    def name(self) -> str:
        """That of the leaf."""
        return str(self.leaf.name())

    def bind(self) -> None:
        """Set the leaf to what follows from the value of the argument."""
        stacked = np.asarray(self.argument.value, dtype=float).ravel(order="F")
        self.leaf.save_value(self.forward(stacked).reshape(self.leaf.shape, order="F"))

    @cached_property
    def _slopes(self) -> dict[int, Any]:
        return affine_parts(self.argument)[0]

    def slope_in(self, variable: cp.Variable, slope: np.ndarray) -> np.ndarray:
        """What a slope in the leaf is in a variable of the argument."""
        return np.asarray(self._slopes[variable.id].T @ self.backward(slope))

    def size_in(self, variable: cp.Variable, size: np.ndarray) -> np.ndarray:
        """What the size of the terms of that slope is there."""
        return np.asarray(abs(self._slopes[variable.id]).T @ self.absolute(size))

    def has(self, variable: cp.Variable) -> bool:
        """Whether a variable is in the argument."""
        return any(v is variable for v in self.argument.variables())

    def floor(self, leaf: cp.Variable) -> float:
        """Nothing here vanishes by cancellation of feature vectors."""
        return 0.0

    def rounding(self, leaf: cp.Variable) -> np.ndarray:
        """An estimate of the rounding in each entry."""
        return np.asarray(4 * EPS * np.abs(self.leaf.value).ravel(order="F"))


class EvaluationView(ProductView):
    """As a view by products; matrices sum_k mu_k K_k and numbers <K_k, Z> are leaves as well."""

    def __init__(self, sample: Sample, products: dict[tuple[int, bytes], np.ndarray] | None = None) -> None:
        super().__init__(sample, products)
        self.images: list[Image] = []

    @property
    def leaves(self) -> dict[int, Any]:
        """The vector or the image that each leaf stands for, by the id of the leaf."""
        return {**super().leaves, **{image.leaf.id: image for image in self.images}}

    def mixture(self, mu: Any) -> Any:
        """The matrix sum_k mu_k K_k."""
        if not isinstance(mu, cp.Expression):
            return super().mixture(mu)
        S = self.sample.stacked_grams
        leaf = cp.Variable((self.n, self.n), name=f"mixture{len(self.images)}")
        return self._image(leaf, mu, super().mixture(mu), lambda x: S @ x, lambda g: S.T @ g, lambda g: np.abs(S).T @ g)

    def against(self, Z: Any) -> Any:
        """The inner products <K_k, Z>."""
        if not isinstance(Z, cp.Expression):
            return super().against(Z)
        S = self.sample.stacked_grams
        leaf = cp.Variable(S.shape[1], name=f"against{len(self.images)}")
        return self._image(leaf, Z, super().against(Z), lambda x: S.T @ x, lambda g: S @ g, lambda g: np.abs(S) @ g)

    def _image(
        self,
        leaf: cp.Variable,
        argument: cp.Expression,
        plain: cp.Expression,
        *maps: Callable[[np.ndarray], np.ndarray],
    ) -> Any:
        self.images.append(Image(leaf, argument, plain, *maps))
        return leaf

    def bind(self, variables: Mapping[str, cp.Variable], values: Mapping[str, Any]) -> None:
        """Give every variable of a program its value, and every leaf the number that follows from it."""
        super().bind(variables, values)
        for image in self.images:
            image.bind()
