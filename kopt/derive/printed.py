"""What a derivation prints as the dual, beside the program that it derives: both at the same random multipliers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kopt.derive.document import Document
from kopt.derive.evaluate import Absent, Evaluation
from kopt.derive.numbers import Numbers
from kopt.program import Program

# The same numbers, added up in another order.
ROUNDING = 1e-8
DRAWS = 3
# Of multipliers of either sign, smaller and smaller, some are where every conjugate is finite.
_ATTEMPTS = 60


class Pair(NamedTuple):
    """What is printed and what the program has: a value, an equality or an inequality."""

    kind: str
    printed: np.ndarray
    computed: np.ndarray


def printed_dual_agrees(document: Document, program: Program, constants: Mapping[str, Any], seed: int = 0) -> bool:
    """Whether the printed dual has the objective and the constraints of a program.

    constants   the numbers that letters stand for, see `constants_of`

    Constraints may differ by a positive factor, equalities by any factor but 0.
    """
    numbers, rng = Numbers(document, constants), np.random.default_rng(seed)
    try:
        draws = [dual_pairs(numbers, program, draw_multipliers(program, rng)) for _ in range(DRAWS)]
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
        if np.isfinite(program.objective.expr.value):
            break
    return values


def dual_pairs(numbers: Numbers, program: Program, values: Mapping[str, Any]) -> list[Pair]:
    """The objective and the constraints of the dual, as printed and in the program."""
    document, evaluation = numbers.document, numbers.at(values)
    value = np.atleast_1d(evaluation.value(document.dual_objective))
    pairs = [Pair("value", value, np.atleast_1d(program.objective.expr.value))]
    unnamed = iter(program.domain_cones.values())
    for line in document.dual_lines:
        cone = program.cones[line.about] if line.named else next(unnamed)
        printed = numbers.rows(evaluation, line.relation, line.about)
        computed = np.atleast_1d(cone.residual.value).ravel()
        if line.vanishing is not None:
            computed = _image(numbers, evaluation, line.vanishing, computed)
        pairs.append(Pair(line.relation.sign, printed, computed))
    return pairs


def _image(numbers: Numbers, evaluation: Evaluation, weight: str, computed: np.ndarray) -> np.ndarray:
    """sum_i c_i phi(x_i), for a program that has c = 0 in its place since the points are independent."""
    vector = next(each for each in numbers.reading.vectors.values() if each.name == weight)
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
