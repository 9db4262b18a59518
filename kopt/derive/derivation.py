r"""`kopt.derive`: from a primal to its textbook dual, with the derivation written out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kopt.derive.cannot import CannotDerive
from kopt.derive.document import Document
from kopt.derive.dual import Dual, raw_dual
from kopt.derive.merge import merged
from kopt.derive.numbers import constants_of
from kopt.derive.printed import printed_dual_agrees, printed_primal_agrees, transplanted
from kopt.derive.reading import Reading, read_program
from kopt.derive.section import Section
from kopt.derive.simplify import simplified
from kopt.derive.trace import Ledger, TracingView, traced
from kopt.errors import InputError, KoptError
from kopt.formulation import Formulation, primal_of
from kopt.locations import BriefTraceback
from kopt.program import Program
from kopt.referee import Judgement, Verdict, referee
from kopt.referee.instances import Instance, random_instances
from kopt.sample import Sample
from kopt.views import ExplicitView, ProductView, View

OF_ONE_SAMPLE = (
    "Some numbers above belong to the sample on which this was written: build them from s.n, s.y and parameters, or "
    'name them, s.named("d", ...).'
)


class Unconfirmed(KoptError):
    """The referee does not call a derived dual exact, or its formulas do not evaluate to it; nothing is printed."""


@dataclass(frozen=True)
class Derivation:
    """A dual that was derived from a primal, and how.

    name       of the machine
    machine    the formulation with the derived dual, a class or an instance as it was given; None for a program
    verdict    of the referee on the derived dual: exact, or there is no derivation
    sections   the primal, the Lagrangian, stationarity, substitution, the dual, the KKT conditions and the recovery
    """

    name: str
    machine: Any
    verdict: Verdict
    sections: tuple[Section, ...]
    _program: Program | None = None

    def program(self, sample: Sample | None = None) -> Program:
        """The derived dual: of the program that was given, or of the machine on a sample."""
        if self._program is not None:
            return self._program
        if sample is None:
            raise InputError(f"The dual of {self.name} needs a sample.", "Give derivation.program(sample).")
        if isinstance(self.machine, type):
            raise InputError(
                f"{self.name} was given as a class, without its parameters.",
                f"Derive {self.name}(...), or make an instance of derivation.machine.",
            )
        program = self.machine.dual(ExplicitView(sample))
        assert isinstance(program, Program)
        return program

    def text(self) -> str:
        """The derivation as plain text."""
        return "\n\n".join([self._headline, *(section.text() for section in self.sections)])

    def latex(self) -> str:
        """The derivation as a fragment of LaTeX: paragraphs and displayed formulas."""
        parts = []
        for section in self.sections:
            remark = f"\n{section.remark}" if section.remark else ""
            parts.append(rf"\paragraph{{{section.title}}}" + f"\n\\[\n{section.latex()}\n\\]" + remark)
        return "\n\n".join(parts)

    @property
    def formulas(self) -> dict[str, str]:
        """The LaTeX of each section by its title."""
        return {section.title: section.latex() for section in self.sections}

    @property
    def _headline(self) -> str:
        return f"{self.name}: the dual, derived ({self.verdict.judgement.word} by the referee)"

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        parts = [f"**{self._headline}**"]
        for section in self.sections:
            parts.append(f"*{section.title}*\n\n$$\n{section.latex()}\n$$")
            if section.remark:
                parts.append(section.remark)
        return "\n\n".join(parts)


def derive(
    given: Formulation | type[Formulation] | Program, *, costs: bool = False, instances: int = 4, seed: int = 0
) -> Derivation:
    r"""The dual of a primal whose Lagrangian separates over the primal variables, with its derivation.

    given       a formulation (its own dual, if it declares one, plays no part), or a program
    costs       whether costs per point are written out
    instances   how many the referee tries before the dual is returned
    seed        of everything random

    Each primal variable is minimised over by itself: an affine one gives an equality, a squared norm a quadratic form
    in K, a ball a norm, a loss its conjugate. Multipliers that an equality determines are eliminated. What cannot be
    derived is refused, with the variable and the term in the way.

    >>> import cvxpy as cp, kopt
    >>> x = cp.Variable(name="x")
    >>> derivation = derive(kopt.Program(cp.Minimize(cp.square(x)), {"a": x >= 3}))
    >>> print(derivation.sections[4].text())
    Dual
      max   3 a - 1/4 a^2
      s.t.  a >= 0
    >>> float(round(derivation.program().problem().solve(solver="CLARABEL"), 6))
    9.0
    """
    with BriefTraceback(), np.errstate(all="ignore"):
        if isinstance(given, Program):
            return _of_program(given, instances, seed)
        cls = given if isinstance(given, type) else type(given)
        if not (isinstance(cls, type) and issubclass(cls, Formulation)) or cls is Formulation:
            raise InputError(
                f"The first argument is {cls.__name__}, which declares no primal.",
                "Give a subclass of kopt.Formulation, an instance of one, or a kopt.Program.",
            )
        return _of_formulation(given, costs, instances, seed)


def _of_formulation(given: Any, costs: bool, instances: int, seed: int) -> Derivation:
    primal_only = _variant(given, dual=Formulation.dual)
    drawn = list(random_instances(primal_only, 6, seed))
    primal_of(drawn[0].formulation, ProductView(drawn[0].sample)).check_convex()
    written = _written(drawn, costs)
    # The recovery is the author's, and no part of the dual.
    judged = _variant(given, dual=derived_dual, recover=Formulation.recover)
    verdict = _confirmed(referee(judged, instances=instances, seed=seed))
    _check_print(written)
    sections = _sections(written, pairs=_has_pairs(written, judged, drawn, min(2, instances), seed))
    return Derivation(verdict.name, _variant(given, dual=derived_dual), verdict, sections)


def _of_program(primal: Program, instances: int, seed: int) -> Derivation:
    primal.check_convex()
    reading = read_program(primal, Ledger())
    document = Document(reading, raw_dual(reading), simplified(raw_dual(reading)))
    program = document.dual.program(None)
    verdict = _confirmed(referee(primal=primal, dual=program, instances=instances, seed=seed))
    written = _Written(document, program, {}, general=True)
    _check_print(written)
    return Derivation("Program", None, verdict, _sections(written, pairs=False), program)


def _confirmed(verdict: Verdict) -> Verdict:
    if verdict.judgement is not Judgement.EXACT:
        fault = f" ({verdict.faults[0].what})" if verdict.faults else ""
        raise Unconfirmed(
            f"The referee calls the derived dual {verdict.judgement.word}, not exact{fault}.",
            "Make sure that the primal has an optimum and that the conjugate of a loss of your own is right; if so, "
            "this is a fault of kopt.derive: declare the dual by hand, and report the primal.",
        )
    return verdict


class _Written(NamedTuple):
    """A document with the dual program and the numbers on its sample, and whether it holds on other samples as well."""

    document: Document
    program: Program
    constants: dict[str, Any]
    general: bool


def _sections(written: _Written, pairs: bool) -> tuple[Section, ...]:
    """The sections, with the dual in merged multipliers after the dual where there are pairs."""
    sections = list(written.document.sections)
    found = merged(written.document.dual) if pairs else None
    if found is not None:
        place = next(k for k, section in enumerate(sections) if section.title == "Dual")
        sections.insert(place + 1, found.section())
    if not written.general:
        sections.append(Section("Note", ((OF_ONE_SAMPLE,),)))
    return tuple(sections)


def _has_pairs(written: _Written, judged: Any, drawn: list[Instance], instances: int, seed: int) -> bool:
    """Whether multipliers are merged on every instance, and the referee accepts what is left."""
    names = _merged_names(written.document.dual)
    if names is None or any(_merged_names(_dual(i.formulation, i.sample)) != names for i in drawn):
        return False

    def dual(self: Formulation, s: View) -> Program:
        found = merged(_dual(self, s.sample))
        assert found is not None
        return found.program(s)

    return referee(_variant(judged, dual=dual), instances=instances, seed=seed).accepts


def _merged_names(dual: Dual) -> set[str] | None:
    found = merged(dual)
    return None if found is None else set(found.variables)


def _written(instances: list[Instance], costs: bool) -> _Written:
    """The derivation written on the instance that mixes up least, and tried on the others."""
    first, *others = sorted(instances, key=_telling, reverse=True)
    written = _on_instance(first, costs)
    moved = (_transplanted(written, _on_instance(other, costs)) for other in others)
    return written._replace(general=all(each is not None and _is_right(each) for each in moved))


def _on_instance(instance: Instance, costs: bool) -> _Written:
    document, constants = _document(instance, costs)
    return _Written(document, document.dual.program(ExplicitView(_sample(instance, costs))), constants, general=True)


def _transplanted(written: _Written, other: _Written) -> _Written | None:
    """The formulas with the numbers of another sample; None where the program has another shape there."""
    here, there = written.document, other.document
    if len(here.dual_lines) != len(there.dual_lines) or list(here.primal_relations) != list(there.primal_relations):
        return None
    return other._replace(document=transplanted(here, there))


def _is_right(written: _Written) -> bool:
    document, program, constants, _ = written
    return printed_dual_agrees(document, program, constants) and printed_primal_agrees(document, constants)


def _check_print(written: _Written) -> None:
    """Refuse formulas that do not evaluate to what the programs do."""
    if not _is_right(written):
        raise Unconfirmed(
            "The derived dual is exact, but its formulas do not evaluate to it.",
            "Take the program itself, kopt.derived_dual(formulation, s), and report the primal: this is a fault of "
            "kopt.derive.",
        )


def _telling(instance: Instance) -> tuple[bool, bool, int, int]:
    """How much an instance tells apart: the diagonal of K and the costs from numbers, classes, index sets."""
    sample = instance.sample
    varied = all(bool(np.ptp(gram.diagonal)) for gram in sample.grams.values())
    return varied, bool(np.ptp(sample.costs)), 0 if sample.y is None else min(4, len(np.unique(sample.y))), sample.n


def _sample(instance: Instance, costs: bool) -> Sample:
    return instance.sample if costs else instance.sample.relabelled(instance.sample.y, costs=None)


def _document(instance: Instance, costs: bool) -> tuple[Document, dict[str, Any]]:
    """The derivation on an instance, and the numbers that its letters stand for."""
    sample, formulation = _sample(instance, costs), _unmistakable(instance.formulation)
    names = _names(formulation, sample)
    letter = next(each for each in ("c", "p", "kappa", "cost") if each not in names) if costs else ""
    view = TracingView(sample, Ledger(), letter)
    reading = _read(formulation, view)
    for name in view.letters.keys() & {*names, *vars(formulation), "y", "l"}:
        raise CannotDerive(
            f"{name!r} is given to an array, s.named({name!r}, ...), and to something else", "another name"
        )
    document = Document(reading, raw_dual(reading), simplified(raw_dual(reading)))
    return document, constants_of(formulation, sample, view.letters)


def _names(formulation: Formulation, sample: Sample) -> set[str]:
    """The names of variables and multipliers; refused where one of them is a parameter's as well."""
    view = ProductView(sample)
    program = primal_of(formulation, view)
    own = {name.partition(".")[0] for name in program.variables} | set(program.constraints)
    known = {"l": "the number of points", "phi": "the map to feature space"} | (
        {} if sample.y is None else {"y": "y_i"}
    )
    for name in set(vars(formulation)) & set(known):
        raise CannotDerive(f"{name!r} is the name of a parameter and of {known[name]}", "another name")
    known |= dict.fromkeys(vars(formulation), "a parameter")
    for name in own & set(known):
        raise CannotDerive(f"{name!r} is the name of a variable or a multiplier and of {known[name]}", "another name")
    return own | set(view.weights) | set(vars(formulation))


