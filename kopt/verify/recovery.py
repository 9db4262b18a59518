"""A primal point from the dual variables: by the formulation's own rule, or by optimality itself."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.combination import Combination
from kopt.formulation import Formulation
from kopt.point import Point
from kopt.verify.conditions import Conditions


def recovered(formulation: Formulation, conditions: Conditions, dual: Mapping[str, Any]) -> dict[str, Any]:
    """The primal point that belongs to dual variables to which the conditions are bound.

    Without a rule of the formulation's own, the weight vectors follow from stationarity and the other variables
    minimise the primal with these weights. From multipliers that are not finite nothing follows.
    """
    if not all(np.isfinite(multiplier).all() for multiplier in conditions.multipliers.values()):
        return {}
    if conditions.dual is not None and all(name in dual for name in conditions.dual_names):
        point = formulation.recover(conditions.dual_view, Point(dual))
        if point is not None:
            return dict(point)
    return _completed(conditions, _stationary_weights(conditions))


def _stationary_weights(conditions: Conditions) -> dict[str, Combination]:
    """w = -(slope of the Lagrangian in the values) / 2 (slope in the squared norm)."""
    view = conditions.primal_view
    conditions.bind_primal(
        {name: np.zeros(variable.shape) for name, variable in conditions.primal.variables.items()}
        | {name: np.zeros(weight.values.shape) for name, weight in view.weights.items()}
    )
    weights = {}
    for name, weight in view.weights.items():
        slopes = [conditions.gradient(leaf)[0] for leaf in weight.leaves]
        with np.errstate(all="ignore"):
            coefficients = -slopes[0].reshape(weight.values.shape, order="F") / (2 * slopes[1][0])
        weights[name] = view.numeric(weight.gram, np.nan_to_num(coefficients, nan=0.0, posinf=0.0), weight.rows)
    return weights


def _completed(conditions: Conditions, weights: dict[str, Combination]) -> dict[str, Any]:
    """The weights, and the other variables at the minimum of the primal with these weights."""
    conditions.primal_view.bind({}, weights)
    primal, leaves = conditions.primal, conditions.primal_view.leaves
    fixed = [v == v.value for v in primal.variables.values() if v.id in leaves]
    others = {name: v for name, v in primal.variables.items() if v.id not in leaves}
    problem = cp.Problem(primal.objective, [*primal.constraints.values(), *primal.domain, *fixed])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what an inexact answer is worth, the certificate says
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    except cp.error.SolverError:
        return {**weights}
    return {**weights, **{name: v.value for name, v in others.items() if v.value is not None}}
