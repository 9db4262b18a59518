"""The figures on disk: one JSON file, written anew after each step that took time, never half."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from tests.benchmarks.machine import machine, versions


class Document:
    """What has been measured so far.

    figures   machine and its load before, versions, rules, the cases by name, and the searches for tolerances
    path      the file it is kept in; None to keep it in memory only
    """

    def __init__(self, figures: dict[str, Any], path: Path | None) -> None:
        self.figures = figures
        self.path = path

    @classmethod
    def begin(cls, path: Path | None, scale: float, rules: dict[str, Any], keep: bool, reuse: bool) -> Document:
        """A document to measure into.

        keep    with the cases of the file that is there, which has to be of the same machine and scale
        reuse   with the tolerances that were found for a file of the same scale
        """
        fresh: dict[str, Any] = {"machine": machine(), "versions": versions(), "scale": scale, "rules": rules}
        fresh["load_before"] = os.getloadavg()[0]
        old = read(path) if path is not None and path.exists() else {}
        if keep and old and any(old.get(key) != fresh[key] for key in ("machine", "scale")):
            raise SystemExit(f"{path} was measured elsewhere or at another scale. Choose another file with --json.")
        same_scale = old.get("scale") == scale
        carried = ("kernel_rows", "cases") if keep else ()
        fresh |= {name: old[name] for name in carried if name in old}
        fresh["searches"] = old.get("searches", {}) if same_scale and (reuse or keep) else {}
        fresh.setdefault("cases", {})
        return cls(fresh, path)

    def save(self) -> None:
        """Write the file beside its place and move it there in one step."""
        if self.path is None:
            return
        beside = self.path.with_suffix(".partial")
        beside.write_text(json.dumps(_plain(self.figures), indent=1, allow_nan=False) + "\n")
        beside.replace(self.path)


def read(path: Path) -> dict[str, Any]:
    """The figures of a file."""
    return json.loads(path.read_text())


def _plain(value: Any) -> Any:
    """The same with None for what JSON has no number for."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
