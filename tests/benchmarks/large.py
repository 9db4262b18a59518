"""The soft margin machine at 100 000 points: time, and the most memory that a process with nothing else in it held.

`python -m tests.benchmarks.large <n>` solves one and prints its figures as JSON.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

from formulations.classification import SoftMargin
from tests.benchmarks.comparison import Comparison
from tests.benchmarks.contest import description, solved, timed
from tests.benchmarks.machine import peak_memory
from tests.benchmarks.problems import mc
from tests.benchmarks.session import Session, in_a_process, timing

GAP, MOST_MEMORY, MOST_SECONDS = 1e-6, 2.0, 15.0
WARM_UP = 3000


@dataclass(frozen=True)
class LargeSoftMargin:
    """One large problem, and one of half the size to compare the cost of an entry of K with."""

    name: str
    n: int

    def run(self, session: Session) -> dict[str, Any]:
        """Each size once, in a process of its own."""
        n, half = session.size(self.n), session.size(self.n // 2)
        warm_up = session.size(WARM_UP)
        smaller, ours = in_a_process("large", half, warm_up), in_a_process("large", n, warm_up)
        spoilt = "" if ours["gap"] <= GAP else f"kopt stops at a gap of {ours['gap']:.1e}"
        growth = ours["ns_per_entry"] / smaller["ns_per_entry"]
        note = f"{ours['ns_per_entry']:.2f} ns at n = {n}, {smaller['ns_per_entry']:.2f} ns at n = {half}"
        lines = [
            Comparison("peak memory [GB]", ours["peak_memory_GB"], MOST_MEMORY, True, spoilt),
            Comparison("seconds", ours["median"], MOST_SECONDS, True, spoilt),
            Comparison("time / (n nSV) over that at half the size", growth, note=note),
        ]
        comparisons = [line.record() for line in lines]
        return {"n": n, "gap": GAP, "kopt": ours, "kopt_at_half_the_size": smaller, "comparisons": comparisons}


def alone(n: int, warm_up: int) -> dict[str, Any]:
    """The figures of one solve, after a small one that loads what is compiled."""
    formulation = SoftMargin(C=1.0)
    solved(formulation, lambda: mc(warm_up), GAP)
    solution, seconds = timed(formulation, mc(n), GAP)
    figures = {"n": n, "tolerance": GAP, **description(solution, GAP), **timing([seconds])}
    entries = n * figures["support_vectors"]
    return {**figures, "ns_per_entry": seconds * 1e9 / entries, "peak_memory_GB": peak_memory()}


if __name__ == "__main__":
    print(json.dumps(alone(int(sys.argv[1]), int(sys.argv[2]))))
