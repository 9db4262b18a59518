"""The default path of kopt.solve against the same dual written by hand in CVXPY, on `mc` with C = 1.

kopt's time is that of the whole call: Gram matrix, solution and certificate. CVXPY's is that of compiling and solving
with K given. Median of three in one run.
"""

import statistics
import time
from collections.abc import Callable

import cvxpy as cp
import numpy as np

import kopt
from formulations.classification import SoftMargin
from tests.benchmarks.problems import mc


def seconds(run: Callable[[kopt.Sample], object], n: int, formed: bool) -> float:
    """Median time on fresh samples of which nothing has been computed, or the Gram matrix only."""
    times = []
    for _ in range(3):
        sample = mc(n)
        if formed:
            _ = sample.gram().dense
        start = time.perf_counter()
        run(sample)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def by_hand(sample: kopt.Sample) -> None:
    y, alpha = sample.y, cp.Variable(sample.n)
    G = y[:, None] * sample.gram().dense * y
    objective = cp.Maximize(cp.sum(alpha) - 0.5 * cp.quad_form(alpha, cp.psd_wrap(G)))
    cp.Problem(objective, [y @ alpha == 0, alpha <= 1, alpha >= 0]).solve(solver="CLARABEL")


def main() -> None:
    print(f"{'n':>6} {'kopt [s]':>10} {'CVXPY [s]':>10} {'ratio':>6}  {'method':<10} relative gap")
    for n in (200, 500, 1000, 2000):
        theirs = seconds(by_hand, n, formed=True)
        ours = seconds(lambda sample: kopt.solve(SoftMargin(C=1.0), sample), n, formed=False)
        solution = kopt.solve(SoftMargin(C=1.0), mc(n))
        gap = solution.certificate.bounds.relative_gap
        print(f"{n:>6} {ours:>10.3f} {theirs:>10.3f} {theirs / ours:>6.2f}  {solution.method:<10} {gap:.1e}")
        assert np.isfinite(gap)


if __name__ == "__main__":
    main()
