"""The cases of the benchmark with their targets, from those that take seconds to those that take minutes."""

from __future__ import annotations

from typing import Any, Protocol

from formulations.classification import NuSoftMargin, SoftMargin
from formulations.novelty import OneClass
from formulations.regression import EpsilonInsensitive
from tests.benchmarks.contest import Contest
from tests.benchmarks.large import LargeSoftMargin
from tests.benchmarks.learnt_kernels import LEARNT
from tests.benchmarks.path import Sweep
from tests.benchmarks.problems import breast_cancer, digits, mc, moons, novelty, regression, wide
from tests.benchmarks.session import Session
from tests.benchmarks.spheres import GaussianSphere, LinearSphere
from tests.benchmarks.startup import Startup


class Case(Protocol):
    """Something to measure."""

    name: str

    def run(self, session: Session) -> dict[str, Any]:
        """The figures, among them `kopt` and `comparisons`."""


def against(LIBSVM: float | None, *oneDAL: float | None) -> dict[str, float | None]:
    """Ratios aimed at, by competitor; None for one that is measured without a target."""
    return {"LIBSVM": LIBSVM, **({"oneDAL": oneDAL[0]} if oneDAL else {})}


SOFT, HARD = SoftMargin(C=1.0), SoftMargin(C=100.0)

CASES: tuple[Case, ...] = (
    Startup("first solve of a process"),
    Contest("breast_cancer, C = 1000", breast_cancer, 569, SoftMargin(C=1000.0), 1e-9, against(None), gap_target=True),
    Contest("digits, C = 100", digits, 1797, HARD, 1e-9, against(None), gap_target=True),
    Contest("mc 10k, C = 1", mc, 10_000, SOFT, 1e-6, against(8, 4), floored=True),
    Contest("moons 20k, C = 1", moons, 20_000, SOFT, 1e-6, against(10, 6)),
    LinearSphere("hypersphere 100k, linear", 100_000),
    Contest("mc 20k, C = 1", mc, 20_000, SOFT, 1e-6, against(11, 4), floored=True),
    Contest("one-class 20k, nu = .1", novelty, 20_000, OneClass(nu=0.1), 1e-6, against(12)),
    Contest(
        "epsilon-regression 20k, C = 1",
        regression,
        20_000,
        EpsilonInsensitive(C=1.0, epsilon=0.1),
        1e-6,
        against(6, None),
    ),
    Contest("nu-SVM 20k, nu = .3", mc, 20_000, NuSoftMargin(nu=0.3), 1e-6, against(5, None)),
    LargeSoftMargin("soft margin 100k, C = 1", 100_000),
    Sweep("sweep 5k, 20 values of C from .01 to 1", 5_000, 1.0, 1 / 3),
    Sweep("sweep 5k, 20 values of C from .01 to 100", 5_000, 100.0, 0.7),
    Contest("moons 20k, C = 100", moons, 20_000, HARD, 1e-6, against(5, 5)),
    Contest("mc 10k, C = 100", mc, 10_000, HARD, 1e-6, against(3, 4)),
    GaussianSphere("hypersphere 100k, Gaussian", 100_000),
    Contest("wide 10k, C = 1", wide, 10_000, SOFT, 1e-6, against(15, 1.3)),
    Contest("mc 50k, C = 1", mc, 50_000, SOFT, 1e-6, against(11, 3), floored=True),
    *LEARNT,
)


def chosen(words: list[str]) -> list[Case]:
    """The cases whose name is one of the words, or else contains one; all where there are none."""
    exact = [case for case in CASES if case.name in words]
    if exact and len(exact) == len(set(words)):
        return exact
    lost = [word for word in words if not any(word.lower() in case.name.lower() for case in CASES)]
    if lost:
        names = "\n".join(case.name for case in CASES)
        raise SystemExit(f"No case is named like {lost[0]!r}. The cases are:\n{names}")
    return [case for case in CASES if not words or any(word.lower() in case.name.lower() for word in words)]
