"""Quantities by which a map divides, refused where they vanish."""

from kopt import InputError, Solution

# Below this fraction of its unit a margin or a multiplier that a solver found is a zero.
VANISHING = 1e-7


def divisor(name: str, value: float, unit: float, solution: Solution) -> float:
    """The value, or a refusal where it is 0: then the solution has no counterpart."""
    if value <= VANISHING * unit:
        raise InputError(
            f"{name} is {value:.1e} at this solution of {solution.formulation!r}, so that it has no counterpart.",
            "Choose parameters for which it is positive.",
        )
    return value


def radius(solution: Solution) -> float:
    """The length of the longest point in feature space: the unit of margins."""
    return float(solution.sample.gram().diagonal.max() ** 0.5)
