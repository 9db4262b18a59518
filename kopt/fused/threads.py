"""Work on disjoint ranges by as many threads as there are cores; the results do not depend on their number."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

#: Ranges begin at multiples of this, so that no two threads write to one cache line.
GRAIN = 512


def threads() -> int:
    """As many as the process may use; the environment variable KOPT_THREADS sets fewer."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(os.environ.get("KOPT_THREADS", available)))


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="kopt")


def over_ranges(work: Callable[[int, int], object], n: int) -> None:
    """Call work(start, stop) on ranges that cover 0..n-1, at the same time; it must release the interpreter's lock.

    >>> seen = []
    >>> over_ranges(lambda start, stop: seen.append(stop - start), 2000)
    >>> sum(seen)
    2000
    """
    count = threads()
    step = -(-n // (count * GRAIN)) * GRAIN
    ranges = [(start, min(start + step, n)) for start in range(0, n, step)]
    if len(ranges) < 2:
        for each in ranges:
            work(*each)
        return
    list(_pool(count).map(lambda each: work(*each), ranges))
