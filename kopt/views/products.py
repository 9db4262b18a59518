"""Feature space seen through products by K alone, for evaluating programs at given points of any size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.combination import Combination
from kopt.errors import DeclarationError, InputError
from kopt.gradients import affine_parts
from kopt.gram import Gram
from kopt.sample import Sample
from kopt.views.view import View

# What a norm counts for at least, relative to its value for orthogonal points (see `floor`).
NORM_FLOOR = 1e-2
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Quotient:
    """||w||^2 / t as a leaf, for an expression t >= 0; it is 0 where both vanish."""

    leaf: cp.Variable
    t: Any

    def of(self, numerator: float) -> float:
        """A numerator over t; infinite where t is not positive."""
        t = float(self.t.value)
        if t > 0 or np.isnan(t):
            return float(numerator) / t
        return 0.0 if numerator == 0 == t else np.inf

    def slope(self, numerator: float) -> float:
        """Minus the derivative in t; infinite where t is not positive."""
        return self.of(numerator) * self.of(1.0)

    @cached_property
    def entry(self) -> tuple[cp.Variable, int]:
        """The variable of which t is an entry, and its place there."""
        variables = self.t.variables()
        if len(variables) == 1 and self.t.is_affine():
            jacobian, offset = affine_parts(self.t)
            slopes = jacobian[variables[0].id].toarray().ravel()
            if np.count_nonzero(slopes) == 1 and np.max(slopes) == 1 and not offset.any():
                return variables[0], int(np.argmax(slopes))
        raise DeclarationError(
            f"A squared norm is divided by {self.t}, which is not an entry of a variable.",
            "Divide by a variable, and tie it to the expression by a constraint.",
        )


class ProductVector:
    """A vector in feature space as leaves of the expressions that use it: values, norm, squared norm.

    The leaves are CVXPY variables, so that a declaration builds the same expressions as with coordinates; their
    numbers are set from representer coefficients when the view is bound to a point.
    """

    number: Combination

    def __init__(self, view: ProductView, name: str, gram: Gram, rows: Any, outputs: int | None = None) -> None:
        self.view = view
        self.name = name
        self.gram = gram
        self.rows = rows
        m = len(self.seen)
        self.values = cp.Variable(m if outputs is None else (m, outputs), name=f"{name}.values")
        self.norm_squared = cp.Variable(name=f"{name}.norm_squared")
        self.norm = cp.Variable(name=f"{name}.norm")
        self.quotients: list[Quotient] = []
        view.vectors.append(self)

    @property
    def leaves(self) -> tuple[cp.Variable, ...]:
        """The variables that stand for this vector, quotients included."""
        return *self.parts, *(quotient.leaf for quotient in self.quotients)

    @property
    def parts(self) -> tuple[cp.Variable, cp.Variable, cp.Variable]:
        """The variables that stand for its values, its squared norm and its norm."""
        return self.values, self.norm_squared, self.norm

    @property
    def seen(self) -> np.ndarray:
        """The points on which the vector is evaluated."""
        return np.arange(self.gram.n)[slice(None) if self.rows is None else self.rows]

    @property
    def terms(self) -> list[tuple[float, ProductVector]]:
        """The vector as a sum of multiples of free vectors."""
        return [(1.0, self)]

    def norm_squared_over(self, t: Any) -> cp.Expression:
        """<w, w> / t, continued by 0 where both vanish."""
        self.quotients.append(Quotient(cp.Variable(name=f"{self.name}.quotient{len(self.quotients)}"), t))
        return self.quotients[-1].leaf

    def bind(self, values: Mapping[str, Any]) -> None:
        """Set the leaves to what follows from the values of a point."""
        self.number = self._number(values)
        self.values.save_value(self.number.values)
        self.norm_squared.save_value(self.number.norm_squared)
        self.norm.save_value(self.number.norm)
        for quotient in self.quotients:
            quotient.leaf.save_value(quotient.of(self.number.norm_squared))

    def _number(self, values: Mapping[str, Any]) -> Combination:
        value = values.get(self.name)
        if isinstance(value, Combination):
            return Combination(self.gram, value.coefficients, self.rows, lambda _: value.on_sample)
        return self.view.numeric(self.gram, fitting(self.name, value, self.values.shape), self.rows)

    def floor(self, leaf: cp.Variable) -> float:
        """The least that a norm counts for when residuals are compared with the size of an objective.

        A norm that vanishes by cancellation has no size of its own; it then counts for a hundredth of
        (sum_i c_i^2 k_ii)^(1/2), its value if the points were orthogonal.
        """
        norm = NORM_FLOOR * self.orthogonal_norm(self.number.coefficients)
        if leaf is self.values:
            return 0.0
        return norm if leaf is self.norm else self._over(leaf, float(np.square(norm)))

    def rounding(self, leaf: cp.Variable) -> float:
        """An estimate of the rounding in a norm."""
        squared = self.gram.rounding(self.number.coefficients)
        norm = self.number.norm
        if leaf is self.norm:
            return float(np.hypot(norm, np.sqrt(squared)) - norm)
        return 0.0 if leaf is self.values else self._over(leaf, squared + 2 * EPS * self.number.norm_squared)

    def _over(self, leaf: cp.Variable, squared: float) -> float:
        """A part of the squared norm as a part of a leaf: of the squared norm itself, or of a quotient."""
        return next((quotient.of(squared) for quotient in self.quotients if quotient.leaf is leaf), squared)

    def rounding_of_values(self) -> np.ndarray:
        """An estimate of the rounding in each value."""
        lengths = self.gram.lengths[slice(None) if self.rows is None else self.rows]
        rounding = 4 * EPS * self.gram.uncancelled(self.number.coefficients) * lengths
        return np.broadcast_to(rounding.reshape(-1, *[1] * (self.values.ndim - 1)), self.values.shape)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values on the rows of this vector as coefficients on all points."""
        return self.view.numeric(self.gram, values, self.rows).coefficients

    def orthogonal_norm(self, c: np.ndarray) -> float:
        """The length that sum_i c_i phi(x_i) would have if the points were orthogonal."""
        return float(np.sqrt(np.sum(c.reshape(self.gram.n, -1) ** 2 * self.gram.diagonal[:, None])))

    def __add__(self, other: ProductVector) -> ProductSum:
        return ProductSum([*self.terms, *other.terms])

    def __sub__(self, other: ProductVector) -> ProductSum:
        return ProductSum([*self.terms, *((-factor, vector) for factor, vector in other.terms)])

    def __mul__(self, factor: float) -> ProductSum:
        return ProductSum([(factor * each, vector) for each, vector in self.terms])

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> ProductSum:
        return self * (1.0 / divisor)

    def __neg__(self) -> ProductSum:
        return self * -1.0


