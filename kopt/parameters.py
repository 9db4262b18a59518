"""Parameters of a formulation: a value, its domain, and a refusal in two sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from kopt.errors import InputError, ParameterError


@dataclasses.dataclass(frozen=True)
class Domain:
    """A set of real numbers, in words and as a test.

    typical   an interval from which random instances are drawn; numbers in it that are not in the set are drawn again
    """

    words: str
    contains: Callable[[float], bool]
    typical: tuple[float, float] = (0.05, 8.0)

    def check(self, name: str, value: Any) -> None:
        """Refuse a value outside the domain."""
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not np.isfinite(value) or not self.contains(float(value)):
            raise ParameterError(f"The parameter {name} is {value!r}, but must be {self.words}.", f"Choose {name} so.")

    def draw(self, rng: np.random.Generator) -> float:
        """A random number of the set other than 1, as likely small as large, with three digits for work by hand."""
        low, high = self.typical
        for _ in range(1000):
            value = low * (high / low) ** rng.random() if low > 0 else rng.uniform(low, high)
            value = float(f"{value:.3g}")
            if value != 1 and self.contains(value):
                return value
        raise InputError(
            f"No number between {low:g} and {high:g} is {self.words}.",
            "Give the domain an interval typical=(low, high).",
        )


POSITIVE = Domain("a finite number > 0", lambda value: value > 0)
NONNEGATIVE = Domain("a finite number >= 0", lambda value: value >= 0, (0.05, 0.8))
FRACTION = Domain("a number in (0, 1]", lambda value: 0 < value <= 1, (0.08, 0.92))


def parameter(domain: Domain, default: Any = dataclasses.MISSING) -> Any:
    """A parameter of a formulation with its domain, and its default if it has one."""
    return dataclasses.field(default=default, metadata={"domain": domain})


def positive(default: Any = dataclasses.MISSING) -> Any:
    """A parameter > 0."""
    return parameter(POSITIVE, default)


def nonnegative(default: Any = dataclasses.MISSING) -> Any:
    """A parameter >= 0."""
    return parameter(NONNEGATIVE, default)


def fraction(default: Any = dataclasses.MISSING) -> Any:
    """A parameter in (0, 1]."""
    return parameter(FRACTION, default)
