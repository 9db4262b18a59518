"""A derivation written out: sections of rows of formulas, the same for text and LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kopt.derive.dual import Dual
from kopt.derive.forms import LinearForm
from kopt.derive.monomial import Monomial, negated
from kopt.derive.pieces import Arrow, Conjugate, Image, Lengths, Piece, Square, SquareOver
from kopt.derive.reading import Reading
from kopt.derive.writing import ZERO, Writing, is_negative, total_of
from kopt.show.formula import Formula, Name, Norm, Number, Product, Relation, Sum, Words
from kopt.show.mathematics import aligned, latex, text

# A formula, or one after a sign of its own (=, + or -), or a word.
Cell: TypeAlias = "Formula | tuple[str, Formula] | str | Given"

WIDTH = 100


@dataclass(frozen=True)
class Given:
    """A formula that comes with its two spellings."""

    text: str
    latex: str


@dataclass(frozen=True)
class Section:
    """A heading, rows of cells, and a remark below them."""

    title: str
    rows: tuple[tuple[Cell, ...], ...]
    remark: str = ""

    def text(self) -> str:
        """The section as plain text."""
        written = [[_text(cell) for cell in row] for row in self.rows]
        first = max(len(row[0]) for row in written if len(row) > 1) if any(len(r) > 1 for r in written) else 0
        second = max((len(row[1]) for row in written if len(row) > 2 and row[2]), default=0)
        lines = [line for row in written for line in _laid_out(row, first, second)]
        return "\n".join([self.title, *(f"  {line}".rstrip() for line in (*lines, *([self.remark] * bool(self.remark))))])

    def latex(self) -> str:
        """The rows as one aligned formula."""
        return aligned([_aligned_row(row) for row in self.rows])


def _text(cell: Cell) -> str:
    match cell:
        case str():
            return cell
        case Given(written, _):
            return written
        case (sign, formula):
            return f"{sign} {text(formula)}"
    return text(cell)


def _laid_out(row: list[str], first: int, second: int) -> Iterator[str]:
    """One row in columns, its second cell broken where it is too long."""
    if len(row) == 1:
        yield row[0]
        return
    lead, body, *tail = row
    pieces = broken(body, WIDTH)
    end = f"  {tail[0]}" if tail and tail[0] else ""
    yield f"{lead:<{first}}  {pieces[0]:<{second if end else 0}}{end}"
    for piece in pieces[1:]:
        yield f"{'':<{first}}  {piece}"


def broken(line: str, width: int) -> list[str]:
    """A long formula in several lines, each later one beginning with the sign of its first term.

    >>> broken("a + (b - c) - d", 12)
    ['a + (b - c)', '- d']
    """
    depth, cuts = 0, [0]
    for k, sign in enumerate(line):
        depth += (sign in "([<") - (sign in ")]>")
        if depth == 0 and line[k : k + 3] in (" + ", " - "):
            cuts.append(k)
    parts = [line[a:b] for a, b in zip(cuts, [*cuts[1:], len(line)], strict=True)]
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) <= width:
            lines[-1] += part
        else:
            lines.append(part.strip())
    return lines


def _aligned_row(row: tuple[Cell, ...]) -> tuple[str, ...]:
    """`aligned` sets its columns right and left in turn: the left ones are used."""
    cells: list[str] = []
    for cell in row:
        cells += [r"\quad" if cells else "", _latex(cell)]
    return tuple(cells)


def _latex(cell: Cell) -> str:
    match cell:
        case "":
            return ""
        case "min" | "max":
            return f"\\{cell}"
        case str():
            return rf"\text{{{cell}}}"
        case Given(_, written):
            return written
        case (sign, formula):
            return f"{{}} {sign} {latex(formula)}"
    return latex(cell)


class Document:
    """The sections of a derivation."""

    def __init__(self, reading: Reading, raw: Dual, dual: Dual) -> None:
        self.reading, self.raw, self.dual = reading, raw, dual
        self.write = Writing(reading)
        self.minimise = reading.primal.sign > 0
        self.sections = [
            self.primal(),
            self.lagrangian(),
            self.stationarity(),
            *self.substitution(),
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
        verb = "min" if self.minimise else "max"
        rows: list[tuple[Cell, ...]] = [(verb, self._user(self.write.row(self.reading.objective)), "")]
        for k, (name, row) in enumerate(self.reading.constraints.items()):
            rows.append(("s.t." if k == 0 else "", self.write.relation(row), _colon(self.write.multiplier(name))))
        return Section("Primal", tuple(rows))

    def lagrangian(self) -> Section:
        """Objective plus multipliers times residuals."""
        terms = [self.write.row(self.reading.objective)]
        terms += [self.write.priced(row) for row in self.reading.constraints.values()]
        rows: list[tuple[Cell, ...]] = []
        for term in terms:
            if term != ZERO:
                lead, sign = (Name("L"), "=") if not rows else ("", "+")
                rows.append((lead, ("-", negated(term)) if rows and is_negative(term) else (sign, term)))
        signed = [self.write.multiplier(name) for name, m in self.raw.multipliers.items() if m.signed]
        remark = f"with {', '.join(text(m) for m in signed)} >= 0" if signed else ""
        sense = "" if self.minimise else "of the minimisation of the negative objective"
        return Section("Lagrangian" + (f" {sense}" if sense else ""), tuple(rows), remark)

    def stationarity(self) -> Section:
        """What each variable gives."""
        rows: list[tuple[Cell, ...]] = []
        for name, piece in self.raw.pieces.items():
            rows += self._of_piece(name, piece)
        for image in self.raw.vanishing:
            rows.append((Name(image.weight), self.write.vanishing(image), ""))
        for ball in self.raw.balls:
            rows.append((Name(ball.slope.weight), self.write.ball(ball), ""))
        for name, form in self.raw.equalities.items():
            rows.append((_variable(name, form), self.write.equality(form), ""))
        return Section("Stationarity in each variable", tuple(rows))

    def _of_piece(self, name: str, piece: Piece) -> Iterator[tuple[Cell, ...]]:
        match piece:
            case Square(slope, _, _) | SquareOver(slope, _):
                yield Name(name) if isinstance(slope, Image) else _variable(name, slope.q), self._solved(piece), ""
            case Conjugate():
                yield _variable(name, piece.slope), self._solved(piece), ""

    def _solved(self, piece: Piece) -> Formula:
        """The minimiser in terms of the multipliers."""
        match piece:
            case Square(slope, _, a):
                factor, vector = self.write.vector(slope)
                scale = factor / (Monomial.constant(2.0) * a)
                return Relation(Name(slope.weight, _own_index(slope)), "=", scale.formula(vector))
            case SquareOver(slope, a):
                factor, vector = self.write.vector(slope)
                common = 2.0 if abs(factor.number) % 2 == 0 else 1.0
                left = self.write.form(a.scaled(Monomial.constant(2.0 / common), 2.0 / common))
                right = (factor / Monomial.constant(common)).formula(vector)
                return Relation(_times(left, Name(slope.weight, _own_index(slope))), "=", right)
            case Conjugate():
                return self._solved_cost(piece)
        raise TypeError(piece)

    def _solved_cost(self, piece: Conjugate) -> Formula:
        cost, index = piece.cost, piece.slope.index
        x = Name(cost.variable.name(), (index,) if index else ())
        t = total_of([cost.slope_name.formula(x), *([] if cost.shift_name is None else [cost.shift_name.formula()])])
        u = self.write.form(piece.u)
        if piece.polynomial and piece.square and not piece.linear and _everywhere(piece):
            common, entry = self.write.image(Arrow(cost.variable.name(), piece.slope))
            scale = common * self.reading.names.number(2 * piece.square) / (cost.weight_name * cost.slope_name)
            return Relation(t, "=", scale.without_squares_of(self.write.signs).formula(entry))
        from kopt.show.formula import Call

        self.write.losses["loss"] = cost.loss
        return Relation(u, "in", Call("d loss", (t,)))

    def substitution(self) -> Iterator[Section]:
        """What is left when the minimisers are substituted, with all multipliers; and what is then simplified."""
        rows: list[tuple[Cell, ...]] = [(Name("L"), ("=", self.write.dual_objective(self.raw)))]
        for name, each in self.dual.eliminated.items():
            rows.append((self.write.multiplier(name), ("=", self._eliminated(each))))
        yield Section("Substitution", tuple(rows))

    def _eliminated(self, each: object) -> Formula:
        form, lengths = each.form, each.lengths  # type: ignore[attr-defined]
        if form is not None:
            return self.write.form(form)
        factor, root = self.write.root(lengths.slopes)
        return (lengths.name * factor).formula(root)

    def program(self) -> Section:
        """The dual."""
        verb = "max" if self.minimise else "min"
        rows: list[tuple[Cell, ...]] = [(verb, self._user(self.write.dual_objective(self.dual)), "")]
        found: list[tuple[Formula, Cell]] = []
        for name, form in self.dual.equalities.items():
            found.append((self.write.equality(form), _colon(_variable(name, form))))
        for bound in self.dual.bounds:
            found.append((self.write.bound(bound), _colon(_variable(bound.about, bound.form)) if bound.named else ""))
        found += [(self.write.ball(ball), "") for ball in self.dual.balls]
        found += [(self.write.vanishing(image), "") for image in self.dual.vanishing]
        signed = [self.write.multiplier(name) for name, m in self.dual.variables.items() if m.signed]
        if signed:
            found.append((Relation(listed(signed), ">=", ZERO), ""))
        rows += [("s.t." if k == 0 else "", formula, colon) for k, (formula, colon) in enumerate(found)]
        return Section("Dual", tuple(rows))

    def conditions(self) -> Section:
        """Complementarity, beside feasibility and stationarity."""
        rows: list[tuple[Cell, ...]] = []
        for name, row in self.reading.constraints.items():
            if not self.raw.multipliers[name].signed:
                continue
            residual = self.write.row(row)
            each = self.dual.eliminated.get(name)
            price = self.write.multiplier(name) if each is None or each.form is None else self._eliminated(each)
            rows.append((Relation(_times(price, _bare(residual)), "=", ZERO),))
        if not rows:
            rows.append(("every constraint is an equality",))
        return Section(
            "KKT conditions", tuple(rows), "beside feasibility of both sides and stationarity in each variable"
        )

    def recovery(self) -> Section:
        """The primal variables from the multipliers."""
        rows: list[tuple[Cell, ...]] = []
        for name, piece in self.raw.pieces.items():
            simpler = self.dual.pieces.get(name, piece)
            simpler = piece if isinstance(simpler, Lengths) else simpler
            if not isinstance(simpler, Conjugate) or simpler.polynomial:
                rows.append((self._solved(simpler),))
        rest = [name for name in self.raw.equalities]
        for name, each in self.dual.eliminated.items():
            rows.append((Relation(self.write.multiplier(name), "=", self._eliminated(each)),))
        remark = ""
        if rest:
            remark = f"{', '.join(rest)}: minimise the primal with the rest fixed, or solve the active constraints"
        return Section("Recovery", tuple(rows) or (("from the active constraints",),), remark)

    def legend(self) -> Iterator[Section]:
        """What names stand for that the formulas use."""
        rows: list[tuple[Cell, ...]] = []
        for loss in self.write.losses.values():
            rows.append((Given(f"loss(t) = {loss.formula.text}", rf"\operatorname{{loss}}(t) = {loss.formula.latex}"),))
            domain = loss.conjugate_domain_formula
            where = (f"  for {domain.text}", rf"\quad\text{{for }} {domain.latex}") if domain.text else ("", "")
            conjugate = rf"\operatorname{{loss}}^*(u) = {loss.conjugate_formula.latex}"
            rows.append((Given(f"loss*(u) = {loss.conjugate_formula.text}{where[0]}", conjugate + where[1]),))
        for letter in self.reading.names.given:
            rows.append((Product((Name(letter), Words(": numbers of the declaration"))),))
        if rows:
            yield Section("Where", tuple(rows))


def listed(names: Sequence[Formula]) -> Formula:
    """alpha_i, alpha_hat_i."""
    return names[0] if len(names) == 1 else Words(", ".join(text(name) for name in names))


def _variable(name: str, form: LinearForm) -> Formula:
    return Name(name, (form.index,) if form.index else ())


def _own_index(slope: object) -> tuple[str, ...]:
    return (slope.q.index,) if isinstance(slope, Arrow) and slope.q.index else ()


def _colon(formula: Formula) -> Formula:
    return Product((Words(":"), formula))


def _times(left: Formula, right: Formula) -> Formula:
    return Product((left, right))


def _bare(residual: Formula) -> Formula:
    if isinstance(residual, Product) and residual.factors[0] == Number(-1):
        return residual.factors[1] if len(residual.factors) == 2 else Product(residual.factors[1:])
    return residual


def _everywhere(piece: Conjugate) -> bool:
    lower, upper = piece.cost.loss.conjugate_domain
    return lower == -float("inf") and upper == float("inf")


__all__ = ["Document", "Norm", "Section"]
