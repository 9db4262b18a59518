"""The numbers that a formula stands for: what is printed is evaluated, apart from the forms that it was printed from.

A letter has a value for each of its indices, which are 1, 2, ... or classes. Sums run over all the indices for which
the letters in them have values; a term with a letter that has none is not there.

>>> from kopt.show.formula import Name, Over, Product
>>> letters = {"y": {(1,): 1.0, (2,): -1.0, (3,): 1.0}, "a": {(1,): 2.0, (2,): 3.0}}
>>> y, a = Name("y", ("i",)), Name("a", ("i",))
>>> Evaluation(letters).value(Over(Product((y, a)), ("i",))), Evaluation(letters).value(Over(a, ("i",), "y_i > 0"))
(-1.0, 2.0)
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from kopt.show.formula import (
    Call,
    Formula,
    Inner,
    Kernel,
    Name,
    Norm,
    Number,
    Over,
    Phi,
    Positive,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    Words,
)

Key: TypeAlias = tuple[float, ...]
# A vector in feature space is an array; everything else is a number.
Value: TypeAlias = Any
Letters: TypeAlias = Mapping[str, Mapping[Key, Value]]
Function: TypeAlias = Callable[[float], float]

_FUNCTIONS: dict[str, Function] = {"abs": abs, "log": math.log, "exp": math.exp}
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_COMPARISON = re.compile(r" (<=|>=|!=|=|<|>) ")


class Absent(Exception):
    """A letter has no value at an index."""


class Evaluation:
    """Values of formulas.

    letters     the values of each letter by its indices, () for a letter without any; phi has the images of the points,
                phi_name those by a kernel with a name
    functions   by the names under which formulas call them, beside abs, log and exp
    """

    def __init__(self, letters: Letters, functions: Mapping[str, Function] | None = None) -> None:
        self.letters = letters
        self.functions = {**_FUNCTIONS, **(functions or {})}

    def value(self, formula: Formula, at: Mapping[str, float] | None = None) -> Value:
        """The value where the free indices are as given; `Absent` where a letter has none there."""
        at = at or {}
        match formula:
            case Number(number):
                return float(number)
            case Name(letter, index):
                return self._entry(letter, tuple(self._small(each, at) for each in index))
            case Product(factors):
                return math.prod(self._values(factors, at)) if factors else 1.0
            case Quotient(above, below):
                return self.value(above, at) / self.value(below, at)
            case Power(base, exponent):
                return self.value(base, at) ** self.value(exponent, at)
            case Sum(terms):
                return self._sum(terms, at)
            case Over(body, index, where):
                return self._over(body, index, where, at)
            case Inner(left, right):
                return float(np.dot(self.value(left, at), self.value(right, at)))
            case Kernel(left, right, kernel):
                return self.value(Inner(Phi(left, kernel), Phi(right, kernel)), at)
            case Phi(index, kernel):
                return self._entry(phi(kernel), (self._small(index, at),))
            case Norm(vector):
                return float(np.linalg.norm(self.value(vector, at)))
            case Call(function, arguments):
                return self.functions[function](*self._values(arguments, at))
            case Positive(part):
                return max(0.0, self.value(part, at))
            case Words(said):
                return float(self._holds(said.strip("[]"), at))
        raise TypeError(f"{type(formula).__name__} has no value.")

    def residual(self, relation: Relation, at: Mapping[str, float] | None = None) -> Value:
        """left - right, and right - left for >=: at most 0, or equal to 0, where the relation holds."""
        difference = self._sum((relation.left, Product((Number(-1), relation.right))), at or {})
        return -difference if relation.sign == ">=" else difference

    def _values(self, formulas: Iterable[Formula], at: Mapping[str, float]) -> list[Value]:
        return [self.value(each, at) for each in formulas]

    def _sum(self, terms: Iterable[Formula], at: Mapping[str, float]) -> Value:
        present = list(self._present((term, at) for term in terms))
        if not present:
            raise Absent
        return sum(present[1:], present[0])

    def _over(self, body: Formula, index: tuple[str, ...], where: str, at: Mapping[str, float]) -> Value:
        ranges = [sorted(set(self._range(letter, body, where, at))) for letter in index]
        if not all(ranges):  # nothing says over what the sum runs
            raise Absent
        places = ({**at, **dict(zip(index, each, strict=True))} for each in product(*ranges))
        return sum(self._present((body, place) for place in places if not where or self._holds(where, place)))

    def _present(self, terms: Iterable[tuple[Formula, Mapping[str, float]]]) -> Iterator[Value]:
        for term, at in terms:
            try:
                yield self.value(term, at)
            except Absent:
                continue

    def _entry(self, letter: str, key: Key) -> Value:
        values = self.letters[letter]
        if key not in values:
            raise Absent
        return values[key]

    def _small(self, said: str, at: Mapping[str, float]) -> float:
        """An index, or a side of a condition: atoms such as j, y_i or 1 with signs between them."""
        total, sign = 0.0, 1.0
        for atom in said.split():
            if atom in ("+", "-"):
                sign = 1.0 if atom == "+" else -1.0
            else:
                total, sign = total + sign * self._atom(atom, at), 1.0
        return total

    def _atom(self, atom: str, at: Mapping[str, float]) -> float:
        if atom.startswith("-"):
            return -self._atom(atom[1:], at)
        letter, _, index = atom.rpartition("_")
        if atom in at or (letter and index in at):
            return at[atom] if atom in at else float(self._entry(letter, (at[index],)))
        return float(Fraction(atom)) if atom[0].isdigit() else float(self._entry(atom, ()))

    def _holds(self, condition: str, at: Mapping[str, float]) -> bool:
        left, sign, right = _COMPARISON.split(condition)
        return _SIGNS[sign](self._small(left, at), self._small(right, at))

    def _range(self, letter: str, formula: Formula, where: str, at: Mapping[str, float]) -> Iterator[float]:
        """Where an index of a sum can lie: where a letter that it is put to has values."""
        yield from self._range_of_condition(letter, where, at)
        match formula:
            case Name(name, index):
                for k, said in enumerate(index):
                    yield from (key[k] for key in self.letters[name] if key and said.split()[0] == letter)
                    yield from self._range_of_condition(letter, said, at)
            case Phi(index, kernel):
                yield from (key[0] for key in self.letters[phi(kernel)] if index == letter)
            case Kernel(left, right, kernel):
                yield from (key[0] for key in self.letters[phi(kernel)] if letter in (left, right))
            case Over(body, index, condition):
                if letter not in index:
                    # The condition of an inner sum ties its own index to this one: y_i = j.
                    for place in sorted(set(self._range(index[0], body, "", at))):
                        yield from self._range_of_condition(letter, condition, {**at, index[0]: place})
                    yield from self._range(letter, body, "", at)
            case Words(said):
                yield from self._range_of_condition(letter, said.strip("[]"), at)
            case _:
                for part in _parts(formula):
                    yield from self._range(letter, part, "", at)

    def _range_of_condition(self, letter: str, condition: str, at: Mapping[str, float]) -> Iterator[float]:
        for name in re.findall(rf"(\w+)_{letter}\b", condition):
            yield from (key[0] for key in self.letters[name])
        if condition.endswith(f" = {letter}") and all(each in at for each in re.findall(r"_([a-z])\b", condition)):
            yield self._small(condition.removesuffix(f" = {letter}"), at)


def phi(kernel: str) -> str:
    """The letter of the images by a kernel."""
    return f"phi_{kernel}" if kernel else "phi"


def _parts(formula: Formula) -> list[Formula]:
    values = [getattr(formula, field.name) for field in fields(formula)]
    parts = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
    return [part for part in parts if isinstance(part, Formula)]
