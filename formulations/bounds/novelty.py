"""Bounds on the false alarms of the hyperspheres."""

from __future__ import annotations

import math

import numpy as np

from formulations.bounds.bound import Bound
from formulations.bounds.givens import (
    FIXED_GAMMA,
    INDEPENDENT,
    check_certificate,
    check_delta,
    check_fraction,
    check_optimal,
    check_positive,
    confidence,
    decision,
    support_radius,
    weight,
    within,
)
from formulations.novelty.nu_hypersphere import NuHypersphere
from kopt import Certificate, InputError, Reference, Task
from kopt.gram import Gram

BOOK = "Shawe-Taylor and Cristianini"
OUTSIDE = "P(||phi(x) - c||^2 > r^2 + gamma)"


def shell_bound(
    certificate: Certificate, gamma: float, delta: float = 0.05, *, R: float | None = None, printed: bool = False
) -> Bound:
    r"""Theorem 7.5, for a hypersphere with centre c and squared radius r^2.

        P(||phi(x) - c||^2 > r^2 + gamma) <= 1/l sum_i g(x_i) + 12 R^2 / (gamma l^(1/2)) + 3 (ln(2/delta) / (2 l))^(1/2)

    g rises from 0 on the sphere to 1 at a squared distance gamma beyond it, in the squared distance.

    gamma     in the units of k(x, x)
    R         k(x, x) <= R^2 for all x; the largest length in the sample where none is given
    printed   the text's 6 in place of 12

    The text prints 6, but its lemmas give 12 = 2 L gamma/R^2 * (4 + 2): L = R^2/gamma, doubled in Theorem 4.15 (iv), 4
    from Theorem 4.12 for 2 <c, phi(x)> / R^2, 2 from Theorem 4.15 (v) for k(x, x) / R^2; and they take r^2 - ||c||^2 as
    fixed in advance. The contraction lemma without absolute values, behind Corollary 6.13 of Mohri, Rostamizadeh and
    Talwalkar, gives the printed 6 = 2 * (2 + 1) after all: 2 for 2 <c, phi(x)>, nothing for k(x, x), and 1 for a learnt
    r^2 - ||c||^2 between -R^2 and R^2, where the optimum of every hypersphere here has it.

    >>> import kopt
    >>> from formulations.novelty import Hypersphere
    >>> certificate = kopt.solve(Hypersphere(), kopt.Sample([[i / 200] for i in range(-200, 201)])).certificate
    >>> bound = shell_bound(certificate, gamma=2.0)
    >>> {name: abs(round(number, 4)) for name, number in bound.terms.items()}
    {'points in the shell': 0.0, 'capacity': 0.2996, 'confidence': 0.2035}
    """
    gram, R = _sphere(certificate, gamma, delta, R)
    g = np.clip(-decision(certificate) / gamma, 0.0, 1.0)
    return _bound("Theorem 7.5", "points in the shell", float(np.mean(g)), gram, gamma, delta, R, printed)


def soft_sphere_bound(
    certificate: Certificate, gamma: float, delta: float = 0.05, *, R: float | None = None, printed: bool = False
) -> Bound:
    r"""Theorem 7.9, (7.5), and Theorem 7.12, for a hypersphere with slacks xi_i = (||phi(x_i) - c||^2 - r^2)_+.

        P(||phi(x) - c||^2 > r^2 + gamma) <= 1/(gamma l) sum_i xi_i + 12 R^2 / (gamma l^(1/2))
                                             + 3 (ln(2/delta) / (2 l))^(1/2)

    Theorem 7.5 with g(x_i) <= xi_i / gamma; its arguments, and its words on 12 and the printed 6.
    """
    gram, R = _sphere(certificate, gamma, delta, R)
    item = "Theorem 7.12" if isinstance(certificate.formulation, NuHypersphere) else "Theorem 7.9"
    slacks = float(np.sum(_slacks(certificate))) / (gamma * gram.n)
    return _bound(item, "slacks", slacks, gram, gamma, delta, R, printed)


def shell_width(certificate: Certificate, p: float, *, R: float | None = None, printed: bool = False) -> float:
    r"""Corollary 7.14: the gamma for which `soft_sphere_bound` is p + 3 (ln(2/delta) / (2 l))^(1/2).

        gamma = 1/p ( 1/l sum_i xi_i + 12 R^2 / l^(1/2) )

    Of all nu the one with the smallest test sphere, r^2 + gamma, is nu = p: p times that is the objective of the
    nu-machine plus a constant, whatever stands for 12.

    >>> import kopt
    >>> from formulations.novelty import NuHypersphere
    >>> points = kopt.Sample([[i / 100] for i in range(-100, 101)])
    >>> certificate = kopt.solve(NuHypersphere(nu=0.3), points).certificate
    >>> bound = soft_sphere_bound(certificate, shell_width(certificate, 0.3))
    >>> round(bound.value - bound.terms["confidence"], 6)
    0.3
    """
    check_fraction("p", p, "Choose the rate of false alarms so.")
    gram, R = _sphere(certificate, 1.0, 0.5, R)
    return (float(np.mean(_slacks(certificate))) + _constant(printed) * R**2 / math.sqrt(gram.n)) / p


def _sphere(certificate: Certificate, gamma: float, delta: float, R: float | None) -> tuple[Gram, float]:
    check_delta(delta)
    check_positive("gamma", gamma)
    check_certificate(certificate, Task.NOVELTY)
    if "R" not in certificate.primal or "c" not in certificate.primal:
        raise InputError(
            f"{type(certificate.formulation).__name__} has no centre c and squared radius R.",
            "Give the certificate of a hypersphere.",
        )
    check_optimal(certificate)
    gram = weight(certificate, "c").gram
    return gram, support_radius(gram, R)


def _slacks(certificate: Certificate) -> np.ndarray:
    return np.maximum(0.0, -decision(certificate))


def _constant(printed: bool) -> float:
    return 6.0 if printed else 12.0


def _bound(
    item: str, first: str, empirical: float, gram: Gram, gamma: float, delta: float, R: float, printed: bool
) -> Bound:
    terms = {
        first: empirical,
        "capacity": _constant(printed) * R**2 / (gamma * math.sqrt(gram.n)),
        "confidence": confidence(gram.n, delta),
    }
    return Bound(Reference(BOOK, item), OUTSIDE, terms, (INDEPENDENT, FIXED_GAMMA, within(R)), delta)
