"""Single lines of a dual derivation, checked at random points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.binary_operators import MulExpression, multiply
from cvxpy.atoms.affine.sum import Sum
from cvxpy.constraints.constraint import Constraint

from kopt.errors import DeclarationError, InputError
from kopt.referee.allowed import stacked
from kopt.referee.derivation import TOLERANCE, Derivation, restored, value_of
from kopt.referee.notation import affine, factor, number, shown, text
from kopt.referee.terms import Term, additive_terms
from kopt.show import html
from kopt.show.text import Branch, tree

# Points at which each line is tried; a fit uses as many again for each term.
POINTS = 6
# Up to this size of a variable its stationary point is worked out, when the claimed one is wrong.
MOST_ENTRIES = 40


@dataclass(frozen=True)
class Line:
    """One line of a derivation.

    claimed       what it says
    holds         whether that is true
    what          what is wrong, with the number; empty where it holds, as are the next two
    why           how that follows from L
    fix           what to write instead
    discrepancy   the largest one found, relative to the terms or derivatives that should cancel
    """

    claimed: str
    holds: bool
    what: str = ""
    why: str = ""
    fix: str = ""
    discrepancy: float = 0.0


@dataclass(frozen=True)
class Step:
    """The lines of one step of a derivation; it is true in a condition if all of them hold."""

    lines: tuple[Line, ...]

    @property
    def holds(self) -> bool:
        """Whether every line holds."""
        return all(line.holds for line in self.lines)

    @property
    def failures(self) -> tuple[Line, ...]:
        """The lines that do not hold."""
        return tuple(line for line in self.lines if not line.holds)

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return tree(self._headline, [(f"{_mark(line)} {line.claimed}", _remarks(line)) for line in self.lines])

    def _repr_html_(self) -> str:
        rows = [(_mark(line), html.code(line.claimed), *(said for said, _ in _remarks(line)[:1])) for line in self.lines]
        notes = [html.table([remark.split(": ", 1) for remark, _ in _remarks(line)]) for line in self.failures]
        tone = html.Tone.GOOD if self.holds else html.Tone.BAD
        return str(html.block(html.badge(self._headline, tone), html.table(rows), *notes))

    @property
    def _headline(self) -> str:
        worst = max(line.discrepancy for line in self.lines)
        if self.holds:
            return f"step holds (largest relative discrepancy {worst:.1e})"
        return f"step DOES NOT HOLD: {len(self.failures)} of {len(self.lines)} lines fail"


def check_step(
    L: cp.Expression,
    *,
    stationarity: Mapping[cp.Variable, Any] | None = None,
    conditions: Sequence[Constraint] = (),
    gives: Any = None,
    over: Sequence[cp.Variable] | None = None,
    seed: int = 0,
) -> Step:
    r"""Check lines of a derivation: from the Lagrangian L to what is left when its primal variables are gone.

    stationarity   "dL/dw = 0 gives w = ...": claimed expressions by variable. Several are substituted together.
    conditions     "dL/db = 0 demands ...": affine equalities in the multipliers. L has to be affine in the variables
                   that no claim mentions, with a slope that vanishes under the conditions, and each condition has to
                   be demanded by one of them. Inequalities are not judged: they say where points are drawn.
    gives          "then L = ...": the claimed value of L after the substitution, under the conditions.
    over           the variables over which L is minimised. Where it is not given, they are those claimed, and those
                   that no claim, condition or `gives` mentions, apart from multipliers that have not come up yet.
    seed           of the random points

    Nothing is done symbolically: each line is tried at random points of all variables, off any optimum. Values are
    positive unless the conditions leave no room for that; write `conditions=[..., beta <= 0]` to try other signs.
    Name arrays to see their names in the report: `X = cp.Constant(X, name="X")`.

    Ridge regression, with L = lambda <w, w> + <xi, xi> + sum_i alpha_i (y_i - <w, x_i> - xi_i) and a factor forgotten:

    >>> X, y = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 1.0]]), np.array([1.0, 2.0, -1.0])
    >>> w, xi, alpha = cp.Variable(2, name="w"), cp.Variable(3, name="xi"), cp.Variable(3, name="alpha")
    >>> L = 3.0 * cp.sum_squares(w) + cp.sum_squares(xi) + alpha @ (y - X @ w - xi)
    >>> print(check_step(L, stationarity={w: X.T @ alpha / 3.0, xi: alpha / 2}).failures[0].fix)
    Multiply the claimed w by 1/2.
    >>> step = check_step(
    ...     L,
    ...     stationarity={w: X.T @ alpha / 6.0, xi: alpha / 2},
    ...     gives=y @ alpha - cp.sum_squares(X.T @ alpha) / 12.0 - cp.sum_squares(alpha) / 4,
    ... )
    >>> step.holds
    True
    """
    if not stationarity and not conditions and gives is None:
        raise InputError(
            "Nothing is claimed about L.", "Give at least one of stationarity={...}, conditions=[...] and gives=..."
        )
    if stationarity is not None and not isinstance(stationarity, Mapping):
        raise DeclarationError(
            f"stationarity= is of type {type(stationarity).__name__}.",
            "Give the claimed expressions by variable: stationarity={w: X.T @ alpha}.",
        )
    if isinstance(conditions, Constraint):
        raise DeclarationError("conditions= is a single constraint.", "Give a list: conditions=[y @ alpha == 0].")
    derivation = Derivation(L, stationarity or {}, conditions, gives, over, seed)
    with restored(derivation.variables):
        return Step(tuple(_lines(derivation, slopes=bool(conditions or over or gives is not None))))


def _lines(d: Derivation, slopes: bool) -> Iterator[Line]:
    claims = [_claim_line(d, variable, claimed) for variable, claimed in d.claims]
    yield from claims
    d.draw()
    bound = [v for v in d.over if d.is_affine_in(v)]
    loose = []
    if slopes:
        for variable in bound:
            line = _slope_line(d, variable)
            loose += [] if line.holds else [variable]
            yield line
    if d.conditions:
        holding = [variable for (variable, _), line in zip(d.claims, claims, strict=True) if line.holds]
        yield from _condition_lines(d, [*bound, *(v for v in holding if not _holds_anywhere(d, v))])
    if d.gives is not None:
        affine_ids = {v.id for v in bound}
        yield from (_unsolved_line(v) for v in d.over if v.id not in affine_ids)
        wrong = [line for line in claims if not line.holds]
        yield _gives_line(d, bound, loose, bool(wrong))
