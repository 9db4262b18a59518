"""Formulas of the texts as a tree, the same for every dialect they are printed in."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Number:
    """A number, of either sign."""

    value: Fraction | float | int


@dataclass(frozen=True, slots=True)
class Name:
    """A letter as in a declaration, such as alpha_hat or Phi', and its indices, such as i or y_i - 1."""

    letter: str
    index: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Product:
    """The product of its factors in the order of writing; 1 without any."""

    factors: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Quotient:
    """numerator / denominator."""

    numerator: Formula
    denominator: Formula


@dataclass(frozen=True, slots=True)
class Power:
    """base ^ exponent; the exponent 1/2 is a square root."""

    base: Formula
    exponent: Formula


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of its terms in the order of writing; 0 without any."""

    terms: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Over:
    """The sum of the body over indices, where a condition on them such as y_i = y holds."""

    body: Formula
    index: tuple[str, ...]
    where: str = ""


@dataclass(frozen=True, slots=True)
class Inner:
    """The inner product <left, right>."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Phi:
    """The image phi(x_i) of a point, by one of several kernels where it is named; of x itself without an index."""

    index: str
    kernel: str = ""


@dataclass(frozen=True, slots=True)
class Kernel:
    """The kernel k(x_i, x_j) of two points, one of several where it is named; of x itself without an index."""

    left: str
    right: str
    kernel: str = ""


@dataclass(frozen=True, slots=True)
class Norm:
    """||body||."""

    body: Formula


@dataclass(frozen=True, slots=True)
class Call:
    """A function such as log, exp or max of its arguments."""

    function: str
    arguments: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Positive:
    """The positive part (body)_+ = max(0, body)."""

    body: Formula


@dataclass(frozen=True, slots=True)
class Relation:
    """left sign right; a chain 0 <= alpha_i <= C has a relation on its left."""

    left: Formula
    sign: Literal["=", "<=", ">=", "in"]
    right: Formula


@dataclass(frozen=True, slots=True)
class Words:
    """Plain words inside a formula."""

    text: str


Formula: TypeAlias = (
    Number
    | Name
    | Product
    | Quotient
    | Power
    | Sum
    | Over
    | Inner
    | Phi
    | Kernel
    | Norm
    | Call
    | Positive
    | Relation
    | Words
)
