"""The Lagrangian of a primal on one sample, as a function of the multipliers: its slopes and its minimum.

L(x, m) = objective(x) + sum over constraints of <m, residual(x)> falls apart into

- vectors in feature space, which enter by slopes of their values, squared norm and norm: minimised in closed form;
  one whose squared norm is divided by a variable leaves a slope in that variable;
- variables in which it is affine or quadratic: minimised by linear algebra, unbounded where a slope does not vanish;
- all other variables: handed to a solver (`remainder.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kopt.formulation import Formulation, primal_of
from kopt.gradients import gradients_of
from kopt.program import Program
from kopt.referee.features import FeatureSpace, NeedsCoordinates, Pull
from kopt.referee.remainder import Remainder
from kopt.sample import Sample
from kopt.terms import Term, additive_terms
from kopt.views import ExplicitView, ProductView, View

# A slope vanishes if it is this small beside the terms that make it up; slopes are sums of a few products.
VANISHES = 1e-9
# An entry of a multiplier that is 0 is known to so many digits of the largest entry of that multiplier.
LAST_DIGITS = 1e-13
# Eigenvalues of a Hessian with unit diagonal that count as zero.
SINGULAR = 1e-10


@dataclass(frozen=True)
class Minimum:
    """The minimum of the Lagrangian at given multipliers.

    value     -inf where it is unbounded below, nan where a solver could not say
    size      sum of the absolute values of its parts
    escapes   the primal variable in which it is unbounded, where it is
    """

    value: float
    size: float
    escapes: str | None = None


@dataclass(frozen=True)
class Slopes:
    """The slopes of the Lagrangian at x = 0 in some variables: constant + jacobian @ multipliers."""

    constant: np.ndarray
    jacobian: np.ndarray

    def at(self, m: np.ndarray) -> np.ndarray:
        """The slopes at given multipliers."""
        return self.constant + self.jacobian @ m

    def size(self, m: np.ndarray) -> np.ndarray:
        """The sums of the absolute terms of the slopes."""
        return np.abs(self.constant) + np.abs(self.jacobian) @ np.abs(m)


class Lagrangian:
    """The Lagrangian of a primal program; multipliers come as one vector, in the order of the constraints."""

    def __init__(self, primal: Program, view: View) -> None:
        self.primal = primal
        self.cones = primal.cones
        ends = np.cumsum([0, *(cone.residual.size for cone in self.cones.values())])
        self.slices = {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(self.cones)}
        self.width = int(ends[-1])
        vectors = view.vectors if isinstance(view, ProductView) else []
        leaves = {leaf.id for vector in vectors for leaf in vector.leaves}
        if leaves & _curved_variables(self._components):
            raise NeedsCoordinates("a vector enters through an expression that is not affine in its values and norms")
        divisors = {q.entry[0].id for vector in vectors for q in vector.quotients}
        general = _general_variables(self._components, divisors)
        variables = list(primal.variables.values())
        self.smooth = {v.name(): v for v in variables if v.id not in leaves and v.id not in general}
        self._columns = _stacked([*self.smooth.values(), *(v for v in variables if v.id in leaves)])
        self._assemble()
        self.features = FeatureSpace(vectors, self.slopes_in)
        others = [v for v in variables if v.id in general]
        self.remainder = Remainder(primal, others, self.features.divisors) if others else None

    @property
    def divisors(self) -> set[int]:
        """The columns of the affine variables by which squared norms are divided."""
        entries = self.features.divisors
        return {self._columns[v.id].start + entry for v, entry in entries if v.id in self._columns}

    @property
    def _components(self) -> list[tuple[slice | None, cp.Expression]]:
        """The objective as a minimisation, and the residuals with their place among the multipliers."""
        objective = self.primal.sign * self.primal.objective.expr
        return [(None, objective), *((self.slices[name], cone.residual) for name, cone in self.cones.items())]

    def _assemble(self) -> None:
        width = sum(c.stop - c.start for c in self._columns.values())
        self._offset, self._offsets = 0.0, np.zeros(self.width)
        self._slope, self._jacobian = np.zeros(width), np.zeros((width, self.width))
        self._hessian = np.zeros((width, width))
        self._hessians: dict[int, np.ndarray] = {}
        for place, component in self._components:
            terms = [Term(1.0, component)] if component.is_affine() else additive_terms(component)
            for term in terms:
                if term.expression.is_affine() or all(v.id in self._columns for v in term.expression.variables()):
                    self._add(place, term, component.size)
        for variable in self.smooth.values():
            if variable.attributes["symmetric"]:
                self._symmetrise(self._columns[variable.id], variable.shape[0])

    def _add(self, place: slice | None, term: Term, size: int) -> None:
        value, jacobian = self._at(term.expression, None)
        value, jacobian = (term.coefficient * _repeated(part, size) for part in (value, jacobian))
        if place is None:
            self._offset += float(value[0])
            self._slope += jacobian[:, 0]
        else:
            self._offsets[place] += value
            self._jacobian[:, place] += jacobian
        if term.expression.is_affine():
            return
        for variable in term.expression.variables():
            for j in range(*self._columns[variable.id].indices(len(self._slope))):
                change = term.coefficient * _repeated(self._at(term.expression, j)[1], size) - jacobian
                if place is None:
                    self._hessian[j] += change[:, 0]
                    continue
                for i in range(size):
                    square = self._hessians.setdefault(place.start + i, np.zeros_like(self._hessian))
                    square[j] += change[:, i]

    def _at(self, expression: cp.Expression, unit: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Value and gradient (columns x entries) at 0, or at the unit vector of one column."""
        for variable in expression.variables():
            point = np.zeros(variable.size)
            columns = self._columns.get(variable.id)
            if unit is not None and columns is not None and columns.start <= unit < columns.stop:
                point[unit - columns.start] = 1.0
            variable.save_value(point.reshape(variable.shape, order="F"))
        value = np.asarray(expression.value, dtype=float).ravel(order="F")
        jacobian = np.zeros((len(self._slope), value.size))
        for variable, gradient in gradients_of(expression).items():
            if variable.id in self._columns:
                dense = gradient.toarray() if sp.issparse(gradient) else np.asarray(gradient, dtype=float)
                jacobian[self._columns[variable.id]] = dense.reshape(variable.size, value.size)
        return value, jacobian

    def _symmetrise(self, columns: slice, order: int) -> None:
        """Only the symmetric part of a slope in a symmetric matrix counts."""
        transposed = np.arange(order * order).reshape(order, order).T.ravel()
        for array in (self._slope, self._jacobian):
            array[columns] = (array[columns] + array[columns][transposed]) / 2

    def slopes_in(self, variable: cp.Variable) -> Slopes:
        """The slopes in one variable or leaf; zero for one that does not occur."""
        columns = self._columns.get(variable.id)
        if columns is None:
            return Slopes(np.zeros(variable.size), np.zeros((variable.size, self.width)))
        return Slopes(self._slope[columns], self._jacobian[columns])

    @property
    def smooth_width(self) -> int:
        """The number of entries of the affine and quadratic variables."""
        return sum(variable.size for variable in self.smooth.values())

    @property
    def smooth_slopes(self) -> Slopes:
        """The slopes in the affine and quadratic variables, stacked."""
        return Slopes(self._slope[: self.smooth_width], self._jacobian[: self.smooth_width])

    def hessian(self, m: np.ndarray) -> np.ndarray:
        """The Hessian in the affine and quadratic variables."""
        total = self._hessian + sum((m[i] * H for i, H in self._hessians.items()), np.zeros_like(self._hessian))
        return total[: self.smooth_width, : self.smooth_width]

    @cached_property
    def generic_hessian(self) -> np.ndarray:
        """The Hessian at multipliers of no special position, whose null space is that of almost all."""
        return self.hessian(np.random.default_rng(0).uniform(0.5, 1.5, self.width))

    def name_of(self, column: int) -> tuple[str, int]:
        """The variable to which a column belongs, and the entry in it."""
        for name, variable in self.smooth.items():
            columns = self._columns[variable.id]
            if columns.start <= column < columns.stop:
                return name, column - columns.start
        raise IndexError(column)

    def minimise(self, m: np.ndarray) -> Minimum:
        """The minimum over all primal variables."""
        pulls = self.features.pulls(m)
        parts = [self._constant(m), *self._smooth_minimum(m, pulls), *self.features.minimise(m)]
        if self.remainder is not None:  # it contains the constant
            parts[0] = self.remainder.minimise({name: m[place] for name, place in self.slices.items()}, pulls)
        for value, escapes in parts:
            if value == -np.inf:
                return Minimum(-np.inf, np.inf, escapes)
        values = np.array([value for value, _ in parts])
        constants = abs(self._offset) + float(np.abs(self._offsets) @ np.abs(m))
        return Minimum(float(np.sum(values)), float(np.sum(np.abs(values))) + constants)

    def _largest(self, m: np.ndarray) -> np.ndarray:
        """The largest entry of each multiplier, in the place of all its entries."""
        largest = np.zeros_like(m)
        for place in self.slices.values():
            largest[place] = np.max(np.abs(m[place]), initial=0.0)
        return largest

    def _sizes(self, m: np.ndarray) -> np.ndarray:
        """Of which the part VANISHES counts as 0: the terms of the slopes, and what is not known of the multipliers."""
        unknown = LAST_DIGITS * self.smooth_slopes.size(self._largest(m))
        return np.asarray(self.smooth_slopes.size(m) + unknown / VANISHES)

    def _constant(self, m: np.ndarray) -> tuple[float, str | None]:
        return self._offset + float(self._offsets @ m), None

    def _smooth_minimum(self, m: np.ndarray, pulls: list[Pull]) -> Iterator[tuple[float, str | None]]:
        """min 1/2 x' H x + slope' x, over x_j >= 0 where a vector pulls at x_j."""
        if not self.smooth_width:
            return
        slope, size = self.smooth_slopes.at(m), self._sizes(m)
        for pull in pulls:
            columns = self._columns.get(pull.variable.id)
            if columns is not None:
                column = columns.start + pull.entry
                slope[column] -= pull.strength
                size[column] += pull.strength
                slope[column] = min(slope[column], 0.0)
        H = self.hessian(m)
        values, vectors, unit = spectrum(H)
        along, most = vectors.T @ (slope / unit), np.abs(vectors).T @ (size / unit)
        curved = values > SINGULAR
        escaping = (values < -SINGULAR) | (~curved & (np.abs(along) > VANISHES * most))
        if escaping.any():
            worst = int(np.argmax(np.where(escaping, np.abs(along), -1.0)))
            yield -np.inf, self.name_of(int(np.argmax(np.abs(vectors[:, worst]))))[0]
            return
        yield -0.5 * float(np.sum(along[curved] ** 2 / values[curved])), None


