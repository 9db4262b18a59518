r"""Formulas printed in two dialects: the plain text of the declarations, and LaTeX.

Both dialects share the rules of signs and brackets. A minus sign is drawn out of a leading factor, brackets stand only
where the formula would otherwise be read differently, and a sum over indices reaches to the next plus or minus.

>>> from fractions import Fraction
>>> from kopt.show.formula import Kernel, Name, Number, Over, Product, Sum
>>> alpha = [Name("alpha", (index,)) for index in "ij"]
>>> norm = Over(Product((*alpha, Kernel("i", "j"))), ("i", "j"))
>>> dual = Sum((Over(alpha[0], ("i",)), Product((Number(Fraction(-1, 2)), norm))))
>>> print(text(dual))
sum_i alpha_i - 1/2 sum_ij alpha_i alpha_j k(x_i, x_j)
>>> print(latex(dual))
\sum_{i} \alpha_i - \tfrac{1}{2} \sum_{i,j} \alpha_i \alpha_j k(x_i, x_j)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from fractions import Fraction
from itertools import pairwise, zip_longest
from typing import assert_never

from kopt.show.formula import (
    Call,
    Formula,
    Inner,
    Kernel,
    Name,
    Norm,
    Number,
    Over,
    Phi,
    Positive,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    Words,
)
from kopt.show.table import GAP

_ONE, _MINUS_ONE = Number(1), Number(-1)
_HALVES = (Number(0.5), Quotient(Number(1), Number(2)))

_ACCENTS = {"hat": r"\hat", "bar": r"\bar", "tilde": r"\tilde"}
_MARKS = {"plus": "+", "minus": "-"}
_GREEK = re.compile(
    "alpha|beta|gamma|delta|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|upsilon|phi|chi|psi|omega|ell|"
    "Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega"
)
# TeX has no command for Greek capitals that look like Latin ones.
_CAPITALS = re.compile("Alpha|Beta|Epsilon|Zeta|Eta|Iota|Kappa|Mu|Nu|Omicron|Rho|Tau|Chi")
_LOOKS_LIKE = {"Eta": "H", "Rho": "P", "Chi": "X"}
_FUNCTIONS = re.compile("arg|cos|cosh|det|exp|inf|ln|log|max|min|sin|sinh|sup|tan|tanh")
# Braces keep a browser from taking < for the beginning of a tag.
_SPECIAL = {sign: f"\\{sign}" for sign in "#$%&_{}"} | {"<": "{<}", ">": "{>}"}
_SPECIAL |= {"\\": r"\backslash{}", "^": r"\wedge{}", "~": r"\sim{}"}
_SIGNS = {"=": "=", "<=": r"\le", ">=": r"\ge", "in": r"\in"}
_SMALL_SIGNS = _SIGNS | {"!=": r"\ne", "<": "<", ">": ">"}
_SMALL_WORDS = {"in": r"\in", "and": r"\text{ and }", "or": r"\text{ or }"}
_SMALL_TOKENS = re.compile(r"([A-Za-z]\w*)_\(([^()]*)\)|([A-Za-z]\w*'*)|\s*(<=|>=|!=|[=<>])\s*|(\.\.)|(.)")


class _Level(IntEnum):
    """How tightly a formula holds together, from the loosest."""

    RELATION = 0
    SUM = 1
    PRODUCT = 2
    QUOTIENT = 3
    POWER = 4
    ATOM = 5


def text(formula: Formula) -> str:
    """The formula as the declarations write it.

    >>> text(Quotient(Number(-1), Product((Number(4), Name("C")))))
    '-1/(4 C)'
    """
    negative, body = _signed(formula)
    if negative:
        return f"-{_text_from(_Level.PRODUCT, body)}"
    match body:
        case Number(value):
            return _text_number(value)
        case Name(letter, index):
            return letter + _text_index(index)
        case Product(factors):
            return _text_product(factors)
        case Quotient(numerator, denominator):
            return _text_quotient(numerator, denominator)
        case Power(base, exponent):
            return _text_power(base, exponent)
        case Sum():
            return _series(body, _text_from)
        case Over(summand, index, where):
            below = f"_({_text_letters(index)}: {where})" if where else _text_index(index)
            return f"sum{below} {_text_from(_Level.PRODUCT, summand)}"
        case Inner(left, right):
            return f"<{text(left)}, {text(right)}>"
        case Phi(index, kernel):
            return f"{_of_kernel('phi', kernel)}({_text_point(index)})"
        case Kernel(left, right, kernel):
            return f"{_of_kernel('k', kernel)}({_text_point(left)}, {_text_point(right)})"
        case Norm(vector):
            return f"||{text(vector)}||"
        case Call("abs", (inside,)):
            return f"|{text(inside)}|"
        case Call(function, arguments):
            return f"{function}({', '.join(map(text, arguments))})"
        case Positive(part):
            return f"({text(part)})_+"
        case Relation(left, sign, right):
            return f"{text(left)} {sign} {text(right)}"
        case Words(words):
            return words
        case _:
            assert_never(body)


def latex(formula: Formula) -> str:
    r"""The formula in LaTeX, without delimiters.

    >>> print(latex(Quotient(Number(-1), Product((Number(4), Name("C"))))))
    -\frac{1}{4 C}
    """
    negative, body = _signed(formula)
    if negative:
        return f"-{_latex_from(_Level.PRODUCT, body)}"
    match body:
        case Number(value):
            return _latex_number(value)
        case Name(letter, index):
            return _latex_name(letter, index)
        case Product(factors):
            return _latex_product(factors)
        case Quotient(numerator, denominator):
            command = r"\tfrac" if _is_plain(numerator) and _is_plain(denominator) else r"\frac"
            return f"{command}{{{latex(numerator)}}}{{{latex(denominator)}}}"
        case Power(base, exponent):
            return _latex_power(base, exponent)
        case Sum():
            return _series(body, _latex_from)
        case Over(summand, index, where):
            condition = rf"\,:\,{_latex_small(where)}" if where else ""
            return rf"\sum_{{{','.join(map(_latex_small, index))}{condition}}} {_latex_from(_Level.PRODUCT, summand)}"
        case Inner(left, right):
            return _fenced(r"\langle ", f"{latex(left)}, {latex(right)}", r" \rangle")
        case Phi(index, kernel):
            return rf"{_latex_name('phi', _named(kernel))}({_latex_point(index)})"
        case Kernel(left, right, kernel):
            return f"{_latex_name('k', _named(kernel))}({_latex_point(left)}, {_latex_point(right)})"
        case Norm(vector):
            return _fenced(r"\lVert ", latex(vector), r" \rVert")
        case Call("abs", (inside,)):
            return _fenced(r"\lvert ", latex(inside), r" \rvert")
        case Call(function, arguments):
            return _latex_function(function) + _fenced("(", ", ".join(map(latex, arguments)), ")")
        case Positive(part):
            return _fenced("(", latex(part), ")") + "_+"
        case Relation(left, sign, right):
            return f"{latex(left)} {_SIGNS[sign]} {latex(right)}"
        case Words(words):
            return _latex_words(words)
        case _:
            assert_never(body)


def columns(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows of cells as text, each column as wide as its widest cell.

    >>> print(columns([("min", "R + C sum_i xi_i"), ("s.t.", "xi_i >= 0", ": mu_i")]))
    min   R + C sum_i xi_i
    s.t.  xi_i >= 0         : mu_i
    """
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    return "\n".join(GAP.join(map(str.ljust, row, widths)).rstrip() for row in rows)


