"""The values of the letters in a document, for evaluating what it prints."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.derive.affine import Form
from kopt.derive.document import Document
from kopt.derive.evaluate import Evaluation, Key, Value, phi
from kopt.derive.monomial import Monomial
from kopt.derive.reading import Reading
from kopt.formulation import Formulation
from kopt.sample import Sample
from kopt.show.formula import Name, Relation


def constants_of(formulation: Formulation, sample: Sample, letters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, the sample's numbers, and the letters that the declaration itself names."""
    targets = {} if sample.y is None else {"y": sample.y}
    return {**_parameters(formulation), **targets, "l": sample.n, **letters}


def _parameters(declared: Any) -> dict[str, float]:
    """The numbers among the fields of a formulation, and of its loss."""
    found: dict[str, float] = {}
    for field in dataclasses.fields(declared):
        value = getattr(declared, field.name)
        if isinstance(value, float | int):
            found[field.name] = float(value)
        elif dataclasses.is_dataclass(value):
            found |= _parameters(value)
    return found


class Numbers:
    """Values of all letters but the variables, which are given with each point.

    constants   numbers, and arrays with one entry for each point, by letter; those without a name in the declaration
                and those with a name in CVXPY are found in the program
    """

    def __init__(self, document: Document, constants: Mapping[str, Any]) -> None:
        self.document, self.reading = document, document.reading
        known = {**_named_constants(self.reading), **constants, **self.reading.names.given}
        self.letters: dict[str, dict[Key, Value]] = {"phi": {}}
        self._weights = {vector.name for vector in self.reading.vectors.values()}
        self.functions: dict[str, Callable[..., Any]] = {}
        for letter, value in known.items():
            self.letters[letter] = self._entries(letter, np.asarray(value, dtype=float))
        # A kernel with a name is written with it only beside another one.
        for vector in self.reading.vectors.values():
            self._add_images(self.reading.kernels.get(vector.name), np.asarray(vector.gram.factor))
        self._add_matrices()
        for name, loss in document.write.losses.items():
            self.functions |= {name: _of_number(loss.value), f"{name}*": _of_number(loss.conjugate)}

    def at(self, values: Mapping[str, Any]) -> Evaluation:
        """Formulas at a point: values of variables and multipliers, coordinates of weight vectors."""
        letters = dict(self.letters)
        for name, value in values.items():
            array = np.asarray(value, dtype=float)
            letters[name] = {(): array if array.ndim else float(array)}
            if self._keys(name) != [()]:
                letters[name] |= dict(zip(self._keys(name), array.tolist(), strict=True))
            elif array.size == 1 and name not in self._weights:
                letters[name] = {(): float(array.ravel()[0])}
        return Evaluation(letters, self.functions)

    def rows(self, evaluation: Evaluation, relation: Relation, about: str) -> np.ndarray:
        """The residuals of a relation, one for each entry of a name."""
        places = ({index: key[0] for index in "ij" if key} for key in self._keys(about))
        return np.concatenate([np.atleast_1d(evaluation.residual(relation, place)) for place in places])

    def _keys(self, name: str) -> list[Key]:
        return self.document.labels.get(name, [()])

    def _entries(self, letter: str, value: np.ndarray) -> dict[Key, Value]:
        if value.ndim == 0:
            return {(): float(value)}
        points = [(float(i),) for i in range(1, len(value) + 1)]
        fitting = (keys for keys in map(self._keys, _users(self.reading, letter)) if len(keys) == len(value))
        return dict(zip(next(fitting, points), value.tolist(), strict=True))

    def _add_images(self, kernel: str | None, Phi: np.ndarray) -> None:
        images: dict[Key, Value] = {(float(i),): image for i, image in enumerate(Phi, 1)}
        self.letters[phi(kernel or "")] = images
        self.letters["phi"] = self.letters["phi"] or images

    def _add_matrices(self) -> None:
        """The matrices of the program, which the parts hold multiplied by what stands in front of them."""
        for row in self.reading.rows:
            parts = [part for affine in (row.affine, *(row.sides or ())) for part in affine.parts]
            for part in (part for part in parts if part.form is Form.MATRIX):
                rows, columns = self._keys(row.multiplier or ""), self._columns(part.variable)
                factors = [self._at_row(part.monomial, row.index, key) for key in rows]
                entries = part.matrix.toarray() / np.array(factors)[:, None]
                self.letters[part.letter] = {
                    (*a, *b): float(entries[r, c]) for r, a in enumerate(rows) for c, b in enumerate(columns)
                }

    def _at_row(self, monomial: Monomial, index: str, key: Key) -> float:
        value = Evaluation(self.letters).value(monomial.formula(), {index: key[0]} if key else {})
        return float(np.asarray(value))

    def _columns(self, variable: cp.Variable) -> list[Key]:
        vector = self.reading.vectors.get(variable.id)
        return self._keys(variable.name()) if vector is None else [(float(i),) for i in vector.seen + 1]


def _named_constants(reading: Reading) -> dict[str, Any]:
    constants = [c for c in reading.primal.problem().constants() if c.ndim < 2]
    return {c.name(): c.value for c in constants if c.name()[:1].isalpha()}


def _users(reading: Reading, letter: str) -> Iterator[str]:
    """The constraints and variables to whose entries those of a letter belong."""
    for row in reading.rows:
        for part in row.affine.parts:
            if _has(part.monomial, letter):
                yield part.variable.name() if part.form is Form.TOTAL else row.multiplier or ""
        if any(_has(constant, letter) for constant in row.affine.constants):
            yield row.multiplier or ""
        for cost in row.costs:
            if any(_has(name, letter) for name in (cost.weight_name, cost.slope_name, cost.shift_name)):
                yield cost.variable.name()


def _has(monomial: Monomial | None, letter: str) -> bool:
    powers = () if monomial is None else monomial.powers
    return any(isinstance(symbol, Name) and symbol.letter == letter for symbol, _ in powers)


def _of_number(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[float], float]:
    return lambda t: float(function(np.array([t]))[0])
