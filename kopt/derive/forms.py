"""Linear forms in the multipliers: their numbers, and how each term is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kopt.derive.monomial import ONE, Monomial
from kopt.derive.trace import total
from kopt.show.formula import Name

# What is left of numbers that cancel; only the writing depends on it.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Term:
    """monomial * multiplier, or the sum of that over an index.

    multiplier   its name; None for a constant
    index        of the multiplier: i, j - 1, or nothing
    over         None where there is no sum; otherwise its condition, which may be empty
    letter       the index of the sum
    """

    monomial: Monomial
    multiplier: str | None = None
    index: str = ""
    over: str | None = None
    letter: str = "i"

    def alike(self, other: Term) -> bool:
        """Whether two terms differ in their numbers only."""
        same = replace(self, monomial=replace(self.monomial, number=other.monomial.number))
        return same == other or (
            replace(self, monomial=ONE) == replace(other, monomial=ONE)
            and dict(self.monomial.powers) == dict(other.monomial.powers)
        )


@dataclass(frozen=True)
class LinearForm:
    """sum over the multipliers of matrix @ multiplier + offset, in one row or in each.

    index   the letter of the rows, nothing for a single one
    """

    index: str
    terms: tuple[Term, ...]
    matrices: Mapping[str, sp.csr_array]
    offset: np.ndarray

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.offset)

    @property
    def constant(self) -> bool:
        """Whether no multiplier occurs."""
        return not self.matrices

    @property
    def vanishes(self) -> bool:
        """Whether nothing is there at all."""
        return self.constant and not self.offset.any()

    @property
    def constants(self) -> Monomial:
        """The terms without a multiplier, summed."""
        found = [
            term.monomial if term.over is None else total(term.monomial) for term in self.terms if not term.multiplier
        ]
        return sum(found[1:], found[0]) if found else Monomial.constant(0.0)

    def __add__(self, other: LinearForm) -> LinearForm:
        matrices = dict(self.matrices)
        for name, matrix in other.matrices.items():
            matrices[name] = sp.csr_array(matrices[name] + matrix) if name in matrices else matrix
        return LinearForm(
            self.index, _collected((*self.terms, *other.terms)), _present(matrices), self.offset + other.offset
        )

    def scaled(self, name: Monomial, values: np.ndarray | float) -> LinearForm:
        """Every row multiplied by its own number."""
        factors = np.broadcast_to(np.asarray(values, dtype=float).ravel(), (self.size,))
        matrices = {m: sp.csr_array(sp.diags_array(factors) @ matrix) for m, matrix in self.matrices.items()}
        terms = tuple(replace(term, monomial=name * term.monomial) for term in self.terms)
        return LinearForm(self.index, terms, matrices, factors * self.offset)

    def __neg__(self) -> LinearForm:
        return self.scaled(Monomial.constant(-1.0), -1.0)

    def without(self, multiplier: str) -> LinearForm:
        """The form without the terms of one multiplier."""
        return LinearForm(
            self.index,
            tuple(term for term in self.terms if term.multiplier != multiplier),
            {name: matrix for name, matrix in self.matrices.items() if name != multiplier},
            self.offset,
        )

    def diagonal(self, multiplier: str) -> np.ndarray | None:
        """The factor of a multiplier in each row, where each row sees its own entry and nothing else of it."""
        matrix = self.matrices[multiplier]
        found = matrix.diagonal()
        own = matrix.shape[0] == matrix.shape[1] and matrix.nnz == len(found) == np.count_nonzero(found)
        return found if own else None

    def solved_for(self, multiplier: str) -> LinearForm:
        """form = 0 solved for a multiplier of which each row sees its own entry."""
        diagonal = self.diagonal(multiplier)
        assert diagonal is not None
        own = next(term.monomial for term in self.terms if term.multiplier == multiplier)
        return self.without(multiplier).scaled(Monomial.constant(-1.0) / own, -1 / diagonal)

    def weighted_sum(self, name: Monomial, values: np.ndarray, points: int | None) -> LinearForm:
        """sum over the rows of a number times the row; the row itself where there is one without an index.

        points   how many there are: only a sum over all of them has a name
        """
        row = sp.csr_array(np.asarray(values, dtype=float)[None, :])
        matrices = {m: sp.csr_array(row @ matrix) for m, matrix in self.matrices.items()}
        count = Monomial.of(Name("l")) if self.size == points else Monomial.constant(self.size)
        terms = tuple(_summed(replace(t, monomial=name * t.monomial), self.index, count) for t in self.terms)
        summed = LinearForm("", _collected(terms), matrices, np.atleast_1d(values @ self.offset))
        return summed if self.size == points or not self.index else summed.with_plain_constant()

    def with_plain_constant(self) -> LinearForm:
        """A form of one row with its constants as one number."""
        terms = tuple(term for term in self.terms if term.multiplier is not None)
        plain = (Term(Monomial.constant(float(self.offset[0]))),) if abs(self.offset[0]) > ROUNDING else ()
        return replace(self, terms=(*plain, *terms))

    def substituted(self, multiplier: str, value: LinearForm, points: int | None) -> LinearForm:
        """The form with a multiplier replaced by a form of others."""
        if multiplier not in self.matrices:
            return self
        matrix = self.matrices[multiplier]
        terms: list[Term] = []
        for term in self.terms:
            if term.multiplier == multiplier:
                terms += [_composed(term, inner) for inner in value.terms]
            else:
                terms.append(term)
        inside = {name: sp.csr_array(matrix @ each) for name, each in value.matrices.items()}
        rest = self.without(multiplier)
        added = LinearForm(self.index, (), inside, matrix @ value.offset)
        result = replace(rest + added, terms=_collected(tuple(terms)))
        named = value.size == points or not value.index or self.index or not value.offset.any()
        return result if named else result.with_plain_constant()

    def expression(self, variables: Mapping[str, cp.Expression]) -> cp.Expression:
        """As a CVXPY expression of the multipliers; a scalar where the form has no index."""
        parts = [_times(matrix, variables[name], bool(self.index)) for name, matrix in self.matrices.items()]
        if self.offset.any() or not parts:
            parts.append(cp.Constant(self.offset if self.index else self.offset[0]))
        return sum(parts[1:], parts[0])


def zero(size: int, index: str) -> LinearForm:
    """The form without terms."""
    return LinearForm(index, (), {}, np.zeros(size))


def _times(matrix: sp.csr_array, variable: cp.Expression, vector: bool) -> cp.Expression:
    """matrix @ variable, written as simply as it can be."""
    if not vector:
        row = matrix.toarray()[0]
        if variable.ndim == 0:
            return _scaled(float(row[0]), variable)
        return _scaled(float(row[0]), cp.sum(variable)) if np.all(row == row[0]) else row @ variable
    if variable.ndim == 0:
        return matrix.toarray()[:, 0] * variable
    diagonal = matrix.diagonal()
    if matrix.shape[0] == matrix.shape[1] and matrix.nnz == np.count_nonzero(diagonal):
        same = bool(np.all(diagonal == diagonal[0]))
        return _scaled(float(diagonal[0]), variable) if same else cp.multiply(diagonal, variable)
    return matrix @ variable


def _scaled(factor: float, expression: cp.Expression) -> cp.Expression:
    if factor == 1:
        return expression
    return -expression if factor == -1 else factor * expression


def _present(matrices: dict[str, sp.csr_array]) -> dict[str, sp.csr_array]:
    for matrix in matrices.values():
        matrix.eliminate_zeros()
    return {name: matrix for name, matrix in matrices.items() if matrix.nnz}


def _collected(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Terms that differ in their numbers only, added."""
    found: list[Term] = []
    for term in terms:
        for k, before in enumerate(found):
            if term.alike(before):
                found[k] = replace(before, monomial=before.monomial + term.monomial)
                break
        else:
            found.append(term)
    return tuple(term for term in found if term.monomial.number != 0)


def _summed(term: Term, index: str, count: Monomial) -> Term:
    """A term of each row, summed over the rows, of which there are so many."""
    if not index or term.over is not None:
        return term
    if term.multiplier is None:
        return Term(total(term.monomial))
    if not term.index and not term.monomial.indexed:
        return replace(term, monomial=term.monomial * count)
    return replace(term, over="", letter=index)


def _composed(outer: Term, inner: Term) -> Term:
    """A term of a multiplier, with one of the terms that it is replaced by."""
    monomial = outer.monomial * inner.monomial
    if outer.over is None:
        return replace(inner, monomial=monomial)
    if inner.multiplier is None:
        return Term(total(monomial))
    return replace(inner, monomial=monomial, over=outer.over, letter=outer.letter)
