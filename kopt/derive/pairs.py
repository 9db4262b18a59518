"""A dual in the differences of pairs of multipliers, as the texts write it: beta_i = alpha_hat_i - alpha_i."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.derive.dual import Bound, Dual, equality_of, inequality_of
from kopt.derive.forms import LinearForm, Term
from kopt.derive.monomial import Monomial, negated
from kopt.derive.section import NOT_NEGATIVE, Cell, Phrase, Rows, Section, listed
from kopt.derive.sums import Scaled
from kopt.derive.writing import Writing
from kopt.program import Program
from kopt.show.formula import Call, Formula, Name, Positive, Relation, Sum
from kopt.views import View


@dataclass(frozen=True)
class Pair:
    """name = plus - minus, where plus = (name)_+ and minus = (-name)_+."""

    name: str
    plus: str
    minus: str

    @property
    def size(self) -> str:
        """What |name| = plus + minus is called in a form."""
        return f"|{self.name}|"


@dataclass
class Merged(Dual):
    r"""A dual in which the difference of two multipliers stands for both.

    Let p, m >= 0 be two multipliers and beta = p - m. They are merged where, with the other multipliers fixed,

    - the objective is g(beta) + sum_i s_i (p_i + m_i) - sum_i r_i (p_i^2 + m_i^2) with s_i <= 0 and r_i >= 0;
    - every equality, norm and curvature depends on beta alone;
    - every inequality depends on beta alone, or bounds a single p_i or m_i above by a number >= 0, or bounds above a
      combination of the p_i + m_i with weights >= 0.

    Nothing is lost. Given any feasible p, m, take t_i = min(p_i, m_i) off both: they stay >= 0, beta stays, upper
    bounds are kept by less, and the objective does not fall, as s_i <= 0 and r_i >= 0. One of p_i and m_i is now 0,
    so p = (beta)_+, m = (-beta)_+, p + m = |beta|, p^2 + m^2 = beta^2. Conversely each feasible beta gives feasible
    p, m with the same value. So the suprema are the same, and one is attained where the other is. Where s_i < 0 or
    r_i > 0 every optimum has p_i m_i = 0; elsewhere there may be others, and one of them has. For a number C >= 0,
    p_i <= C says that beta_i <= C, and m_i <= C that beta_i >= -C.

    The merged program is the dual function where p_i m_i = 0, not on its whole domain: it is restricted, at no cost.

    pairs   which were merged; `linear` and `bounds` are forms in beta and |beta|
    """

    pairs: tuple[Pair, ...] = ()

    def program(self, s: View | None) -> Program:
        """The dual in the differences, with both multipliers of a pair as expressions of theirs."""
        variables = {name: cp.Variable(m.shape, name=name) for name, m in self.variables.items()}
        values: dict[str, Any] = variables | {pair.size: cp.abs(variables[pair.name]) for pair in self.pairs}
        total = self._objective(s, values)
        constraints = {name: equality_of(form, values, self._sign) for name, form in self.equalities.items()}
        constraints |= {b.about: inequality_of(b.form, values) for b in self.bounds if b.named}
        domain = [inequality_of(b.form, values) for b in self.bounds if not b.named]
        domain += [ball.slope.length(s, values) <= ball.radius.expression(values) for ball in self.balls]
        domain += [image.vanishes(s, values) for image in self.vanishing]
        domain += [variables[name] >= 0 for name, m in self.variables.items() if m.signed]
        given: dict[str, Any] = {pair.minus: cp.pos(-variables[pair.name]) for pair in self.pairs}
        given |= {pair.plus: cp.pos(variables[pair.name]) for pair in self.pairs}
        given |= {name: each.expression(s, values | given) for name, each in self.eliminated.items()}
        # A multiplier that occurs in combinations only would not be found among the variables.
        seen = {v.name() for part in (total, *constraints.values(), *domain) for v in part.variables()}
        total = sum((0.0 * cp.sum(v) for name, v in variables.items() if name not in seen), total)
        sense = cp.Maximize if self._sign > 0 else cp.Minimize
        return Program(sense(total), constraints, domain=domain, multipliers=given)

    def section(self) -> Section:
        """The program written out."""
        write = _SizeWriting(self)
        rows: Rows = []
        for pair in self.pairs:
            beta, plus, minus = (write.entry(pair, name) for name in (pair.name, pair.plus, pair.minus))
            rows.append(("" if rows else "with", Relation(beta, "=", Sum((plus, negated(minus)))), ""))
        objective = write.dual_objective(self)
        rows.append(("max", objective, "") if self._sign > 0 else ("min", negated(objective), ""))
        for k, (condition, about) in enumerate(self._conditions(write)):
            rows.append(("" if k else "s.t.", condition, about))
        for k, pair in enumerate(self.pairs):
            beta, plus, minus = (write.entry(pair, name) for name in (pair.name, pair.plus, pair.minus))
            rows.append(("" if k else "then", Relation(plus, "=", Positive(beta)), ""))
            rows.append(("", Relation(minus, "=", Positive(negated(beta))), ""))
        return Section(
            f"Dual in {', '.join(pair.name for pair in self.pairs)}",
            tuple(rows),
            "what both have in common can be taken from both: that keeps the difference and lowers no value",
        )

    def _conditions(self, write: _SizeWriting) -> Iterator[tuple[Cell, Cell]]:
        for name, form in self.equalities.items():
            yield write.equality(form), _about((name, form))
        boxes = {pair: box for pair in self.pairs if (box := self._box(pair))}
        for pair, (lower, upper) in boxes.items():
            left = Relation((-lower.form.constants).formula(), "<=", write.entry(pair, pair.name))
            named = [(bound.about, bound.form) for bound in (lower, upper) if bound.named]
            yield Relation(left, "<=", upper.form.constants.formula()), _about(*named)
        for bound in self.bounds:
            if not any(bound is each for box in boxes.values() for each in box):
                yield write.bound(bound), _about((bound.about, bound.form)) if bound.named else ""
        yield from ((write.ball(ball), "") for ball in self.balls)
        yield from ((write.vanishing(image), "") for image in self.vanishing)
        signed = [write.multiplier(name) for name, m in self.variables.items() if m.signed]
        if signed:
            yield listed(signed, NOT_NEGATIVE), ""

    def _box(self, pair: Pair) -> tuple[Bound, Bound] | None:
        """The bounds -C <= beta_i and beta_i <= C, where each stands once."""
        lower, upper = ([b for b in self.bounds if _is_entry(b.form, pair.name, sign)] for sign in (1.0, -1.0))
        return (lower[0], upper[0]) if len(lower) == len(upper) == 1 else None


class _SizeWriting(Writing):
    """Formulas with |beta_i| where a form has its stand-in."""

    def __init__(self, dual: Merged) -> None:
        super().__init__(dual.reading)
        self._sizes = {pair.size: pair.name for pair in dual.pairs}

    def term(self, term: Term) -> Scaled:
        monomial, core = super().term(term)
        if isinstance(core, Name) and core.letter in self._sizes:
            return monomial, Call("abs", (Name(self._sizes[core.letter], core.index),))
        return monomial, core

    def entry(self, pair: Pair, name: str) -> Formula:
        """One of the three multipliers of a pair, with the index of all three."""
        index = self.reading.constraints[pair.name].index
        return Name(name, (index,) if index else ())


def _is_entry(form: LinearForm, name: str, sign: float) -> bool:
    """Whether a form is a constant plus or minus an entry of a multiplier."""
    if set(form.matrices) != {name}:
        return False
    diagonal = form.diagonal(name)
    written = [term.monomial for term in form.terms if term.multiplier == name]
    return diagonal is not None and bool(np.all(diagonal == sign)) and written == [Monomial.constant(sign)]


def _about(*members: tuple[str, LinearForm]) -> Cell:
    """The primal variables that are the multipliers of a constraint."""
    names: list[Formula] = [Name(name, (form.index,) if form.index else ()) for name, form in members]
    return Phrase((": ", *listed(names, "").parts)) if names else ""
