"""The claimed dual on one sample: its terms, its feasible set, and the multipliers that it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kopt.cones import Free, NonNegative
from kopt.errors import DeclarationError, NoDual
from kopt.formulation import Formulation, dual_of
from kopt.gradients import affine_parts
from kopt.polyhedra import split
from kopt.program import Program
from kopt.referee.conditions import Condition, Role, condition
from kopt.referee.instances import numbers_of
from kopt.referee.lagrangian import Lagrangian
from kopt.referee.words import Words
from kopt.sample import Sample
from kopt.terms import additive_terms
from kopt.views import ExplicitView, ProductView, View


@dataclass(frozen=True)
class AffineMap:
    """matrix @ z + offset."""

    matrix: np.ndarray
    offset: np.ndarray

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """The value at z."""
        return self.matrix @ z + self.offset


class Claimed:
    """A declared dual; its variables come as one vector z, in their order of appearance.

    curved   the constraints that are not affine, or not in the non-negative orthant, by name
    bent     the multipliers that are not affine in z, by name
    """

    def __init__(self, formulation: Formulation, sample: Sample, lagrangian: Lagrangian) -> None:
        self.lagrangian = lagrangian
        self.view = ProductView(sample)
        self.words = Words(sample, self.view, numbers_of(formulation))
        self.program = _declared(formulation, self.view)
        self.in_coordinates = _declared(formulation, ExplicitView(sample))
        self.variables = {n: v for n, v in self.program.variables.items() if v.id not in self.view.leaves}
        names = self.in_coordinates.variables
        self.explicit = {name: names.get(name, variable) for name, variable in self.variables.items()}
        self._check_variables()
        self.width = sum(v.size for v in self.variables.values())
        self.terms = additive_terms(self.program.objective.expr)
        self.sign = lagrangian.primal.sign
        for gram in sample.grams.values():
            _ = gram.factor  # norms are then computed in coordinates, to their last digits
        self._read_constraints()
        self._read_multipliers()

    def _check_variables(self) -> None:
        """Every dual variable has to be a multiplier, or multipliers have to be given in terms of it."""
        given = {v.name() for e in self.program.multipliers.values() for v in _below(e, self.view)}
        for name in self.variables:
            if name not in self.lagrangian.cones and name not in given:
                constraints = ", ".join(self.lagrangian.cones) or "none"
                raise DeclarationError(
                    f"{self.program.where} the dual variable {name!r} is the multiplier of no primal constraint "
                    f"({constraints}), and no multiplier is given in terms of it.",
                    "Name the constraint after it, or give multipliers= in terms of it; a loss needs a variable "
                    "with its defining constraint, and auxiliary variables of a dual are not judged.",
                )

    def _read_constraints(self) -> None:
        self.conditions: list[Condition] = []
        self.curved: dict[str, Any] = {}
        cones = {**self.in_coordinates.cones, **self.in_coordinates.domain_cones}
        for label, cone in zip(self.labels, cones.values(), strict=True):
            known = all(any(v is w for w in self.explicit.values()) for v in cone.residual.variables())
            if isinstance(cone, Free | NonNegative) and cone.residual.is_affine() and known:
                rows, offset = self._stacked(cone.residual, self.explicit)
                self.conditions.append(condition(label, Role.CLAIMED, isinstance(cone, Free), rows, offset))
            else:
                self.curved[label] = cone

    @property
    def labels(self) -> list[str]:
        """The names of the constraints; those of the domain go by their number, because their texts hold numbers."""
        return [*self.program.cones, *(f"domain[{i}]" for i in range(len(self.program.domain)))]

    def shown(self, label: str) -> str:
        """A constraint by its name, or by its text where it has none."""
        unnamed = dict(zip(self.labels[len(self.program.cones) :], self.program.domain, strict=True))
        return self.words.text(unnamed[label]) if label in unnamed else label

    def _read_multipliers(self) -> None:
        L = self.lagrangian
        matrix, offset = np.zeros((L.width, self.width)), np.zeros(L.width)
        self.bent: list[str] = []
        self.sources = {name: self.source(name) for name in L.cones}
        for name, source in self.sources.items():
            if source.is_affine() and not any(v.id in self.view.leaves for v in source.variables()):
                matrix[L.slices[name]], offset[L.slices[name]] = self._stacked(source, self.variables)
            else:
                self.bent.append(name)
        self.map = AffineMap(matrix, offset)

    def source(self, name: str) -> cp.Expression:
        """The dual variable or the expression that is the multiplier of a primal constraint."""
        given = self.program.multipliers.get(name)
        return self.program.variables[name] if given is None else given

    def eliminated(self, name: str) -> bool:
        """Whether a multiplier is an expression of the dual variables."""
        return name in self.program.multipliers

    def _stacked(self, expression: cp.Expression, variables: dict[str, cp.Variable]) -> tuple[np.ndarray, np.ndarray]:
        """Jacobian in z and value at 0 of an affine expression."""
        jacobian, offset = affine_parts(expression)
        blocks = [jacobian.get(v.id, sp.csr_array((offset.size, v.size))) for v in variables.values()]
        return sp.hstack(blocks).toarray(), offset

    def bind(self, z: np.ndarray) -> None:
        """Set the dual variables."""
        self.view.bind(self.program.variables, split(z, self.variables))

    def values(self, z: np.ndarray) -> np.ndarray:
        """The terms of the claimed bound on the primal as a minimisation, at z."""
        self.bind(z)
        with np.errstate(all="ignore"):
            return np.array([self.sign * t.coefficient * float(t.expression.value) for t in self.terms])

    def multipliers(self, z: np.ndarray) -> np.ndarray:
        """The multipliers that z stands for."""
        m = self.map(z)
        if self.bent:
            self.bind(z)
            for name in self.bent:
                value = np.asarray(self.sources[name].value, dtype=float)
                m[self.lagrangian.slices[name]] = value.ravel(order="F")
        return m

    @property
    def columns(self) -> dict[str, slice]:
        """The place of each dual variable in z."""
        ends = np.cumsum([0, *(v.size for v in self.variables.values())])
        return {name: slice(int(ends[i]), int(ends[i + 1])) for i, name in enumerate(self.variables)}

    def by_name(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """The dual variables."""
        return split(z, self.variables)

    def violation(self, label: str, z: np.ndarray, unit: np.ndarray) -> float:
        """How far z is from satisfying a constraint, relative to its terms."""
        for each in self.conditions:
            if each.about == label:
                size = max(float(np.max(np.abs(z))), float(np.max(unit)))
                return float(np.max(each.violation(z, like=size), initial=0.0))
        for variable, value in zip(self.explicit.values(), self.by_name(z).values(), strict=True):
            variable.save_value(value)
        cone = self.curved[label]
        residual = np.asarray(cone.residual.value, dtype=float)
        parts = [np.asarray(part.value, dtype=float) for part in (cone.residual, *cone.residual.args)]
        return float(cone.violation(residual)) / (
            max(float(np.max(np.abs(part), initial=0.0)) for part in parts) or 1.0
        )


def _below(expression: cp.Expression, view: ProductView) -> list[cp.Variable]:
    """The dual variables in an expression, those in the coefficients of vectors included."""
    found: list[cp.Variable] = []
    for variable in expression.variables():
        vector = view.leaves.get(variable.id)
        coefficients = getattr(vector, "coefficients", None)
        found += [variable] if coefficients is None else coefficients.variables()
    return found


def _declared(formulation: Formulation, view: View) -> Program:
    program = dual_of(formulation, view)
    if program is None:
        raise NoDual(type(formulation).__name__)
    return program
