"""Named values: a primal point, a dual point, or the multipliers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Point(Mapping[str, Any]):
    """Values by name, read as `point.alpha` or, where Python has no such name, as `point["lambda"]`.

    >>> point = Point(alpha=[0.5, 0.5], b=0.1)
    >>> point.b, point["b"], sorted(point)
    (0.1, 0.1, ['alpha', 'b'])
    """

    def __init__(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        self._values: dict[str, Any] = {**(values or {}), **more}

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            known = ", ".join(self._values) or "nothing"
            raise AttributeError(f"There is no value named {name!r} here. Known are: {known}.") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Point({', '.join(self._values)})"
