"""The referee: is the claimed dual the dual of the primal, and if not, where is the fault?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from kopt.errors import InputError
from kopt.formulation import Formulation
from kopt.locations import BriefTraceback
from kopt.program import Program
from kopt.referee.bent import outside_their_cone, with_best_multipliers
from kopt.referee.domain import missing, repaired_multipliers, superfluous
from kopt.referee.explain import explain
from kopt.referee.factors import factor_text
from kopt.referee.finding import Finding, Sentences
from kopt.referee.instances import Instance, random_instances
from kopt.referee.naming import exchanged, misnamed_constraints
from kopt.referee.optimum import Optimum, lost, multipliers_agree, solve_both, wrong_recovery
from kopt.referee.pointwise import Comparison, compare
from kopt.referee.scaled import scaling
from kopt.referee.trial import Trial
from kopt.referee.verdict import Fault, Judgement, Kind, Verdict
from kopt.sample import Sample
from kopt.views import View

# So many instances are explained together.
EXPLAINED = 5

Side = Program | Callable[[View], Program]


def referee(
    formulation: Formulation | type[Formulation] | None = None,
    sample: Sample | None = None,
    *,
    primal: Side | None = None,
    dual: Side | None = None,
    instances: int = 8,
    seed: int = 0,
) -> Verdict:
    """Whether the declared dual is the dual of the declared primal; if not, what is wrong and where.

    formulation   a class, or an instance whose fields without a domain are kept; its parameters are drawn at random
    sample        data to judge it on, or on random parts of; random samples for its task where none is given
    primal, dual  instead of a formulation: two programs, or two functions of the sample's view that return them
    instances     how many are tried
    seed          of everything random: the same seed gives the same verdict

    At random points of the claimed feasible set the Lagrangian L(x, multipliers) is minimised over the primal
    variables x and compared with the claimed objective; the claimed feasible set is compared with the set of points
    at which that minimum exists; and where the optimum can be computed, both sides are.

    >>> import cvxpy as cp, kopt
    >>> x, a = cp.Variable(name="x"), cp.Variable(name="a")
    >>> primal = kopt.Program(cp.Minimize(cp.square(x)), {"a": x >= 3})
    >>> dual = kopt.Program(cp.Maximize(3 * a - cp.square(a) / 4), domain=[a >= 0])
    >>> referee(primal=primal, dual=dual).judgement.name
    'EXACT'
    >>> verdict = referee(primal=primal, dual=kopt.Program(cp.Maximize(3 * a - cp.square(a)), domain=[a >= 0]))
    >>> print(verdict.faults[0].fix)
    Multiply -a^2 by 1/4.
    """
    with BriefTraceback(), np.errstate(all="ignore"):
        if formulation is None:
            whole = _inline(primal, dual, sample)
            return _verdict(whole, [Instance(whole, sample or _NOTHING)], seed)
        _check(formulation, instances)
        return _verdict(formulation, random_instances(formulation, instances, seed, sample), seed)


def _verdict(formulation: Formulation | type[Formulation], instances: Iterable[Instance], seed: int) -> Verdict:
    start = time.perf_counter()
    trials = [Trial(each, np.random.default_rng([seed, i])) for i, each in enumerate(instances)]
    evidence = _evidence(trials)
    judgement, factor = _judged(evidence)
    comparisons = evidence.comparisons
    return Verdict(
        name=_class(formulation).__name__,
        judgement=judgement,
        instances=len(trials),
        points=sum(int(np.sum(c.known | (c.true == -np.inf))) for c in comparisons),
        discrepancy=max((float(np.max(c.discrepancy, initial=0.0)) for c in comparisons), default=np.nan),
        factor=factor,
        faults=tuple(_merged(evidence.findings)),
        notes=tuple(evidence.notes),
        seconds=time.perf_counter() - start,
    )


_NOTHING = Sample(np.zeros((1, 1)))


def _inline(primal: Side | None, dual: Side | None, sample: Sample | None) -> Formulation:
    """A formulation made of two programs."""
    if primal is None or dual is None:
        raise InputError(
            "There is neither a formulation nor a primal with a dual.",
            "Give kopt.referee(formulation), or kopt.referee(primal=..., dual=..., sample=...).",
        )
    if sample is None and not (isinstance(primal, Program) and isinstance(dual, Program)):
        raise InputError(
            "The primal or the dual is a function of a sample, but there is no sample.", "Give sample=kopt.Sample(...)."
        )
    sides = {
        name: (lambda self, s, side=side: side) if isinstance(side, Program) else (lambda self, s, side=side: side(s))
        for name, side in (("primal", primal), ("dual", dual))
    }
    inline = type("Inline", (Formulation,), sides)()
    inline.check(sample or _NOTHING)
    return inline


def _class(formulation: Formulation | type[Formulation]) -> type[Formulation]:
    return formulation if isinstance(formulation, type) else type(formulation)


def _check(formulation: Formulation | type[Formulation], instances: int) -> None:
    if not issubclass(_class(formulation), Formulation):
        raise InputError(
            f"The first argument is of type {_class(formulation).__name__}, which is no formulation.",
            "Give a Formulation, or primal=... and dual=....",
        )
    if instances < 1:
        raise InputError(f"The number of instances is {instances}.", "Try at least one.")


@dataclass
class _Evidence:
    """All that the trials show."""

    trials: Sequence[Trial]
    findings: list[Finding] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    optima: list[Optimum] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def settings(self) -> list[dict[str, float]]:
        """The numbers of which factors may be made, for each trial."""
        return [trial.instance.numbers for trial in self.trials]

    @property
    def blocking(self) -> bool:
        """Whether something is wrong that no smaller feasible set explains."""
        return any(finding.blocks for finding in self.findings)


def _evidence(trials: Sequence[Trial]) -> _Evidence:
    evidence = _Evidence(trials)
    for trial in trials:
        found = [*repaired_multipliers(trial), *missing(trial), *superfluous(trial), *misnamed_constraints(trial)]
        region = trial.common_region if any(finding.blocks for finding in found) else trial.claimed_region
        points = trial.points(region)
        comparison = compare(trial, points)
        found += [*outside_their_cone(trial, points), *_escaping(comparison, found)]
        evidence.findings += found
        evidence.comparisons.append(comparison)
    evidence.findings += _objective_findings(evidence.comparisons)
    if not evidence.blocking:
        _compare_optima(evidence)
    return evidence


def _escaping(comparison: Comparison, found: Sequence[Finding]) -> list[Finding]:
    """A point that the dual allows and at which the Lagrangian is unbounded, where no condition has told so already."""
    escaping = np.flatnonzero(comparison.true == -np.inf)
    if any(finding.blocks for finding in found) or not len(escaping):
        return []
    k = int(escaping[0])
    name, trial = comparison.escapes[k], comparison.trial

    def say(_: str) -> Sentences:
        return (
            f"The dual allows a point at which the Lagrangian is unbounded below in {name}.",
            f"Minimising over {name} at the point shown has no solution.",
            f"Add the constraint on the multipliers under which a minimiser in {name} exists.",
        )

    sign = trial.claimed.sign
    claimed = sign * float(comparison.claimed[k])
    point = comparison.points[k]
    return [Finding(Kind.MISSING_CONSTRAINT, str(name), trial, say, None, point, claimed, -sign * np.inf)]


def _objective_findings(comparisons: Sequence[Comparison]) -> list[Finding]:
    differing = [c for c in comparisons if c.differs][:EXPLAINED]
    if not differing:
        return []
    found = exchanged(differing)
    if found:
        explained = explain(differing, [c.trial.instance.numbers for c in differing])
        return [*found, *(finding for finding in explained if finding.kind is Kind.WRONG_COEFFICIENT)]
    if differing[0].trial.claimed.bent:
        improved = [with_best_multipliers(comparison) for comparison in differing]
        found = [finding for _, findings in improved for finding in findings]
        differing = [comparison for comparison, _ in improved if comparison.differs]
    return found + (explain(differing, [c.trial.instance.numbers for c in differing]) if differing else [])


def _compare_optima(evidence: _Evidence) -> None:
    """Solve both sides of every trial; a lost optimum is a fault where the feasible set is smaller, else a note."""
    evidence.optima = [solve_both(comparison) for comparison in evidence.comparisons]
    compared = [optimum for optimum in evidence.optima if optimum.compared]
    attained = [optimum for optimum in compared if optimum.attained]
    restricted = bool(evidence.findings)
    if restricted:
        evidence.findings += [lost(optimum) for optimum in compared if not optimum.attained]
    elif len(attained) < len(compared):
        evidence.notes.append(
            f"On {len(compared) - len(attained)} of {len(compared)} instances the two optima differ, by a gap of the "
            "primal or of the solver: the dual function itself agrees."
        )
    for optimum in attained:
        evidence.findings += wrong_recovery(optimum)
    agreeing = [multipliers_agree(optimum) for optimum in attained]
    if not restricted and False in agreeing:
        evidence.notes.append(
            f"On {agreeing.count(False)} of {len(attained)} instances the multipliers that the solver of the primal "
            "returned are not optimal in the dual to 1e-4."
        )
    _note_unsolved(evidence)


def _note_unsolved(evidence: _Evidence) -> None:
    statuses = [optimum.primal.status for optimum in evidence.optima]
    for status, kind in (
        ("not convex", Kind.NOT_CONVEX),
        ("unbounded", Kind.UNBOUNDED_PRIMAL),
        ("infeasible", Kind.INFEASIBLE_PRIMAL),
    ):
        count = statuses.count(status)
        if count == len(statuses):
            evidence.findings.append(_without_optimum(evidence.trials[0], status, kind))
        elif count:
            evidence.notes.append(f"The primal is {status} on {count} of {len(statuses)} instances: no optimum there.")
    unsolved = [
        o for o in evidence.optima if not o.compared and not o.primal.proved and o.primal.status != "not convex"
    ]
    if unsolved:
        evidence.notes.append(
            f"On {len(unsolved)} of {len(statuses)} instances a solver did not converge: no evidence from the optimum."
        )


def _without_optimum(trial: Trial, status: str, kind: Kind) -> Finding:
    def say(_: str) -> Sentences:
        return (
            f"The primal is {status} on every instance.",
            "The Lagrangian was still minimised at given multipliers; strong duality was not tested.",
            "Nothing need be changed if that is meant; otherwise correct the primal or bring instances of your own.",
        )

    return Finding(kind, "primal", trial, say, blocks=False)


# Faults that no scaling of the dual explains.
BESIDE_THE_DUAL = (Kind.WRONG_RECOVERY, Kind.WRONG_NAMED_MULTIPLIER)
RESTRICTING = (Kind.SUPERFLUOUS_CONSTRAINT, Kind.WRONG_BOUND)


def _judged(evidence: _Evidence) -> tuple[Judgement, str | None]:
    known = sum(int(np.sum(c.known | (c.true == -np.inf))) for c in evidence.comparisons)
    unknown = sum(c.undecided for c in evidence.comparisons)
    if evidence.blocking:
        about_dual = all(finding.kind not in BESIDE_THE_DUAL for finding in evidence.findings if finding.blocks)
        factor = scaling(evidence.trials, evidence.settings) if about_dual else None
        return (Judgement.WRONG, None) if factor is None else (Judgement.SCALED, factor)
    if unknown > known or not (known or evidence.findings):
        evidence.notes.append(f"At {unknown} of {unknown + known} points no solver could minimise the Lagrangian.")
        return Judgement.UNDECIDED, None
    if _doubtful(evidence):
        return Judgement.UNDECIDED, None
    if any(finding.kind in RESTRICTING for finding in evidence.findings):
        if any(optimum.attained for optimum in evidence.optima):
            return Judgement.RESTRICTED, None
        evidence.notes.append("The claimed feasible set is smaller, and no instance has an optimum to compare.")
        return Judgement.UNDECIDED, None
    return Judgement.EXACT, None


def _doubtful(evidence: _Evidence) -> bool:
    """Whether most optima differ although no fault was found, and the domain was not known completely."""
    compared = [optimum.attained for optimum in evidence.optima if optimum.compared]
    complete = all(trial.complete and trial.claimed_region.curved is None for trial in evidence.trials)
    return not complete and not evidence.findings and sum(compared) < len(compared) / 2


def _merged(findings: Sequence[Finding]) -> list[Fault]:
    """One fault for all instances that show it, with the smallest example."""
    groups: dict[tuple[Kind, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.kind, finding.where), []).append(finding)
    return [_fault(group) for group in groups.values()]


def _fault(group: Sequence[Finding]) -> Fault:
    factors = [(finding.factor, finding.trial.instance.numbers) for finding in group if finding.factor is not None]
    factor = factor_text([value for value, _ in factors], [numbers for _, numbers in factors]) if factors else None
    first = min(group, key=lambda finding: (finding.point is None, finding.trial.sample.n))
    what, why, fix = first.say(factor or "")
    example = None
    if first.point is not None:
        example = first.trial.example(first.point, first.claimed, first.true)
    return Fault(first.kind, first.trial.claimed.shown(first.where), what, why, fix, factor, example)
