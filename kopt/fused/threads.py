"""Work on disjoint ranges by as many threads as there are cores; the results do not depend on their number."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from kopt.errors import InputError

Result = TypeVar("Result")

#: Ranges begin at multiples of this, so that no two threads write to one cache line.
GRAIN = 512


def threads() -> int:
    """As many as the process may use; the environment variable KOPT_THREADS sets fewer."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    chosen = os.environ.get("KOPT_THREADS", str(available))
    if not chosen.isdecimal() or int(chosen) == 0:
        raise InputError(f"KOPT_THREADS is {chosen!r}.", "Give the number of threads, at least 1, or leave it out.")
    return int(chosen)


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="kopt")


if hasattr(os, "register_at_fork"):  # a forked process has the pool, but none of its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


def over_ranges(work: Callable[[int, int], object], n: int) -> None:
    """Call work(start, stop) on ranges that cover 0..n-1, at the same time; it must release the interpreter's lock.

    >>> seen = []
    >>> over_ranges(lambda start, stop: seen.append(stop - start), 2000)
    >>> sum(seen)
    2000
    """
    step = -(-n // (threads() * GRAIN)) * GRAIN
    in_parallel(lambda start: work(start, min(start + step, n)), range(0, n, step))


def in_parallel(work: Callable[[int], Result], items: Sequence[int]) -> list[Result]:
    """The results of work(item), in the order of the items, by as many threads as there are; see `over_ranges`."""
    count = threads()
    if count == 1 or len(items) < 2:
        return [work(item) for item in items]
    return list(_pool(count).map(work, items))
