"""The bound for the nu-machines."""

from __future__ import annotations

import math

from formulations.bounds.bound import Bound
from formulations.bounds.givens import (
    FIXED_GAMMA,
    INDEPENDENT,
    check_costs,
    check_optimum_of,
    confidence,
    dual_norm,
    offset_assumption,
    offset_term,
    own_margin,
    trace,
    unit,
)
from formulations.classification.nu_soft_margin import NuSoftMargin
from formulations.classification.unit_nu_soft_margin import UnitNuSoftMargin
from kopt import Certificate, Reference, Task


def nu_bound(certificate: Certificate, delta: float = 0.05) -> Bound:
    r"""Theorem 7.33, (7.17): nu stands for the noise that no machine can avoid.

        P(y != sgn g(x)) <= nu - nu (alpha' G alpha)^(1/2) / gamma
                            + 4/(l gamma) (tr K)^(1/2) + 3 (ln(2/delta) / (2 l))^(1/2)

    Theorem 7.30 with C = 1/(nu l), so the constants of Theorem 4.17, and a large offset adds what it adds in
    `margin_bound`. The form with a squared norm has alpha / nu for alpha, and gamma = rho / ||w||.
    """
    check_optimum_of(certificate, delta, Task.CLASSIFICATION, UnitNuSoftMargin, NuSoftMargin)
    check_costs(certificate.sample)
    nu = certificate.formulation.nu
    g, gamma = unit(certificate), own_margin(certificate)
    root = dual_norm(certificate)
    if isinstance(certificate.formulation, NuSoftMargin):
        root = root / nu
    covered = math.sqrt(trace(g.gram) / g.n)
    terms = {
        "noise level nu": nu,
        "gain of the margin": -nu * root / gamma,
        "capacity": 4 / (g.n * gamma) * math.sqrt(trace(g.gram)),
        **offset_term(g.n, g.offset, covered, L=1 / gamma),
        "confidence": confidence(g.n, delta),
    }
    assumes = (
        INDEPENDENT,
        FIXED_GAMMA,
        "nu was fixed before the sample was seen (Remark 7.34)",
        *offset_assumption(g.offset, covered),
    )
    return Bound(Reference("Shawe-Taylor and Cristianini", "Theorem 7.33"), "P(y != sgn g(x))", terms, assumes, delta)
