"""kopt against LIBSVM and oneDAL on one problem, all at the same certified gap."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import kopt
from kopt import CertificateWarning, Formulation, Sample, Solution
from tests.benchmarks.comparison import Comparison
from tests.benchmarks.competitors import DUAL_VARIABLES, LIBSVM, ONEDAL, TOLERANCES, Competitor, relative_gap
from tests.benchmarks.floor import floors
from tests.benchmarks.machine import ABSENT
from tests.benchmarks.session import Session, timing

#: A search gives up where so many tolerances in turn, none of them loose, improve the best gap by less than a tenth.
STALLED, LOOSE = 3, 1e-3
NEARLY_BEST = 1.1
#: A coefficient below this part of the largest one is an interior point's zero.
ZERO = 1e-8


@dataclass(frozen=True)
class Contest:
    """One formulation on one problem.

    targets     the ratio of a competitor's time to kopt's that is aimed at, by name; None to print it only
    gap_target  whether to reach the gap is itself what is aimed at
    floored     whether the time is set beside the least that the kernel values cost
    """

    name: str
    problem: Callable[[int], Sample]
    n: int
    formulation: Formulation
    gap: float
    targets: Mapping[str, float | None]
    gap_target: bool = False
    floored: bool = False

    def run(self, session: Session) -> dict[str, Any]:
        """All timings, gaps and ratios."""
        n = session.size(self.n)
        competitors = [each for each in (LIBSVM, ONEDAL) if each.name in self.targets and each.version != ABSENT]
        tolerance, solution = solved(self.formulation, lambda: self.problem(n), self.gap)
        described, features = description(solution, self.gap), int(solution.sample.X.shape[1])
        del solution  # its matrices would be in the way of the timings
        found = {each.name: self._searched(each, n, session) for each in competitors}
        gaps: list[float] = []
        runs: dict[str, Callable[[], float]] = {"kopt": lambda: self._time_of_kopt(n, tolerance, gaps)}
        for each in competitors:
            runs[each.name] = self._fit(each, n, found[each.name]["tolerance"])
        seconds = session.interleaved(runs)
        ours = {"tolerance": tolerance, **described, "gaps": gaps, "gap": max(gaps), **timing(seconds["kopt"])}
        theirs = {name: {**found[name], **timing(seconds[name])} for name in found}
        record = {"n": n, "features": features, "gap": self.gap, "kopt": ours, **theirs}
        record["comparisons"] = [each.record() for each in self._comparisons(ours, theirs)]
        if self.floored:
            record["floor"] = floors(session, n, ours["support_vectors"], ours["median"])
        return record

    def _time_of_kopt(self, n: int, tolerance: float, gaps: list[float]) -> float:
        solution, seconds = timed(self.formulation, self.problem(n), tolerance)
        gaps.append(relative_gap(solution.certificate))
        return seconds

    def _fit(self, competitor: Competitor, n: int, tolerance: float) -> Callable[[], float]:
        return lambda: competitor.fit(self.formulation, self.problem(n), tolerance)[1]

    def _searched(self, competitor: Competitor, n: int, session: Session) -> dict[str, Any]:
        """The tolerance for a competitor, from the document where it has been found before."""
        searches, key = session.document.figures["searches"], f"{self.name}: {competitor.name}"
        asked = {"n": n, "gap_asked": self.gap, "version": competitor.version}
        known = searches.get(key, {})
        if not session.reuse or any(known.get(name) != value for name, value in asked.items()):
            searches[key] = {**asked, **search(competitor, self.formulation, self.problem(n), self.gap, session)}
            session.document.save()
        return {name: value for name, value in searches[key].items() if name not in asked}

    def _comparisons(self, ours: dict[str, Any], theirs: dict[str, dict[str, Any]]) -> list[Comparison]:
        spoilt = "" if ours["gap"] <= self.gap else f"kopt stops at a gap of {ours['gap']:.1e}"
        lines = []
        if self.gap_target:
            lines.append(Comparison("gap of kopt", ours["gap"], self.gap, at_most=True))
        for name, their in theirs.items():
            note = "" if their["reached"] else f"{name} stops at a gap of {their['gap']:.1e}"
            ratio = their["median"] / ours["median"]
            lines.append(Comparison(f"{name} / kopt", ratio, self.targets[name], False, spoilt, note, brief(their)))
        return lines


def search(
    competitor: Competitor, formulation: Formulation, sample: Sample, gap: float, session: Session
) -> dict[str, Any]:
    """The loosest tolerance whose answer is certified at the gap; the best one where none is.

    The best one is the loosest whose gap is within a tenth of the smallest.
    """
    tried: list[dict[str, Any]] = []
    for tolerance in TOLERANCES:
        answer = competitor.answer(formulation, sample, tolerance)
        tried.append({"tolerance": tolerance, **asdict(answer)})
        session.say(f"{competitor.name} at tolerance {tolerance:g}: gap {answer.gap:.1e}, {answer.seconds:.2f} s")
        if answer.gap <= gap or answer.gave_up or _stalled(tried):
            break
    smallest = min(each["gap"] for each in tried)
    allowed = gap if smallest <= gap else NEARLY_BEST * smallest
    chosen = next(each for each in tried if each["gap"] <= allowed)
    kept = {name: chosen[name] for name in ("tolerance", "gap", "support_vectors")}
    return {**kept, "reached": chosen["gap"] <= gap, "search": tried}


def _stalled(tried: list[dict[str, Any]]) -> bool:
    latest, earlier = tried[-STALLED:], tried[:-STALLED]
    if not earlier or latest[0]["tolerance"] > LOOSE:
        return False
    return min(each["gap"] for each in latest) * NEARLY_BEST > min(each["gap"] for each in earlier)


def solved(formulation: Formulation, sample: Callable[[], Sample], gap: float) -> tuple[float, Solution]:
    """The loosest tolerance from the gap on at which kopt's answer has that gap, and the answer; the best otherwise.

    The first call also compiles what has not been compiled.
    """
    best: tuple[float, Solution] | None = None
    for tolerance in (gap, gap / 3, gap / 10):
        solution, _ = timed(formulation, sample(), tolerance)
        if best is None or relative_gap(solution.certificate) < relative_gap(best[1].certificate):
            best = tolerance, solution
        if relative_gap(solution.certificate) <= gap:
            break
    assert best is not None
    return best


def timed(formulation: Formulation, sample: Sample, tolerance: float) -> tuple[Solution, float]:
    """kopt's answer and the seconds of the whole call; what its certificate says is looked at, not what it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CertificateWarning)
        start = time.perf_counter()
        solution = kopt.solve(formulation, sample, tolerance=tolerance)
        return solution, time.perf_counter() - start


def description(solution: Solution, gap: float) -> dict[str, Any]:
    """What there is to say about an answer of kopt's."""
    return {
        "method": solution.method,
        "attempts": len(solution.attempts),
        "gap": relative_gap(solution.certificate),
        "gap_of_certificate": solution.certificate.bounds.relative_gap,
        "holds": solution.certificate.holds(gap),
        "support_vectors": support_vectors(solution),
    }


def support_vectors(solution: Solution) -> int:
    """How many points have a coefficient that is not 0."""
    sizes = np.max([np.abs(solution.dual[name]) for name in DUAL_VARIABLES if name in solution.dual], axis=0)
    return int(np.count_nonzero(sizes > ZERO * sizes.max()))


def brief(other: Mapping[str, Any]) -> dict[str, Any]:
    """Of the other side, what the table shows."""
    return {name: other.get(name) for name in ("median", "once", "gap", "tolerance", "support_vectors")}
