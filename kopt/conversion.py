"""The dictionary between formulations: one solution read as the solution of another."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp

from kopt.discovery import offered
from kopt.errors import InputError, ParameterError
from kopt.formulation import Formulation, check_arguments
from kopt.locations import BriefTraceback
from kopt.sample import Sample
from kopt.solution import Solution
from kopt.solvers.solve import CertificateWarning, doubt
from kopt.solvers.through_cvxpy import primal_values
from kopt.verify.certificate import TOLERANCE, certify


@dataclass(frozen=True)
class Equivalent:
    """The formulation that has the same solution, and that solution in its own variables.

    sample   where it lives on another sample than the one converted from, such as K + mu I for K
    """

    formulation: Formulation
    answer: Mapping[str, Any]
    sample: Sample | None = None


@dataclass(frozen=True)
class Conversion:
    """One entry of the dictionary: from the solution of `source` to that of `target`, by a law."""

    source: type[Formulation]
    target: type[Formulation]
    law: str
    rule: Callable[[Solution], Equivalent]

    def __call__(self, solution: Solution) -> Solution:
        """The converted solution, certified on its own."""
        try:
            found = self.rule(solution)
        except ParameterError as error:
            raise InputError(
                f"No {self.target.__name__} is equivalent to this solution of {solution.formulation!r}: "
                f"{error.what[0].lower()}{error.what[1:]}",
                "Choose other parameters.",
            ) from None
        sample = found.sample or solution.sample
        check_arguments(found.formulation, sample)
        step = f"{solution.formulation!r} -> {found.formulation!r} by {self.law}"
        certificate = certify(found.formulation, sample, found.answer)
        return Solution(
            found.formulation, sample, "dual", "conversion", (), certificate, origin=(*solution.origin, step)
        )


def converts(
    source: type[Formulation], target: type[Formulation], law: str
) -> Callable[[Callable[[Solution], Equivalent]], Conversion]:
    """Make a function of a solution an entry of the dictionary.

    It is found by itself in the modules that a package offers by an entry point in the group `kopt.conversions`.
    The function returns an `Equivalent`, or refuses with an InputError where this solution has none.
    """

    def entry(rule: Callable[[Solution], Equivalent]) -> Conversion:
        return Conversion(source, target, law, rule)

    return entry


def convert(answer: Any, to: Any, sample: Sample | None = None) -> Solution:
    """An answer read as the solution of another formulation, with the parameter that makes the two equivalent.

    answer   a solution; a fitted estimator of scikit-learn; or a solved primal made by `formulation.problem(sample)`
    to       the class of the formulation wanted; for a CVXPY problem the formulation it was made from
    sample   the data of an estimator or of a CVXPY problem; a solution has its own

    Nothing is solved again: the variables are translated, and the certificate is computed anew from the data. Where
    no single entry of the dictionary leads there, several are taken in turn.

    >>> import kopt
    >>> from kopt.examples import example
    >>> library = {cls.__name__: cls for cls in kopt.discover()}
    >>> solution = kopt.solve(library["SoftMargin"](C=0.3), example(kopt.Task.CLASSIFICATION))
    >>> kopt.convert(solution, to=library["NuSoftMargin"]).certificate.holds(1e-5)
    True
    """
    with BriefTraceback():
        converted = _converted(answer, to, sample)
    if not converted.certificate.holds(TOLERANCE):
        warnings.warn(doubt(converted.certificate, "The converted answer"), CertificateWarning, stacklevel=2)
    return converted


def _converted(answer: Any, to: Any, sample: Sample | None) -> Solution:
    if isinstance(answer, Solution):
        if sample is not None:
            raise InputError("A solution has a sample of its own.", "Leave sample= out.")
        return _along_a_path(answer, _checked_class(to))
    if not isinstance(sample, Sample):
        raise InputError(
            f"The answer is of type {type(answer).__name__}, and there is no sample.",
            "Give the data it belongs to: sample=kopt.Sample(X, y, kernel=...).",
        )
    if isinstance(answer, cp.Problem):
        if not isinstance(to, Formulation):
            raise InputError(
                "A CVXPY problem does not say which parameters it has.",
                "Give the formulation it was made from, such as to=SoftMargin(C=1.0).",
            )
        return _from_elsewhere(Equivalent(to, primal_values(answer, to, sample)), sample, "primal", "CVXPY")
    cls = _checked_class(to)
    cls.task.check(sample.y)
    found = cls.from_scikit_learn(answer, sample)
    return _from_elsewhere(Equivalent(*found), sample, "dual", type(answer).__name__)


def _checked_class(to: Any) -> type[Formulation]:
    if isinstance(to, type) and issubclass(to, Formulation):
        return to
    raise InputError(f"The target is {to!r:.60}.", "Give the class of a formulation, such as to=NuSoftMargin.")


def _from_elsewhere(found: Equivalent, sample: Sample, side: str, origin: str) -> Solution:
    check_arguments(found.formulation, sample)
    certificate = certify(found.formulation, sample, found.answer)
    return Solution(found.formulation, sample, side, "conversion", (), certificate, origin=(f"an answer of {origin}",))


def _along_a_path(solution: Solution, target: type[Formulation]) -> Solution:
    """The conversion by the shortest chain of entries that does not refuse."""
    source = type(solution.formulation)
    if source is target:
        return solution
    refusal: InputError | None = None
    for chain in _chains(source, target):
        try:
            converted = _taken(chain, solution)
        except InputError as error:
            refusal = refusal or error
        else:
            return converted
    if refusal is not None:
        raise refusal
    known = sorted({chain[-1].target.__name__ for chain in _chains(source)})
    raise InputError(
        f"No map leads from {source.__name__} to {target.__name__}.",
        f"From {source.__name__} there are maps to: {', '.join(known) or 'nothing'}.",
    )


def _taken(chain: tuple[Conversion, ...], solution: Solution) -> Solution:
    """A solution taken through a chain of entries, of which only the last may lead to another sample."""
    converted = solution
    for step in chain:
        if converted.sample is not solution.sample:
            raise InputError(
                f"The way from {type(solution.formulation).__name__} to {chain[-1].target.__name__} leads over another "
                "sample.",
                "Convert in two steps, if that is what you want.",
            )
        converted = step(converted)
    return converted


def _chains(source: type[Formulation], target: type[Formulation] | None = None) -> Iterator[tuple[Conversion, ...]]:
    """The chains of entries from one formulation to another (to any where none is named), shortest first."""
    known = entries()
    waiting: deque[tuple[Conversion, ...]] = deque((entry,) for entry in known if entry.source is source)
    while waiting:
        chain = waiting.popleft()
        end, seen = chain[-1].target, {source, *(step.target for step in chain)}
        if target is None or end is target:
            yield chain
        if end is not target:
            waiting.extend((*chain, entry) for entry in known if entry.source is end and entry.target not in seen)


def entries() -> list[Conversion]:
    """The whole dictionary: what the modules contain that packages offer in the group `kopt.conversions`."""
    found = [item for module in offered("kopt.conversions") for item in vars(module).values()]
    return list(dict.fromkeys(item for item in found if isinstance(item, Conversion)))
