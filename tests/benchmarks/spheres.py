"""The smallest sphere around 100 000 points: kopt against the best form of it in CVXPY.

`python -m tests.benchmarks.spheres <kernel> <n> <solver>` solves one by CVXPY and prints its seconds and gap as JSON.
"""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

import kopt
from formulations.novelty import Hypersphere
from kopt import Sample
from kopt.kernels import Linear
from tests.benchmarks.comparison import Comparison
from tests.benchmarks.competitors import relative_gap
from tests.benchmarks.contest import brief, description, solved, timed
from tests.benchmarks.problems import novelty
from tests.benchmarks.session import Session, in_a_process, timing

GAP, TARGET = 1e-6, 50.0
SOLVERS = ("PIQP", "CLARABEL")
#: Seconds after which CVXPY is ended, and beyond which no larger problem is given to it.
LIMIT, MINUTE = 120.0, 60.0
LADDER, FEWEST = (500, 1000, 2000, 3000, 4000, 6000, 8000), 25


def points(kernel: str, n: int) -> Sample:
    """The points of the benchmark, with a linear kernel or their Gaussian one."""
    return novelty(n, kernel=Linear()) if kernel == "linear" else novelty(n)


@dataclass(frozen=True)
class LinearSphere:
    """Where CVXPY can be given all points: both sides measured, in turn."""

    name: str
    n: int

    def run(self, session: Session) -> dict[str, Any]:
        """Median times of kopt and of CVXPY with each solver."""
        n, gaps = session.size(self.n), dict[str, float]()
        tolerance, solution = solved(Hypersphere(), lambda: points("linear", n), GAP)
        ours = {"tolerance": tolerance, **description(solution, GAP)}
        del solution

        def by_cvxpy(solver: str) -> float:
            answer = by_cvxpy_in_time("linear", n, solver)
            gaps[solver] = answer["gap"]
            return answer["seconds"]

        runs = {solver: lambda solver=solver: by_cvxpy(solver) for solver in SOLVERS}
        seconds = session.interleaved({"kopt": lambda: seconds_of_kopt("linear", n, tolerance), **runs})
        ours |= timing(seconds["kopt"])
        theirs = {f"CVXPY, {each}": {"gap": gaps[each], **timing(seconds[each])} for each in SOLVERS}
        best = min(theirs, key=lambda name: theirs[name]["median"])
        ratio = theirs[best]["median"] / ours["median"]
        line = Comparison(f"{best} / kopt", ratio, TARGET, False, _spoilt(ours), other=brief(theirs[best]))
        return {"n": n, "gap": GAP, "kopt": ours, **theirs, "comparisons": [line.record()]}


@dataclass(frozen=True)
class GaussianSphere:
    """Where CVXPY cannot be given all points: kopt at n, CVXPY at the largest n that it can do in a minute."""

    name: str
    n: int

    def run(self, session: Session) -> dict[str, Any]:
        """Median times of kopt at both sizes; CVXPY's, and what it would be at n by the growth last seen."""
        n = session.size(self.n)
        tolerance, solution = solved(Hypersphere(), lambda: points("Gaussian", n), GAP)
        ours = {"tolerance": tolerance, **description(solution, GAP)}
        del solution
        ladder = _climbed(session)
        largest = ladder[-1]
        runs = {size: lambda size=size: seconds_of_kopt("Gaussian", size, tolerance) for size in (n, largest["n"])}
        runs[largest["n"]]()
        seconds = session.interleaved(runs)
        ours |= timing(seconds[n])
        smaller = {"n": largest["n"], **timing(seconds[largest["n"]])}
        their, power = extrapolated(ladder, n)
        what = f"CVXPY, {largest['solver']} / kopt"
        note = f"extrapolated from n = {largest['n']}, {largest['median']:.1f} s, as n^{power:.1f}"
        same = f"measured, both at n = {largest['n']}"
        lines = [
            Comparison(what, their / ours["median"], TARGET, False, _spoilt(ours), note, {"median": their}),
            Comparison(what, largest["median"] / smaller["median"], note=same, other=brief(largest)),
        ]
        record = {"n": n, "gap": GAP, "kopt": ours, "kopt_at_smaller_n": smaller, "CVXPY": ladder}
        return {**record, "comparisons": [line.record() for line in lines]}


