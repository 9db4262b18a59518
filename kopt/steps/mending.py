"""What has to be changed in a sum so that it equals another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from kopt.steps.derivation import distributed_terms, value_of
from kopt.steps.notation import AGREES, factor, number, text
from kopt.terms import Term, additive_terms

# Two sums are the same if they differ by this little, relative to their absolute terms: only rounding is in the way,
# and a term that is wrong may be small beside the others.
SAME = 1e-12


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

    @property
    def discrepancy(self) -> float:
        """The largest difference, relative to the absolute terms."""
        return float(np.max(np.abs(self.difference) / self.scale))

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
            name = factor(np.where(np.abs(ratios) <= AGREES, 0.0, ratios), self.scalars, self.numbers)
            fits += [_rescale(term, name)] if name and name != "1" else []
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
        if np.max(np.abs(change @ matrix - self.difference / self.scale)) > SAME:
            return ""
        count = len(self.claimed)
        wrong = [(t, c) for t, c in zip(self.claimed, change[:count], strict=True) if abs(c) > AGREES]
        factors = [(t, 0.0 if abs(1 + c) <= AGREES else 1 + c) for t, c in wrong]
        orders = [_rescale(t, number(f, self.numbers)) for t, f in factors]
        orders += [_add(t, number(c, self.numbers)) for t, c in zip(added, change[count:], strict=True)]
        return ", and ".join(orders)


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
