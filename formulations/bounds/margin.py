"""Bounds on the error of a classifier from the margins of the training points."""

from __future__ import annotations

import math

import numpy as np

from formulations.bounds.bound import Bound
from formulations.bounds.givens import (
    FIXED_GAMMA,
    INDEPENDENT,
    Linear,
    check_costs,
    check_delta,
    check_optimum_of,
    check_positive,
    confidence,
    dual_norm,
    margin,
    offset_assumption,
    offset_term,
    own_margin,
    support_radius,
    trace,
    unit,
    within,
)
from formulations.classification.hard_margin import HardMargin
from formulations.classification.soft_margin import SoftMargin
from formulations.classification.unit_hard_margin import UnitHardMargin
from formulations.classification.unit_soft_margin import UnitSoftMargin
from kopt import Certificate, Reference, Task

BOOK = "Shawe-Taylor and Cristianini"
MOHRI = "Mohri, Rostamizadeh and Talwalkar"
ERROR = "P(y != sgn g(x))"


def margin_bound(certificate: Certificate, delta: float = 0.05, *, gamma: float | None = None) -> Bound:
    r"""Theorem 4.17, for any linear classifier, with g = f / ||w|| and xi_i = (gamma - y_i g(x_i))_+.

        P(y != sgn g(x)) <= 1/(l gamma) sum_i xi_i + 4/(l gamma) (tr K)^(1/2) + 3 (ln(2/delta) / (2 l))^(1/2)

    gamma   the margin for ||w|| = 1; the one that the machine optimised where none is given

    The constant is 4 = 2 L gamma * 2: the ramp has the Lipschitz constant L = 1/gamma, Theorem 4.15 (iv) doubles it,
    and Theorem 4.12 has 2/l. It holds for every function of norm 1, whatever found it: the answer need not be optimal,
    and costs per point do not matter. The theorem has no offset. But the doubling is due to absolute values, which the
    contraction lemma behind Corollary 6.13 of Mohri, Rostamizadeh and Talwalkar does without: it gives
    2/(l gamma) ((tr K)^(1/2) + beta l^(1/2)) for offsets up to beta. So beta = (tr K / l)^(1/2) is covered, and a
    larger offset b adds 2/gamma (|b| - beta) / l^(1/2), as a term of its own.

    >>> import kopt
    >>> from formulations.classification import SoftMargin
    >>> x = [*range(-60, -10), *range(11, 61)]
    >>> solution = kopt.solve(SoftMargin(C=1.0), kopt.Sample([[i / 60] for i in x], [-1] * 50 + [1] * 50))
    >>> print(margin_bound(solution.certificate, gamma=0.5))  # doctest: +ELLIPSIS
    P(y != sgn g(x)) <= 1.04504 with probability 0.95 over samples, which says nothing (Shawe-Taylor and Cristianini...
    ├─ the sum of
    │  ├─ slacks      0.126667
    │  ├─ capacity    0.510947
    │  └─ confidence  0.40743
    └─ assumes
       ├─ the points were drawn independently from one distribution
       └─ gamma was fixed before the sample was seen; ...
    """
    check_delta(delta)
    g = unit(certificate)
    gamma = margin(certificate, gamma)
    xi = np.maximum(0.0, gamma - certificate.sample.y * g.values)
    return _bound(g, "Theorem 4.17", float(np.sum(xi)) / (g.n * gamma), gamma, delta)


def hard_margin_bound(certificate: Certificate, delta: float = 0.05) -> Bound:
    r"""Theorems 7.22 and 7.27, for the hard margin machines.

        P(y != sgn g(x)) <= 4/(l gamma) (tr K)^(1/2) + 3 (ln(2/delta) / (2 l))^(1/2)

    gamma = (alpha' G alpha)^(1/2) for weight vectors of length 1, and (sum_i alpha_i)^(-1/2) in canonical form, with
    G_ij = y_i y_j k(x_i, x_j). This is Theorem 4.17 without slacks.
    """
    check_optimum_of(certificate, delta, Task.CLASSIFICATION, UnitHardMargin, HardMargin)
    alpha = certificate.dual.alpha
    canonical = isinstance(certificate.formulation, HardMargin)
    gamma = float(np.sum(alpha)) ** -0.5 if canonical else dual_norm(certificate)
    check_positive("the margin", gamma)
    return _bound(unit(certificate), "Theorem 7.27" if canonical else "Theorem 7.22", 0.0, gamma, delta)


