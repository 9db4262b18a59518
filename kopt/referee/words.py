"""Expressions and affine conditions in the words of a paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.index import index, special_index
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.sum import Sum
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.elementwise.power import Power
from cvxpy.constraints.constraint import Constraint
from cvxpy.constraints.nonpos import Inequality
from cvxpy.constraints.zero import Equality

from kopt.referee.terms import Term, additive_terms
from kopt.sample import Sample
from kopt.views import ProductView
from kopt.views.products import ProductCombination

LONGEST = 70


class Words:
    """Names for the numbers and vectors of one sample, and the texts that use them."""

    def __init__(self, sample: Sample, view: ProductView | None = None) -> None:
        self.view = view
        self.vectors: dict[str, np.ndarray] = {}
        if sample.y is not None:
            self.vectors["y"] = np.asarray(sample.y)
        self.vectors["c"] = sample.costs
        self.vectors["1/c"] = 1 / sample.costs
        self.vectors["diag(K)"] = sample.gram().diagonal

    def term(self, term: Term) -> str:
        """A term with its coefficient."""
        return _product(term.coefficient, self.expression(term.expression))

    def expression(self, expression: cp.Expression) -> str:
        """An expression as text; what has no words of its own is shown as CVXPY shows it."""
        text = self._written(expression)
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."

    def constraint(self, constraint: Constraint) -> str:
        """A constraint, with the constant on the right."""
        match constraint:
            case Inequality() | Equality():
                left, right = constraint.args
                relation = "=" if isinstance(constraint, Equality) else "<="
                if left.is_constant():
                    left, right, relation = right, left, {"=": "=", "<=": ">="}[relation]
                text = f"{self._written(left)} {relation} {self._written(right)}"
            case cp.PSD():
                text = f"{self._written(constraint.args[0])} >> 0"
            case _:
                text = str(constraint)
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."

    def _written(self, expression: cp.Expression) -> str:
        args = expression.args
        match expression:
            case cp.Variable():
                return self._leaf(expression)
            case _ if expression.is_constant():
                return self._constant(np.asarray(expression.value))
            case AddExpression():
                parts = [_product(t.coefficient, self._written(t.expression)) for t in additive_terms(expression)]
                return " + ".join(parts).replace("+ -", "- ")
            case NegExpression():
                return f"-{self._enclosed(args[0])}"
            case Promote():
                return self._written(args[0])
            case Sum():
                return f"sum({self._written(args[0])})"
            case MulExpression() if args[0].ndim == args[1].ndim == 1 and expression.ndim == 0:
                return f"sum({self._enclosed(args[0])} * {self._enclosed(args[1])})"
            case MulExpression() | multiply():
                factors = [part for part in map(self._enclosed, args) if part != "1"]
                return " * ".join(factors) or "1"
            case DivExpression():
                return f"{self._enclosed(args[0])} / {self._enclosed(args[1])}"
            case Power():
                return f"{self._enclosed(args[0])}^{float(expression.p.value):g}"
        if isinstance(expression, index | special_index):
            return str(expression)
        return f"{type(expression).__name__}({', '.join(map(self._written, args))})"

    def _enclosed(self, expression: cp.Expression) -> str:
        text = self._written(expression)
        return f"({text})" if isinstance(expression, AddExpression | NegExpression) else text

    def _leaf(self, variable: cp.Variable) -> str:
        vector = self.view.leaves.get(variable.id) if self.view is not None else None
        if vector is None:
            return str(variable.name())
        name = vector.name
        if isinstance(vector, ProductCombination):
            name = f"sum_i ({self._written(vector.coefficients)})_i phi(x_i)"
            for leaf, t in vector.quotients:
                if leaf is variable:
                    return f"||{name}||^2 / ({self._written(t)})"
        if variable is vector.values:
            return f"<{name}, phi(x_i)>"
        return f"||{name}||^2" if variable is vector.norm_squared else f"||{name}||"

    def _constant(self, value: np.ndarray) -> str:
        if value.ndim and value.size and np.all(value == value.flat[0]):
            value = value.flat[0]
        if np.ndim(value) == 0:
            return f"{float(value):.6g}"
        for name, vector in self.vectors.items():
            factor = proportion(value, vector)
            if factor is not None:
                return _product(factor, name)
        return "v" if value.ndim == 1 else "M"

    def affine(self, coefficients: Mapping[str, np.ndarray], constant: float) -> str:
        """sum over the variables of <coefficients, variable> + constant, for one condition."""
        parts = [part for name, row in coefficients.items() for part in self._summed(name, row)]
        if constant or not parts:
            parts.append(f"{constant:.6g}")
        return " + ".join(parts).replace("+ -", "- ")

    def _summed(self, name: str, row: np.ndarray) -> list[str]:
        used = np.flatnonzero(row)
        if not len(used):
            return []
        if len(used) == 1 and row.size > 1:
            return [_product(float(row[used[0]]), f"{name}_{used[0]}")]
        if row.size == 1:
            return [_product(float(row[0]), name)]
        if np.all(row == row[0]):
            return [_product(float(row[0]), f"sum_i {name}_i")]
        for vector, values in self.vectors.items():
            factor = proportion(row, values)
            if factor is not None:
                return [_product(factor, f"sum_i {vector}_i {name}_i".replace("diag(K)_i", "k(x_i, x_i)"))]
        return [f"sum_i v_i {name}_i"]


def proportion(value: np.ndarray, vector: np.ndarray) -> float | None:
    """The factor by which a vector that is not constant has to be multiplied to give a value; None if there is none."""
    if value.shape != vector.shape or np.all(vector == vector.flat[0]):
        return None
    factor = float(np.sum(value * vector) / np.sum(vector * vector))
    close = np.allclose(value, factor * vector, rtol=0, atol=1e-9 * float(np.max(np.abs(value))))
    return factor if close and factor else None


def _product(factor: float, text: Any) -> str:
    if factor == 1:
        return str(text)
    if factor == -1:
        return f"-{text}"
    return f"{factor:.6g} * {text}"