class ProductSum(ProductVector):
    """A sum of multiples of vectors, with leaves of its own."""

    def __init__(self, terms: list[tuple[float, ProductVector]]) -> None:
        self._terms = terms
        first = terms[0][1]
        for _, vector in terms:
            if vector.gram is not first.gram or not np.array_equal(vector.seen, first.seen):
                raise DeclarationError(
                    f"The vectors {first.name} and {vector.name} have different kernels or rows.",
                    "Add their values instead of the vectors.",
                )
        name = " ".join(f"{factor:+g} {vector.name}" for factor, vector in terms)
        outputs = first.values.shape[1] if first.values.ndim > 1 else None
        super().__init__(first.view, name, first.gram, first.rows, outputs)

    @property
    def terms(self) -> list[tuple[float, ProductVector]]:
        """The vector as a sum of multiples of free vectors."""
        return self._terms

    def _number(self, values: Mapping[str, Any]) -> Combination:
        parts = [factor * vector.number for factor, vector in self._terms]
        return reduce(add, parts)


class ProductCombination(ProductVector):
    """sum_i e_i phi(x_i) for an expression e, bound from the value of e."""

    def __init__(self, view: ProductView, name: str, gram: Gram, coefficients: cp.Expression, rows: Any) -> None:
        super().__init__(view, name, gram, rows, coefficients.shape[1] if coefficients.ndim > 1 else None)
        self.coefficients = coefficients

    def _number(self, values: Mapping[str, Any]) -> Combination:
        return self.view.numeric(self.gram, self.coefficients.value, self.rows)


class ProductView(View):
    """Vectors in feature space are leaves; each vector of coefficients is multiplied by K once.

    products   the products taken so far, shared between the views of one verification
    """

    def __init__(self, sample: Sample, products: dict[tuple[int, bytes], np.ndarray] | None = None) -> None:
        super().__init__(sample)
        self.weights: dict[str, ProductVector] = {}
        self.vectors: list[ProductVector] = []
        self._products = {} if products is None else products

    def weight(
        self, name: str, kernel: str | None = None, rows: Any = None, outputs: int | None = None
    ) -> ProductVector:
        """Leaves for the values and norms of a free vector."""
        if name in self.weights:
            raise DeclarationError(f"The weight vector {name!r} is declared twice.", "Give each a name of its own.")
        self.weights[name] = ProductVector(self, name, self.sample.gram(kernel), rows, outputs)
        return self.weights[name]

    def _symbolic_combination(self, gram: Gram, coefficients: cp.Expression, rows: Any) -> ProductCombination:
        return ProductCombination(self, f"combination{len(self.vectors)}", gram, coefficients, rows)

    def _product(self, gram: Gram) -> Callable[[np.ndarray], np.ndarray]:
        def product(coefficients: np.ndarray) -> np.ndarray:
            key = (id(gram), np.ascontiguousarray(coefficients).tobytes())
            if key not in self._products:
                self._products[key] = gram.product(coefficients)
            return self._products[key]

        return product

    def bind(self, variables: Mapping[str, cp.Variable], values: Mapping[str, Any]) -> None:
        """Give every variable of a program its value, and every leaf the number that follows from it.

        What is missing becomes NaN, which no check mistakes for an answer.
        """
        leaves = self.leaves
        for name, variable in variables.items():
            if variable.id not in leaves:
                variable.save_value(fitting(name, values.get(name), variable.shape))
        for vector in self.vectors:
            vector.bind(values)

    @property
    def leaves(self) -> dict[int, ProductVector]:
        """The vector that each leaf stands for, by the id of the leaf."""
        return {leaf.id: vector for vector in self.vectors for leaf in vector.leaves}


def fitting(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A value of a variable as an array of its shape, NaN where it is missing; refused where it does not fit."""
    if value is None:
        return np.full(shape, np.nan)
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        shown = repr(value)
        raise InputError(
            f"The value of {name} is {shown if len(shown) < 50 else shown[:47] + '...'}, not an array of numbers.",
            f"Give numbers in the shape {shape}.",
        ) from None
    if array.shape != shape and array.size == int(np.prod(shape)) and max(array.ndim, len(shape)) <= 1:
        array = array.reshape(shape)
    if array.shape != shape:
        raise InputError(f"The value of {name} has shape {array.shape}, but {shape} is declared.", "Give that shape.")
    return array
