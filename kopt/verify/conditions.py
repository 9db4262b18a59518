"""From a primal point and multipliers to the record of all optimality conditions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import cvxpy as cp
import numpy as np

from kopt.cones import Cone
from kopt.formulation import Formulation, Pair
from kopt.sample import Sample
from kopt.verify.first_order import FirstOrder, first_order, kinked_variables
from kopt.verify.record import MISSING, Record, Residual
from kopt.views import ProductView
from kopt.views.products import ProductVector

# Relative rounding below which a sum of terms is taken as zero, and a bound on a norm as good as the norm.
ROUNDING = 1e-13
NEGLIGIBLE = 1e-10


class Conditions:
    """The two programs of a formulation, evaluated at a primal point, dual variables and multipliers.

    dual          values of the dual variables, by name
    multipliers   values of multipliers that are given apart, by constraint; others follow from the dual variables
    """

    def __init__(self, formulation: Formulation, sample: Sample) -> None:
        products: dict[tuple[int, bytes], np.ndarray] = {}
        self.primal_view = ProductView(sample, products)
        self.dual_view = ProductView(sample, products)
        pair = Pair(formulation, self.primal_view, self.dual_view)
        self.primal, self.dual = pair.primal, pair.dual

    def bind_dual(self, dual: Mapping[str, object], multipliers: Mapping[str, object]) -> None:
        """Set the dual variables and the multipliers."""
        self._forget()
        given = {**multipliers}
        if self.dual is not None:
            self.dual_view.bind(self.dual.variables, dual)
            for name in self.primal.cones:
                if name in given:
                    continue
                source = self.dual.multipliers.get(name, self.dual.variables.get(name))
                if source is not None:
                    given[name] = source.value
        self.multipliers = {
            name: np.asarray(given[name], dtype=float).reshape(cone.residual.shape, order="F")
            if name in given
            else np.full(cone.residual.shape, np.nan)
            for name, cone in self.primal.cones.items()
        }

    def bind_primal(self, primal: Mapping[str, object]) -> None:
        """Set the primal variables."""
        self._forget()
        self.primal_view.bind(self.primal.variables, primal)

    def _forget(self) -> None:
        for name in ("objective", "constraints", "dual_objective", "dual_constraints"):
            self.__dict__.pop(name, None)

    @cached_property
    def objective(self) -> FirstOrder:
        """The primal objective."""
        return first_order(self.primal.objective.expr, self.primal_view)

    @cached_property
    def constraints(self) -> dict[str, FirstOrder]:
        """The residuals of the primal constraints, unnamed ones included."""
        cones = {**self.primal.cones, **self.primal.domain_cones}
        return {name: first_order(cone.residual, self.primal_view) for name, cone in cones.items()}

    @cached_property
    def dual_objective(self) -> FirstOrder | None:
        """The dual objective, where a dual is declared."""
        return None if self.dual is None else first_order(self.dual.objective.expr, self.dual_view)

    @cached_property
    def dual_constraints(self) -> dict[str, FirstOrder]:
        """The residuals of the dual constraints, unnamed ones included."""
        if self.dual is None:
            return {}
        cones = {**self.dual.cones, **self.dual.domain_cones}
        return {name: first_order(cone.residual, self.dual_view) for name, cone in cones.items()}

    @property
    def primal_value(self) -> float:
        """Objective of the primal, as a minimisation."""
        return self.primal.sign * float(self.objective.value[0])

    @property
    def complementarity(self) -> float:
        """-sum <multiplier, residual>: what the gap is made of where the Lagrangian is stationary."""
        return -sum(
            float(self.constraints[name].value @ multiplier.ravel(order="F"))
            for name, multiplier in self.multipliers.items()
        )

    @property
    def dual_value(self) -> float:
        """Objective of the dual, as a lower bound; the Lagrangian where the dual variables are not known."""
        if self.dual_objective is None or np.isnan(self.dual_objective.value[0]):
            return self.primal_value - self.complementarity
        return self.primal.sign * float(self.dual_objective.value[0])

    @property
    def price_of_violations(self) -> float:
        """What the violations of the primal constraints are worth at the multipliers: sum |multiplier * violation|.

        By so much, to first order, an infeasible point can undercut the optimum.
        """
        return sum(cone.price(self.multipliers[name], self._residual(name)) for name, cone in self.primal.cones.items())

    def _residual(self, name: str) -> np.ndarray:
        return self.constraints[name].value.reshape(self.primal.cones[name].residual.shape, order="F")

    @property
    def scale(self) -> float:
        """What gap and complementarity are compared with: the absolute terms of the primal objective.

        Where they vanish, the floors of the norms in either objective remain. The dual's own terms do not count: its
        linear term can be of any size while it cancels.
        """
        floor = 0.0 if self.dual_objective is None else self.dual_objective.floor
        return max(self.objective.size, self.objective.floor, floor if np.isfinite(floor) else 0.0)

    @property
    def gap(self) -> float:
        """Primal value minus dual value, as a sum of its parts where the Lagrangian's part is rounding alone."""
        direct = self.primal_value - self.dual_value
        parts = self.complementarity
        return parts if abs(direct - parts) <= ROUNDING * self.scale else direct

    def record(self) -> Record:
        """All conditions, measured."""
        scale = self.scale
        notes = [] if self.dual is not None else ["No dual is declared: the gap is that of the Lagrangian."]
        return Record(
            primal_value=self.primal.sign * self.primal_value,
            dual_value=self.primal.sign * self.dual_value,
            gap=Residual.of(abs(self.gap), scale),
            scale=scale,
            primal_feasibility=_feasibility({**self.primal.cones, **self.primal.domain_cones}, self.constraints),
            dual_feasibility=self._dual_feasibility(),
            stationarity=self._stationarity(notes),
            complementarity={
                name: Residual.of(cone.complementarity(self.multipliers[name], self._residual(name)), scale)
                for name, cone in self.primal.cones.items()
            },
            notes=tuple(notes),
        )

    def _dual_feasibility(self) -> dict[str, Residual]:
        residuals: dict[str, Residual] = {}
        if self.dual is not None:
            residuals |= _feasibility({**self.dual.cones, **self.dual.domain_cones}, self.dual_constraints)
        for name, cone in self.primal.cones.items():
            violation = cone.multiplier_violation(self.multipliers[name])
            residuals[f"multiplier {name}"] = Residual.of(violation, self.multiplier_scale(name))
        return residuals

    def constraint_scale(self, name: str) -> float:
        """What the residual of a primal constraint is compared with."""
        return _scale_of(name, self.constraints)

    def multiplier_scale(self, name: str) -> float:
        """The size of a multiplier: its own, or that of the gradients to which it contributes."""
        own = float(np.max(np.abs(self.multipliers[name]), initial=0.0))
        others = []
        for variable in self._plain_variables.values():
            gradient = self.constraints[name].gradients.get(variable.id)
            if gradient is not None:
                weight = np.abs(gradient).sum(axis=1)
                seen = weight > 0
                if seen.any():
                    others.append(float(np.max(self._gradient(variable)[1][seen] / weight[seen])))
        return max(own, min(others, default=0.0))

    @property
    def primal_names(self) -> list[str]:
        """The primal variables, weight vectors included."""
        return [*self._plain_variables, *self.primal_view.weights]

    @property
    def dual_names(self) -> list[str]:
        """The dual variables."""
        if self.dual is None:
            return []
        leaves = self.dual_view.leaves
        return [name for name, variable in self.dual.variables.items() if variable.id not in leaves]

    @property
    def _plain_variables(self) -> dict[str, cp.Variable]:
        leaves = self.primal_view.leaves
        return {name: v for name, v in self.primal.variables.items() if v.id not in leaves}

    def slope(self, variable: cp.Variable) -> np.ndarray:
        """Gradient of the Lagrangian in a variable."""
        return self._gradient(variable)[0]

    def _gradient(self, variable: cp.Variable) -> tuple[np.ndarray, np.ndarray]:
        """Gradient of the Lagrangian in a variable, and the sum of the absolute contributions to it."""
        gradient = np.zeros(variable.size)
        contributions = np.zeros(variable.size)
        own = self.objective.gradients.get(variable.id)
        if own is not None:
            gradient += self.primal.sign * own.toarray().ravel()
            contributions += np.abs(gradient)
        for name, multiplier in self.multipliers.items():
            matrix = self.constraints[name].gradients.get(variable.id)
            if matrix is not None:
                gradient += matrix @ multiplier.ravel(order="F")
                contributions += np.abs(matrix) @ np.abs(multiplier.ravel(order="F"))
        return gradient, contributions

    def _stationarity(self, notes: list[str]) -> dict[str, Residual]:
        residuals: dict[str, Residual] = {}
        expressions = [self.primal.objective.expr, *(cone.residual for cone in self.primal.cones.values())]
        kinked = set().union(*(kinked_variables(expression) for expression in expressions))
        for name, variable in self._plain_variables.items():
            if variable.id in kinked:
                residuals[name] = self._lagrangian_slack(name, notes)
            else:
                gradient, contributions = self._gradient(variable)
                residuals[name] = Residual.of(_largest(gradient), _largest(contributions))
        for name, weight in self.primal_view.weights.items():
            if any(leaf.id in kinked for leaf in weight.leaves):
                residuals[name] = self._lagrangian_slack(name, notes)
            else:
                residuals[name] = self._weight_stationarity(weight)
        return residuals

    def _lagrangian_slack(self, name: str, notes: list[str]) -> Residual:
        """L(x, multipliers) - dual value, for variables in which the Lagrangian has kinks."""
        if self.dual is None:
            notes.append(
                f"Stationarity in {name} cannot be measured: the Lagrangian is not differentiable in it and no dual "
                "is declared. Introduce the kinked expression as a variable with its defining constraints."
            )
            return MISSING
        lagrangian = self.primal_value - self.complementarity
        return Residual.of(max(0.0, lagrangian - self.dual_value), self.scale)

    def _weight_stationarity(self, weight: ProductVector) -> Residual:
        """Norm in feature space of the gradient in a weight vector, as the combination Phi' q."""
        q = np.zeros_like(weight.number.coefficients)
        pull = slack = 0.0
        for vector in self.primal_view.vectors:
            for factor, term in vector.terms:
                if term is not weight:
                    continue
                coefficients, length, free = self._vector_gradient(vector)
                q += factor * coefficients
                pull += abs(factor) * length
                slack += abs(factor) * free
        diagonal = np.sqrt(np.maximum(weight.gram.diagonal, 0.0))
        bound = float(np.sum(np.abs(q).reshape(len(diagonal), -1) * diagonal[:, None]))
        if bound <= NEGLIGIBLE * pull:
            return Residual.of(bound, pull)
        norm = float(np.sqrt(weight.gram.norm_squared(q)))
        return Residual.of(max(0.0, norm - slack) if np.isfinite(norm) else np.nan, pull + norm)

    def _vector_gradient(self, vector: ProductVector) -> tuple[np.ndarray, float, float]:
        """Coefficients of the gradient in one vector, the length of its norm terms, and their slack at 0.

        The Lagrangian's slopes in values, squared norm and norm give Phi' (slope of values) + 2 a w + k w / |w|;
        at w = 0 the last term is any vector of length at most k.
        """
        slopes = [self._gradient(leaf)[0] for leaf in vector.leaves[:3]]
        c = vector.number.coefficients
        spread = np.zeros_like(c)
        spread[slice(None) if vector.rows is None else vector.rows] = slopes[0].reshape(vector.values.shape, order="F")
        a, k = float(slopes[1][0]), float(slopes[2][0])
        norm = vector.number.norm
        if norm == 0:
            return spread, 0.0, max(0.0, k)
        return spread + (2 * a + k / norm) * c, abs(2 * a) * norm + abs(k), 0.0


def _largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _feasibility(cones: Mapping[str, Cone], measured: Mapping[str, FirstOrder]) -> dict[str, Residual]:
    return {
        name: Residual.of(
            cone.violation(measured[name].value.reshape(cone.residual.shape, order="F")), _scale_of(name, measured)
        )
        for name, cone in cones.items()
    }


def _scale_of(name: str, measured: Mapping[str, FirstOrder]) -> float:
    """The size of a constraint's own terms, or of what its variables meet in the other constraints.

    The second matters for xi >= 0 where all slacks vanish: they are then compared with the margins.
    """
    scale = measured[name].size
    for variable, gradient in measured[name].gradients.items():
        others = [other.typical(variable) for key, other in measured.items() if key != name]
        met = min((value for value in others if np.isfinite(value)), default=0.0)
        scale = float(np.maximum(scale, met * np.max(np.abs(gradient).sum(axis=0), initial=0.0)))
    return scale
