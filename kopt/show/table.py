"""Tables of text whose cells wrap."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

GAP = "  "


def row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One row of a table, each cell wrapped to the width of its column.

    >>> print(row(["7.38", "mu ||alpha||^2 stands for mu^2 ||alpha||^2"], [5, 16]))
    7.38   mu ||alpha||^2
           stands for mu^2
           ||alpha||^2
    """
    wrapped = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)]
    lines = [
        GAP.join((part[i] if i < len(part) else "").ljust(width) for part, width in zip(wrapped, widths, strict=True))
        for i in range(max(map(len, wrapped)))
    ]
    return "\n".join(line.rstrip() for line in lines)


def shares(total: int, weights: Sequence[int]) -> list[int]:
    """The widths of columns that share a line, by weight.

    >>> shares(48, [1, 1, 2])
    [11, 11, 22]
    """
    room = total - len(GAP) * (len(weights) - 1)
    return [max(8, room * weight // sum(weights)) for weight in weights]
