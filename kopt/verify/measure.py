"""From evaluated programs to the record of all optimality conditions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from kopt.cones import Cone
from kopt.verify.conditions import Conditions, scales_of
from kopt.verify.first_order import FirstOrder
from kopt.verify.record import Record, Residual
from kopt.verify.stationarity import stationarity


def measure(conditions: Conditions) -> Record:
    """Feasibility of both sides, stationarity, complementarity and gap at the point that is bound."""
    primal, scale = conditions.primal, conditions.scale
    notes = [] if conditions.dual is not None else ["No dual is declared: the gap is that of the Lagrangian."]
    return Record(
        primal_value=primal.sign * conditions.primal_value,
        dual_value=primal.sign * conditions.dual_value,
        gap=Residual.of(abs(conditions.gap), scale),
        scale=scale,
        primal_feasibility=_feasibility({**primal.cones, **primal.domain_cones}, conditions.constraints),
        dual_feasibility=_dual_feasibility(conditions),
        stationarity=stationarity(conditions, notes),
        complementarity={
            name: Residual.of(cone.complementarity(conditions.multipliers[name], conditions.residual(name)), scale)
            for name, cone in primal.cones.items()
        },
        notes=tuple(notes),
    )


def _dual_feasibility(conditions: Conditions) -> dict[str, Residual]:
    residuals: dict[str, Residual] = {}
    if conditions.dual is not None:
        cones = {**conditions.dual.cones, **conditions.dual.domain_cones}
        residuals |= _feasibility(cones, conditions.dual_constraints, conditions.dual_sizes)
    for name, cone in conditions.primal.cones.items():
        violation = cone.multiplier_violation(conditions.multipliers[name])
        residuals[f"multiplier {name}"] = Residual.of(violation, conditions.multiplier_scale(name))
    return residuals


def _feasibility(
    cones: Mapping[str, Cone], measured: Mapping[str, FirstOrder], sizes: Mapping[int, float] = MappingProxyType({})
) -> dict[str, Residual]:
    residuals = {}
    for name, cone in cones.items():
        violations = cone.violations(measured[name].value.reshape(cone.residual.shape, order="F")).ravel(order="F")
        scales = scales_of(name, measured, sizes)
        if len(violations) != len(scales):  # a cone is one condition on all its entries
            scales = np.full(len(violations), np.max(scales))
        worst = _worst(violations, scales)
        residuals[name] = Residual.of(violations[worst], scales[worst])
    return residuals


def _worst(violations: np.ndarray, scales: np.ndarray) -> int:
    """The entry with the largest relative violation; one that is not a number comes first."""
    ratio = np.divide(violations, scales, out=np.where(violations > 0, np.inf, 0.0), where=scales > 0)
    return int(np.argmax(np.where(np.isnan(violations + scales), np.inf, ratio)))
