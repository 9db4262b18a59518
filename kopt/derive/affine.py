"""Affine CVXPY expressions taken apart: which entry of which variable stands in which row, and with what factor.

Every part carries its numbers, as a sparse matrix, and how it is written: a_i x_i, a_i x, a_i x_(y_i), sum_i a_i x_i.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.index import index, special_index
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.reshape import reshape
from cvxpy.atoms.affine.sum import Sum
from cvxpy.atoms.affine.transpose import transpose
from cvxpy.atoms.affine.unary_operators import NegExpression

from kopt.derive.cannot import CannotDerive
from kopt.derive.monomial import ONE, Monomial
from kopt.derive.trace import Ledger, total
from kopt.gradients import affine_parts
from kopt.show.formula import Name


class Form(Enum):
    """How a part is written."""

    ENTRY = "a_i x_i"
    TOTAL = "sum_i a_i x_i"
    MATRIX = "sum_j A_ij x_j"


@dataclass(frozen=True)
class Part:
    """matrix @ variable, in one row or in each.

    monomial    the coefficient a_i; for a MATRIX what it is multiplied by
    selection   for an ENTRY or a TOTAL, which entries of the variable the rows or terms see; None for their own
    letter      of the matrix
    """

    variable: cp.Variable
    matrix: sp.csr_array
    monomial: Monomial
    form: Form
    selection: np.ndarray | None = None
    letter: str = ""

    @property
    def alone(self) -> bool:
        """Whether the variable is a single number."""
        return bool(self.variable.ndim == 0)


@dataclass(frozen=True)
class Affine:
    """A sum of parts and constants; `scalar` where it has a single row without an index."""

    rows: int
    scalar: bool
    parts: tuple[Part, ...]
    constants: tuple[Monomial, ...]
    offset: np.ndarray

    def __add__(self, other: Affine) -> Affine:
        return Affine(
            self.rows,
            self.scalar,
            self.parts + other.parts,
            self.constants + other.constants,
            self.offset + other.offset,
        )

    def each(self, change: Callable[[Part], Part], name: Monomial, values: Any) -> Affine:
        """Every part changed, and the constants multiplied by a named number or array."""
        return replace(
            self,
            parts=tuple(map(change, self.parts)),
            constants=tuple(name * constant for constant in self.constants),
            offset=self.offset * values,
        )


class Names:
    """Names for the constants of a program: those of the ledger, those given to CVXPY, and letters for the rest."""

    _LETTERS = "adeghopqstuvz"
    _MATRICES = "AEFHMNPQSUV"

    def __init__(self, ledger: Ledger, taken: set[str]) -> None:
        self.ledger = ledger
        self.taken = set(taken)
        #: What the letters stand for that nobody gave.
        self.given: dict[str, np.ndarray] = {}

    def constant(self, expression: cp.Expression) -> Monomial:
        """What a constant expression is called."""
        value = _dense(expression)
        known = self.ledger.name_of(value)
        if known is not None:
            return known
        args = expression.args
        match expression:
            case AddExpression():
                terms = [self.constant(arg) for arg in args]
                return sum(terms[1:], terms[0])
            case NegExpression():
                return -self.constant(args[0])
            case Promote():
                return self.constant(args[0])
            case multiply() | MulExpression() if all(a.is_scalar() or a.shape == expression.shape for a in args):
                return self.constant(args[0]) * self.constant(args[1])
            case DivExpression():
                return self.constant(args[0]) / self.constant(args[1])
        return self._lettered(expression, value)

    def number(self, value: float) -> Monomial:
        """What a number is called, where it is made of one with a name: a multiple, a fraction, one less than it."""
        for multiple in (1.0, 2.0, 4.0, 0.5, 0.25):
            known = self.ledger.near(multiple * value)
            if known is not None:
                return known / Monomial.constant(multiple)
            known = self.ledger.near(multiple / value) if value else None
            if known is not None:
                return Monomial.constant(multiple) / known
        above = self.ledger.near(1.0 + value)
        return Monomial.constant(value) if above is None else above - ONE

    def matrix(self, expression: cp.Expression) -> str:
        """The letter of a matrix."""
        value = _dense(expression)
        known = self.ledger.name_of(value)
        if known is not None and len(known.powers) == 1 and isinstance(known.powers[0][0], Name):
            return known.powers[0][0].letter
        return _given_name(expression) or self._fresh(self._MATRICES, value)

    def anonymous(self, matrix: sp.csr_array) -> str:
        """A letter for a matrix that stands nowhere in the declaration."""
        return self._fresh(self._MATRICES, matrix.toarray())

    def letter(self, value: float) -> Monomial:
        """A letter for a number that is made of the sample's; two such numbers may be equal by chance."""
        return Monomial.of(Name(self._fresh(self._LETTERS, np.asarray(value), anew=True)))

    def _lettered(self, expression: cp.Expression, value: np.ndarray) -> Monomial:
        letter = _given_name(expression) or self._fresh(self._LETTERS, value)
        monomial = Monomial.of(Name(letter, ("i",) if value.ndim else ()))
        self.ledger.note(value, monomial)
        return monomial

    def _fresh(self, letters: str, value: np.ndarray, anew: bool = False) -> str:
        for letter, before in self.given.items() if not anew else ():
            if np.array_equal(before, value):
                return letter
        letter = next((each for each in letters if each not in self.taken), f"{letters[0]}{len(self.given) + 1}")
        self.taken.add(letter)
        self.given[letter] = value
        return letter


