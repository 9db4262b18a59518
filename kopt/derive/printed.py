"""What a derivation prints, beside the programs that it is about: both at the same random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from cvxpy.constraints.zero import Equality

from kopt.derive.document import Document
from kopt.derive.evaluate import Absent
from kopt.derive.numbers import Numbers
from kopt.gradients import restored
from kopt.program import Program
from kopt.views.products import ProductVector

# The same numbers, added up in another order.
ROUNDING = 1e-8
DRAWS = 3
# Of multipliers of either sign, smaller and smaller, some are where every conjugate is finite.
_ATTEMPTS = 60

Values = Mapping[str, Any]


class Pair(NamedTuple):
    """What is printed and what the program has: a value, or the residuals of a relation with this sign."""

    kind: str
    printed: np.ndarray
    computed: np.ndarray


def printed_dual_agrees(document: Document, program: Program, constants: Values, seed: int = 0) -> bool:
    """Whether the printed dual has the objective and the constraints of a program.

    constants   the numbers that letters stand for, see `constants_of`

    Constraints may differ by a positive factor, equalities by any factor but 0.
    """
    rng = np.random.default_rng(seed)
    with restored(program.variables.values()):
        try:
            numbers = Numbers(document, constants)
            draws = [dual_pairs(numbers, program, draw_multipliers(program, rng)) for _ in range(DRAWS)]
        except (Absent, KeyError):
            return False
    return all(agree(pairs) for pairs in zip(*draws, strict=True))


def printed_primal_agrees(document: Document, constants: Values, seed: int = 0) -> bool:
    """Whether the printed primal has the objective and the constraints of the program, and the Lagrangian its value."""
    rng = np.random.default_rng(seed)
    with restored(document.reading.primal.variables.values()):
        try:
            numbers = Numbers(document, constants)
            draws = [primal_pairs(numbers, *draw_both(document, rng)) for _ in range(DRAWS)]
        except (Absent, KeyError):
            return False
    return all(agree(pairs) for pairs in zip(*draws, strict=True))


def draw_multipliers(program: Program, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random values of the variables of a dual, left in them, at which its objective is finite."""
    values: dict[str, np.ndarray] = {}
    for attempt in range(_ATTEMPTS):
        for name, variable in program.variables.items():
            sign = rng.choice([-1.0, 1.0]) if attempt else 1.0
            values[name] = sign * 0.8**attempt * rng.uniform(0.2, 1.0, variable.shape)
            variable.save_value(values[name])
        bounds = [each for each in program.domain if not isinstance(each, Equality)]
        if all(np.all(bound.violation() <= 0) for bound in bounds) and np.isfinite(program.objective.expr.value):
            return values
    return _feasible(program, rng)


