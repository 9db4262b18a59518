"""The bound for the nu-machines."""

from __future__ import annotations

import math

from formulations.bounds.bound import Bound
from formulations.bounds.givens import (
    FIXED_GAMMA,
    INDEPENDENT,
    check_certificate,
    check_costs,
    check_delta,
    check_machine,
    check_optimal,
    confidence,
    offset_assumption,
    own_margin,
    trace,
    unit,
    weight,
)
from formulations.classification.nu_soft_margin import NuSoftMargin
from formulations.classification.unit_nu_soft_margin import UnitNuSoftMargin
from kopt import Certificate, Reference, Task


def nu_bound(certificate: Certificate, delta: float = 0.05) -> Bound:
    r"""Theorem 7.33, (7.17): nu stands for the noise that no machine can avoid.

        P(y != sgn g(x)) <= nu - nu (alpha' G alpha)^(1/2) / gamma
                            + 4/(l gamma) (tr K)^(1/2) + 3 (ln(2/delta) / (2 l))^(1/2)

    Theorem 7.30 with C = 1/(nu l), so the constants of Theorem 4.17. The form with a squared norm has alpha / nu for
    alpha, and gamma = rho / ||w||.
    """
    check_delta(delta)
    check_certificate(certificate, Task.CLASSIFICATION)
    check_machine(certificate, UnitNuSoftMargin, NuSoftMargin)
    check_optimal(certificate)
    check_costs(certificate.sample)
    nu = certificate.formulation.nu
    g, gamma = unit(certificate), own_margin(certificate)
    alpha = certificate.dual.alpha
    if isinstance(certificate.formulation, NuSoftMargin):
        alpha = alpha / nu
    root = math.sqrt(weight(certificate).gram.norm_squared(certificate.sample.y * alpha))
    terms = {
        "noise level nu": nu,
        "gain of the margin": -nu * root / gamma,
        "capacity": 4 / (g.n * gamma) * math.sqrt(trace(g.gram)),
        "confidence": confidence(g.n, delta),
    }
    assumes = (
        INDEPENDENT,
        FIXED_GAMMA,
        "nu was fixed before the sample was seen (Remark 7.34)",
        *offset_assumption(g.offset, math.sqrt(trace(g.gram) / g.n)),
    )
    return Bound(Reference("Shawe-Taylor and Cristianini", "Theorem 7.33"), "P(y != sgn g(x))", terms, assumes, delta)
