"""Bounds from the squares of the slacks."""

from __future__ import annotations

import math

import numpy as np

from formulations.bounds.bound import Bound
from formulations.bounds.givens import (
    FIXED_GAMMA,
    INDEPENDENT,
    check_costs,
    check_delta,
    check_optimum_of,
    check_positive,
    confidence,
    dual_norm,
    margin,
    offset_assumption,
    offset_price,
    offset_term,
    trace,
    unit,
)
from formulations.classification.two_norm_soft_margin import TwoNormSoftMargin
from formulations.classification.unit_two_norm_soft_margin import UnitTwoNormSoftMargin
from kopt import Certificate, Reference, Task

ERROR = "P(y != sgn g(x))"


def squared_slack_bound(certificate: Certificate, delta: float = 0.05, *, gamma: float | None = None) -> Bound:
    r"""(7.13), for any linear classifier, with g = f / ||w|| and xi_i = (gamma - y_i g(x_i))_+.

        P(y != sgn g(x)) <= 1/(l gamma^2) sum_i xi_i^2 + 8/(l gamma) (tr K)^(1/2) + 3 (ln(2/delta) / (2 l))^(1/2)

    The constant is 8 = 2 L gamma * 2: the squared ramp has the Lipschitz constant L = 2/gamma, Theorem 4.15 (iv)
    doubles it, and Theorem 4.12 has 2/l. Offsets up to beta = (tr K / l)^(1/2) are covered as in `margin_bound`, and a
    larger offset b adds 4/gamma (|b| - beta) / l^(1/2).
    """
    check_delta(delta)
    g = unit(certificate)
    gamma = margin(certificate, gamma)
    covered = math.sqrt(trace(g.gram) / g.n)
    xi = np.maximum(0.0, gamma - certificate.sample.y * g.values)
    terms = {
        "squared slacks": float(np.sum(xi**2)) / (g.n * gamma**2),
        "capacity": 8 / (g.n * gamma) * math.sqrt(trace(g.gram)),
        **offset_term(g.n, g.offset, covered, L=2 / gamma),
        "confidence": confidence(g.n, delta),
    }
    assumes = (INDEPENDENT, FIXED_GAMMA, *offset_assumption(g.offset, covered))
    return Bound(Reference("Shawe-Taylor and Cristianini", "(7.13)"), ERROR, terms, assumes, delta)


def two_norm_bound(certificate: Certificate, delta: float = 0.05) -> Bound:
    r"""Theorem 7.38, for the machines with squared slacks, with alpha and gamma of the kernel k + mu delta_ij.

        P(y != sgn g(x)) <= min( mu^2 ||alpha||^2 / (l gamma^4) + 8 (tr K)^(1/2) / (l gamma),
                                 4 (tr K + l mu)^(1/2) / (l gamma) ) + 3 (ln(4/delta) / (2 l))^(1/2)

    sum_i alpha_i = 1 and gamma^2 = alpha' G alpha + mu ||alpha||^2. For weight vectors of length 1
    mu = (alpha' G alpha)^(1/2) / (2C); the canonical form has mu = 1/C and alpha / sum_i alpha_i for alpha.

    The text prints mu for mu^2, which is not even of the right dimension: (7.13) with xi_i = mu alpha_i / gamma gives
    mu^2. The second alternative is Theorem 4.17 without slacks for points that each carry a feature of their own, of
    length mu^(1/2); a new point has another one, so that g(x) there is the machine's. Each takes half of delta.
    Offsets beyond (tr K / l)^(1/2) and (tr K / l + mu)^(1/2) are charged as in (7.13) and in Theorem 4.17.
    """
    check_optimum_of(certificate, delta, Task.CLASSIFICATION, UnitTwoNormSoftMargin, TwoNormSoftMargin)
    check_costs(certificate.sample)
    g = unit(certificate)
    gram, n = g.gram, g.n
    alpha, mu = _diagonal_form(certificate)
    squares = float(alpha @ alpha)
    gamma = math.sqrt(gram.norm_squared(certificate.sample.y * alpha) + mu * squares)
    check_positive("the margin", gamma)
    # These g have length 1 in the space of k + mu delta, and are shorter in that of k.
    b = g.offset * math.sqrt(max(0.0, 1 - mu * squares / gamma**2))
    covered, covered_by_both = math.sqrt(trace(gram) / n), math.sqrt(trace(gram) / n + mu)
    slacks, once = mu**2 * squares / (n * gamma**4), confidence(n, delta / 2)
    with_slacks = slacks + 8 * math.sqrt(trace(gram)) / (n * gamma) + offset_price(n, b, covered, L=2 / gamma)
    without = 4 * math.sqrt(trace(gram) + n * mu) / (n * gamma) + offset_price(n, b, covered_by_both, L=1 / gamma)
    terms = {"with slacks, kernel k": with_slacks + once, "without slacks, kernel k + mu delta": without + once}
    assumes = (
        INDEPENDENT,
        FIXED_GAMMA,
        "mu was fixed before the sample was seen",
        *offset_assumption(b, covered),
    )
    return Bound(
        Reference("Shawe-Taylor and Cristianini", "Theorem 7.38"), ERROR, terms, assumes, delta, combination="minimum"
    )


def _diagonal_form(certificate: Certificate) -> tuple[np.ndarray, float]:
    """The multipliers of Algorithm 7.37, which add up to 1, and mu."""
    C, total = certificate.formulation.C, float(np.sum(certificate.dual.alpha))
    canonical = isinstance(certificate.formulation, TwoNormSoftMargin)
    mu = 1 / C if canonical else dual_norm(certificate) / total / (2 * C)
    return certificate.dual.alpha / total, mu