def _climbed(session: Session) -> list[dict[str, Any]]:
    """CVXPY's best answer at each size up to the largest that it can do in a minute."""
    found: list[dict[str, Any]] = []
    for size in dict.fromkeys(session.size(n, least=FEWEST) for n in LADDER):
        answers = []
        for solver in SOLVERS:
            try:
                answers.append({"n": size, "solver": solver, **by_cvxpy_in_time("Gaussian", size, solver)})
            except TimeoutError as error:
                session.say(str(error))
        exact = [answer for answer in answers if answer["gap"] <= GAP] or answers
        best = min(exact, key=lambda answer: answer["seconds"], default=None)
        if best is None or (found and best["seconds"] > MINUTE):
            break
        found.append({**best, "median": best["seconds"], "once": True})
        session.say(f"CVXPY, {best['solver']} at n = {size}: gap {best['gap']:.1e}, {best['seconds']:.2f} s")
    if len(found) < 2:
        raise RuntimeError(f"CVXPY did {len(found)} sizes within the limit. Extrapolation needs two.")
    return found


def extrapolated(ladder: list[dict[str, Any]], n: int) -> tuple[float, float]:
    """Seconds at n from those at smaller sizes, and the power by which they grow between the last two."""
    before, last = ladder[-2:]
    power = math.log(last["median"] / before["median"]) / math.log(last["n"] / before["n"])
    return last["median"] * (n / last["n"]) ** power, power


def seconds_of_kopt(kernel: str, n: int, tolerance: float) -> float:
    """The time of kopt on a fresh sample."""
    return timed(Hypersphere(), points(kernel, n), tolerance)[1]


def by_cvxpy_in_time(kernel: str, n: int, solver: str) -> dict[str, Any]:
    """Seconds and gap of CVXPY in a process of its own; a TimeoutError beyond the limit."""
    return in_a_process("spheres", kernel, n, solver, limit=LIMIT)


def _spoilt(ours: dict[str, Any]) -> str:
    return "" if ours["gap"] <= GAP else f"kopt stops at a gap of {ours['gap']:.1e}"


def primal(sample: Sample) -> tuple[cp.Problem, cp.Constraint]:
    """min ||c||^2 + s with s = r^2 - ||c||^2, a quadratic program; the multipliers are those of its one constraint."""
    X = sample.X
    c, s = cp.Variable(X.shape[1]), cp.Variable()
    outside = np.sum(X**2, axis=1) - 2 * X @ c <= s
    return cp.Problem(cp.Minimize(cp.sum_squares(c) + s), [outside]), outside


def dual(sample: Sample) -> tuple[cp.Problem, cp.Variable]:
    """min alpha' K alpha - sum_i alpha_i k_ii over the simplex."""
    alpha = cp.Variable(sample.n)
    quadratic = cp.quad_form(alpha, cp.psd_wrap(sample.gram().dense))
    return cp.Problem(cp.Minimize(quadratic - sample.gram().diagonal @ alpha), [cp.sum(alpha) == 1, alpha >= 0]), alpha


def by_cvxpy(kernel: str, n: int, solver: str) -> dict[str, float]:
    """Seconds of writing, compiling and solving it, K given; and the gap of its multipliers."""
    sample = points(kernel, n)
    if kernel != "linear":
        _ = sample.gram().dense
    start = time.perf_counter()
    problem, alpha = primal(sample) if kernel == "linear" else dual(sample)
    problem.solve(solver=solver)
    seconds = time.perf_counter() - start
    values = alpha.value if isinstance(alpha, cp.Variable) else alpha.dual_value
    certificate = kopt.verify(Hypersphere(), points(kernel, n), {"alpha": values})
    return {"seconds": seconds, "gap": relative_gap(certificate)}


if __name__ == "__main__":
    print(json.dumps(by_cvxpy(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
