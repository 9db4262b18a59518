"""The bound for the ranking perceptron."""

from __future__ import annotations

import math

import numpy as np

from formulations.bounds.bound import Bound
from formulations.bounds.givens import INDEPENDENT, check_certificate, check_delta, check_machine, check_optimal, weight
from formulations.ranking.augmented_hard_ranking import AugmentedHardRanking
from kopt import Certificate, InputError, Reference, Task


def ranking_perceptron_bound(certificate: Certificate, delta: float = 0.05) -> Bound:
    r"""Corollary 8.16, for the ranking perceptron with |Y| ranks; R^2 = max_i k(x_i, x_i).

        P(y != r(x)) <= 2/l (k ln l + ln(l / (2 delta))),   k = ((|Y| - 1) R^2 + 1) / gamma^2 <= l/2

    gamma is the margin of (w, b) with length 1, thresholds included: with the margin of the text's batch algorithm,
    whose thresholds cost nothing, the bound on the updates is false. An update by d ranks adds d^2 ||phi(x)||^2 + d at
    most to the squared length and d gamma to the projection, so that the sum of all d is at most k; then Theorem 8.15.
    """
    check_delta(delta)
    check_certificate(certificate, Task.RANKING)
    check_machine(certificate, AugmentedHardRanking)
    check_optimal(certificate)
    w, n = weight(certificate), certificate.sample.n
    gamma, ranks = float(certificate.primal.gamma), len(np.unique(certificate.sample.y))
    updates = ((ranks - 1) * float(np.max(w.gram.diagonal)) + 1) / gamma**2 if gamma > 0 else math.inf
    if updates > n / 2:
        raise InputError(
            f"The bound on the updates is {updates:.6g}, but the theorem needs at most l/2 = {n / 2:g}.",
            "Use more points, or a kernel with a larger margin.",
        )
    terms = {"sequences of updates": 2 / n * updates * math.log(n), "confidence": 2 / n * math.log(n / (2 * delta))}
    return Bound(
        Reference("Shawe-Taylor and Cristianini", "Corollary 8.16"),
        "P(y != r(x)), r the ranking perceptron's",
        terms,
        (INDEPENDENT,),
        delta,
    )
