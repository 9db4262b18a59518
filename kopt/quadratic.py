"""The quadratic program that a declared dual is, where it is one: read off the declaration, not declared again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kopt.errors import InputError
from kopt.formulation import Formulation, dual_of
from kopt.gradients import affine_parts, gradients_of
from kopt.gram import Gram
from kopt.polyhedra import feasible_polyhedron, split
from kopt.program import Program
from kopt.projection import Polyhedron
from kopt.sample import Sample
from kopt.terms import additive_terms
from kopt.views import ProductView
from kopt.views.products import ProductCombination

# Without a linear term the optimum is a squared distance, usually far below the squared lengths of the points.
HOMOGENEOUS = 1e-4


@dataclass(frozen=True)
class KernelTerm:
    """factor * (J z)' K (J z)."""

    factor: float
    gram: Gram
    J: sp.csr_array

    def dense(self) -> np.ndarray:
        """The matrix of the term, 2 factor J' K J."""
        K = self.gram.dense
        scale = self.J.diagonal()
        if self.J.shape == K.shape and self.J.nnz == np.count_nonzero(scale):
            return K * (2 * self.factor * scale)[:, None] * scale
        return 2 * self.factor * (self.J.T @ (self.J.T @ K).T)


@dataclass(frozen=True)
class QuadraticProgram:
    """min sum of kernel terms + 1/2 sum_i shift_i z_i^2 + linear' z over a polyhedron, z the stacked dual variables.

    map_of_values   from a value of this program to that of the dual: -W, or -sqrt(W) where the dual has a norm
    """

    variables: Mapping[str, cp.Variable]
    terms: tuple[KernelTerm, ...]
    shift: np.ndarray
    linear: np.ndarray
    feasible: Polyhedron
    map_of_values: Callable[[float], float] = lambda value: -value

    def dense(self) -> tuple[np.ndarray, np.ndarray]:
        """P and q of the objective 1/2 z' P z + q' z, divided by their size: solvers stop at absolute tolerances."""
        P = np.diag(self.shift)
        for term in self.terms:
            P += term.dense()
        size = max(float(np.max(np.abs(self.linear))), float(np.mean(np.diag(P)))) or 1.0
        if not self.linear.any():
            size *= HOMOGENEOUS
        P /= size
        return P, self.linear / size

    def by_name(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """The values of the dual variables."""
        return split(z, self.variables)


def quadratic_program(formulation: Formulation, sample: Sample) -> QuadraticProgram | str:
    """The dual as a quadratic program, or the reason why it is none that is known.

    A dual that maximises nothing but the negative of a norm is taken as the quadratic program of its square, which
    has the same maximisers.
    """
    view = ProductView(sample)
    dual = dual_of(formulation, view)
    if dual is None:
        return "no dual is declared"
    variables = {name: v for name, v in dual.variables.items() if v.id not in view.leaves}
    curved = [term.expression for term in additive_terms(dual.objective.expr) if not term.expression.is_affine()]
    if any(v.id in view.leaves for expression in curved for v in expression.variables()):
        return "a norm enters the dual objective through a curved function"
    try:
        polyhedron = feasible_polyhedron(dual, variables)
    except InputError as error:
        return f"the dual's feasible set is empty ({error.what})"
    if polyhedron is None:
        return "the dual's feasible set is not a box with a few rows"
    sizes = [variable.size for variable in variables.values()]
    rng = np.random.default_rng(0)
    probe = [rng.standard_normal(size) for size in sizes]
    points = [*([np.full(size, level) for size in sizes] for level in (0.0, 1.0)), probe]
    slopes = [_slopes(dual, view, point) for point in points]
    if any(not np.isfinite(slope).all() for at_point in slopes for slope in at_point.values()):
        return "the dual objective is not differentiable everywhere"
    linear, at_ones, at_probe = (_stack(slope, variables) for slope in slopes)
    shift = at_ones - linear
    if not np.allclose(at_probe, linear + shift * np.concatenate(probe), rtol=1e-9, atol=1e-12 * _size(linear)):
        return "the dual objective has terms that are not quadratic in K or in single variables"
    if np.any(shift < -1e-12 * _size(linear)):
        return "the dual objective is not concave"
    terms = _kernel_terms(view, variables, slopes, lone=not np.any(linear) and not np.any(shift))
    if isinstance(terms, str):
        return terms
    return QuadraticProgram(variables, terms, shift, linear, polyhedron, _map_of_values(dual, view, slopes[0], terms))


def _size(values: np.ndarray) -> float:
    return max(1.0, float(np.max(np.abs(values), initial=0.0)))


def _slopes(dual: Program, view: ProductView, point: list[np.ndarray]) -> dict[int, np.ndarray]:
    """Gradient of the dual objective as a minimisation, by id of variable or leaf, the leaves at 1."""
    values = iter(point)
    for variable in dual.variables.values():
        if variable.id in view.leaves:
            variable.save_value(np.ones(variable.shape))
        else:
            variable.save_value(next(values).reshape(variable.shape, order="F"))
    return {
        variable.id: np.full(variable.size, np.nan)
        if gradient is None
        else dual.sign * np.asarray(gradient.toarray() if sp.issparse(gradient) else gradient, dtype=float).ravel()
        for variable, gradient in gradients_of(dual.objective.expr).items()
    }


def _stack(slope: dict[int, np.ndarray], variables: Mapping[str, cp.Variable]) -> np.ndarray:
    return np.concatenate([slope.get(v.id, np.zeros(v.size)) for v in variables.values()])


def _kernel_terms(
    view: ProductView, variables: Mapping[str, cp.Variable], slopes: list[dict[int, np.ndarray]], lone: bool
) -> tuple[KernelTerm, ...] | str:
    terms = []
    for vector in view.vectors:
        if not isinstance(vector, ProductCombination) or vector.values.ndim > 1:
            return "the dual is not written in combinations of the points"
        used = [leaf for leaf in vector.leaves if any(np.any(slope.get(leaf.id, 0.0)) for slope in slopes)]
        if not used:
            continue
        squared = len(used) == 1 and used[0] is vector.norm_squared
        root = len(used) == 1 and used[0] is vector.norm and lone and len(view.vectors) == 1
        if not squared and not root:
            return "a norm enters the dual objective otherwise than by its square"
        factors = {float(slope[used[0].id][0]) for slope in slopes}
        if len(factors) > 1 or min(factors) < 0:
            return "a squared norm does not enter the dual objective with a fixed factor of the right sign"
        if vector.rows is not None:
            return "a combination runs over some rows only"
        J = _stacked_jacobian(vector, variables)
        if J is None:
            return "the coefficients of a combination are not linear in the dual variables"
        terms.append(KernelTerm(factors.pop(), vector.gram, J))
    return tuple(terms)


def _map_of_values(
    dual: Program, view: ProductView, slope: dict[int, np.ndarray], terms: tuple[KernelTerm, ...]
) -> Callable[[float], float]:
    """From a value of the quadratic program to that of the dual: factor ||w|| is sqrt(factor * factor ||w||^2)."""
    for variable in dual.variables.values():
        variable.save_value(np.zeros(variable.shape))
    sign, constant = dual.sign, float(dual.objective.expr.value)
    if any(np.any(slope.get(vector.norm.id, 0.0)) for vector in view.vectors):
        factor = terms[0].factor
        return lambda value: sign * float(np.sqrt(factor * max(value, 0.0))) + constant
    return lambda value: sign * value + constant


def _stacked_jacobian(vector: ProductCombination, variables: Mapping[str, cp.Variable]) -> sp.csr_array | None:
    if not vector.coefficients.is_affine():
        return None
    jacobian, offset = affine_parts(vector.coefficients)
    if np.any(offset) or not set(jacobian) <= {v.id for v in variables.values()}:
        return None
    blocks = [jacobian.get(v.id, sp.csr_array((offset.size, v.size))) for v in variables.values()]
    return sp.csr_array(sp.hstack(blocks, format="csr"))
