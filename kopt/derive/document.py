"""A derivation written out, section by section."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping

import numpy as np

from kopt.derive.affine import Form, Part
from kopt.derive.dual import Dual, Eliminated
from kopt.derive.forms import LinearForm
from kopt.derive.labels import labels_of, where_defined
from kopt.derive.monomial import Monomial, negated
from kopt.derive.pieces import Arrow, Conjugate, Lengths, Piece, Slope, Square, SquareOver
from kopt.derive.reading import Reading, Row, is_squared
from kopt.derive.section import NOT_NEGATIVE, Cell, Given, Phrase, Rows, Section, listed
from kopt.derive.sums import ZERO, is_negative, total_of, unsigned
from kopt.derive.writing import Writing
from kopt.losses import Formula as LossFormula
from kopt.losses import Loss
from kopt.show.formula import Call, Formula, Name, Positive, Product, Relation, Sum, Words
from kopt.show.mathematics import latex

_TWO = Monomial.constant(2.0)


@dataclasses.dataclass(frozen=True)
class Line:
    """A constraint of the dual.

    about       the name whose entries its rows belong to: a primal variable, or the multiplier that is not negative
    named       whether that is its multiplier
    vanishing   the weight vector in whose feature space it is an equality; None for numbers
    """

    relation: Relation
    about: str = ""
    named: bool = False
    vanishing: str | None = None


class Document:
    """The sections of a derivation, and the formulas in them that say the same as a program.

    primal_objective, dual_objective   in the sense of the primal
    lagrangian_formula, raw_objective  of the minimisation, and what is left of it at its minimum
    primal_relations, dual_lines       the constraints of both, in the order of the programs
    stationary, solved                 what stationarity says of each primal variable, and of those with a curved term
                                       when it is solved for them
    eliminated                         the multipliers that are expressions of others
    complementary                      the products of multipliers and residuals that vanish
    """

    def __init__(self, reading: Reading, raw: Dual, dual: Dual) -> None:
        self.reading, self.raw, self.dual = reading, raw, dual
        self.write = Writing(reading)
        self.minimise = reading.primal.sign > 0
        self.labels = labels_of(reading)
        self.primal_objective = self._user(self.write.row(reading.objective))
        self.primal_relations = {name: self.write.relation(row) for name, row in reading.constraints.items()}
        terms = [self.write.row(reading.objective), *map(self.write.priced, reading.constraints.values())]
        self.lagrangian_terms = [term for term in terms if term != ZERO] or [ZERO]
        self.lagrangian_formula = Sum(tuple(self.lagrangian_terms))
        self.solved = {name: self._solved(piece) for name, piece in raw.pieces.items()}
        self.stationary = dict(self._stationary())
        self.raw_objective = self.write.dual_objective(raw)
        self.eliminated = {name: self._eliminated(each) for name, each in dual.eliminated.items()}
        self.dual_objective = self._user(self.write.dual_objective(dual))
        self.dual_lines = list(self._dual_lines())
        self.slacks = dict(self._slacks())
        self.complementary = {name: self._complementary(name) for name, m in raw.multipliers.items() if m.signed}
        self.sections = [
            self.primal(),
            self.lagrangian(),
            self.stationarity(),
            self.substitution(),
            self.program(),
            self.conditions(),
            self.recovery(),
            *self.legend(),
        ]

    def _user(self, formula: Formula) -> Formula:
        """A formula of the minimisation in the sense of the primal."""
        return formula if self.minimise else negated(formula)

    def primal(self) -> Section:
        """The primal with each constraint's multiplier."""
        rows: Rows = [("min" if self.minimise else "max", self.primal_objective, "")]
        for name, relation in self.primal_relations.items():
            rows.append(("s.t." if len(rows) == 1 else "", relation, _beside(self.write.multiplier(name))))
        return Section("Primal", tuple(rows))

    def lagrangian(self) -> Section:
        """Objective plus multipliers times residuals."""
        first, *others = self.lagrangian_terms
        rows: Rows = [(Name("L"), ("=", first))]
        rows += [("", ("-", negated(term)) if is_negative(term) else ("+", term)) for term in others]
        signed = [self.write.multiplier(name) for name, m in self.raw.multipliers.items() if m.signed]
        if signed:
            rows.append(("", Phrase(("with ", *listed(signed, NOT_NEGATIVE).parts))))
        title = "Lagrangian" if self.minimise else "Lagrangian of the minimisation of the negative objective"
        return Section(title, tuple(rows))

    def stationarity(self) -> Section:
        """What each variable gives: where the derivative vanishes, solved for the variable where that is explicit."""
        rows: Rows = []
        for name, relation in self.stationary.items():
            solved = self.solved.get(name, relation)
            rows.append((self._variable(name), relation, "" if solved == relation else Phrase(("so ", solved))))
        return Section("Stationarity in each variable", tuple(rows))

    def _stationary(self) -> Iterator[tuple[str, Relation]]:
        for name, piece in self.raw.pieces.items():
            yield name, self._equation(piece) or self.solved[name]
        for image in self.raw.vanishing:
            yield image.weight, self.write.vanishing(image)
        for ball in self.raw.balls:
            yield ball.slope.weight, self.write.ball(ball)
        for name, form in self.raw.equalities.items():
            yield name, self.write.equality(form)

    def _equation(self, piece: Piece) -> Relation | None:
        """The derivative of the Lagrangian in a variable with a square, before it is solved."""
        match piece:
            case Square(slope, _, a):
                factor, vector = self.write.vector(slope)
                own = (_TWO * a).formula(Name(slope.weight, _own_index(slope)))
                return Relation(total_of([own, (-factor).formula(vector)]), "=", ZERO)
            case Conjugate(cost, slope) if is_squared(cost):
                own = (_TWO * cost.weight_name * cost.slope_name).formula(self._argument(piece))
                return Relation(total_of([own, *self.write.form_terms(slope)]), "=", ZERO)
        return None

    def _solved(self, piece: Piece) -> Relation:
        """The minimiser in terms of the multipliers."""
        match piece:
            case Square(slope, _, a):
                factor, vector = self.write.vector(slope)
                return Relation(Name(slope.weight, _own_index(slope)), "=", (factor / (_TWO * a)).formula(vector))
            case SquareOver(slope, a):
                return self._solved_over(slope, a)
            case Conjugate() if _is_explicit(piece):
                return self._solved_square(piece)
            case Conjugate():
                return self.write.slope_of(piece.cost.loss, self._argument(piece), piece.u)
        raise TypeError(piece)

    def _solved_over(self, slope: Slope, a: LinearForm) -> Relation:
        """2 a w = -slope for a curvature that may vanish, without a common factor 2."""
        factor, vector = self.write.vector(slope)
        common = 2.0 if float(factor.number) % 2 == 0 else 1.0
        left = self.write.form(a.scaled(Monomial.constant(2.0 / common), 2.0 / common))
        right = (factor / Monomial.constant(common)).formula(vector)
        return Relation(Product((left, Name(slope.weight, _own_index(slope)))), "=", right)

    def _solved_square(self, piece: Conjugate) -> Relation:
        """t = 2 square u."""
        cost = piece.cost
        common, entry = self.write.image(Arrow(cost.variable.name(), piece.slope))
        scale = common * self.reading.names.number(2 * (piece.square or 0.0)) / (cost.weight_name * cost.slope_name)
        return Relation(self._argument(piece), "=", scale.without_squares_of(self.write.signs).formula(entry))

    def _argument(self, piece: Conjugate) -> Formula:
        """What the loss is taken at."""
        cost = piece.cost
        x = cost.slope_name.formula(self._variable(cost.variable.name()))
        return x if cost.shift_name is None else total_of([x, cost.shift_name.formula()])

    def substitution(self) -> Section:
        """The minimum of L where there is one; and the multipliers that are then eliminated."""
        rows: Rows = [(Product((Words("min"), Name("L"))), ("=", self.raw_objective), "")]
        for name, formula in self.eliminated.items():
            best = "which is best" if self.dual.eliminated[name].lengths is not None else ""
            rows.append((self.write.multiplier(name), ("=", formula), best))
        quotients = any(isinstance(piece, SquareOver) for piece in self.raw.pieces.values())
        return Section("Substitution", tuple(rows), "where 0/0 counts as 0" if quotients else "")

    def _eliminated(self, each: Eliminated) -> Formula:
        if each.form is not None:
            return self.write.form(each.form)
        assert each.lengths is not None
        factor, root = self.write.root(each.lengths.slopes)
        return (each.lengths.name * factor).formula(root)

    def _dual_lines(self) -> Iterator[Line]:
        for name, form in self.dual.equalities.items():
            yield Line(self.write.equality(form), name, named=True)
        for bound in self.dual.bounds:
            yield Line(self.write.bound(bound), bound.about, bound.named)
        for ball in self.dual.balls:
            yield Line(self.write.ball(ball))
        for image in self.dual.vanishing:
            yield Line(self.write.vanishing(image), vanishing=image.weight)
        for name, multiplier in self.dual.variables.items():
            if multiplier.signed:
                yield Line(Relation(self.write.multiplier(name), ">=", ZERO), name)

    def program(self) -> Section:
        """The dual."""
        found: list[tuple[Cell, Cell]] = []
        for line in self.dual_lines:
            if line.about not in self.dual.variables:
                found.append((line.relation, _beside(self._variable(line.about)) if line.named else ""))
        signed = [line.relation.left for line in self.dual_lines if line.about in self.dual.variables]
        if signed:
            found.append((listed(signed, NOT_NEGATIVE), ""))
        rows: Rows = [("max" if self.minimise else "min", self.dual_objective, "")]
        rows += [("s.t." if k == 0 else "", formula, beside) for k, (formula, beside) in enumerate(found)]
        return Section("Dual", tuple(rows))

    def conditions(self) -> Section:
        """Complementarity, beside feasibility and stationarity."""
        rows: Rows = [(relation,) for relation in self.complementary.values()]
        beside = "feasibility of both sides and stationarity in each variable"
        if not rows:
            return Section("KKT conditions", ((f"{beside}; every constraint is an equality",),))
        return Section("KKT conditions", tuple(rows), f"beside {beside}")

    def _complementary(self, name: str) -> Relation:
        """A multiplier times the residual of its constraint, the multiplier eliminated where it is a short formula."""
        each = self.dual.eliminated.get(name)
        short = each is not None and each.form is not None
        price = self.eliminated[name] if short else self.write.multiplier(name)
        return Relation(Product((price, unsigned(self.write.row(self.reading.constraints[name])))), "=", ZERO)

    def recovery(self) -> Section:
        """The primal variables from the multipliers."""
        rows: Rows = []
        left = [self._variable(name) for name in self.raw.equalities]
        left += [Name(image.weight) for image in self.raw.vanishing]
        left += [self._variable(ball.slope.weight) for ball in self.raw.balls]
        for name, piece in self.raw.pieces.items():
            simpler = self.dual.pieces.get(name, piece)
            recovered = self._recovered(piece if isinstance(simpler, Lengths) else simpler)
            if recovered is None:
                left.append(self._variable(name))
            else:
                rows.append((recovered,))
        for name, formula in self.eliminated.items():
            rows.append((Relation(self.write.multiplier(name), "=", formula),))
        slacks = [name for name in self.raw.equalities if name in self.slacks]
        rows += [(self.slacks[name],) for name in slacks]
        left = [each for each in left if not any(each == self._variable(name) for name in slacks)]
        if left:
            words = ": from the constraints that hold with equality, or by minimising the primal with the rest fixed"
            rows.append((listed(left, words),))
        return Section("Recovery", tuple(rows))

    def _slacks(self) -> Iterator[tuple[str, Relation]]:
        """x_i = (rest)_+ for a variable that is not negative and stands, as -x_i, in one other constraint only."""
        for name in self.raw.equalities:
            rows = [
                (row, part)
                for row in self.reading.constraints.values()
                for part in row.affine.parts
                if part.variable is self.reading.variables[name]
            ]
            signs = [row for row, part in rows if _is_sign(row, part)]
            others = [(row, part) for row, part in rows if not _is_sign(row, part)]
            if len(signs) == 1 and len(others) == 1 and _is_minus(*others[0]):
                row, part = others[0]
                rest = dataclasses.replace(
                    row.affine, parts=tuple(each for each in row.affine.parts if each is not part)
                )
                yield name, Relation(self._variable(name), "=", Positive(self.write.affine(row, rest)))

    def _recovered(self, piece: Piece) -> Relation | None:
        """The minimiser where it is explicit."""
        return self._solved(piece) if not isinstance(piece, Conjugate) or _is_explicit(piece) else None

    def legend(self) -> Iterator[Section]:
        """What names stand for that the formulas use."""
        rows: Rows = []
        for name, loss in self.write.losses.items():
            rows += self._explained(name, loss)
        for left_out, names in where_defined(self.reading, self.labels).items():
            have = listed([self._variable(name) for name in names], ": for the points with ")
            rows.append((Phrase((*have.parts, self._but(left_out))),))
        for letter in self.reading.names.given:
            rows.append((listed([Name(letter)], ": numbers of the declaration"),))
        if rows:
            yield Section("Where", tuple(rows))

    def _but(self, left_out: float) -> Given:
        """All classes but one, which is the highest or the lowest of the sample where it can be."""
        y = self.reading.y
        assert y is not None
        for name, end in (("max", np.max(y)), ("min", np.min(y))):
            if left_out == end:
                return Given(f"y_i != {name}_j y_j", rf"y_i \ne \{name}_j y_j")
        return Given(f"y_i != {left_out:g}", rf"y_i \ne {left_out:g}")

    def _explained(self, name: str, loss: Loss) -> Iterator[tuple[Cell, ...]]:
        """The loss and its conjugate; its own parameters have a mark where they are not the machine's."""
        at_t, at_u = latex(Call(name, (Name("t"),))), latex(Call(f"{name}*", (Name("u"),)))
        own = {field.name: getattr(loss, field.name) for field in dataclasses.fields(loss)}  # type: ignore[arg-type]
        numbers = {letter: self.reading.names.number(value).formula() for letter, value in own.items()}
        mark = name.removeprefix("loss") or "'"
        own_letters = {letter: f"{letter}{mark}" for letter, number in numbers.items() if number != Name(letter)}
        value, conjugate, domain = (
            _relettered(each, own_letters)
            for each in (loss.formula, loss.conjugate_formula, loss.conjugate_domain_formula)
        )
        if loss.formula == Loss.formula:
            yield (Given(f"{name}: {loss!r}, given with its conjugate", rf"\text{{{name}: {type(loss).__name__}}}"),)
            return
        yield (Given(f"{name}(t) = {value.text}", f"{at_t} = {value.latex}"),)
        where = Given(f"  for {domain.text}", rf"\quad\text{{for }} {domain.latex}") if domain.text else Given("", "")
        yield (Given(f"{name}*(u) = {conjugate.text}{where.text}", f"{at_u} = {conjugate.latex}{where.latex}"),)
        for letter, changed in own_letters.items():
            yield (Relation(Name(changed), "=", numbers[letter]),)

    def _variable(self, name: str) -> Formula:
        """An entry of a primal variable or a multiplier, or a vector in feature space."""
        if name in self.reading.constraints:
            return self.write.multiplier(name)
        variable = self.reading.variables.get(name)
        index = "" if variable is None else self.reading.index[variable.id]
        return Name(name, (index,) if index else ())