def aligned(rows: Sequence[tuple[str, ...]]) -> str:
    r"""Rows of cells in LaTeX, aligned by column.

    >>> print(aligned([(r"\min", "R"), (r"\text{s.t.}", r"R \ge 0")]))
    \begin{aligned}
    \min & R \\
    \text{s.t.} & R \ge 0
    \end{aligned}
    """
    return "\\begin{aligned}\n" + " \\\\\n".join(map(" & ".join, rows)) + "\n\\end{aligned}"


def _signed(formula: Formula) -> tuple[bool, Formula]:
    """Whether a minus sign leads the formula, and the formula without it; factors 1 and single terms are unwrapped."""
    match formula:
        case Number(value) if value < 0:
            return True, Number(-value)
        case Product():
            return _signed_product(list(_factors(formula)))
        case Quotient(numerator, denominator):
            negative, numerator = _signed(numerator)
            return negative, Quotient(numerator, denominator)
        case Sum():
            terms = tuple(_terms(formula))
            match terms:
                case ():
                    return False, Number(0)
                case (only,):
                    return _signed(only)
            return False, Sum(terms)
    return False, formula


def _signed_product(factors: list[Formula]) -> tuple[bool, Formula]:
    """The sign of a product, from its factors -1 and from its first one."""
    minus = factors.count(_MINUS_ONE) % 2 == 1
    factors = [factor for factor in factors if factor != _MINUS_ONE]
    if not factors:
        return minus, _ONE
    negative, first = _signed(factors[0])
    return minus != negative, Product((first, *factors[1:])) if factors[1:] else first


