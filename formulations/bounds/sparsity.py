"""Bounds from the number of points that a classifier depends on."""

from __future__ import annotations

import math

import numpy as np

from formulations.bounds.bound import Bound
from formulations.bounds.givens import INDEPENDENT, check_count, check_delta, check_optimum_of, update_terms, weight
from formulations.classification.hard_margin import HardMargin
from formulations.classification.hard_margin_without_offset import HardMarginWithoutOffset
from formulations.classification.unit_hard_margin import UnitHardMargin
from kopt import Certificate, InputError, Reference, Task

BOOK = "Shawe-Taylor and Cristianini"
ERROR = "P(y != f(x))"


def perceptron_bound(updates: int, n: int, delta: float = 0.05) -> Bound:
    r"""Theorem 7.54, (7.25), for a perceptron that classifies all l training points after k updates, 1 <= k <= l/2.

        P(y != f(x)) <= 1/(l - k) (k ln l + ln(l / (2 delta)))

    For each k there are at most l^k sequences of updates, and the points outside one are a test set of at least l - k:
    the bound fails for one k with probability 2 delta / l, and for one of l/2 values with probability delta. The
    ranking perceptron has the same bound, Theorem 8.15.

    >>> round(perceptron_bound(3, 1000).value, 6)
    0.030024
    """
    check_delta(delta)
    check_count("updates", updates, 0)
    check_count("n", n, 1)
    if not 1 <= updates <= n / 2:
        raise InputError(
            f"There were {updates} updates for {n} points, but the theorem needs 1 <= k <= l/2.",
            "Use more points, or a kernel with a larger margin.",
        )
    terms = {
        "sequences of updates": updates * math.log(n) / (n - updates),
        "confidence": math.log(n / (2 * delta)) / (n - updates),
    }
    assumes = (INDEPENDENT, "the function classifies every training point correctly")
    return Bound(Reference(BOOK, "Theorem 7.54"), ERROR, terms, assumes, delta)


def novikoff_bound(certificate: Certificate, delta: float = 0.05) -> Bound:
    r"""Corollary 7.55, for the perceptron, from the hard margin gamma through the origin; R^2 = max_i k(x_i, x_i).

        P(y != f(x)) <= 2/l (R^2/gamma^2 ln l + ln(l / (2 delta))),   R^2/gamma^2 <= l/2

    Theorem 7.54 with the k <= R^2/gamma^2 of Novikoff's Theorem 7.53 and l - k >= l/2. The text's "hard margin" must be
    that of a machine without offset: the margin of one with an offset is larger, and does not bound the updates.
    """
    check_optimum_of(certificate, delta, Task.CLASSIFICATION, HardMarginWithoutOffset)
    w = weight(certificate)
    terms = update_terms(float(np.max(w.gram.diagonal)) * w.norm_squared, certificate.sample.n, delta)
    return Bound(Reference(BOOK, "Corollary 7.55"), f"{ERROR}, f the perceptron's", terms, (INDEPENDENT,), delta)


def support_vector_bound(certificate: Certificate, delta: float = 0.05) -> Bound:
    r"""Theorem 7.56, for the hard margin machines with d support vectors, d < l.

        P(y != f(x)) <= 1/(l - d) (d ln(e l / d) + ln(l / delta))

    The support vectors alone give the same hyperplane, and the other points are a test set: one of at most (e l / d)^d
    sets of d points, and of l values of d. A point that is undecided at the accuracy of the answer counts as a support
    vector: a larger set gives the same hyperplane.
    """
    check_optimum_of(certificate, delta, Task.CLASSIFICATION, HardMargin, UnitHardMargin, HardMarginWithoutOffset)
    d, n = len(perhaps_support(certificate)), certificate.sample.n
    if d == n:
        raise InputError(
            f"All {n} points are support vectors or undecided, so that none is left as a test set.",
            "Use more points, or a more accurate answer.",
        )
    terms = {
        "sets of support vectors": d * math.log(math.e * n / d) / (n - d),
        "confidence": math.log(n / delta) / (n - d),
    }
    return Bound(Reference(BOOK, "Theorem 7.56"), ERROR, terms, (INDEPENDENT,), delta)


def perhaps_support(certificate: Certificate) -> np.ndarray:
    """The points that are support vectors or undecided."""
    undecided = [points.undecided for points in certificate.points.values()]
    return np.unique(np.concatenate([certificate.support_vectors, *undecided]).astype(int))
