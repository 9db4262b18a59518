"""The guarantee of simple novelty detection, around the centre of mass."""

from __future__ import annotations

import math

import numpy as np

from formulations.bounds.bound import Bound
from formulations.bounds.givens import INDEPENDENT, check_delta, check_sample, support_radius, within
from kopt import Combination, InputError, Reference, Sample
from kopt.gram import Gram

PROPOSITION = Reference("Shawe-Taylor and Cristianini", "Proposition 5.5")
NOVEL = "P(||phi(x) - phi_S|| > threshold)"


def novelty_threshold(sample: Sample, delta: float = 0.05, *, R: float | None = None) -> float:
    r"""The radius beyond which Algorithm 5.4 calls a point novel, around the centre of mass phi_S of the sample.

        max_i ||phi(x_i) - phi_S|| + 2 (2 R^2 / l)^(1/2) (2^(1/2) + ln(1/delta)^(1/2))

    >>> round(novelty_threshold(Sample([[1.0], [-1.0]] * 200), delta=0.01), 6)
    1.503485
    """
    check_sample(sample)
    check_delta(delta)
    gram = sample.gram()
    R = support_radius(gram, R)
    estimation = math.sqrt(2 * R**2 / gram.n) * (math.sqrt(2) + math.sqrt(math.log(1 / delta)))  # (5.5)
    return float(np.sqrt(np.max(_squared_distances(gram)))) + 2 * estimation


def joint_novelty_bound(sample: Sample, delta: float = 0.05, *, R: float | None = None) -> Bound:
    r"""Proposition 5.5 over the draw of sample and new point together, for the threshold with this delta.

        P(||phi(x) - phi_S|| > threshold) <= 1/(l + 1) + delta

    By symmetry the new point is the furthest from the mean of the distribution with probability 1/(l + 1); with
    probability delta the centre of mass is further from it than (5.5) says.
    """
    threshold = novelty_threshold(sample, delta, R=R)
    terms = {"the new point is the furthest": 1 / (sample.n + 1), "the centre is far off": delta}
    return Bound(PROPOSITION, f"{NOVEL}, sample and x drawn together", terms, _assumes(sample, R, threshold), None)


def conditional_novelty_bound(sample: Sample, delta: float = 0.05, *, R: float | None = None) -> Bound:
    r"""Proposition 5.5 for this sample, and the threshold with this delta: it may fail with probability 2 delta.

        P(||phi(x) - phi_S|| > threshold) <= 1 - delta^(1/l)

    The text has 1/(l + 1), with probability 1 - delta. That is false: 1/(l + 1) is a mean over samples, and a sample
    that misses a rare point exceeds it. The points further than all of the sample have more than the probability p with
    probability (1 - p)^l at most, which is delta for the p above; (5.5) fails with probability delta as well.
    """
    check_delta(delta)
    if delta >= 0.5:
        raise InputError(f"delta is {delta:g}, and the bound fails with 2 delta.", "Choose delta < 0.5.")
    threshold = novelty_threshold(sample, delta, R=R)
    terms = {"points further than all of the sample": -math.expm1(math.log(delta) / sample.n)}
    return Bound(PROPOSITION, NOVEL, terms, _assumes(sample, R, threshold), 2 * delta)


def _assumes(sample: Sample, R: float | None, threshold: float) -> tuple[str, ...]:
    return INDEPENDENT, within(support_radius(sample.gram(), R)), f"the threshold is {threshold:.6g}"


def _squared_distances(gram: Gram) -> np.ndarray:
    """||phi(x_i) - phi_S||^2, (5.6)."""
    centre = Combination(gram, np.full(gram.n, 1 / gram.n))
    return np.maximum(0.0, gram.diagonal - 2 * centre.values + centre.norm_squared)
