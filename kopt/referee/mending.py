"""What has to be changed in a sum so that it equals another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.binary_operators import MulExpression, multiply
from cvxpy.atoms.affine.sum import Sum

from kopt.referee.derivation import TOLERANCE, value_of
from kopt.referee.notation import factor, number, text
from kopt.referee.terms import Term, additive_terms


@dataclass(frozen=True)
class Table:
    """The terms of a claimed sum and of the true one, and their values: one row for each, one column for each point.

    scalars   the values of the scalar variables, by name: a power of one may be missing from a term
    numbers   the constants that both sums are written with
    """

    claimed: Sequence[Term]
    true: Sequence[Term]
    claimed_values: np.ndarray
    true_values: np.ndarray
    scalars: dict[str, np.ndarray]
    numbers: tuple[float, ...]

    @classmethod
    def at(
        cls,
        go: Callable[[], None],
        points: int,
        claimed: cp.Expression,
        true: cp.Expression,
        scalars: Sequence[cp.Variable],
    ) -> Table:
        """Values at random points; `go` goes to the next one. There are more points than unknowns in any fit."""
        ours, theirs = additive_terms(claimed), distributed_terms(true)
        rows = []
        for _ in range(points + 2 * len(ours)):
            go()
            rows.append([*(t.coefficient * value_of(t.expression) for t in [*ours, *theirs]), *map(value_of, scalars)])
        values, ends = np.array(rows).T, np.cumsum([len(ours), len(theirs)])
        return cls(
            ours,
            theirs,
            values[: ends[0]],
            values[ends[0] : ends[1]],
            {v.name(): row for v, row in zip(scalars, values[ends[1] :], strict=True)},
            constants([claimed, true]),
        )

    @property
    def scale(self) -> np.ndarray:
        """The sum of the absolute terms at each point."""
        terms = np.sum(np.abs(self.claimed_values), axis=0) + np.sum(np.abs(self.true_values), axis=0)
        return np.maximum(terms, np.finfo(float).tiny)

    @property
    def difference(self) -> np.ndarray:
        """What the claimed sum lacks, at each point."""
        return np.asarray(np.sum(self.true_values, axis=0) - np.sum(self.claimed_values, axis=0))

    def remedy(self) -> str | None:
        """The smallest change that makes the claimed sum equal to the true one, as an instruction."""
        for hypothesis in (self._one_factor, self._one_missing, self._factors, self._factors_and_missing):
            found = hypothesis()
            if found:
                return f"{found[0].upper()}{found[1:]}."
        return None

    def _one_factor(self) -> str:
        """Several terms fit where they are proportional under the conditions."""
        fits = []
        for term, values in zip(self.claimed, self.claimed_values, strict=True):
            ratios = 1 + self.difference / np.where(values == 0, np.nan, values)
            name = factor(np.where(np.abs(ratios) <= TOLERANCE, 0.0, ratios), self.scalars, self.numbers)
            fits += [_rescale(term, name)] if name else []
        return ", or ".join(fits)

    def _one_missing(self) -> str:
        fits = []
        for term, values in self._candidates():
            name = factor(self.difference / np.where(values == 0, np.nan, values), {}, self.numbers)
            fits += [_add(term, name)] if name else []
        return min(fits, key=len, default="")

    def _factors(self) -> str:
        return self._fit([], [])

    def _factors_and_missing(self) -> str:
        fits = (self._fit([term], [values]) for term, values in self._candidates())
        return min((fit for fit in fits if fit), key=len, default="")

    def _candidates(self) -> list[tuple[Term, np.ndarray]]:
        one = (Term(1.0, cp.Constant(1.0)), np.ones(self.claimed_values.shape[1]))
        others = zip(self.true, self.true_values, strict=True)
        return [one, *((term, values) for term, values in others if not term.expression.is_constant())]

    def _fit(self, added: list[Term], values: list[np.ndarray]) -> str:
        """Least squares on all claimed terms and some added ones; nothing where that does not fit."""
        matrix = np.vstack([self.claimed_values, *values]) / self.scale
        sizes = np.linalg.norm(matrix, axis=1)
        if np.any(sizes == 0) or np.linalg.matrix_rank(matrix / sizes[:, None]) < len(matrix):
            return ""
        change = np.linalg.lstsq(matrix.T, self.difference / self.scale, rcond=None)[0]
        if np.max(np.abs(change @ matrix - self.difference / self.scale)) > TOLERANCE:
            return ""
        count = len(self.claimed)
        wrong = [(t, c) for t, c in zip(self.claimed, change[:count], strict=True) if abs(c) > TOLERANCE**0.5]
        orders = [_rescale(t, number(1 + c, self.numbers)) for t, c in wrong]
        orders += [_add(t, number(c, self.numbers)) for t, c in zip(added, change[count:], strict=True)]
        return ", and ".join(orders)


def distributed_terms(expression: cp.Expression, coefficient: float = 1.0) -> list[Term]:
    """The terms of which an expression is the sum, products and sums of entries multiplied out.

    >>> x, y = cp.Variable(2, name="x"), cp.Variable(2, name="y")
    >>> [(t.coefficient, text(t.expression)) for t in distributed_terms(x @ (y - 3 * x - 2))]
    [(1.0, 'x @ y'), (-3.0, 'x @ x'), (-2.0, 'sum(x)')]
    """
    found = []
    for term in additive_terms(expression, coefficient):
        e = term.expression
        if not isinstance(e, MulExpression | multiply | Sum) or e.is_constant():
            found.append(_normalised(term))
            continue
        for parts in product(*(distributed_terms(part) for part in e.args)):
            factors = [part.expression for part in parts if not (isinstance(e, multiply) and _is_one(part.expression))]
            joined = e.copy([part.expression for part in parts]) if len(factors) == len(parts) else factors[0]
            found.append(Term(term.coefficient * prod(part.coefficient for part in parts), joined))
    return found


def _normalised(term: Term) -> Term:
    """A constant with equal entries as a multiple of ones."""
    value = np.asarray(term.expression.value) if term.expression.is_constant() else np.zeros(0)
    if value.size == 0 or not value.flat[0] or np.any(value != value.flat[0]):
        return term
    return Term(term.coefficient * float(value.flat[0]), cp.Constant(np.ones(value.shape)))


def _is_one(expression: cp.Expression) -> bool:
    return bool(expression.is_constant() and np.all(np.asarray(expression.value) == 1))


def constants(expressions: Sequence[cp.Expression]) -> tuple[float, ...]:
    """The numbers that expressions are written with, without signs and without 0 and 1."""
    found = {abs(float(c.value)) for e in expressions for c in e.constants() if c.size == 1}
    return tuple(sorted(found - {0.0, 1.0}))


def written(term: Term) -> str:
    """A term with its coefficient."""
    if term.expression.is_constant() and term.expression.size == 1:
        return f"{term.coefficient * value_of(term.expression):g}"
    sign, size = "-" if term.coefficient < 0 else "", abs(term.coefficient)
    return f"{sign}{text(term.expression)}" if size == 1 else f"{sign}{size:.6g} * {text(term.expression)}"


def _rescale(term: Term, by: str) -> str:
    return f"leave out the term {written(term)}" if by == "0" else f"multiply the term {written(term)} by {by}"


def _add(term: Term, times: str) -> str:
    if term.expression.is_constant():
        return f"add the missing constant {times}"
    if times in ("1", "-1"):
        return f"add the missing term {written(Term(float(times) * term.coefficient, term.expression))}"
    return f"add the missing term {times} * ({written(term)})"
