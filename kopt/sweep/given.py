"""What a sweep is given, and refuses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from kopt.errors import InputError
from kopt.formulation import Formulation
from kopt.sample import Sample
from kopt.sweep.kernel_parameters import kernel_parameters
from kopt.sweep.sweep_point import Parameters


def check(cls: object, sample: object, given: Parameters) -> None:
    """Refuse what no point of the sweep could be solved with."""
    if not isinstance(cls, type) or not issubclass(cls, Formulation):
        name = type(cls).__name__
        remedy = f"Give the class {name}, and its parameters by name." if isinstance(cls, Formulation) else "Give one."
        raise InputError(f"The first argument is of type {name}, which is not a class of formulations.", remedy)
    if not isinstance(sample, Sample):
        raise InputError(
            f"The second argument is of type {type(sample).__name__}.", "Wrap the data: kopt.Sample(X, y, kernel=...)."
        )
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    known = [*fields, *kernel_parameters(sample)]
    for name in given:
        if name not in known:
            raise InputError(f"{cls.__name__} on this sample has no parameter {name!r}.", f"Known are: {_list(known)}.")
    for name, field in fields.items():
        if name not in given and field.default is field.default_factory is dataclasses.MISSING:
            raise InputError(f"{cls.__name__} needs its parameter {name}.", f"Give a number or a list: {name}=[...].")


def values_of(name: str, given: Any) -> list[Any]:
    """What was given for a parameter as a list.

    >>> values_of("C", 1.0), values_of("C", np.array([1.0, 10.0]))
    ([1.0], [1.0, 10.0])
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        return [given]
    values = [each.item() if isinstance(each, np.generic) else each for each in given]
    if not values:
        raise InputError(f"The list of values for {name} is empty.", "Give at least one number.")
    return values


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
