"""Kernels learnt by kopt against the forms in which they can be written in CVXPY.

`python -m tests.benchmarks.learnt_kernels <form> <n> <kernels> <tolerance>` solves one form by CVXPY and prints its
seconds, without those that the Gram matrices take, and its gap as JSON; with `kopt` for the form, and a seed for the
tolerance, the time and the peak memory of the soft margin machine.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np

import kopt
from formulations.kernel_learning import Alignment, SemidefiniteAlignment, SoftMarginKernelLearning
from kopt import Formulation, Sample
from kopt.kernels import Gaussian, Linear, Polynomial
from tests.benchmarks.comparison import Comparison
from tests.benchmarks.competitors import relative_gap
from tests.benchmarks.contest import brief, timed
from tests.benchmarks.machine import peak_memory
from tests.benchmarks.problems import mc
from tests.benchmarks.session import Session, in_a_process, timing

#: Seconds after which CVXPY is ended.
LIMIT = 240.0
MOST_SECONDS, MOST_MEMORY = 60.0, 2.0
WARM_UP = 400


def mixed(n: int, kernels: int) -> Sample:
    """The points of `mc` with Gaussians of widths from 1 to 10, a linear kernel and a quadratic one."""
    widths = {f"width {w:.3g}": Gaussian(sigma=float(w)) for w in np.geomspace(1, 10, kernels - 2)}
    return with_kernels(n, {**widths, "linear": Linear(), "quadratic": Polynomial(degree=2, R=1.0)})


def gaussians(n: int, kernels: int) -> Sample:
    """The points of `mc` with Gaussians of widths from 1 to 10."""
    return with_kernels(n, {f"width {w:.3g}": Gaussian(sigma=float(w)) for w in np.geomspace(1, 10, kernels)})


def with_kernels(n: int, kernels: Mapping[str, Any]) -> Sample:
    """The points of `mc` with other kernels."""
    labelled = mc(n)
    return Sample(labelled.X, labelled.y, kernel=kernels)


Answer = dict[str, Any]
Form = Callable[[Sample, float], Answer]


def semidefinite_alignment(sample: Sample, tolerance: float) -> Answer:
    """The primal as declared, by SCS."""
    problem = SemidefiniteAlignment().problem(sample)
    problem.solve(solver=cp.SCS, eps_abs=tolerance, eps_rel=tolerance, max_iters=100_000)
    return {"Z": problem.constraints[1].dual_value}


def alignment_product_by_product(sample: Sample, tolerance: float) -> Answer:
    """The second-order cone program in the weights, the inner products of the matrices one after the other."""
    matrices = [gram.dense for gram in sample.grams.values()]
    M = np.array([[np.sum(K * L) for L in matrices] for K in matrices])
    return _cone_program(M, matrices, sample.y)


def alignment_at_once(sample: Sample, tolerance: float) -> Answer:
    """The same, the inner products as one product of matrices."""
    matrices = [gram.dense for gram in sample.grams.values()]
    stack = np.stack([K.ravel() for K in matrices])
    return _cone_program(stack @ stack.T, matrices, sample.y)


def _cone_program(M: np.ndarray, matrices: list[np.ndarray], y: np.ndarray) -> Answer:
    a = np.array([y @ K @ y for K in matrices]) / (y @ y)
    values, vectors = np.linalg.eigh(M)  # kernels that resemble each other leave no Cholesky factor
    mu, root = cp.Variable(len(a)), np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    length = cp.norm(root @ mu) <= 1
    cp.Problem(cp.Maximize(a @ mu), [length, mu >= 0]).solve(solver=cp.CLARABEL)
    return {"mu": np.maximum(mu.value, 0.0)}


def soft_margin(side: str, solver: str) -> Form:
    """One side as declared."""

    def form(sample: Sample, tolerance: float) -> Answer:
        problem = SoftMarginKernelLearning(C=1.0).problem(sample, side)
        options = {"SCS": {"eps_abs": tolerance, "eps_rel": tolerance, "max_iters": 100_000}}
        problem.solve(solver=solver, **options.get(solver, {}))
        if side == "dual":
            return {"alpha": next(v.value for v in problem.variables() if v.name() == "alpha")}
        return {"alpha": problem.constraints[0].dual_value}

    return form


FORMS: dict[str, tuple[Form, type[Formulation]]] = {
    "SCS, primal": (semidefinite_alignment, SemidefiniteAlignment),
    "CLARABEL, one inner product after the other": (alignment_product_by_product, Alignment),
    "CLARABEL, all inner products at once": (alignment_at_once, Alignment),
    "CLARABEL, dual": (soft_margin("dual", "CLARABEL"), SoftMarginKernelLearning),
    "CLARABEL, primal": (soft_margin("primal", "CLARABEL"), SoftMarginKernelLearning),
    "SCS, dual": (soft_margin("dual", "SCS"), SoftMarginKernelLearning),
    "ECOS, dual": (soft_margin("dual", "ECOS"), SoftMarginKernelLearning),
}


@dataclass(frozen=True)
class LearntKernel:
    """kopt and some forms in CVXPY on one problem, all certified at a gap.

    forms   by name, the tolerances that are tried until the gap is reached
    """

    name: str
    problem: Callable[[int, int], Sample]
    n: int
    kernels: int
    formulation: Formulation
    gap: float
    target: float
    forms: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def run(self, session: Session) -> dict[str, Any]:
        """Median times; of the forms that reach the gap the fastest is the one that counts."""
        n = session.size(self.n, least=40)
        theirs = {name: self._reached(name, n, session) for name in self.forms}
        usable = [name for name, their in theirs.items() if their["gap"] <= self.gap]
        gaps, methods = list[float](), list[str]()

        def ours() -> float:
            solution, seconds = timed(self.formulation, self.problem(n, self.kernels), self.gap)
            gaps.append(relative_gap(solution.certificate))
            methods.append(solution.method)
            return seconds

        ours()
        runs = {name: lambda name=name: self._once(name, n, theirs[name]["tolerance"])["seconds"] for name in usable}
        seconds = session.interleaved({"kopt": ours, **runs})
        kopt_ = {"gap": max(gaps), "method": methods[-1], **timing(seconds["kopt"])}
        for name in usable:
            theirs[name] |= timing(seconds[name])
        spoilt = "" if kopt_["gap"] <= self.gap else f"kopt stops at a gap of {kopt_['gap']:.1e}"
        best = min(usable, key=lambda name: theirs[name]["median"], default=None)
        lines = [
            Comparison(
                f"CVXPY, {name} / kopt",
                their.get("median", LIMIT) / kopt_["median"],
                self.target if name == best else None,
                spoilt=spoilt,
                note="" if name in usable else f"stops at a gap of {their['gap']:.1e}, or beyond {LIMIT:g} s",
                other=brief(their),
            )
            for name, their in theirs.items()
        ]
        record = {"n": n, "kernels": self.kernels, "gap": self.gap, "kopt": kopt_, **theirs}
        return {**record, "comparisons": [line.record() for line in lines]}

    def _reached(self, name: str, n: int, session: Session) -> dict[str, Any]:
        """The loosest of the tolerances whose answer is certified at the gap, or the last."""
        answer: dict[str, Any] = {"gap": np.inf, "seconds": LIMIT}
        for tolerance in self.forms[name]:
            try:
                answer = self._once(name, n, tolerance)
            except (TimeoutError, RuntimeError) as error:
                session.say(str(error))
            answer = {**answer, "tolerance": tolerance}
            session.say(f"{name} at tolerance {tolerance:g}: gap {answer['gap']:.1e}, {answer['seconds']:.2f} s")
            if answer["gap"] <= self.gap or answer["seconds"] >= LIMIT:
                break
        return answer

    def _once(self, name: str, n: int, tolerance: float) -> dict[str, Any]:
        return in_a_process("learnt_kernels", name, n, self.kernels, tolerance, limit=LIMIT)


@dataclass(frozen=True)
class LargeLearntKernel:
    """The soft margin machine with many kernels that cannot all be held: seconds, and the most memory."""

    name: str
    n: int
    kernels: int
    gap: float

    def run(self, session: Session) -> dict[str, Any]:
        """Once, in a process of its own."""
        ours = in_a_process("learnt_kernels", "kopt", session.size(self.n), self.kernels, self.gap)
        spoilt = "" if ours["gap"] <= self.gap else f"kopt stops at a gap of {ours['gap']:.1e}"
        lines = [
            Comparison("seconds", ours["median"], MOST_SECONDS, True, spoilt),
            Comparison("peak memory [GB]", ours["peak_memory_GB"], MOST_MEMORY, True, spoilt),
        ]
        return {"n": self.n, "gap": self.gap, "kopt": ours, "comparisons": [line.record() for line in lines]}


LEARNT: tuple[LearntKernel | LargeLearntKernel, ...] = (
    LearntKernel(
        "learnt kernel: semi-definite alignment 400, 5 kernels", mixed, 400, 5, SemidefiniteAlignment(), 1e-6, 100.0,
        {"SCS, primal": (1e-5, 1e-6, 1e-7, 1e-8)},
    ),
    LearntKernel(
        "learnt kernel: alignment 2000, 20 kernels", gaussians, 2000, 20, Alignment(), 1e-6, 50.0,
        {"CLARABEL, all inner products at once": (1e-8,), "CLARABEL, one inner product after the other": (1e-8,)},
    ),
    LearntKernel(
        "learnt kernel: soft margin 400, 5 kernels", mixed, 400, 5, SoftMarginKernelLearning(C=1.0), 1e-4, 10.0,
        {
            "CLARABEL, dual": (1e-8,),
            "CLARABEL, primal": (1e-8,),
            "ECOS, dual": (1e-8,),
            "SCS, dual": (1e-3, 1e-4, 1e-5, 1e-6),
        },
    ),
    LargeLearntKernel("learnt kernel: soft margin 5000, 20 kernels", 5000, 20, 1e-6),
)  # fmt: skip


def by_cvxpy(name: str, n: int, kernels: int, tolerance: float) -> dict[str, float]:
    """Seconds of writing, compiling and solving a form, the Gram matrices given; and the gap of its answer."""
    form, cls = FORMS[name]
    make = gaussians if cls is Alignment else mixed
    sample = make(n, kernels)
    for gram in sample.grams.values():
        _ = gram.dense
    if cls is SemidefiniteAlignment:
        _ = sample.stacked_grams, sample.frobenius
    start = time.perf_counter()
    answer = form(sample, tolerance)
    seconds = time.perf_counter() - start
    if cls is Alignment:
        return {"seconds": seconds, "gap": _short_of_the_optimum(make(n, kernels), answer["mu"])}
    formulation = cls(C=1.0) if cls is SoftMarginKernelLearning else cls()
    return {"seconds": seconds, "gap": relative_gap(kopt.verify(formulation, make(n, kernels), answer))}


def _short_of_the_optimum(sample: Sample, mu: np.ndarray) -> float:
    """By how much an alignment is below the certified upper bound: multipliers of dependent kernels bound nothing."""
    upper = kopt.solve(Alignment(), sample).certificate.bounds.upper
    K = sum(weight * gram.dense for weight, gram in zip(mu, sample.grams.values(), strict=True))
    return 1 - kopt.alignment(K, sample.y) / upper


def alone(n: int, kernels: int, gap: float) -> dict[str, Any]:
    """The figures of one solve, after a small one that loads what is compiled."""
    formulation = SoftMarginKernelLearning(C=1.0)
    timed(formulation, gaussians(WARM_UP, 3), gap)
    solution, seconds = timed(formulation, gaussians(n, kernels), gap)
    figures = {"n": n, "gap": relative_gap(solution.certificate), "method": solution.method, **timing([seconds])}
    return {**figures, "peak_memory_GB": peak_memory()}


if __name__ == "__main__":
    which, *numbers = sys.argv[1:]
    n, kernels, tolerance = int(numbers[0]), int(numbers[1]), float(numbers[2])
    print(json.dumps(alone(n, kernels, tolerance) if which == "kopt" else by_cvxpy(which, n, kernels, tolerance)))