def _unmistakable(declared: Any) -> Any:
    """The formulation, or a part of it, with parameters that nobody writes as numbers: C = 2 is not told from a 2."""
    changed = {}
    for field in dataclasses.fields(declared):
        value = getattr(declared, field.name)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            changed[field.name] = _unmistakable(value)
        elif "domain" in field.metadata and isinstance(value, float):
            moved = 0.98765 * value + (0.0 if value else 0.01234)
            changed[field.name] = moved if field.metadata["domain"].contains(moved) else value
    return dataclasses.replace(declared, **changed)


def _read(formulation: Formulation, view: TracingView) -> Reading:
    return read_program(primal_of(traced(formulation, view.ledger), view), view.ledger, view)


def derived_dual(formulation: Formulation, s: View) -> Program:
    """The dual of a formulation on a sample, derived from its primal; `kopt.derive` says whether it is right."""
    return _dual(formulation, s.sample).program(s)


def _dual(formulation: Formulation, sample: Sample) -> Dual:
    return simplified(raw_dual(_read(formulation, TracingView(sample, Ledger()))))


def _variant(given: Any, **methods: Any) -> Any:
    """The class that was given, or the instance, with other methods."""
    cls = given if isinstance(given, type) else type(given)
    body = {"__module__": cls.__module__, "__doc__": cls.__doc__, "__qualname__": cls.__qualname__, **methods}
    variant = type(cls.__name__, (cls,), body)
    return variant if given is cls else variant(**vars(given))
