"""The solvers of scikit-learn (LIBSVM) and of scikit-learn-intelex (oneDAL), and what their answers are worth."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sklearn.exceptions import ConvergenceWarning

import kopt
from kopt import Certificate, Formulation, Sample
from tests.benchmarks.machine import installed

CACHE_MB = 1000
#: Half a decade each, from 1e-1 to 1e-10.
TOLERANCES = (*(float(f"{digit}e-{power}") for power in range(2, 11) for digit in (10, 3)), 1e-10)
DUAL_VARIABLES = ("alpha", "alpha_hat")


@dataclass(frozen=True)
class Answer:
    """What a fit came to: its time, the certified relative gap, and how many support vectors it has."""

    seconds: float
    gap: float
    support_vectors: int
    gave_up: bool


@dataclass(frozen=True)
class Competitor:
    """A family of estimators with scikit-learn's conventions.

    most_iterations   where it gives up: at tolerances below its own rounding it would not end
    """

    name: str
    module: str
    package: str
    most_iterations: int

    def estimator(self, formulation: Formulation, sample: Sample, tolerance: float) -> Any:
        """The estimator for a formulation on a sample with a Gaussian kernel, not fitted."""
        template = formulation.to_scikit_learn(sample)
        cls = getattr(import_module(self.module), type(template).__name__)
        own = {"kernel": "rbf", "gamma": sample.gram().kernel.gamma, "cache_size": CACHE_MB}
        limits = {"tol": tolerance, "max_iter": self.most_iterations}
        return cls(**{**template.get_params(), **own, **limits})

    def fit(self, formulation: Formulation, sample: Sample, tolerance: float) -> tuple[Any, float]:
        """The fitted estimator and the seconds of its fit alone."""
        estimator = self.estimator(formulation, sample, tolerance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # what the answer is worth is measured
            start = time.perf_counter()
            estimator.fit(sample.X, sample.y)
            seconds = time.perf_counter() - start
        if self.name == "oneDAL" and not hasattr(estimator, "_onedal_estimator"):
            raise RuntimeError(f"oneDAL left {estimator!r} to scikit-learn. Its time would not be its own.")
        return estimator, seconds

    def answer(self, formulation: Formulation, sample: Sample, tolerance: float) -> Answer:
        """A fit, and the certificate of its dual variables."""
        fitted, seconds = self.fit(formulation, sample, tolerance)
        _, translated = type(formulation).from_scikit_learn(fitted, sample)
        dual = {name: value for name, value in translated.items() if name in DUAL_VARIABLES}
        gap = relative_gap(kopt.verify(formulation, sample, dual))
        gave_up = max(_iterations(fitted)) >= self.most_iterations
        return Answer(seconds, gap, len(fitted.support_), gave_up)

    @property
    def version(self) -> str:
        """The version of the package that it comes with."""
        return installed(self.package)


LIBSVM = Competitor("LIBSVM", "sklearn.svm", "scikit-learn", 10_000_000)
ONEDAL = Competitor("oneDAL", "sklearnex.svm", "scikit-learn-intelex", 100_000)


def relative_gap(certificate: Certificate) -> float:
    """(P - D) / |P|, P and D after the dual variables are made feasible, widened by their rounding.

    The certificate's own relative gap has the sum of the absolute terms of P below the bar: the same number where all
    of them are positive, and a smaller one for the nu-machines.
    """
    bounds = certificate.bounds
    if not bounds.consistent:
        raise ArithmeticError(f"The gap is {bounds.gap:.1e}, a negative number. The certificate is wrong.")
    return bounds.gap / abs(bounds.upper) if bounds.known and bounds.upper else math.inf


def _iterations(fitted: Any) -> list[int]:
    counted = fitted.n_iter_
    return [int(each) for each in counted] if hasattr(counted, "__len__") else [int(counted)]