def soft_margin_bound(certificate: Certificate, delta: float = 0.05) -> Bound:
    r"""Theorem 7.30, for the soft margin with slacks penalised linearly, from the dual variables.

        P(y != sgn g(x)) <= 1/(C l) - (alpha' G alpha)^(1/2) / (C l gamma)
                            + 4/(l gamma) (tr K)^(1/2) + 3 (ln(2/delta) / (2 l))^(1/2)

    The first two terms are the slacks of Theorem 4.17 at the machine's own gamma: C sum_i xi_i = gamma - sqrt(-W). The
    canonical form has alpha / sum_i alpha_i for alpha and C / sum_i alpha_i for C, and gamma = 1 / ||w||.
    """
    check_optimum_of(certificate, delta, Task.CLASSIFICATION, UnitSoftMargin, SoftMargin)
    check_costs(certificate.sample)
    total = float(np.sum(certificate.dual.alpha))  # 1 for weight vectors of length 1
    root = dual_norm(certificate) / total
    C = certificate.formulation.C / total
    g, gamma = unit(certificate), own_margin(certificate)
    return _bound(g, "Theorem 7.30", 1 / (C * g.n) - root / (C * g.n * gamma), gamma, delta)


def trace_margin_bound(certificate: Certificate, delta: float = 0.05, *, gamma: float | None = None) -> Bound:
    r"""Corollary 6.13 (6.18) of Mohri, Rostamizadeh and Talwalkar, with rho / Lambda = gamma and h = f / ||w||.

        P(y h(x) <= 0) <= 1/l sum_i min(1, xi_i / gamma) + 2/(l gamma) (tr K)^(1/2) + 3 (ln(2/delta) / (2 l))^(1/2)

    Half the capacity of Theorem 4.17: 2 R with R = Lambda (tr K)^(1/2) / l, and L = 1/rho, because this contraction
    lemma has no absolute values and does not double. The text has no offset; an offset b adds 2 |b| / (l^(1/2) gamma),
    as in `margin_bound`.
    """
    check_delta(delta)
    h = unit(certificate)
    gamma = margin(certificate, gamma)
    capacity = 2 / (h.n * gamma) * math.sqrt(trace(h.gram))
    return _ramp_bound(certificate, h, "(6.18)", gamma, capacity, confidence(h.n, delta), delta)


def radius_margin_bound(
    certificate: Certificate, delta: float = 0.05, *, gamma: float | None = None, R: float | None = None
) -> Bound:
    r"""Corollary 6.13 (6.17) of Mohri, Rostamizadeh and Talwalkar, with rho / Lambda = gamma and h = f / ||w||.

        P(y h(x) <= 0) <= 1/l sum_i min(1, xi_i / gamma) + 2 (R^2 / (l gamma^2))^(1/2) + (ln(1/delta) / (2 l))^(1/2)

    R   k(x, x) <= R^2 for all x; the largest length in the sample where none is given

    The complexity is that of the distribution, at most R / l^(1/2), and not that of the sample: McDiarmid's inequality
    is used once, with all of delta. An offset b adds 2 |b| / (l^(1/2) gamma) here as well.
    """
    check_delta(delta)
    h = unit(certificate)
    gamma, R = margin(certificate, gamma), support_radius(h.gram, R)
    capacity = 2 * math.sqrt(R**2 / (h.n * gamma**2))
    once = math.sqrt(math.log(1 / delta) / (2 * h.n))
    return _ramp_bound(certificate, h, "(6.17)", gamma, capacity, once, delta, (within(R),))


def _bound(g: Linear, item: str, slacks: float, gamma: float, delta: float) -> Bound:
    """Theorem 4.17 with its first term as the theorem of the item writes it."""
    covered = math.sqrt(trace(g.gram) / g.n)
    terms = {
        "slacks": slacks,
        "capacity": 4 / (g.n * gamma) * math.sqrt(trace(g.gram)),
        **offset_term(g.n, g.offset, covered, L=1 / gamma),
        "confidence": confidence(g.n, delta),
    }
    assumes = (INDEPENDENT, FIXED_GAMMA, *offset_assumption(g.offset, covered))
    return Bound(Reference(BOOK, item), ERROR, terms, assumes, delta)


def _ramp_bound(
    certificate: Certificate,
    h: Linear,
    item: str,
    gamma: float,
    capacity: float,
    once: float,
    delta: float,
    more: tuple[str, ...] = (),
) -> Bound:
    ramp = np.clip(1 - certificate.sample.y * h.values / gamma, 0.0, 1.0)
    terms = {
        "margin loss": float(np.mean(ramp)),
        "capacity": capacity,
        **offset_term(h.n, h.offset, 0.0, L=1 / gamma),
        "confidence": once,
    }
    assumes = (INDEPENDENT, FIXED_GAMMA, *more, *offset_assumption(h.offset, 0.0))
    return Bound(Reference(MOHRI, f"Corollary 6.13 {item}"), ERROR, terms, assumes, delta)
