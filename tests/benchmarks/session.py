"""What every case is given: how far to shrink it, how often to measure, and where the figures go."""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.benchmarks.document import Document

#: Seconds beyond which one timing is enough.
SLOW = 20.0
SMALLEST = 100

Timed = Callable[[], float]
Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Session:
    """One run of the benchmark.

    scale    what every number of points is multiplied by
    repeat   timings of which the median is taken
    reuse    whether tolerances that were found in an earlier run are taken from the document
    """

    document: Document
    scale: float = 1.0
    repeat: int = 5
    reuse: bool = False

    def size(self, n: int, least: int = SMALLEST) -> int:
        """A number of points, shrunk."""
        return n if self.scale == 1 else max(least, round(n * self.scale))

    def interleaved(self, runs: Mapping[Name, Timed]) -> dict[Name, list[float]]:
        """Seconds of each run by name, measured in turn; once only for those that are slow."""
        seconds: dict[Name, list[float]] = {name: [] for name in runs}
        for _ in range(self.repeat):
            for name, run in runs.items():
                if not any(each > SLOW for each in seconds[name]):
                    gc.collect()
                    seconds[name].append(run())
        return seconds

    def say(self, text: str) -> None:
        """Tell who is waiting."""
        print(f"  {text}", file=sys.stderr, flush=True)


def timing(seconds: list[float]) -> dict[str, Any]:
    """All timings and their median; `once` where there is only one."""
    return {"seconds": seconds, "median": statistics.median(seconds), "once": len(seconds) == 1}


def stopwatch(run: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def in_a_process(module: str, *arguments: object, limit: float | None = None, **environment: str) -> dict[str, Any]:
    """The JSON that a module of this package prints when it is run on its own.

    limit   seconds after which it is ended, with a TimeoutError
    """
    command = [sys.executable, "-m", f"tests.benchmarks.{module}", *map(str, arguments)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, check=False, env={**os.environ, **environment}
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"{' '.join(command[2:])} did not end within {limit:g} s.") from None
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise RuntimeError(f"{' '.join(command[2:])} failed: {last[0]}")
    return json.loads(done.stdout.splitlines()[-1])
