"""The two programs of a formulation, evaluated at a point with products by K."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType

import cvxpy as cp
import numpy as np

from kopt.formulation import Formulation, Pair
from kopt.locations import FaultsOf
from kopt.sample import Sample
from kopt.terms import additive_terms
from kopt.verify.first_order import FirstOrder, first_order
from kopt.views import EvaluationView
from kopt.views.products import EPS, fitting

# Relative rounding below which a sum of terms is taken as zero.
ROUNDING = 1e-13


class Conditions:
    """The two programs of a formulation, evaluated at a primal point, dual variables and multipliers.

    dual          values of the dual variables, by name
    multipliers   values of multipliers that are given apart, by constraint; others follow from the dual variables
    """

    def __init__(self, formulation: Formulation, sample: Sample) -> None:
        products: dict[tuple[int, bytes], np.ndarray] = {}
        self.primal_view = EvaluationView(sample, products)
        self.dual_view = EvaluationView(sample, products)
        pair = Pair(formulation, self.primal_view, self.dual_view)
        self.primal, self.dual = pair.primal, pair.dual
        with FaultsOf(formulation, "scale"):
            self._stated_scale = formulation.scale(self.primal_view)

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
            name: fitting(name, given.get(name), cone.residual.shape) for name, cone in self.primal.cones.items()
        }

    def bind_primal(self, primal: Mapping[str, object]) -> None:
        """Set the primal variables."""
        self._forget()
        self.primal_view.bind(self.primal.variables, primal)

    def _forget(self) -> None:
        for name, member in vars(type(self)).items():
            if isinstance(member, cached_property):
                self.__dict__.pop(name, None)

    @cached_property
    def objective(self) -> FirstOrder:
        """The primal objective."""
        return first_order(self.primal.objective.expr, self.primal_view)

    @cached_property
    def _terms_of_objective(self) -> list[tuple[float, FirstOrder]]:
        """The terms of the objective by themselves, which may cancel, each with its factor."""
        terms = additive_terms(self.primal.objective.expr)
        return [(abs(term.coefficient), first_order(term.expression, self.primal_view)) for term in terms]

    def _slopes_of_terms(self, variable: int) -> np.ndarray:
        """The sum of the absolute gradients of these terms."""
        sizes = (
            factor * np.abs(term.gradients[variable].toarray().ravel())
            for factor, term in self._terms_of_objective
            if variable in term.gradients
        )
        return np.asarray(sum(sizes))

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

    @cached_property
    def complementarity(self) -> float:
        """-sum <multiplier, residual>: what the gap is made of where the Lagrangian is stationary."""
        return -sum(
            float(self.constraints[name].value @ multiplier.ravel(order="F"))
            for name, multiplier in self.multipliers.items()
        )

    @property
    def dual_value(self) -> float:
        """Objective of the dual, as a lower bound; the Lagrangian where no dual is declared."""
        if self.dual_objective is None:
            return self.primal_value - self.complementarity
        return self.primal.sign * float(self.dual_objective.value[0])

    @property
    def price_of_violations(self) -> float:
        """What the violations of the primal constraints are worth at the multipliers: sum |multiplier * violation|.

        By so much, to first order, an infeasible point can undercut the optimum.
        """
        return sum(cone.price(self.multipliers[name], self.residual(name)) for name, cone in self.primal.cones.items())

    def residual(self, name: str) -> np.ndarray:
        """The residual of a primal constraint, in its own shape."""
        return self.constraints[name].value.reshape(self.primal.cones[name].residual.shape, order="F")

    @cached_property
    def scale(self) -> float:
        """What gap and complementarity are compared with.

        It is the sum of the absolute terms of the primal objective, or what the formulation states. Where they vanish,
        the floor of the norms in the dual objective remains. The dual's own terms do not count: its linear term can be
        of any size while it cancels.
        """
        if self._stated_scale is not None:
            return self._stated_scale
        floor = 0.0 if self.dual_objective is None else self.dual_objective.floor
        size = sum(factor * term.size for factor, term in self._terms_of_objective)
        return max(size, floor if np.isfinite(floor) else 0.0)

    @cached_property
    def rounding(self) -> float:
        """An estimate of the rounding in the gap.

        It comes from the norms and the sums in both objectives, from the values of vectors, and from the last digits
        of the dual's constraints, which cost their multipliers, the primal variables.
        """
        total = ROUNDING * self.scale + self.objective.rounding + self._rounding_of_values
        if self.dual_objective is not None:
            total += self.dual_objective.rounding + 4 * EPS * self.dual_objective.size + self._price_of_dual
        return total

    @property
    def _price_of_dual(self) -> float:
        """What the violations of the dual constraints are worth at the primal variables."""
        assert self.dual is not None
        return sum(
            cone.price(
                np.asarray(self.primal.variables[name].value).reshape(cone.residual.shape, order="F"),
                self.dual_constraints[name].value.reshape(cone.residual.shape, order="F"),
            )
            for name, cone in self.dual.cones.items()
        )

    @property
    def _rounding_of_values(self) -> float:
        """What the last digits of K c are worth at the multipliers."""
        total = 0.0
        for vector in self.primal_view.vectors:
            rounding = vector.rounding_of_values().ravel(order="F")
            for name, multiplier in self.multipliers.items():
                gradient = self.constraints[name].gradients.get(vector.values.id)
                if gradient is not None:
                    total += float(rounding @ (np.abs(gradient) @ np.abs(multiplier.ravel(order="F"))))
        return total

    @cached_property
    def gap(self) -> float:
        """Primal value minus dual value, as a sum of its parts where the Lagrangian's part is rounding alone."""
        direct = self.primal_value - self.dual_value
        parts = self.complementarity
        return parts if abs(direct - parts) <= ROUNDING * self.scale else direct

    def constraint_scale(self, name: str) -> float:
        """What the residual of a primal constraint is compared with."""
        return float(np.max(scales_of(name, self.constraints)))

    def multiplier_scale(self, name: str) -> float:
        """The size of a multiplier: its own, or that of the gradients to which it contributes.

        Where no plain variable meets it, these are the gradients in the values of weight vectors.
        """
        own = float(np.max(np.abs(self.multipliers[name]), initial=0.0))
        others = self._met_by(name, self.plain_variables.values())
        others = others or self._met_by(name, [weight.values for weight in self.primal_view.weights.values()])
        return max(own, min(others, default=0.0))

    def _met_by(self, name: str, variables: Iterable[cp.Variable]) -> list[float]:
        """How large a multiplier would be if it alone made up the gradient in each variable of its constraint."""
        sizes = []
        for variable in variables:
            for weight in self._weights_of(name, variable):
                seen = weight > 0
                if seen.any():
                    sizes.append(float(np.max(self.gradient(variable)[1][seen] / weight[seen])))
        return sizes

    def _weights_of(self, name: str, variable: cp.Variable) -> Iterator[np.ndarray]:
        """The sums of the absolute slopes of a constraint in the entries of a variable: its own, and through images."""
        gradients = self.constraints[name].gradients
        if variable.id in gradients:
            yield np.abs(gradients[variable.id]).sum(axis=1)
        for image in self.primal_view.images:
            if image.leaf.id in gradients and image.has(variable):
                yield image.size_in(variable, np.abs(gradients[image.leaf.id]).sum(axis=1))

    @property
    def dual_sizes(self) -> dict[int, float]:
        """The sizes of the dual variables that are multipliers themselves, by id."""
        variables = {} if self.dual is None else self.dual.variables
        return {v.id: self.multiplier_scale(name) for name, v in variables.items() if name in self.primal.cones}

    def dual_array(self, name: str, value: object) -> np.ndarray:
        """The value of a dual variable as an array of its shape."""
        assert self.dual is not None
        return fitting(name, value, self.dual.variables[name].shape)

    @property
    def primal_names(self) -> list[str]:
        """The primal variables, weight vectors included."""
        return [*self.plain_variables, *self.primal_view.weights]

    @property
    def dual_names(self) -> list[str]:
        """The dual variables."""
        if self.dual is None:
            return []
        leaves = self.dual_view.leaves
        return [name for name, variable in self.dual.variables.items() if variable.id not in leaves]

    @property
    def plain_variables(self) -> dict[str, cp.Variable]:
        """The primal variables that are not part of a weight vector."""
        leaves = self.primal_view.leaves
        return {name: v for name, v in self.primal.variables.items() if v.id not in leaves}

    def gradient(self, variable: cp.Variable) -> tuple[np.ndarray, np.ndarray]:
        """Gradient of the Lagrangian in a variable, and the sum of the absolute contributions to it."""
        gradient = np.zeros(variable.size)
        contributions = np.zeros(variable.size)
        own = self.objective.gradients.get(variable.id)
        if own is not None:
            gradient += self.primal.sign * own.toarray().ravel()
            contributions += self._slopes_of_terms(variable.id)
        for name, multiplier in self.multipliers.items():
            matrix = self.constraints[name].gradients.get(variable.id)
            if matrix is not None:
                gradient += matrix @ multiplier.ravel(order="F")
                contributions += np.abs(matrix) @ np.abs(multiplier.ravel(order="F"))
        for image in self.primal_view.images:
            if image.has(variable):
                slope, size = self.gradient(image.leaf)
                gradient += image.slope_in(variable, slope)
                contributions += image.size_in(variable, size)
        if variable.attributes["symmetric"]:
            square = gradient.reshape(variable.shape)
            gradient = ((square + square.T) / 2).ravel()
        return gradient, contributions


def scales_of(
    name: str, measured: Mapping[str, FirstOrder], sizes: Mapping[int, float] = MappingProxyType({})
) -> np.ndarray:
    """Per entry, the size of a constraint's own terms, or of what its variables meet in the other constraints.

    The second matters for xi >= 0 where a slack vanishes: it is then compared with the margins. A variable that no
    other constraint has is compared with its size, where that is given.
    """
    met = 0.0
    for variable, gradient in measured[name].gradients.items():
        others = [other.typical(variable) for key, other in measured.items() if key != name]
        size = min((value for value in others if np.isfinite(value)), default=sizes.get(variable, 0.0))
        met = float(np.maximum(met, size * np.max(np.abs(gradient).sum(axis=0), initial=0.0)))
    return np.maximum(measured[name].magnitude, met)
