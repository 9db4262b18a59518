"""The slopes of the Lagrangian: how each primal variable meets the multipliers."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kopt.derive.affine import Form, Part
from kopt.derive.forms import LinearForm, Term, zero
from kopt.derive.monomial import Monomial, mentions
from kopt.derive.reading import Reading, Row, label_of
from kopt.show.formula import Name, Over, Words


def slope_in(reading: Reading, variable: cp.Variable) -> LinearForm:
    """The slope of the Lagrangian in a variable, apart from what the variable costs by itself."""
    slope = zero(variable.size, reading.index.get(variable.id, ""))
    for row in reading.rows:
        for part in row.affine.parts:
            if part.variable is variable:
                slope = slope + _of_part(reading, row, part)
    return slope


def constant_part(reading: Reading) -> LinearForm:
    """What is left of the Lagrangian where every variable is 0."""
    whole = zero(1, "")
    for row in reading.rows:
        offset = sp.csr_array(row.affine.offset[None, :])
        matrices = {row.multiplier: offset} if row.multiplier is not None and offset.nnz else {}
        summed = None if row.affine.scalar else ""
        terms = tuple(
            Term(_in_row(constant, row), row.multiplier, row.index, summed, row.index or "i")
            for constant in row.affine.constants
        )
        number = row.affine.offset if row.multiplier is None else np.zeros(1)
        whole = whole + LinearForm("", terms, matrices, number)
    return whole


def _in_row(monomial: Monomial, row: Row) -> Monomial:
    """Constants are named as functions of i; in rows that run over j they are functions of j."""
    return monomial.renamed("i", "j") if row.index == "j" else monomial


def _of_part(reading: Reading, row: Row, part: Part) -> LinearForm:
    size, letter = part.variable.size, reading.index[part.variable.id]
    transposed = sp.csr_array(part.matrix.T)
    term = _term(reading, row, part, letter)
    if row.multiplier is None:
        return LinearForm(letter, (term,), {}, np.asarray(transposed.sum(axis=1)).ravel().reshape(size))
    return LinearForm(letter, (term,), {row.multiplier: transposed}, np.zeros(size))


def _term(reading: Reading, row: Row, part: Part, letter: str) -> Term:
    """How the slope is written; the rows of the constraint become the index of a sum, or the variable's own."""
    label = label_of(reading, part, row)
    monomial, multiplier, r = _in_row(part.monomial, row), row.multiplier, row.index
    if part.form is Form.MATRIX:
        return _of_matrix(part, monomial, multiplier, r, letter)
    if part.form is Form.TOTAL:
        return _of_total(monomial, multiplier, r, label, letter)
    if not r:
        entry = Monomial.of(Words(f"[{letter} = {label}]")) if letter and label != letter else Monomial()
        return Term(monomial * entry, multiplier)
    if label == letter and letter:
        return Term(monomial, multiplier, r)
    if not label:
        return Term(monomial, multiplier, r, over="", letter=r)
    if label.startswith(f"{letter} "):
        return Term(monomial, multiplier, _opposite(label))
    return Term(monomial, multiplier, r, over=_condition(label, letter), letter=r)


def _condition(label: str, letter: str) -> str:
    """Which terms see entry j: those with y_i = j + 1, where a term sees entry y_i - 1."""
    name, sign, by = (*label.split(), "", "")[:3]
    return f"{name} = {letter}" + (f" {_opposite(sign)} {by}" if sign else "")


def _of_matrix(part: Part, monomial: Monomial, multiplier: str | None, r: str, letter: str) -> Term:
    if not r:
        return Term(monomial * Monomial.of(Name(part.letter, (letter,) if letter else ())), multiplier)
    rows = r if r != letter else "j" if letter == "i" else "i"
    entry = Monomial.of(Name(part.letter, (rows, letter) if letter else (rows,)))
    return Term(monomial.renamed(r, rows) * entry, multiplier, rows, over="", letter=rows)


def _of_total(monomial: Monomial, multiplier: str | None, r: str, label: str, letter: str) -> Term:
    if label != letter:
        inner = [symbol for symbol, _ in monomial.powers if mentions(symbol, "i")]
        outer, indexed = monomial.split()
        body = indexed.formula() if inner else Monomial().formula()
        monomial = outer * Monomial.of(Over(body, ("i",), _condition(label, letter)))
    elif letter == "j":
        monomial = monomial.renamed("i", "j")
    if r:  # the same sum in each of the rows
        other = "j" if letter != "j" else "i"
        return Term(monomial, multiplier, other, over="", letter=other)
    return Term(monomial, multiplier)


def _opposite(label: str) -> str:
    """The row that sees entry j, where row j sees another one: j - 1 for j + 1."""
    return label.translate(str.maketrans("+-", "-+"))
