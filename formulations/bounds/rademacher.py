"""The Rademacher complexity of linear functions, and the bound that it gives for any class."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from formulations.bounds.bound import Bound
from formulations.bounds.givens import (
    INDEPENDENT,
    check_count,
    check_delta,
    check_nonnegative,
    check_positive,
    check_sample,
    confidence,
    trace,
)
from kopt import InputError, Reference, Sample
from kopt.gram import Gram

# 2^15 sign vectors, one of each pair (s, -s).
ENUMERATED = 16


@dataclass(frozen=True)
class Complexity:
    """The empirical Rademacher complexity E sup_f |2/l sum_i s_i f(x_i)| of the functions <w, phi(x)>, ||w|| <= B.

    value    2B/l E (s' K s)^(1/2)
    upper    2B/l (tr K)^(1/2), by Jensen's inequality
    lower    upper / 2^(1/2), by the inequality of Khintchine and Kahane
    error    standard error of the value: 0 where all signs s were enumerated

    Mohri, Rostamizadeh and Talwalkar have 1/l for 2/l: half of each.
    """

    value: float
    lower: float
    upper: float
    error: float = 0.0


def rademacher_complexity(
    sample: Sample, B: float = 1.0, *, kernel: str | None = None, draws: int = 4096, seed: int = 0
) -> Complexity:
    r"""The complexity of {x -> <w, phi(x)> : ||w|| <= B} on a sample, between its two bounds.

    By Cauchy-Schwarz sup_w |<w, 2/l sum_i s_i phi(x_i)>| = 2B/l (s' K s)^(1/2), attained. The mean over the signs s is
    exact up to 16 points, and an average over `draws` random ones beyond. A weight vector sum_i alpha_i phi(x_i) has
    B = (alpha' K alpha)^(1/2); the root is missing in Remark 4.13.

    Shawe-Taylor and Cristianini, Definition 4.8 and Theorem 4.12; Mohri, Rostamizadeh and Talwalkar, Theorem 6.12.

    >>> import kopt
    >>> complexity = rademacher_complexity(kopt.Sample.from_gram([[1.0, 1.0], [1.0, 1.0]]))
    >>> complexity.value, round(complexity.upper, 6)  # the lower bound is attained
    (1.0, 1.414214)
    """
    check_sample(sample)
    check_positive("B", B)
    check_count("draws", draws, 2)  # two, to know the error of their average
    check_count("seed", seed, 0)
    gram = sample.gram(kernel)
    exact = gram.n <= ENUMERATED
    signs = _all_signs(gram.n) if exact else _random_signs(gram.n, draws, seed)
    roots = np.sqrt(np.maximum(0.0, _squares(gram, signs)))
    scale = 2 * B / gram.n
    upper = scale * math.sqrt(trace(gram))
    error = 0.0 if exact else scale * float(np.std(roots, ddof=1)) / math.sqrt(draws)
    return Complexity(scale * float(np.mean(roots)), upper / math.sqrt(2), upper, error)


def rademacher_bound(empirical: float, complexity: float, n: int, delta: float = 0.05) -> Bound:
    r"""Theorem 4.9: E f <= mean of f + R + 3 (ln(2/delta) / (2 l))^(1/2), for all f of a class with values in [0, 1].

    empirical    the mean of f over the sample
    complexity   R, the empirical Rademacher complexity of the class, or an upper bound of it

    The constant 3 is 1 for the largest deviation, which one point changes by 1/l, and 2 for R, which one point changes
    by 2/l; each takes half of delta in McDiarmid's inequality.

    >>> round(rademacher_bound(0.1, 0.2, 1000).value, 6)
    0.428841
    """
    check_delta(delta)
    check_nonnegative("empirical", empirical)
    check_nonnegative("complexity", complexity)
    check_count("n", n, 1)
    if empirical > 1:
        raise InputError(f"The empirical mean is {empirical:g}.", "Scale the functions to values in [0, 1].")
    return Bound(
        Reference("Shawe-Taylor and Cristianini", "Theorem 4.9"),
        "E f(z)",
        {"empirical mean": empirical, "capacity": complexity, "confidence": confidence(n, delta)},
        (INDEPENDENT, "the class was fixed before the sample was seen, and has values in [0, 1]"),
        delta,
    )


def _squares(gram: Gram, signs: np.ndarray) -> np.ndarray:
    """s' K s for the columns s."""
    return np.asarray(np.sum(signs * gram.product(signs), axis=0))


def _all_signs(n: int) -> np.ndarray:
    """The 2^(n-1) sign vectors that begin with 1, as columns; s and -s have the same s' K s."""
    codes = np.arange(2 ** (n - 1))
    return 1.0 - 2.0 * ((codes >> np.arange(n)[:, None]) & 1)


def _random_signs(n: int, draws: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice([-1.0, 1.0], size=(n, draws))
