"""Limits of parameters that depend on the sample, refused with a number that works."""

from kopt import InputError

# By so much a parameter may be beyond its limit: the rounding of the limit itself.
LAST_DIGITS = 1e-15


def check_at_most(name: str, value: float, largest: float, given: str) -> None:
    """Refuse a parameter above its largest value, given these classes, ranks or costs."""
    if value > largest * (1 + LAST_DIGITS):
        raise InputError(
            f"{name} is {value!r}, but with {given} it can be at most {largest!r}.", f"Choose {name} <= {largest!r}."
        )


def check_at_least(name: str, value: float, smallest: float, given: str) -> None:
    """Refuse a parameter below its smallest value, given these classes."""
    if value < smallest * (1 - LAST_DIGITS):
        raise InputError(
            f"{name} is {value!r}, but with {given} it must be at least {smallest!r}.",
            f"Choose {name} >= {smallest!r}.",
        )
