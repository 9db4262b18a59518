"""What the two perceptrons share: they change only on a mistake, and a separating vector bounds how often."""

from __future__ import annotations

import warnings

import numpy as np

from kopt import CertificateWarning, Formulation, KoptError, Sample, Solution, minimise_hinges, solve

# Where nothing separates the points, the algorithms never stop by themselves.
MOST_EPOCHS = 5000
# They use the whole matrix.
MOST_POINTS = 5000
# Beyond this many points the bound on the mistakes, for which a larger problem is solved, costs more than the run.
MOST_POINTS_WITH_BOUND = 500

SEPARATED = "separated"
UNFINISHED = f"not separated after {MOST_EPOCHS} epochs"


def refused(sample: Sample) -> str | None:
    """Why a sample is not taken; None where it is."""
    return f"the sample has {sample.n} points, more than {MOST_POINTS}" if sample.n > MOST_POINTS else None


def best_multiple(margins: np.ndarray, costs: np.ndarray) -> float:
    """The t >= 0 with the smallest sum_i c_i (1 - t margin_i)_+: 1 over the smallest margin where all are positive."""
    plus, minus = margins > 0, margins < 0
    return minimise_hinges(
        0.0,
        rising=(-costs[minus] * margins[minus], 1 / margins[minus]),
        falling=(costs[plus] * margins[plus], 1 / margins[plus]),
        t_min=0.0,
    ).chosen


def witness(formulation: Formulation, sample: Sample) -> Solution | None:
    """The hard margin solution that the bound on the mistakes compares with; None where there is none to be had."""
    if sample.n > MOST_POINTS_WITH_BOUND:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CertificateWarning)  # any separating vector gives a bound
            return solve(formulation, sample.relabelled(sample.y, costs=None))
    except KoptError:
        return None
