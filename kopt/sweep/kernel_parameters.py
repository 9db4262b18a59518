"""The numbers in the kernels of a sample, as parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cached_property
from numbers import Real
from typing import Any

from kopt.kernels import Kernel
from kopt.sample import Sample
from kopt.sweep.sweep_point import Parameters

KERNEL = "kernel__"


def kernel_parameters(sample: Sample) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The numbers in a sample's kernels: the name in a sweep, the kernel's name, and the fields that lead there.

    >>> from kopt.kernels import Gaussian, Linear
    >>> list(kernel_parameters(Sample([[0.0]], kernel=2 * Gaussian(sigma=1.0) + Linear())))
    ['kernel__left__scale', 'kernel__left__kernel__sigma']
    """
    known = {}
    for name, gram in sample.grams.items():
        prefix = f"{KERNEL}{name}__" if len(sample.grams) > 1 else KERNEL
        known.update({prefix + "__".join(fields): (name, fields) for fields in _numbers_in(gram.kernel)})
    return known


def _numbers_in(kernel: Any) -> Iterator[tuple[str, ...]]:
    for field in dataclasses.fields(kernel) if dataclasses.is_dataclass(kernel) else ():
        value = getattr(kernel, field.name)
        if isinstance(value, Kernel):
            yield from ((field.name, *rest) for rest in _numbers_in(value))
        elif field.init and isinstance(value, Real) and not isinstance(value, bool):
            yield (field.name,)


def replaced(sample: Sample, values: Parameters) -> Sample:
    """The same points with other numbers in the kernels."""
    kernels = {name: gram.kernel for name, gram in sample.grams.items()}
    known = kernel_parameters(sample)
    for parameter, value in values.items():
        name, fields = known[parameter]
        kernels[name] = _with_number(kernels[name], fields, value)
    return Sample(sample.X, sample.y, kernel=kernels, costs=sample.costs, budget=sample.budget)


def _with_number(kernel: Any, fields: tuple[str, ...], value: Any) -> Any:
    first, *rest = fields
    return dataclasses.replace(
        kernel, **{first: _with_number(getattr(kernel, first), tuple(rest), value) if rest else value}
    )


def forget_matrices(sample: Sample) -> None:
    """Give up what the Gram matrices of a sample have cached: twenty of them may not fit, and nothing is lost."""
    for gram in sample.grams.values():
        for name, kind in vars(type(gram)).items():
            if isinstance(kind, cached_property):
                vars(gram).pop(name, None)
