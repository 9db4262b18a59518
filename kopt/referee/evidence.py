"""What all trials show together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kopt.referee.bent import outside_their_cone, with_best_multipliers
from kopt.referee.domain import missing, superfluous
from kopt.referee.eliminated import repair_multipliers
from kopt.referee.explain import explain
from kopt.referee.finding import Finding, Sentences
from kopt.referee.maximal import not_maximal
from kopt.referee.naming import exchanged, misnamed_constraints
from kopt.referee.optimum import NOT_CONVEX, Optimum, is_confirmed, lost, multipliers_agree, solve_both, wrong_recovery
from kopt.referee.pointwise import Comparison, compare
from kopt.referee.trial import Trial
from kopt.referee.verdict import Kind

# So many instances are explained together.
EXPLAINED = 5


@dataclass
class Evidence:
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
    def discrepancy(self) -> float:
        """The largest relative difference; inf where a point is allowed on one side only."""
        if any(np.isinf(finding.true) or np.isnan(finding.claimed) for finding in self._with_points):
            return np.inf
        return max((float(np.max(c.discrepancy, initial=0.0)) for c in self.comparisons), default=np.nan)

    @property
    def _with_points(self) -> list[Finding]:
        return [f for f in self.findings if f.point is not None and f.kind is not Kind.WRONG_RECOVERY]

    @property
    def blocking(self) -> bool:
        """Whether something is wrong that no smaller feasible set explains."""
        return any(finding.blocks for finding in self.findings)


def gathered(trials: Sequence[Trial]) -> Evidence:
    """Everything that can be found out about some trials."""
    evidence = Evidence(trials)
    for trial in trials:
        found = [*repair_multipliers(trial), *missing(trial), *superfluous(trial), *misnamed_constraints(trial)]
        region = trial.common_region if any(finding.blocks for finding in found) else trial.claimed_region
        optimum = solve_both(trial)
        points = trial.points(region, optimum.z)
        comparison = compare(trial, points)
        evidence.optima.append(optimum.beside(comparison))
        found += [*outside_their_cone(trial, points), *_escaping(comparison, found), *_undefined(comparison)]
        found += not_maximal(comparison)
        evidence.findings += found
        evidence.comparisons.append(comparison)
    evidence.findings += _objective_findings(evidence.comparisons)
    if not evidence.blocking:
        _compare_optima(evidence)
    return evidence


def _escaping(comparison: Comparison, found: Sequence[Finding]) -> list[Finding]:
    """A point that the dual allows and at which the Lagrangian is unbounded, where no condition has told so already."""
    escaping = np.flatnonzero(comparison.one_sided & (comparison.true == -np.inf))
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


def _undefined(comparison: Comparison) -> list[Finding]:
    """A point at which the claimed objective is -inf although the Lagrangian is bounded: a constraint in disguise."""
    found = np.flatnonzero(comparison.one_sided & np.isfinite(comparison.true))
    if not len(found):
        return []
    k = int(found[0])

    def say(_: str) -> Sentences:
        return (
            "The dual objective is not defined at a point at which the Lagrangian is bounded below.",
            "The domain of the objective is smaller than that of the dual function.",
            "Derive the objective again, or say why its domain may be smaller.",
        )

    trial, point = comparison.trial, comparison.points[k]
    true = trial.claimed.sign * float(comparison.true[k])
    return [Finding(Kind.SUPERFLUOUS_CONSTRAINT, "objective", trial, say, None, point, np.nan, true, blocks=False)]


def _objective_findings(comparisons: Sequence[Comparison]) -> list[Finding]:
    differing = sorted((c for c in comparisons if c.differs), key=lambda c: c.trial.sample.n)[:EXPLAINED]
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


def _compare_optima(evidence: Evidence) -> None:
    """The optima of every trial; a lost one is a fault where the feasible set is smaller, else a note."""
    compared = [optimum for optimum in evidence.optima if optimum.compared]
    attained = [optimum for optimum in compared if optimum.attained]
    restricted = bool(evidence.findings)
    lost_ones = [optimum for optimum in compared if not optimum.attained]
    certain = not restricted and all(trial.certain for trial in evidence.trials)
    confirmed = [] if certain else [optimum for optimum in lost_ones if is_confirmed(optimum)]
    evidence.findings += [lost(optimum) for optimum in confirmed]
    if lost_ones and not confirmed:
        evidence.notes.append(
            f"On {len(lost_ones)} of {len(compared)} instances the two optima differ, although the claimed dual agrees "
            "with the dual function at every point tried: a gap of the primal, or of the solver."
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


def _note_unsolved(evidence: Evidence) -> None:
    statuses = [optimum.primal.status for optimum in evidence.optima]
    for status, kind in (
        (NOT_CONVEX, Kind.NOT_CONVEX),
        ("unbounded", Kind.UNBOUNDED_PRIMAL),
        ("infeasible", Kind.INFEASIBLE_PRIMAL),
    ):
        count = statuses.count(status)
        if count == len(statuses):
            evidence.findings.append(_without_optimum(evidence.trials[0], status, kind))
        elif count:
            evidence.notes.append(f"The primal is {status} on {count} of {len(statuses)} instances: no optimum there.")
    if any(optimum.dual.status == NOT_CONVEX for optimum in evidence.optima):
        evidence.notes.append("The dual is not convex by CVXPY's rules as written: its optimum was not computed.")
    unsolved = [o for o in evidence.optima if not o.compared and not o.primal.proved and not o.not_convex]
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
