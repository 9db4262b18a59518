"""A sweep over C against as many solves that know nothing of each other."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import kopt
from formulations.classification import SoftMargin
from kopt import CertificateWarning, Sample, Solution
from tests.benchmarks.comparison import Comparison
from tests.benchmarks.competitors import relative_gap
from tests.benchmarks.contest import timed
from tests.benchmarks.problems import mc
from tests.benchmarks.session import Session, stopwatch, timing

GAP, VALUES = 1e-6, 20


@dataclass(frozen=True)
class Sweep:
    """Values of C from .01 to a largest, evenly spaced in their logarithm.

    target   the time of the sweep over that of the solves, at most
    """

    name: str
    n: int
    largest: float
    target: float

    def run(self, session: Session) -> dict[str, Any]:
        """Both ways in turn, each on fresh samples."""
        n, values = session.size(self.n), [float(C) for C in np.geomspace(0.01, self.largest, VALUES)]
        gaps = {
            "sweep": [_gap(point.solution) for point in _swept(mc(n), values)],
            "cold": [_gap(timed(SoftMargin(C=C), mc(n), GAP)[0]) for C in values],
        }

        def swept() -> float:
            sample = mc(n)
            return stopwatch(lambda: _swept(sample, values))

        def cold() -> float:
            return sum(timed(SoftMargin(C=C), mc(n), GAP)[1] for C in values)

        seconds = session.interleaved({"sweep": swept, "cold": cold})
        worst = max(gaps["sweep"])
        ours = {"gap": worst, "gaps": gaps["sweep"], **timing(seconds["sweep"])}
        theirs = {"gap": max(gaps["cold"]), "gaps": gaps["cold"], **timing(seconds["cold"])}
        spoilt = "" if worst <= GAP else f"the sweep stops at a gap of {worst:.1e}"
        ratio, other = ours["median"] / theirs["median"], {"median": theirs["median"], "gap": theirs["gap"]}
        line = Comparison("sweep / cold solves", ratio, self.target, True, spoilt, other=other)
        return {"n": n, "gap": GAP, "C": values, "kopt": ours, "cold": theirs, "comparisons": [line.record()]}


def _swept(sample: Sample, values: list[float]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CertificateWarning)
        return kopt.sweep(SoftMargin, sample, tolerance=GAP, C=values)


def _gap(solution: Solution | None) -> float:
    return math.inf if solution is None else relative_gap(solution.certificate)
