"""The least that an answer can cost: the kernel values that no method of this kind avoids."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kopt import Sample
from kopt.gram.columns import Columns
from tests.benchmarks.problems import mc
from tests.benchmarks.session import Session, stopwatch
from tests.benchmarks.threads import THREADS

POINTS, ROWS, BLOCK, REPEAT = 20_000, 1024, 128, 5


@dataclass(frozen=True)
class Costs:
    """Nanoseconds an entry on one thread: of a row in the solver, and in the certificate of a pair of support vectors
    and of any other entry."""

    row: float
    pair: float
    other: float

    def floor(self, n: int, support: int) -> float:
        """Seconds: [row n nSV + pair nSV^2 + other (n - nSV) nSV] ns / threads."""
        entries = self.row * n * support + self.pair * support**2 + self.other * (n - support) * support
        return entries * 1e-9 / THREADS


#: As a prototype had them.
STATED = Costs(row=1.0, pair=0.9, other=0.7)


@contextmanager
def one_thread_of_kopt() -> Iterator[None]:
    before = os.environ.get("KOPT_THREADS")
    os.environ["KOPT_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["KOPT_THREADS"]
        else:
            os.environ["KOPT_THREADS"] = before


def measured_rows(n: int) -> dict[str, float]:
    """Nanoseconds an entry of Gaussian kernel rows on one thread, in single and in double precision."""
    sample = mc(n)
    with threadpool_limits(1), one_thread_of_kopt():
        return {
            "single": _nanoseconds(lambda rows: single_precision_rows(sample, rows), n),
            "double": _nanoseconds(lambda rows: double_precision_rows(sample, rows), n),
        }


def single_precision_rows(sample: Sample, rows: np.ndarray) -> object:
    """Rows of K in single precision, added up as the solver does."""
    out = np.zeros(sample.n)
    Columns(sample.gram()).add(rows, np.random.default_rng().random(len(rows)), out)
    return out


def double_precision_rows(sample: Sample, rows: np.ndarray) -> object:
    """The product by K of a vector that is 0 elsewhere, as the certificate takes it; a new one each time."""
    c = np.zeros(sample.n)
    c[rows] = np.random.default_rng().random(len(rows))
    return sample.gram().product(c)


def _nanoseconds(compute: Callable[[np.ndarray], object], n: int) -> float:
    rows = np.random.default_rng(0).choice(n, min(ROWS, n), replace=False)
    compute(rows)
    seconds = statistics.median(stopwatch(lambda: compute(rows)) for _ in range(REPEAT))
    return seconds * 1e9 / (n * len(rows))


def floors(session: Session, n: int, support: int, seconds: float) -> dict[str, Any]:
    """The floor with the stated and with the measured costs, and how far above each a time is.

    Of a pair of support vectors only one order is computed, hence half the cost in double precision.
    """
    rows = session.document.figures["kernel_rows"] = measured_rows(session.size(POINTS))
    here = Costs(row=rows["single"], pair=rows["double"] / 2, other=rows["single"])
    return {
        name: {
            "costs_ns": asdict(costs),
            "seconds": costs.floor(n, support),
            "ratio": seconds / costs.floor(n, support),
        }
        for name, costs in (("stated", STATED), ("measured", here))
    }
