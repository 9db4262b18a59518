"""What a theorem says about points that nobody has seen yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kopt import Reference
from kopt.show.html import block, element, table
from kopt.show.text import Branch, tree


@dataclass(frozen=True)
class Bound:
    """An upper bound on a probability or an expectation, term by term, with the conditions under which it holds.

    statement   what is bounded
    terms       numbers by name; `value` is their sum, or their minimum where the theorem takes one
    assumes     what must be true for the theorem to apply, and cannot be read off the sample
    delta       the probability, over samples, with which the bound may fail; None where there is no such probability
    trivial     what is true without any theorem: 1 for a probability

    >>> bound = Bound(Reference("A text", "Theorem 1"), "P(y != f(x))", {"errors": 0.25, "capacity": 0.5}, (), 0.05)
    >>> bound.value, bound.vacuous
    (0.75, False)
    >>> print(bound)
    P(y != f(x)) <= 0.75 with probability 0.95 over samples (A text, Theorem 1)
    └─ the sum of
       ├─ errors    0.25
       └─ capacity  0.5
    """

    reference: Reference
    statement: str
    terms: Mapping[str, float]
    assumes: tuple[str, ...]
    delta: float | None
    combination: Literal["sum", "minimum"] = "sum"
    trivial: float = 1.0

    @property
    def value(self) -> float:
        """The bound: the sum of the terms, or the minimum where the theorem takes one."""
        return float((sum if self.combination == "sum" else min)(self.terms.values()))

    @property
    def vacuous(self) -> bool:
        """Whether the bound says no more than is true without it."""
        return self.value >= self.trivial

    def __str__(self) -> str:
        width = max(map(len, self.terms))
        terms: list[Branch] = [(f"{name.ljust(width)}  {number:.6g}", []) for name, number in self.terms.items()]
        branches: list[Branch] = [(f"the {self.combination} of", terms)]
        if self.assumes:
            branches.append(("assumes", [(sentence, []) for sentence in self.assumes]))
        return tree(f"{self._heading} ({self.reference})", branches)

    def _repr_html_(self) -> str:
        terms = table([(name, f"{number:.6g}") for name, number in self.terms.items()], header=("term", "value"))
        assumed = element("ul", *(element("li", sentence) for sentence in self.assumes))
        head = element("div", element("b", self._heading), f" ({self.reference}), the {self.combination} of")
        return block(head, terms, *(["assumes", assumed] if self.assumes else []))

    @property
    def _heading(self) -> str:
        known = "" if self.delta is None else f" with probability {1 - self.delta:.6g} over samples"
        vacuous = ", which says nothing" if self.vacuous else ""
        return f"{self.statement} <= {self.value:.6g}{known}{vacuous}"