def _factors(product: Product) -> Iterator[Formula]:
    """The factors other than 1, those of inner products among them."""
    for factor in product.factors:
        if isinstance(factor, Product):
            yield from _factors(factor)
        elif factor != _ONE:
            yield factor


def _terms(series: Sum) -> Iterator[Formula]:
    """The terms, those of inner sums among them."""
    for term in series.terms:
        if isinstance(term, Sum):
            yield from _terms(term)
        else:
            yield term


def _level(formula: Formula) -> _Level:
    """How tightly the formula holds together as it is printed."""
    negative, body = _signed(formula)
    match body:
        case Relation():
            return _Level.RELATION
        case _ if negative:
            return _Level.SUM
        case Sum():
            return _Level.SUM
        case Product() | Over():
            return _Level.PRODUCT
        case Quotient():
            return _Level.QUOTIENT
        case Number(value) if re.search("[/e]", _text_number(value)):
            return _Level.QUOTIENT
        case Power():
            return _Level.POWER
    return _Level.ATOM


def _reaches_on(formula: Formula) -> bool:
    """Whether the formula has a sum over indices outside all brackets."""
    match _signed(formula)[1]:
        case Over():
            return True
        case Product((*_, last)):
            return _reaches_on(last)
        case Sum(terms):
            return any(map(_reaches_on, terms))
    return False


def _series(series: Sum, enclosed: Callable[[_Level, Formula], str]) -> str:
    """The terms of a sum between their signs."""
    signed = [_signed(term) for term in series.terms]
    pieces = [(" - " if negative else " + ") + enclosed(_Level.PRODUCT, body) for negative, body in signed]
    return ("-" if signed[0][0] else "") + "".join(pieces).removeprefix(" - ").removeprefix(" + ")


def _text_from(least: _Level, formula: Formula, room: str = "") -> str:
    """The formula, in brackets if it is looser than a level."""
    return text(formula) if _level(formula) >= least else f"({room}{text(formula)}{room})"


def _text_operand(formula: Formula) -> str:
    """What is raised or divides; brackets around a sum over indices leave room."""
    return _text_from(_Level.POWER, formula, " " if _reaches_on(formula) else "")


def _text_product(factors: Sequence[Formula]) -> str:
    """The factors side by side; a star where two of them would run into one number."""
    last = len(factors) - 1
    pieces = [_text_factor(factor, i == 0, i == last) for i, factor in enumerate(factors)]
    return pieces[0] + "".join((" * " if piece[:1].isdigit() else " ") + piece for piece in pieces[1:])


def _text_factor(factor: Formula, is_first: bool, is_last: bool) -> str:
    """A sum over indices needs no brackets at the end of a product, a quotient none at the end or as its number."""
    match _signed(factor)[1]:
        case Over() if is_last:
            return _text_from(_Level.PRODUCT, factor)
        case Quotient(numerator, denominator) if _reaches_on(numerator) or _reaches_on(denominator):
            is_first = False
    return _text_from(_Level.QUOTIENT if is_first or is_last else _Level.POWER, factor)


def _text_quotient(numerator: Formula, denominator: Formula) -> str:
    """A slash, with room around it where a sum over indices divides or is divided."""
    reaches = _reaches_on(numerator)
    is_product = _level(numerator) == _Level.PRODUCT and not reaches
    above = text(numerator) if is_product else _text_operand(numerator)
    slash = " / " if reaches or _reaches_on(denominator) else "/"
    return above + slash + _text_operand(denominator)


