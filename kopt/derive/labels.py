"""Which index each entry of a variable or a multiplier is called by."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kopt.derive.affine import Form, Part
from kopt.derive.reading import Reading

Labels = Mapping[str, list[tuple[float, ...]]]


def labels_of(reading: Reading) -> dict[str, list[tuple[float, ...]]]:
    """The index of each entry: the number of its point or its place from 1, or its class; () for a single number.

    A variable or a constraint that there is for some points only has the indices of these points.
    """
    points = _points(reading)
    found: dict[str, list[tuple[float, ...]]] = {}
    for name, variable in reading.variables.items():
        letter = reading.index[variable.id]
        found[name] = _keys(letter, variable.size, points.get(name) if letter == "i" else _classes(reading, name))
    for name, row in reading.constraints.items():
        found[name] = _keys(row.index, row.affine.rows, points.get(name))
        tied = [
            found[part.variable.name()] for part in row.affine.parts if row.index == "j" and _is_tied(reading, part)
        ]
        found[name] = next((keys for keys in tied if len(keys) == row.affine.rows), found[name])
    return found


def where_defined(reading: Reading, labels: Labels) -> dict[float, list[str]]:
    """The names that there are for all classes of points but one, by that class."""
    found: dict[float, list[str]] = {}
    y = np.zeros(0) if reading.y is None else reading.y
    ranks = 2 < len(np.unique(y)) < len(y) and bool(np.all(y == np.round(y)))
    for name, keys in labels.items() if ranks else ():
        at = np.array([int(key[0]) - 1 for key in keys if key], dtype=int)
        if not _runs_over_points(reading, name) or len(at) == len(y):
            continue
        inside, outside = np.unique(y[at]), np.unique(np.delete(y, at))
        if len(outside) == 1 and outside[0] not in inside:
            found.setdefault(float(outside[0]), []).append(name)
    return found


def _runs_over_points(reading: Reading, name: str) -> bool:
    if name in reading.constraints:
        return reading.constraints[name].index == "i"
    return reading.index[reading.variables[name].id] == "i"


def _keys(letter: str, size: int, own: np.ndarray | None) -> list[tuple[float, ...]]:
    if not letter:
        return [()]
    return [(float(each),) for each in (range(1, size + 1) if own is None else own)]


def _points(reading: Reading) -> dict[str, np.ndarray]:
    """The points, from 1, of constraints on values of a vector and of all that is tied to these entry by entry."""
    found: dict[str, np.ndarray] = {}
    for _ in range(len(reading.constraints) + 1):
        for name, row in reading.constraints.items():
            own = [part for part in row.affine.parts if part.form is Form.ENTRY and not part.alone]
            for part in own if row.index == "i" and name not in found else ():
                seen = _seen(reading, part, found)
                if seen is not None and len(seen) == row.affine.rows:
                    found[name] = seen
            _tie(reading, name, own, found)
    return found


def _seen(reading: Reading, part: Part, found: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """The points of the entries that the rows see."""
    vector = reading.vectors.get(part.variable.id)
    points = found.get(part.variable.name()) if vector is None else vector.seen + 1
    if points is None or reading.index[part.variable.id] != "i":
        return None
    return points if part.selection is None else points[part.selection]


def _tie(reading: Reading, name: str, own: list[Part], found: dict[str, np.ndarray]) -> None:
    for part in own if name in found else ():
        if _is_tied(reading, part) and reading.index[part.variable.id] == "i":
            found.setdefault(part.variable.name(), found[name])


def _is_tied(reading: Reading, part: Part) -> bool:
    """Whether each row sees its own entry of a plain variable."""
    return part.form is Form.ENTRY and part.selection is None and part.variable.id not in reading.vectors


def _classes(reading: Reading, name: str) -> np.ndarray | None:
    """The class of each entry, for a variable whose entry is chosen by the class of a point; None for places."""
    y = np.zeros(0) if reading.y is None else reading.y
    for row in reading.rows:
        for part in row.affine.parts:
            if part.variable.name() != name or part.selection is None or len(part.selection) != len(y):
                continue
            classes = {int(place): float(label) for place, label in zip(part.selection, y, strict=True)}
            apart = {place + 1 - label for place, label in classes.items()}
            if len(apart) > 1 and len(classes) == part.variable.size:
                return np.array([classes[place] for place in range(part.variable.size)])
    return None
