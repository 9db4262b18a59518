"""A certificate at 100 000 points: seconds, and the most memory that the process ever held."""

import resource
import time

import numpy as np

import kopt
from formulations.classification import SoftMargin
from tests.benchmarks.problems import mc

SUPPORT = 5_000


def main() -> None:
    sample = mc(100_000)
    rng = np.random.default_rng(0)
    alpha = np.zeros(sample.n)
    for sign in (1, -1):
        chosen = rng.choice(np.flatnonzero(sample.y == sign), SUPPORT // 2, replace=False)
        alpha[chosen] = rng.random(SUPPORT // 2)
        alpha[chosen] *= SUPPORT / 5 / alpha[chosen].sum()
    start = time.perf_counter()
    product = sample.gram().product(sample.y * alpha)
    once = time.perf_counter() - start
    start = time.perf_counter()
    certificate = kopt.verify(SoftMargin(C=1.0), sample, {"alpha": alpha})
    whole = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(certificate)
    print(
        f"n = {sample.n}, {np.count_nonzero(alpha)} coefficients that are not 0, |K c| up to {abs(product).max():.3g}"
    )
    print(
        f"one product by K {once:.1f} s, certificate {whole:.1f} s, ratio {whole / once:.2f}, {memory:.2f} GB at most"
    )


if __name__ == "__main__":
    main()
