"""A claim that is wrong as printed, what it should read, and the evidence, which is computed and never stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kopt.claim import Claim
from kopt.formulation import Formulation, Reference
from kopt.referee import Judgement, Verdict, referee
from kopt.show.verdict import gist

# A printed claim is refuted by a deviation far beyond any rounding; a corrected one has to hold as claims do.
REFUTED = 1e-3
HOLDS = 1e-5


@dataclass(frozen=True)
class Evidence:
    """What was computed about a printed claim.

    refuted     whether the claim as printed fails
    supported   whether the corrected claim holds on the same data
    words       the numbers
    """

    refuted: bool
    supported: bool
    words: str

    @property
    def convicts(self) -> bool:
        """Whether the print is wrong and the correction is not."""
        return self.refuted and self.supported


class Erratum(ABC):
    """One wrong claim of a text: subclass `WrongStatement` or `WrongPair` in a file of its own.

    It is found by itself in the modules that a package offers by an entry point in the group `kopt.errata`.

    reference   where the claim is printed
    printed     the claim as printed
    correct     what it should read
    """

    reference: ClassVar[Reference]
    printed: ClassVar[str]
    correct: ClassVar[str]

    @abstractmethod
    def evidence(self) -> Evidence:
        """Compute the numbers that refute the print and support the correction."""


class WrongStatement(Erratum):
    """A statement about numbers: an identity, a bound, what an algorithm reaches."""

    @abstractmethod
    def claims(self) -> tuple[Claim, Claim]:
        """The statement as printed and as corrected, with the numbers of one instance."""

    def evidence(self) -> Evidence:
        """Whether the one fails and the other holds; a number that is not finite refutes nothing."""
        printed, correct = self.claims()
        return Evidence(
            refuted=bool(np.isfinite([printed.left, printed.right]).all()) and not printed.holds(REFUTED),
            supported=correct.holds(HOLDS),
            words=f"printed: {_numbers(printed)}; correct: {_numbers(correct)}",
        )


class WrongPair(Erratum):
    """A printed dual or recovery rule, judged by the referee.

    Printed     the machine with what is printed, and everything else right
    Corrected   the machine as it should be
    expected    what the referee says of the print
    """

    Printed: ClassVar[type[Formulation]]
    Corrected: ClassVar[type[Formulation]]
    expected: ClassVar[Judgement] = Judgement.WRONG

    def evidence(self) -> Evidence:
        """Whether the referee convicts the one and acquits the other."""
        printed, correct = referee(self.Printed), referee(self.Corrected)
        return Evidence(
            refuted=printed.judgement is self.expected,
            supported=correct.judgement is Judgement.EXACT,
            words=f"printed: {_sentence(printed)}; correct: {_sentence(correct)}",
        )


def _numbers(claim: Claim) -> str:
    relation = claim.relation if claim.holds(REFUTED) else {"=": "!=", "<=": ">"}[claim.relation]
    return f"{claim.statement}: {claim.left:.5g} {relation} {claim.right:.5g}"


def _sentence(verdict: Verdict) -> str:
    return ", ".join(filter(None, (verdict.judgement.word, gist(verdict))))
