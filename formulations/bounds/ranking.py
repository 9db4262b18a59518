"""The bound for the ranking perceptron."""

from __future__ import annotations

import math

import numpy as np

from formulations.bounds.bound import Bound
from formulations.bounds.givens import INDEPENDENT, check_optimum_of, update_terms, weight
from formulations.ranking.augmented_hard_ranking import AugmentedHardRanking
from kopt import Certificate, Reference, Task


def ranking_perceptron_bound(certificate: Certificate, delta: float = 0.05) -> Bound:
    r"""Corollary 8.16, for the ranking perceptron with |Y| ranks; R^2 = max_i k(x_i, x_i).

        P(y != r(x)) <= 2/l (k ln l + ln(l / (2 delta))),   k = ((|Y| - 1) R^2 + 1) / gamma^2 <= l/2

    gamma is the margin of (w, b) with length 1, thresholds included: with the margin of the text's batch algorithm,
    whose thresholds cost nothing, the bound on the updates is false. An update by d ranks adds d^2 ||phi(x)||^2 + d at
    most to the squared length and d gamma to the projection, so that the sum of all d is at most k; then Theorem 8.15.
    """
    check_optimum_of(certificate, delta, Task.RANKING, AugmentedHardRanking)
    w = weight(certificate)
    gamma, ranks = float(certificate.primal.gamma), len(np.unique(certificate.sample.y))
    updates = ((ranks - 1) * float(np.max(w.gram.diagonal)) + 1) / gamma**2 if gamma > 0 else math.inf
    return Bound(
        Reference("Shawe-Taylor and Cristianini", "Corollary 8.16"),
        "P(y != r(x)), r the ranking perceptron's",
        update_terms(updates, certificate.sample.n, delta),
        (INDEPENDENT,),
        delta,
    )