def spectrum(H: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of a Hessian in units in which its diagonal is 1, and these units.

    Coordinates without curvature come as themselves, so that each belongs to one variable.
    """
    diagonal = np.diag(H)
    unit = np.where(diagonal != 0, np.sqrt(np.abs(diagonal)), 1.0)
    scaled = H / unit / unit[:, None]
    values, vectors = np.zeros(len(H)), np.eye(len(H))
    flat = ~np.any(scaled, axis=0)
    curved = np.flatnonzero(~flat)
    if len(curved):
        values[curved], block = np.linalg.eigh(scaled[np.ix_(curved, curved)])
        vectors[np.ix_(curved, curved)] = block
    return values, vectors, unit


def lagrangian_of(formulation: Formulation, sample: Sample) -> Lagrangian:
    """The Lagrangian of a formulation, in coordinates of feature space only where nothing else does."""
    view = ProductView(sample)
    try:
        return Lagrangian(primal_of(formulation, view), view)
    except NeedsCoordinates:
        coordinates = ExplicitView(sample)
        return Lagrangian(primal_of(formulation, coordinates), coordinates)


def _stacked(variables: list[cp.Variable]) -> dict[int, slice]:
    ends = np.cumsum([0, *(v.size for v in variables)])
    return {v.id: slice(int(ends[i]), int(ends[i + 1])) for i, v in enumerate(variables)}


def _repeated(array: np.ndarray, size: int) -> np.ndarray:
    """A term of one entry in a sum of several stands in each of them."""
    return np.repeat(array, size, axis=-1) if array.shape[-1] == 1 and size > 1 else array


Components = list[tuple[slice | None, cp.Expression]]


def _curved_terms(components: Components) -> list[tuple[bool, set[int]]]:
    """For each term that is not affine, whether it is quadratic, and its variables by id."""
    return [
        (_is_quadratic(term.expression), {v.id for v in term.expression.variables()})
        for _, component in components
        if not component.is_affine()
        for term in additive_terms(component)
        if not term.expression.is_affine()
    ]


def _is_quadratic(expression: cp.Expression) -> bool:
    """CVXPY's word, but for the Huber loss, which is quadratic near 0 only."""
    return bool(expression.is_quadratic()) and cp.huber not in expression.atoms()


def _curved_variables(components: Components) -> set[int]:
    return set().union(*(found for _, found in _curved_terms(components)))


def _general_variables(components: Components, divisors: set[int]) -> set[int]:
    """The variables, by id, in terms that are neither affine nor quadratic, and those tied to them by a product.

    So are variables that have a sign, because they divide squared norms, in terms that are quadratic.
    """
    curved = _curved_terms(components)
    general: set[int] = set().union(*(found for quadratic, found in curved if not quadratic or found & divisors))
    while True:
        tied = set().union(*(found for _, found in curved if found & general))
        if tied <= general:
            return general
        general |= tied
