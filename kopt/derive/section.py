"""A section of a derivation: rows of formulas, the same for text and LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kopt.show.formula import Formula
from kopt.show.mathematics import aligned, latex, text

WIDTH = 100


@dataclass(frozen=True)
class Given:
    """A formula that comes with its two spellings."""

    text: str
    latex: str


@dataclass(frozen=True)
class Phrase:
    """Words and formulas in turn, such as: with alpha_i, mu_i >= 0."""

    parts: tuple[Formula | Given | str, ...]


# A formula, or one after a sign of its own (=, + or -), or words, or both.
Cell: TypeAlias = Formula | tuple[str, Formula] | str | Given | Phrase
Rows: TypeAlias = list[tuple[Cell, ...]]


def listed(formulas: Sequence[Formula], after: str) -> Phrase:
    """alpha_i, alpha_hat_i, and what is said of them."""
    parts: list[Formula | Given | str] = []
    for formula in formulas:
        parts += [", ", formula] if parts else [formula]
    return Phrase((*parts, after))


# What is said of several names: that they are not negative.
NOT_NEGATIVE = " >= 0"


@dataclass(frozen=True)
class Section:
    """A heading, rows of cells, and a remark in words below them.

    >>> from kopt.show.formula import Name, Relation
    >>> alpha, C = Name("alpha", ("i",)), Name("C")
    >>> section = Section("Dual", (("s.t.", Relation(alpha, "<=", C), ""), ("", listed([alpha], NOT_NEGATIVE), "")))
    >>> print(section.text())
    Dual
      s.t.  alpha_i <= C
            alpha_i >= 0
    """

    title: str
    rows: tuple[tuple[Cell, ...], ...]
    remark: str = ""

    def text(self) -> str:
        """The section as plain text."""
        written = [[_text(cell) for cell in row] for row in self.rows]
        first = max((len(row[0]) for row in written if len(row) > 1), default=0)
        second = max((len(row[1]) for row in written if len(row) > 2 and row[2]), default=0)
        lines = [line for row in written for line in _laid_out(row, first, second)]
        if self.remark:
            lines.append(self.remark)
        return "\n".join([self.title, *(f"  {line}".rstrip() for line in lines)])

    def latex(self) -> str:
        """The rows as one aligned formula."""
        return aligned([_aligned_row(row) for row in self.rows])


def _text(cell: Cell) -> str:
    match cell:
        case str():
            return cell
        case Given():
            return cell.text
        case Phrase(parts):
            return "".join(_text(part) for part in parts)
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
        depth += (sign in "([") - (sign in ")]")
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
    """`aligned` sets its columns right and left in turn: the left ones are used; a third cell follows the second."""
    first, *others = (_latex(cell) for cell in row)
    return ("", first, r"\;", r" \qquad ".join(each for each in others if each)) if others else ("", first)


def _latex(cell: Cell) -> str:
    match cell:
        case "":
            return ""
        case "min" | "max":
            return f"\\{cell}"
        case ", " | ": ":
            return cell
        case str() if cell == NOT_NEGATIVE:
            return r" \ge 0"
        case str():
            return rf"\text{{{cell}}}"
        case Given():
            return cell.latex
        case Phrase(parts):
            return "".join(_latex(part) for part in parts)
        case (sign, formula):
            return f"{{}} {sign} {latex(formula)}"
    return latex(cell)
