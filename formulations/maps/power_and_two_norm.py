"""Slacks to the power 2 are squared slacks; the one machine halves their price (6.867 section 4, Algorithm 7.37)."""

from formulations.classification import PowerSoftMargin, TwoNormSoftMargin
from kopt import Equivalent, InputError, Solution, converts


@converts(PowerSoftMargin, TwoNormSoftMargin, law="2 C")
def to_two_norm(solution: Solution) -> Equivalent:
    """The same problem where p = 2."""
    machine = solution.formulation
    if machine.p != 2:
        raise InputError(f"p is {machine.p:g}, but the slacks of the other machine are squared.", "Choose p = 2.")
    return Equivalent(TwoNormSoftMargin(C=2 * machine.C), _same(solution))


@converts(TwoNormSoftMargin, PowerSoftMargin, law="C / 2, p = 2")
def to_power(solution: Solution) -> Equivalent:
    """The same problem."""
    return Equivalent(PowerSoftMargin(C=solution.formulation.C / 2, p=2.0), _same(solution))


def _same(solution: Solution) -> dict[str, object]:
    return {**{name: solution.primal[name] for name in ("w", "b", "xi")}, "alpha": solution.dual.alpha}
