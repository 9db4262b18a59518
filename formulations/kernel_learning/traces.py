"""Kernels measured by the traces of their matrices on the sample."""

import numpy as np

from kopt import InputError, Sample
from kopt.views import ProductView


def traces_of(s: Sample) -> np.ndarray:
    """The numbers tr K_k, as in a view of the sample."""
    return ProductView(s).traces


def check_traces(s: Sample) -> None:
    """Refuse kernels that vanish on the sample: a bound on the trace says nothing about their weights."""
    for name, trace in zip(s.grams, traces_of(s), strict=True):
        if not trace > 0:
            raise InputError(
                f"The trace of the kernel {name!r} is {trace:g}: it is 0 on all {s.n} points.",
                "Leave this kernel out, or give points that it tells apart.",
            )