def _relettered(formula: LossFormula, letters: Mapping[str, str]) -> Given:
    """A formula of a loss with other letters."""
    plain, tex = formula.text, formula.latex
    for letter, changed in letters.items():
        plain = re.sub(rf"\b{letter}\b", changed, plain)
        command, other = re.escape(latex(Name(letter))), latex(Name(changed)).replace("\\", r"\\")
        tex = re.sub(rf"(?<![A-Za-z\\]){command}(?![A-Za-z])", other, tex)
    return Given(plain, tex)


def _is_sign(row: Row, part: Part) -> bool:
    """Whether a constraint says that a variable is not negative, and nothing else."""
    return len(row.affine.parts) == 1 and not row.affine.offset.any() and not row.costs and _is_minus(row, part)


def _is_minus(row: Row, part: Part) -> bool:
    """Whether a variable stands in the rows of an inequality as -x_i."""
    own = part.form is Form.ENTRY and part.selection is None and part.alone == row.affine.scalar
    return (
        own and part.monomial == Monomial.constant(-1.0) and row.relation == "<=" and not row.costs and not row.lengths
    )


def _own_index(slope: Slope) -> tuple[str, ...]:
    return (slope.q.index,) if isinstance(slope, Arrow) and slope.q.index else ()


def _beside(formula: Formula) -> Phrase:
    return Phrase((": ", formula))


def _is_explicit(piece: Conjugate) -> bool:
    """Whether the conjugate is a multiple of u^2 everywhere, so that its slope is a multiple of u."""
    everywhere = piece.cost.loss.conjugate_domain == (-math.inf, math.inf)
    return everywhere and bool(piece.square) and not piece.linear


__all__ = ["Document", "Section"]
