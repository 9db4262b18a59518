"""Stationarity of the Lagrangian, variable by variable; for weight vectors, in feature space."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from kopt.verify.conditions import Conditions
from kopt.verify.first_order import kinked_variables
from kopt.verify.record import MISSING, Residual
from kopt.views.products import NORM_FLOOR, ProductVector, Quotient

# A bound on a norm this small, relative to what it is compared with, is as good as the norm and saves a product.
NEGLIGIBLE = 1e-10


def stationarity(conditions: Conditions, notes: list[str]) -> dict[str, Residual]:
    """The gradient of the Lagrangian in each primal variable, against the contributions to it.

    Variables under an atom that is not differentiable have no gradient to measure: for them it is
    L(x, multipliers) - dual value.
    """
    primal, view = conditions.primal, conditions.primal_view
    expressions = [primal.objective.expr, *(cone.residual for cone in primal.cones.values())]
    kinked = set().union(*(kinked_variables(expression) for expression in expressions))
    residuals: dict[str, Residual] = {}
    for name, variable in conditions.plain_variables.items():
        if variable.id in kinked:
            residuals[name] = _lagrangian_slack(conditions, name, notes)
        else:
            gradient, contributions = _with_quotients(conditions, variable)
            residuals[name] = Residual.of(_largest(gradient), _largest(contributions))
    for name, weight in view.weights.items():
        if any(leaf.id in kinked for leaf in weight.leaves):
            residuals[name] = _lagrangian_slack(conditions, name, notes)
        else:
            residuals[name] = _in_feature_space(conditions, weight)
    return residuals


def _with_quotients(conditions: Conditions, variable: cp.Variable) -> tuple[np.ndarray, np.ndarray]:
    """The gradient in a variable whose entries t divide squared norms, and the contributions to it.

    f ||w||^2 / t adds -f ||w||^2 / t^2. At w = 0 = t it adds any number up to -||Phi' q||^2 / (4 f), q the slope of
    the Lagrangian in the values: the rest of the slope has to be at least as large as that.
    """
    gradient, contributions = conditions.gradient(variable)
    for vector in conditions.primal_view.vectors:
        for quotient in vector.quotients:
            owner, place = quotient.entry
            factor = float(conditions.gradient(quotient.leaf)[0][0])
            if owner is not variable or factor == 0:
                continue
            if _vanishes(conditions, vector, quotient, factor):
                pull = max(_pull(conditions, vector, factor), float(gradient[place]))
            else:
                pull = factor * quotient.slope(vector.number.norm_squared)
            gradient[place] -= pull
            contributions[place] += abs(pull)
    return gradient, contributions


def _vanishes(conditions: Conditions, vector: ProductVector, quotient: Quotient, factor: float) -> bool:
    """Whether w = 0 = t in f ||w||^2 / t, or what both are worth is nothing beside the objective."""
    t = float(quotient.t.value)
    worth = max(t * _pull(conditions, vector, factor), factor * quotient.of(vector.number.norm_squared))
    return t >= 0 and worth <= NEGLIGIBLE * conditions.scale


def _pull(conditions: Conditions, vector: ProductVector, factor: float) -> float:
    """||Phi' q||^2 / (4 f), q the slope of the Lagrangian in the values."""
    slope = conditions.gradient(vector.values)[0].reshape(vector.values.shape, order="F")
    return vector.gram.norm_squared(vector.spread(slope)) / (4 * factor)


def _largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _lagrangian_slack(conditions: Conditions, name: str, notes: list[str]) -> Residual:
    if conditions.dual is None:
        notes.append(
            f"Stationarity in {name} cannot be measured: the Lagrangian is not differentiable in it and no dual is "
            "declared. Introduce the kinked expression as a variable with its defining constraints."
        )
        return MISSING
    slack = conditions.primal_value - conditions.complementarity - conditions.dual_value
    return Residual.of(float(np.maximum(0.0, slack)), conditions.scale)


def _in_feature_space(conditions: Conditions, weight: ProductVector) -> Residual:
    """The gradient in a weight vector is a combination Phi' q of the points; its norm is (q' K q)^(1/2)."""
    q = np.zeros_like(weight.number.coefficients)
    pull = freedom = floor = 0.0
    for vector in conditions.primal_view.vectors:
        for factor, term in vector.terms:
            if term is weight:
                coefficients, length, free = _gradient_in(conditions, vector)
                parts = conditions.gradient(vector.values)[1].reshape(vector.values.shape, order="F")
                floor += abs(factor) * NORM_FLOOR * vector.orthogonal_norm(vector.spread(parts))
                q += factor * coefficients
                pull += abs(factor) * length
                freedom += abs(factor) * free
    bound = weight.gram.uncancelled(q)
    if bound <= NEGLIGIBLE * pull:
        return Residual.of(bound, pull)
    norm = float(np.sqrt(weight.gram.norm_squared(q)))
    return Residual.of(float(np.maximum(0.0, norm - freedom)), max(pull + norm, floor))


def _gradient_in(conditions: Conditions, vector: ProductVector) -> tuple[np.ndarray, float, float]:
    """Coefficients of the gradient in a vector, the length of its norm terms, and their freedom at 0.

    The Lagrangian's slopes in values, squared norm and norm give Phi' (slope of values) + 2 a w + k w / ||w||; at
    w = 0, or where k ||w|| is nothing beside the objective, the last term is any vector of length at most k. The
    gradient of ||w||^2 / t is 2 w / t; at w = 0 = t it is any vector, and the condition is one on t.
    """
    of_values, of_square, of_norm = (conditions.gradient(leaf)[0] for leaf in vector.parts)
    c = vector.number.coefficients
    spread = vector.spread(of_values.reshape(vector.values.shape, order="F"))
    a, k = float(of_square[0]), float(of_norm[0])
    norm = vector.number.norm
    for quotient in vector.quotients:
        factor = float(conditions.gradient(quotient.leaf)[0][0])
        if factor and _vanishes(conditions, vector, quotient, factor):
            return spread, 0.0, np.inf
        a += factor * quotient.of(1.0) if factor else 0.0
    if not np.isfinite(a):  # a vector is divided by 0, and has no gradient
        return np.full_like(c, np.nan), np.inf, 0.0
    if norm == 0 or 0 < k * norm <= NEGLIGIBLE * conditions.scale:
        return spread + 2 * a * c, abs(2 * a) * norm, max(0.0, k)
    return spread + (2 * a + k / norm) * c, abs(2 * a) * norm + abs(k), 0.0
