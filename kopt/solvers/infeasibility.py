"""A checked proof that a primal has no feasible point: a ray of its dual."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np

from kopt.errors import Infeasible
from kopt.formulation import Formulation, Pair
from kopt.point import Point
from kopt.polyhedra import feasible_polyhedron, membership, split
from kopt.projection import Polyhedron, project
from kopt.sample import Sample
from kopt.verify.conditions import Conditions
from kopt.views import ExplicitView

# The curvature left along the ray, relative to what it would be without cancellation.
FLAT = 1e-12


def prove_infeasible(formulation: Formulation, sample: Sample) -> None:
    """Raise Infeasible if the dual grows without bound along a ray; return if no such ray is found.

    A ray d satisfies the homogeneous constraints of the dual, has slope q'd = 1, and the curved part of the dual
    objective vanishes along it. It is found by minimising that part, and checked with products by K alone.
    """
    view = ExplicitView(sample)
    dual = Pair(formulation, view, view).dual
    if dual is None:
        return
    variables = dual.variables
    polyhedron = feasible_polyhedron(dual, variables)
    if polyhedron is None:
        return
    cone = _recession(polyhedron)
    if not np.any(np.isinf(cone.box)):
        return  # a bounded feasible set has no rays
    slope, start = _slope_at_zero(dual.objective.expr, list(variables.values()))
    if slope is None:
        return
    d = cp.hstack([cp.vec(variable, order="F") for variable in variables.values()])
    curved = slope @ d - (dual.objective.expr - start)
    problem = cp.Problem(cp.Minimize(curved), [*membership(cone, d), slope @ d == 1])
    if not problem.is_dcp():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-14, tol_gap_rel=1e-12, tol_feas=1e-12)
        except cp.error.SolverError:
            return
    if d.value is not None:
        ray = split(project(d.value, cone).point, variables)
        _check_and_raise(formulation, sample, ray, slope, start)


def _check_and_raise(
    formulation: Formulation, sample: Sample, ray: dict[str, np.ndarray], slope: np.ndarray, start: float
) -> None:
    conditions = Conditions(formulation, sample)
    conditions.bind_dual(ray, {})
    growth = float(slope @ np.concatenate([part.ravel(order="F") for part in ray.values()]))
    objective = conditions.dual_objective
    assert objective is not None
    curved = growth - (float(objective.value[0]) - start)
    whole = 0.0
    for vector in conditions.dual_view.vectors:
        c = np.abs(vector.number.coefficients).reshape(sample.n, -1)
        whole += float(np.sum(c * np.sqrt(vector.gram.diagonal)[:, None])) ** 2
    if growth <= 0 or abs(curved) > FLAT * max(whole, growth):
        return
    words = formulation.explain_infeasible(conditions.dual_view, Point(ray))
    what, remedy = words or (
        f"The primal of {formulation!r} has no feasible point: its dual grows without bound along a ray.",
        "Relax a constraint, for example with slack variables.",
    )
    raise Infeasible(what, remedy, Point(ray))


def _recession(polyhedron: Polyhedron) -> Polyhedron:
    lower, upper = (np.where(np.isfinite(bound), 0.0, bound) for bound in polyhedron.box)
    b, h = np.zeros(np.size(polyhedron.b)), np.zeros(np.size(polyhedron.h))
    return Polyhedron(lower, upper, polyhedron.A, b, polyhedron.G, h)


def _slope_at_zero(expression: cp.Expression, variables: list[cp.Variable]) -> tuple[np.ndarray | None, float]:
    for variable in variables:
        variable.save_value(np.zeros(variable.shape))
    gradients = expression.grad
    parts = []
    for variable in variables:
        gradient = gradients.get(variable)
        if gradient is None:
            return None, 0.0
        parts.append(np.asarray(getattr(gradient, "toarray", lambda g=gradient: g)(), dtype=float).ravel())
    return np.concatenate(parts), float(expression.value)