def _text_power(base: Formula, exponent: Formula) -> str:
    """A hat; exponents of more than one word stand in brackets."""
    below, above = _text_operand(base), text(exponent)
    if _level(base) == _Level.POWER:
        below = f"({below})"
    return f"{below}^{above}" if re.fullmatch("[A-Za-z0-9.]+", above) else f"{below}^({above})"


def _text_number(value: Fraction | float) -> str:
    """A fraction or an integer in full, a float to six digits."""
    if isinstance(value, Fraction | int):
        return str(value)
    return f"{value:.6g}" if value else "0"


def _text_letters(index: tuple[str, ...]) -> str:
    """Indices of one letter side by side, others between commas."""
    return "".join(index) if all(len(part) == 1 for part in index) else ", ".join(index)


def _text_index(index: tuple[str, ...]) -> str:
    """The indices below a letter, in brackets unless they are a single word."""
    letters = _text_letters(index)
    return f"_{letters}" if letters.isalnum() else f"_({letters})" if letters else ""


def _of_kernel(letter: str, kernel: str) -> str:
    return f"{letter}_{kernel}" if kernel else letter


def _named(kernel: str) -> tuple[str, ...]:
    return (kernel,) if kernel else ()


def _text_point(index: str) -> str:
    return "x" + _text_index((index,) if index else ())


def _is_plain(formula: Formula) -> bool:
    """Whether the formula is a number on one line."""
    return isinstance(formula, Number) and _level(formula) == _Level.ATOM


def _latex_from(least: _Level, formula: Formula) -> str:
    """The formula, in brackets if it is looser than a level."""
    written = latex(formula)
    return written if _level(formula) >= least else _fenced("(", written, ")")


def _latex_product(factors: Sequence[Formula]) -> str:
    """The factors side by side, a sum over indices without brackets at the end."""
    pieces = [_latex_from(_Level.QUOTIENT, factor) for factor in factors[:-1]]
    ends = isinstance(_signed(factors[-1])[1], Over)
    pieces.append(_latex_from(_Level.PRODUCT if ends else _Level.QUOTIENT, factors[-1]))
    return pieces[0] + "".join(_latex_gap(before, after) + after for before, after in pairwise(pieces))


def _latex_gap(before: str, after: str) -> str:
    """A dot where two factors would run into one number, a space beside words."""
    if re.match(r"\d|\\tfrac", after):
        return r" \cdot "
    if before.startswith(r"\text{") or after.startswith(r"\text{"):
        return r"\ "
    return r" \, " if before.startswith(r"\mathrm") or after.startswith(r"\mathrm") else " "


def _latex_power(base: Formula, exponent: Formula) -> str:
    """A square root, or a raised exponent with its fraction on one line."""
    if exponent in _HALVES:
        return rf"\sqrt{{{latex(base)}}}"
    below = _latex_from(_Level.ATOM, base)
    # A letter has room for one superscript only.
    if isinstance(_signed(base)[1], Name) and re.search("[\\^']", below):
        below = f"({below})"
    one_line = isinstance(exponent, Number) and isinstance(exponent.value, Fraction)
    return f"{below}^{_braced(text(exponent) if one_line else latex(exponent))}"


def _latex_number(value: Fraction | float) -> str:
    """A small fraction, or decimals with a power of ten."""
    written = _text_number(value)
    if written in ("inf", "nan"):
        return r"\infty" if written == "inf" else r"\mathrm{nan}"
    if "/" in written:
        return rf"\tfrac{{{written.replace('/', '}{')}}}"
    digits, _, power = written.partition("e")
    if not power:
        return digits
    return f"{digits} \\cdot 10^{_braced(str(int(power)))}"