class Unreadable(Exception):
    """An affine expression in which no pattern is known; its numbers are."""


class Reader:
    """Reads affine expressions of vectors and scalars."""

    def __init__(self, names: Names, points: int | None = None) -> None:
        self.names = names
        self.points = points

    def read(self, expression: cp.Expression) -> Affine:
        """The parts of an affine expression."""
        try:
            found = self._read(expression)
        except Unreadable:
            found = self._by_numbers(expression)
        return replace(found, parts=tuple(part for part in found.parts if part.matrix.count_nonzero()))

    def _read(self, expression: cp.Expression) -> Affine:
        if expression.ndim > 1:
            raise Unreadable
        args = expression.args
        if expression.is_constant():
            value = _dense(expression)
            named = (self.names.constant(expression),) if value.any() else ()
            return Affine(value.size, not value.ndim, (), named, value.ravel())
        match expression:
            case cp.Variable():
                part = Part(expression, _identity(expression.size), ONE, Form.ENTRY)
                return Affine(expression.size, expression.ndim == 0, (part,), (), np.zeros(expression.size))
            case AddExpression():
                parts = [self._promoted(self._read(arg), expression) for arg in args]
                return sum(parts[1:], parts[0])
            case NegExpression():
                return _scaled(self._read(args[0]), Monomial.constant(-1.0), -1.0)
            case Promote():
                return self._promoted(self._read(args[0]), expression)
            case Sum() if expression.ndim == 0:
                return self._summed(self._read(args[0]), ONE, np.ones(args[0].size))
            case DivExpression() if args[1].is_constant():
                divisor = self.names.constant(args[1])
                return _scaled(self._promoted(self._read(args[0]), expression), ONE / divisor, 1 / _dense(args[1]))
            case multiply():
                factor, other = args if args[0].is_constant() else args[::-1]
                promoted = self._promoted(self._read(other), expression)
                return _scaled(promoted, self.names.constant(factor), _dense(factor))
            case MulExpression():
                return self._product(expression)
            case index() | special_index():
                return self._indexed(expression)
            case reshape() | transpose() if max(args[0].ndim, expression.ndim) <= 1:
                return self._read(args[0])
        raise Unreadable

    def _promoted(self, affine: Affine, expression: cp.Expression) -> Affine:
        """The same in every row of a larger expression."""
        if affine.scalar == (expression.ndim == 0) and affine.rows == expression.size:
            return affine
        rows = int(expression.size)
        if affine.rows != 1:
            raise Unreadable
        stacked = np.zeros(rows, dtype=int)
        parts = tuple(replace(part, matrix=part.matrix[stacked]) for part in affine.parts)
        return Affine(rows, expression.ndim == 0, parts, affine.constants, np.repeat(affine.offset, rows))

    def _product(self, expression: cp.Expression) -> Affine:
        args = expression.args
        factor, other = args if args[0].is_constant() else args[::-1]
        if factor.is_scalar():
            return _scaled(self._promoted(self._read(other), expression), self.names.constant(factor), _dense(factor))
        if factor.ndim == 1 and other.ndim == 1:
            return self._summed(self._read(other), self.names.constant(factor), _dense(factor))
        if factor.ndim == 2 and other.ndim == 1 and factor is args[0]:
            return self._matrix_product(factor, self._read(other))
        raise Unreadable

    def _matrix_product(self, factor: cp.Expression, other: Affine) -> Affine:
        plain = [p for p in other.parts if p.form is Form.ENTRY and not p.monomial.indexed and p.selection is None]
        if len(plain) < len(other.parts) or other.constants:
            raise Unreadable
        letter, matrix = self.names.matrix(factor), sp.csr_array(factor.value)
        parts = tuple(
            replace(p, matrix=sp.csr_array(matrix @ p.matrix), form=Form.MATRIX, letter=letter) for p in plain
        )
        rows = int(matrix.shape[0])
        return Affine(rows, False, parts, (), matrix @ other.offset)

    def _indexed(self, expression: Any) -> Affine:
        inner = self._read(expression.args[0])
        positions = np.atleast_1d(np.arange(inner.rows)[expression.key if inner.rows > 1 else ...])
        parts = []
        for part in inner.parts:
            if part.form is not Form.ENTRY:
                raise Unreadable
            chosen = part.selection if part.selection is not None else np.arange(part.variable.size)
            selection = None if part.alone else chosen[positions]
            parts.append(replace(part, matrix=part.matrix[positions], selection=selection))
        return Affine(len(positions), expression.ndim == 0, tuple(parts), inner.constants, inner.offset[positions])

    def _summed(self, affine: Affine, name: Monomial, values: np.ndarray) -> Affine:
        """sum over the rows, each multiplied by its own number."""
        if affine.scalar:
            return _scaled(affine, name, values)
        parts = []
        for part in affine.parts:
            if part.form is not Form.ENTRY:
                raise Unreadable
            matrix = sp.csr_array(values[None, :] @ part.matrix)
            monomial = name * part.monomial
            if part.alone:
                whole = affine.rows == self.points
                monomial = total(monomial) if whole else self._of_some(float(matrix.sum()))
                parts.append(replace(part, matrix=matrix, monomial=monomial))
            else:
                parts.append(replace(part, matrix=matrix, monomial=monomial, form=Form.TOTAL))
        offset = np.atleast_1d(values @ affine.offset)
        if affine.rows == self.points:
            constants = tuple(total(name * constant) for constant in affine.constants)
        else:
            constants = (self._of_some(float(offset[0])),) if offset[0] else ()
        return Affine(1, True, tuple(parts), constants, offset)

    def _of_some(self, value: float) -> Monomial:
        """A sum over some of the points has a letter of its own; one in a program without a sample is its value."""
        return Monomial.constant(value) if self.points is None else self.names.letter(value)

    def _by_numbers(self, expression: cp.Expression) -> Affine:
        """Matrices with letters of their own."""
        if expression.ndim > 1:
            raise CannotDerive("an expression of the primal is a matrix", "scalars and vectors")
        jacobian, offset = affine_parts(expression)
        parts = []
        for variable in expression.variables():
            matrix = jacobian[variable.id]
            parts.append(Part(variable, matrix, ONE, Form.MATRIX, None, self.names.anonymous(matrix)))
        constants = (self.names.constant(cp.Constant(offset)),) if offset.any() else ()
        return Affine(len(offset), expression.ndim == 0, tuple(parts), constants, offset)


def _scaled(affine: Affine, name: Monomial, values: np.ndarray | float) -> Affine:
    """Every row multiplied by its own number."""

    def change(part: Part) -> Part:
        if name.indexed and part.form is Form.TOTAL:
            raise Unreadable
        factors = np.broadcast_to(np.asarray(values, dtype=float).ravel(), (affine.rows,))
        scaled = sp.csr_array(sp.diags_array(factors) @ part.matrix)
        return replace(part, matrix=scaled, monomial=name * part.monomial)

    return affine.each(change, name, np.asarray(values, dtype=float).ravel())


def _identity(size: int) -> sp.csr_array:
    return sp.csr_array(sp.eye_array(size, format="csr"))


def _dense(expression: cp.Expression) -> np.ndarray:
    value = expression.value
    return np.asarray(value.toarray() if sp.issparse(value) else value, dtype=float)


def _given_name(expression: cp.Expression) -> str:
    """The name that somebody gave a constant: CVXPY's own are full of brackets and digits."""
    name = str(expression.name()) if isinstance(expression, cp.Constant) else ""
    return name if name and name[0].isalpha() and "[" not in name and name not in ("inf", "nan") else ""
