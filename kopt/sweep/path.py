"""The order in which the points of a grid are solved."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from kopt.sweep.kernel_parameters import KERNEL

Place = tuple[int, ...]


def path_through(grid: Mapping[str, list[Any]]) -> dict[Place, list[Place]]:
    """The places of a grid in the order in which they are solved, each with those one step below it.

    Values ascend: bounds then open rather than close, and a start stays inside. Kernels change last, because each
    has a matrix of its own.

    >>> list(path_through({"kernel__sigma": [1.0, 2.0], "C": [10.0, 1.0]}))
    [(0, 1), (0, 0), (1, 1), (1, 0)]
    """
    orders = [_ascending(values) for values in grid.values()]
    axes = sorted(range(len(grid)), key=lambda axis: not list(grid)[axis].startswith(KERNEL))
    path = {}
    for ranks in itertools.product(*(range(len(orders[axis])) for axis in axes)):
        rank = dict(zip(axes, ranks, strict=True))
        place = tuple(order[rank[axis]] for axis, order in enumerate(orders))
        path[place] = [
            (*place[:axis], orders[axis][rank[axis] - 1], *place[axis + 1 :]) for axis in reversed(axes) if rank[axis]
        ]
    return path


def _ascending(values: list[Any]) -> list[int]:
    """The indices of values from the smallest to the largest; as given where they cannot be compared."""
    try:
        return sorted(range(len(values)), key=values.__getitem__)
    except TypeError:
        return list(range(len(values)))