def _latex_name(letter: str, index: tuple[str, ...] = ()) -> str:
    """Digits and signs of the name go below with the indices, its other labels above.

    >>> for letter in ("mu_hat_l", "rho_plus", "w1", "Phi'", "gap", "50%"):
    ...     print(_latex_name(letter, ("i",)))
    \\hat{\\mu}^{l}_i
    \\rho_{+,i}
    w_{1,i}
    \\Phi'_i
    \\mathrm{gap}_i
    \\mathrm{50\\%}_i
    """
    stem = letter.rstrip("'")
    primes, above = letter[len(stem) :], ""
    if member := re.fullmatch(r"(.+)\[(\w+)\]", stem):
        stem, above = member[1], f"({member[2]})"
    head, *labels = stem.split("_")
    if not head or not all(labels):
        head, labels = stem, []
    if digits := re.fullmatch(r"([A-Za-z]+)(\d+)", head):
        head, labels = digits[1], [digits[2], *labels]
    base = r"\ell" if head == "l" else _latex_word(head)
    below: list[str] = []
    for label in labels:
        if label in _ACCENTS:
            base = f"{_ACCENTS[label]}{{{base}}}"
        elif label in _MARKS or label.isdigit():
            below.append(_MARKS.get(label, label))
        else:
            above += _latex_word(label)
    below += map(_latex_small, index)
    return base + primes + (f"^{{{above}}}" if above else "") + _latex_index(below)


def _latex_index(parts: Sequence[str]) -> str:
    """Indices of one letter side by side, others between commas."""
    if not parts:
        return ""
    letters = all(len(part) == 1 and part.isalpha() for part in parts)
    return f"_{_braced(('' if letters else ',').join(parts))}"


def _latex_word(word: str) -> str:
    """A Greek letter by its name, a single letter as it is, any other word upright."""
    if _GREEK.fullmatch(word):
        return f"\\{word}"
    if word in ("epsilon", "omicron"):
        return r"\varepsilon" if word == "epsilon" else "o"
    if _CAPITALS.fullmatch(word):
        return rf"\mathrm{{{_LOOKS_LIKE.get(word, word[0])}}}"
    escaped = "".join(_SPECIAL.get(sign, sign) for sign in word)
    return escaped if len(word) == 1 or word.isdigit() else rf"\mathrm{{{escaped}}}"


def _latex_small(words: str) -> str:
    r"""An index or a condition written as text.

    >>> print(_latex_small("y_i - 1"), _latex_small("y_i != b_(y_j)"), _latex_small("lambda_hat_r <= 1"))
    y_i - 1 y_i \ne b_{y_j} \hat{\lambda}_r \le 1
    """
    return _SMALL_TOKENS.sub(_latex_token, words)


def _latex_token(token: re.Match[str]) -> str:
    letter, below, name, sign, dots, other = token.groups()
    if letter:
        return _latex_name(letter, (below,))
    if name in _SMALL_WORDS:
        return _SMALL_WORDS[name]
    if name:
        stem, _, last = name.rpartition("_")
        return _latex_name(stem, (last,)) if stem and last and last not in _ACCENTS | _MARKS else _latex_name(name)
    if sign:
        return f" {_SMALL_SIGNS[sign]} "
    return r",\dots," if dots else _SPECIAL.get(other, other)


def _latex_point(index: str) -> str:
    return _latex_name("x", (index,) if index else ())


def _latex_function(function: str) -> str:
    """TeX's operators by their command, letters as letters, other functions upright; d f is a subdifferential."""
    if function.endswith("*"):
        return f"{_latex_function(function[:-1])}^*"
    if function.startswith("d "):
        return rf"\partial {_latex_function(function[2:])}"
    if _FUNCTIONS.fullmatch(function):
        return f"\\{function}"
    word = _latex_name(function)
    return rf"\operatorname{word.removeprefix(chr(92) + 'mathrm')}" if word.startswith(r"\mathrm") else word


def _latex_words(words: str) -> str:
    """Words in the letters of the text; signs that TeX reserves stand between them."""
    pieces = re.split(r"([#$%&_{}<>\\^~])", words)
    return "".join(_SPECIAL.get(piece, rf"\text{{{piece}}}") for piece in pieces if piece)


def _fenced(left: str, content: str, right: str) -> str:
    """Brackets that grow with a tall content."""
    if re.search(r"\\(frac|sum|left)", content):
        return rf"\left{left.rstrip()} {content} \right{right.lstrip()}"
    return f"{left}{content}{right}"


def _braced(script: str) -> str:
    """A script as one group."""
    return script if len(script) == 1 and script.isalnum() else f"{{{script}}}"
