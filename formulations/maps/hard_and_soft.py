"""Where no slack is used the box does not bind: the soft machine is the hard one (and C need only be large enough)."""

import numpy as np

from formulations.classification import HardMargin, SoftMargin
from formulations.maps.soft_and_nu_hyperspheres import refuse_a_point
from formulations.novelty import Hypersphere, SoftHypersphere
from kopt import Equivalent, InputError, Solution, converts

# Slacks below this fraction of the margin, or of the squared radius, are the solver's rounding.
NO_SLACK = 1e-7


@converts(HardMargin, SoftMargin, law="C = max_i alpha_i")
def to_soft_margin(solution: Solution) -> Equivalent:
    """The smallest C for which no slack pays."""
    C = float(np.max(solution.dual.alpha / solution.sample.costs))
    answer = {"w": solution.primal.w, "b": solution.primal.b, "xi": np.zeros(solution.sample.n)}
    return Equivalent(SoftMargin(C=C), {**answer, "alpha": solution.dual.alpha})


@converts(SoftMargin, HardMargin, law="all xi_i = 0")
def to_hard_margin(solution: Solution) -> Equivalent:
    """The same solution, where it uses no slack."""
    _refuse_slacks(solution, unit=1.0)
    return Equivalent(HardMargin(), {**_of(solution, "w", "b"), "alpha": solution.dual.alpha})


@converts(Hypersphere, SoftHypersphere, law="C = max_i alpha_i")
def to_soft_hypersphere(solution: Solution) -> Equivalent:
    """The smallest C for which no point outside pays."""
    C = float(np.max(solution.dual.alpha))
    answer = {**_of(solution, "c", "R"), "xi": np.zeros(solution.sample.n), "alpha": solution.dual.alpha}
    return Equivalent(SoftHypersphere(C=C), answer)


@converts(SoftHypersphere, Hypersphere, law="all xi_i = 0")
def to_hard_hypersphere(solution: Solution) -> Equivalent:
    """The same sphere, where no point is outside."""
    refuse_a_point(solution)
    _refuse_slacks(solution, unit=float(solution.sample.gram().diagonal.max()))
    return Equivalent(Hypersphere(), {**_of(solution, "c", "R"), "alpha": solution.dual.alpha})


def _of(solution: Solution, *names: str) -> dict[str, object]:
    return {name: solution.primal[name] for name in names}


def _refuse_slacks(solution: Solution, unit: float) -> None:
    largest = float(np.max(solution.primal.xi))
    if largest > NO_SLACK * unit:
        raise InputError(
            f"The largest slack is {largest:.3g}, so that no hard machine has this solution.",
            "Raise C until all slacks are 0, if the data allow it.",
        )
