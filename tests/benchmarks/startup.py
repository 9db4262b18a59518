"""What the first solve of a process costs beyond the third: importing, and compiling or loading compiled code.

`python -m tests.benchmarks.startup <n>` prints the seconds of this process as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.comparison import Comparison
from tests.benchmarks.session import Session, in_a_process, timing

#: Few enough that the third call is quick.
POINTS = 300
#: What the table shows of each process.
MEASURED = ("import", "first solve over a third")


@dataclass(frozen=True)
class Startup:
    """A process that has to compile, and the next one, which finds the compiled code on disk."""

    name: str

    def run(self, session: Session) -> dict[str, Any]:
        """Seconds of the imports and the first three solves of each."""
        n = session.size(POINTS)
        with tempfile.TemporaryDirectory() as cache:
            processes = {when: in_a_process("startup", n, NUMBA_CACHE_DIR=cache) for when in ("compiling", "from disk")}
        ours = {"method": processes["from disk"]["method"], **timing([processes["from disk"]["third"]])}
        lines = [_line(f"{what}, {when} [s]", each, what) for when, each in processes.items() for what in MEASURED]
        return {"n": n, "kopt": ours, **processes, "comparisons": [line.record() for line in lines]}


def _line(what: str, seconds: dict[str, Any], key: str) -> Comparison:
    return Comparison(what, seconds[key], note=f"{seconds['method']}, third solve {seconds['third']:.3f} s")


def here(n: int) -> dict[str, Any]:
    """Seconds of the imports and of three solves in this process."""
    start = time.perf_counter()
    import numpy as np

    import kopt
    from formulations.classification import SoftMargin
    from kopt.kernels import Gaussian
    from kopt.solvers.choice import available

    imported = time.perf_counter() - start
    X = np.random.default_rng(0).standard_normal((n, 20))
    method = "DECOMPOSITION" if "DECOMPOSITION" in available() else "auto"
    seconds = []
    for _ in range(3):
        sample = kopt.Sample(X, np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, 1, -1), kernel=Gaussian.from_gamma(1 / 20))
        start = time.perf_counter()
        solution = kopt.solve(SoftMargin(C=1.0), sample, method=method)
        seconds.append(time.perf_counter() - start)
    first, _, third = seconds
    return {
        "n": n,
        "method": solution.method,
        "import": imported,
        "first": first,
        "third": third,
        "first solve over a third": first - third,
    }


if __name__ == "__main__":
    print(json.dumps(here(int(sys.argv[1]))))
