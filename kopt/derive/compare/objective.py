"""The terms of both objectives, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from kopt.derive.compare.comparison import AGREES, MISSING, SAME, SUPERFLUOUS, Row
from kopt.derive.compare.matching import Values, matched
from kopt.derive.compare.pair import Pair
from kopt.derive.dual import Dual
from kopt.derive.forms import LinearForm, Term
from kopt.derive.monomial import negated
from kopt.derive.pieces import Piece
from kopt.derive.sums import total_of
from kopt.show.formula import Formula
from kopt.show.mathematics import text
from kopt.views import ExplicitView

# Terms of the linear part, or what a primal variable left.
Part: TypeAlias = tuple[Term, ...] | Piece


class Objective:
    """The objectives of both duals on one instance."""

    def __init__(self, pair: Pair) -> None:
        self.pair, self.words = pair, pair.words
        self.parts = _parts(pair.document.dual)
        view, variables = ExplicitView(pair.trial.sample), pair.derived.explicit
        self._convex = [part.negative(view, variables) for part in self.parts if isinstance(part, Piece)]
        self._linear = [total_of(self._formulas([part])) for part in self.parts if not isinstance(part, Piece)]

    def rows(self) -> Iterator[Row]:
        """The terms that correspond to each other, then those without a counterpart."""
        names = [self.words.term(term) for term in self.pair.claimed.terms]
        missing: list[Part] = []
        superfluous: list[str] = []
        for left, right, fit in matched(self._values(self.pair.free), self._values(self.pair.feasible)):
            derived, claimed = [self.parts[k] for k in left], [names[k] for k in right]
            if derived and claimed:
                sum_of_claimed = " + ".join(claimed).replace("+ -", "- ")
                yield Row("objective", self._text(derived), sum_of_claimed, self._note(fit, derived, claimed))
            else:
                missing += derived
                superfluous += claimed
        yield from (Row("objective", text(self._shown(each)), "", MISSING) for each in self._formulas(missing))
        yield from (Row("objective", "", name, SUPERFLUOUS) for name in superfluous)

    def _values(self, points: Sequence[np.ndarray]) -> Values:
        """The terms of both at the multipliers that points stand for.

        A few points where one of them has no value are left out; a term without values at most of them matches nothing.
        """
        ours = np.array([self._derived_values(z) for z in points])
        theirs = np.array([self.pair.claimed.values(z) for z in points])
        finite = np.isfinite(ours).all(axis=1) & np.isfinite(theirs).all(axis=1)
        return Values(ours[finite], theirs[finite]) if 2 * np.sum(finite) > len(points) else Values(ours, theirs)

    def _derived_values(self, z: np.ndarray) -> list[float]:
        """The terms of the bound on the primal as a minimisation, those of the linear part as they are written."""
        evaluation = self.pair.numbers.at(self.pair.bind(z))
        return [*map(evaluation.value, self._linear), *(-float(each.value) for each in self._convex)]

    def _formulas(self, parts: Sequence[Part]) -> list[Formula]:
        """Terms of the minimisation, those of the linear part put together."""
        write = self.pair.document.write
        linear = [term for part in parts if not isinstance(part, Piece) for term in part]
        pieces = [write.piece(part) for part in parts if isinstance(part, Piece)]
        return [*write.form_terms(LinearForm("", tuple(linear), {}, np.zeros(1))), *pieces]

    def _shown(self, formula: Formula) -> Formula:
        """A formula in the sense of the primal."""
        return formula if self.pair.claimed.sign > 0 else negated(formula)

    def _text(self, parts: Sequence[Part]) -> str:
        return text(total_of(map(self._shown, self._formulas(parts))))

    def _note(self, fit: np.ndarray | None, derived: Sequence[Part], claimed: Sequence[str]) -> str:
        """What a match means: one claimed term is a combination of derived ones, or the reverse."""
        if fit is None:
            return SAME
        if not len(fit):
            return "claimed is no multiple of it"
        forward = len(claimed) == 1
        if np.ptp(fit) <= AGREES * abs(fit[0]):
            return self.words.multiple("claimed", float(fit[0] if forward else 1 / fit[0]))
        names = [self._text([part]) for part in derived] if forward else claimed
        other = [(factor, name) for factor, name in zip(fit, names, strict=True) if abs(factor - 1) > AGREES]
        said = " and ".join(f"{self.words.factor(factor)} times {name}" for factor, name in other)
        return f"{'claimed' if forward else 'derived'} has {said}"


def _parts(dual: Dual) -> list[Part]:
    """The terms of the linear part, multiplier by multiplier, its constants, and what the primal variables left."""
    terms = dual.linear.terms
    parts: list[Part] = [(term,) for name in dual.linear.matrices for term in terms if term.multiplier == name]
    constants = tuple(term for term in terms if term.multiplier is None)
    parts += [constants] if constants else []
    return [*parts, *(piece for piece in dual.pieces.values() if not piece.is_zero)]
