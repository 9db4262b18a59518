"""From the evidence to a judgement and its faults."""

from __future__ import annotations

from collections.abc import Sequence

from kopt.referee.evidence import Evidence
from kopt.referee.factors import factor_text
from kopt.referee.finding import Finding
from kopt.referee.scaled import scaling
from kopt.referee.verdict import Fault, Judgement, Kind

# Faults that no scaling of the dual explains.
BESIDE_THE_DUAL = (Kind.WRONG_RECOVERY, Kind.WRONG_NAMED_MULTIPLIER)
RESTRICTING = (Kind.SUPERFLUOUS_CONSTRAINT, Kind.WRONG_BOUND, Kind.WRONG_ELIMINATED_MULTIPLIER)


def judged(evidence: Evidence) -> tuple[Judgement, str | None]:
    """The judgement, and the factors of a scaled dual in words."""
    known = sum(c.compared for c in evidence.comparisons)
    unknown = sum(c.undecided for c in evidence.comparisons)
    if evidence.blocking:
        about_dual = all(finding.kind not in BESIDE_THE_DUAL for finding in evidence.findings if finding.blocks)
        factor = scaling(evidence.trials, evidence.settings) if about_dual else None
        return (Judgement.WRONG, None) if factor is None else (Judgement.SCALED, factor)
    if unknown > known or not (known or evidence.findings):
        evidence.notes.append(
            f"At {unknown} of {unknown + known} points no solver could minimise the Lagrangian."
            if unknown
            else "The claimed dual allows no point on any instance, and no fault was found."
        )
        return Judgement.UNDECIDED, None
    if _doubtful(evidence):
        evidence.notes.append("Most optima differ, and the domain of the dual function is known at random points only.")
        return Judgement.UNDECIDED, None
    if any(finding.kind in RESTRICTING for finding in evidence.findings):
        if any(optimum.attained for optimum in evidence.optima):
            return Judgement.RESTRICTED, None
        evidence.notes.append("The claimed feasible set is smaller, and no instance has an optimum to compare.")
        return Judgement.UNDECIDED, None
    return Judgement.EXACT, None


def _doubtful(evidence: Evidence) -> bool:
    """Whether most optima differ although no fault was found, and the domain was not known completely."""
    compared = [optimum.attained for optimum in evidence.optima if optimum.compared]
    certain = all(trial.certain for trial in evidence.trials)
    return not certain and not evidence.findings and sum(compared) < len(compared) / 2


def merged(findings: Sequence[Finding]) -> list[Fault]:
    """One fault for all instances that show it, with the smallest example."""
    groups: dict[tuple[Kind, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.kind, finding.where), []).append(finding)
    return [_fault(group) for group in groups.values()]


def _fault(group: Sequence[Finding]) -> Fault:
    group = sorted(group, key=lambda finding: (finding.point is None, finding.trial.sample.n))
    factors = [(finding.factor, finding.trial.instance.numbers) for finding in group if finding.factor is not None]
    factor = factor_text([value for value, _ in factors], [numbers for _, numbers in factors]) if factors else None
    first = group[0]
    what, why, fix = first.say(factor or "")
    example = None
    if first.point is not None:
        example = first.trial.example(first.point, first.claimed, first.true)
    return Fault(first.kind, first.trial.claimed.shown(first.where), what, why, fix, factor, example)