def _feasible(program: Program, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A point between those of the feasible set that are nearest to random ones, left in the variables.

    `Absent` where a solver finds none.
    """
    found = []
    for _ in range(4):
        away = sum(cp.sum_squares(v - rng.normal(size=v.shape)) for v in program.variables.values())
        nearest = cp.Problem(cp.Minimize(away), [*program.constraints.values(), *program.domain])
        try:
            nearest.solve(solver=cp.CLARABEL)
        except cp.error.SolverError:
            raise Absent from None
        if nearest.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            raise Absent
        found.append({name: variable.value for name, variable in program.variables.items()})
    for name, variable in program.variables.items():
        variable.save_value(np.mean([point[name] for point in found], axis=0))
    return {name: variable.value for name, variable in program.variables.items()}


def draw_both(document: Document, rng: np.random.Generator) -> tuple[Values, Values]:
    """Random values of the primal variables, coordinates for weight vectors, and of the multipliers."""
    values = {vector.name: rng.normal(size=vector.gram.factor.shape[1]) for vector in vectors_of(document)}
    values |= {name: rng.normal(size=variable.shape) for name, variable in document.reading.variables.items()}
    multipliers = {name: rng.uniform(0.2, 1.0, m.shape) for name, m in document.raw.multipliers.items()}
    return values, multipliers


def vectors_of(document: Document) -> list[ProductVector]:
    """The weight vectors of the primal."""
    return list({vector.name: vector for vector in document.reading.vectors.values()}.values())


def set_primal(document: Document, values: Values) -> None:
    """Give the variables of the primal values, those of weight vectors by their coordinates."""
    for vector in vectors_of(document):
        w = np.asarray(values[vector.name])
        vector.values.save_value(np.asarray(vector.gram.factor)[vector.seen] @ w)
        vector.norm_squared.save_value(float(w @ w))
        vector.norm.save_value(float(np.linalg.norm(w)))
    for name, variable in document.reading.variables.items():
        variable.save_value(np.asarray(values[name]))


def lagrangian(document: Document, values: Values, multipliers: Values) -> float:
    """The objective of the minimisation plus multipliers times residuals, in the numbers of the program."""
    set_primal(document, values)
    primal = document.reading.primal
    priced = (float(np.sum(multipliers[name] * cone.residual.value)) for name, cone in primal.cones.items())
    return primal.sign * float(primal.objective.expr.value) + sum(priced)


def primal_pairs(numbers: Numbers, values: Values, multipliers: Values) -> list[Pair]:
    """The Lagrangian, the objective and the constraints of the primal, as printed and in the program."""
    document, evaluation = numbers.document, numbers.at({**values, **multipliers})
    primal, value = document.reading.primal, lagrangian(document, values, multipliers)
    pairs = [_value(evaluation.value(document.lagrangian_formula), value)]
    pairs.append(_value(evaluation.value(document.primal_objective), primal.objective.expr.value))
    for name, relation in document.primal_relations.items():
        computed = np.atleast_1d(primal.cones[name].residual.value).ravel()
        pairs.append(Pair(relation.sign, numbers.rows(evaluation, relation, name), computed))
    return pairs


def dual_pairs(numbers: Numbers, program: Program, values: Values) -> list[Pair]:
    """The objective and the constraints of the dual, as printed and in the program."""
    document, evaluation = numbers.document, numbers.at(values)
    pairs = [_value(evaluation.value(document.dual_objective), program.objective.expr.value)]
    unnamed = iter(program.domain_cones.values())
    for line in document.dual_lines:
        cone = program.cones[line.about] if line.named else next(unnamed)
        computed = np.atleast_1d(cone.residual.value).ravel()
        if line.vanishing is not None:
            computed = _image(document, line.vanishing, computed)
        pairs.append(Pair(line.relation.sign, numbers.rows(evaluation, line.relation, line.about), computed))
    return pairs


def _value(printed: Any, computed: Any) -> Pair:
    return Pair("value", np.atleast_1d(printed), np.atleast_1d(computed))


def _image(document: Document, weight: str, computed: np.ndarray) -> np.ndarray:
    """sum_i c_i phi(x_i), for a program that has c = 0 in its place since the points are independent."""
    vector = next(each for each in vectors_of(document) if each.name == weight)
    Phi = np.asarray(vector.gram.factor)[vector.seen]
    return Phi.T @ computed if Phi.shape[0] == Phi.shape[1] else computed


def agree(pairs: Sequence[Pair]) -> bool:
    """Whether what is printed at several points is what was computed, up to the factor that its kind allows."""
    printed, computed = (np.concatenate(side) for side in list(zip(*pairs, strict=True))[1:])
    if printed.shape != computed.shape or not np.isfinite(printed).all() or not np.isfinite(computed).all():
        return False
    size, kind = float(np.linalg.norm(computed)), pairs[0].kind
    if size == 0:
        return not printed.any()
    factor = 1.0 if kind == "value" else float(printed @ computed) / size**2
    close = np.linalg.norm(printed - factor * computed) <= ROUNDING * np.linalg.norm(factor * computed)
    return bool(close) and (factor > 0 or (kind == "=" and factor != 0))


def transplanted(document: Document, other: Document) -> Document:
    """The formulas of a document with the numbers of another one, of the same machine on another sample."""
    moved = copy(other)
    for formulas in ("primal_objective", "primal_relations", "lagrangian_formula", "dual_objective", "dual_lines"):
        setattr(moved, formulas, getattr(document, formulas))
    return moved
