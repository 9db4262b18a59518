"""A primal point from the dual variables: by the formulation's own rule, or by optimality itself."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.combination import Combination
from kopt.errors import DeclarationError, InputError
from kopt.formulation import Formulation
from kopt.locations import FaultsOf, method_with_place
from kopt.point import Point
from kopt.verify.conditions import Conditions
from kopt.views.products import ProductVector, fitting


def recovered(formulation: Formulation, conditions: Conditions, dual: Mapping[str, Any]) -> dict[str, Any]:
    """The primal point that belongs to dual variables to which the conditions are bound; empty where none is known.

    Without a rule of the formulation's own, the weight vectors follow from stationarity and the other variables
    minimise the primal with these weights; so does a weight vector in which the Lagrangian is affine, about which
    stationarity says nothing. From multipliers that are not finite nothing follows.
    """
    if not all(np.isfinite(multiplier).all() for multiplier in conditions.multipliers.values()):
        return {}
    if conditions.dual is not None and all(name in dual for name in conditions.dual_names):
        point = by_rule(formulation, conditions, dual)
        if point is not None:
            return point
    weights = _stationary_weights(conditions)
    return {} if weights is None else _completed(conditions, weights, _directions(conditions))


def by_rule(formulation: Formulation, conditions: Conditions, dual: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the formulation's own rule gives; None where it has none, nothing where the rule refuses the numbers."""
    try:
        with FaultsOf(formulation, "recover"):
            point = formulation.recover(conditions.dual_view, Point({**conditions.multipliers, **dual}))
    except InputError:  # numbers so large that the rule ends in infinities
        return {}
    if point is None:
        return None
    subject = method_with_place(formulation, "recover")
    if not isinstance(point, Mapping):
        raise DeclarationError(
            f"{subject} returned {type(point).__name__}.", "Return the primal variables by name, as a mapping."
        )
    if set(point) != set(conditions.primal_names):
        raise DeclarationError(
            f"{subject} returned {', '.join(point) or 'nothing'}.",
            f"Return all primal variables and nothing else: {', '.join(conditions.primal_names)}.",
        )
    for name, variable in conditions.plain_variables.items():
        try:
            fitting(name, point[name], variable.shape)
        except InputError as error:
            what = error.what[0].lower() + error.what[1:]
            raise DeclarationError(f"{subject} returned what cannot be used: {what}", error.remedy) from None
    return dict(point)


def _stationary_weights(conditions: Conditions) -> dict[str, Combination] | None:
    """w = -(slope of the Lagrangian in the values) / 2 (slope in the squared norm), where that is its only minimum.

    Weights in which the Lagrangian is affine are left out, and those over a number t, of which it only says that they
    are t times a direction; None where a weight is neither.
    """
    view = conditions.primal_view
    if len(view.vectors) > len(view.weights):  # sums of vectors tie the conditions together
        return None
    conditions.bind_primal(
        {name: np.zeros(variable.shape) for name, variable in conditions.primal.variables.items()}
        | {name: np.zeros(weight.values.shape) for name, weight in view.weights.items()}
    )
    weights = {}
    for name, weight in view.weights.items():
        if weight.quotients:
            continue
        of_values, of_square, of_norm = (conditions.gradient(leaf)[0] for leaf in weight.parts)
        if of_square[0] == of_norm[0] == 0 and weight.rows is None:
            continue
        if not of_square[0] > 0 or of_norm[0] != 0 or not np.isfinite(of_values).all():
            return None
        coefficients = -of_values.reshape(weight.values.shape, order="F") / (2 * of_square[0])
        weights[name] = view.numeric(weight.gram, coefficients, weight.rows)
    return weights


def _directions(conditions: Conditions) -> dict[str, Combination]:
    """d with w = t d, for vectors whose squared norm is divided by t: -(slope in the values) / 2 (that in <w, w> / t).

    They depend on the multipliers alone.
    """
    view = conditions.primal_view
    directions = {}
    for name, weight in view.weights.items():
        factors = [float(conditions.gradient(quotient.leaf)[0][0]) for quotient in weight.quotients]
        if len(factors) == 1 and factors[0] > 0:
            slope = conditions.gradient(weight.values)[0].reshape(weight.values.shape, order="F")
            directions[name] = view.numeric(weight.gram, -slope / (2 * factors[0]), weight.rows)
    return directions


def _completed(
    conditions: Conditions, weights: dict[str, Combination], directions: dict[str, Combination]
) -> dict[str, Any]:
    """The weights, and the other variables at the minimum of the primal with these weights, or these directions."""
    view = conditions.primal_view
    view.bind({}, weights)
    primal, leaves = conditions.primal, view.leaves
    primal.check_convex()
    fixed = [v == v.value for v in primal.variables.values() if v.id in leaves and leaves[v.id].name in weights]
    known = {*weights, *directions}
    free = {name: _coordinates(weight) for name, weight in view.weights.items() if name not in known}
    tied = [constraint for name, z in free.items() for constraint in _tied(view.weights[name], z)]
    tied += [constraint for name, d in directions.items() for constraint in _multiple(view.weights[name], d)]
    tied += [image.leaf == image.plain for image in view.images]
    others = {name: v for name, v in primal.variables.items() if v.id not in leaves}
    problem = cp.Problem(primal.objective, [*primal.constraints.values(), *primal.domain, *fixed, *tied])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what an inexact answer is worth, the certificate says
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    except cp.error.SolverError:
        return {**weights}
    for name, z in free.items():
        if z.value is not None:
            gram = view.weights[name].gram
            weights[name] = view.numeric(gram, gram.coefficients(z.value[: gram.factor.shape[1]]))
    for name, d in directions.items():
        t = view.weights[name].quotients[0].t.value
        if t is not None:
            weights[name] = max(0.0, float(t)) * d
    values = {name: v.value for name, v in others.items() if v.value is not None}
    divisors = {view.weights[name].quotients[0].entry[0].name() for name in directions}
    return {**weights, **{n: np.maximum(v, 0.0) if n in divisors else v for n, v in values.items()}}


def _coordinates(weight: ProductVector) -> cp.Variable:
    """A variable for a weight vector in the basis of the factor Phi, K = Phi Phi'."""
    rank = max(1, weight.gram.factor.shape[1])
    return cp.Variable((rank, *weight.values.shape[1:]))


def _multiple(weight: ProductVector, d: Combination) -> list[cp.Constraint]:
    """What a program sees of w = t d, where it sees <w, w> / t."""
    [quotient] = weight.quotients
    return [weight.values == quotient.t * d.values, quotient.leaf == quotient.t * d.norm_squared, quotient.t >= 0]


def _tied(weight: ProductVector, z: cp.Variable) -> list[cp.Constraint]:
    """What a program sees of a weight vector, as far as it follows from the coordinates."""
    Phi = weight.gram.factor if weight.gram.factor.size else np.zeros((weight.gram.n, 1))
    return [
        weight.values == Phi @ z,
        weight.norm_squared >= cp.sum_squares(z),
        weight.norm >= cp.norm(cp.vec(z, order="F"), 2),
    ]
