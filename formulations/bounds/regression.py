"""Bounds on the error of a regression function."""

from __future__ import annotations

import math

import numpy as np

from formulations.bounds.bound import Bound
from formulations.bounds.givens import (
    INDEPENDENT,
    Linear,
    check_certificate,
    check_delta,
    check_nonnegative,
    check_positive,
    confidence,
    linear,
    offset_assumption,
    offset_term,
    support_radius,
    trace,
    within,
)
from kopt import Certificate, InputError, Reference, Task

BOOK = "Shawe-Taylor and Cristianini"


def squared_error_bound(
    certificate: Certificate, delta: float = 0.05, *, B: float | None = None, R: float | None = None
) -> Bound:
    r"""Theorem 7.39, for linear functions g with ||w|| <= B, and targets |y| <= Q, where Q = R B without an offset.

        E (y - g(x))^2 <= 1/l sum_i (y_i - g(x_i))^2 + 16 Q / l (B (tr K)^(1/2) + ||y||)
                          + 12 Q^2 (ln(2/delta) / (2 l))^(1/2)

    B   the smallest that fits this sample where none is given: max(||w||, (max_i |y_i| - |b|) / R)
    R   k(x, x) <= R^2 for all x; the largest length in the sample where none is given

    The constants are those of Theorem 4.9 for (y - g)^2 / (2Q)^2: (2Q)^2 * 3 = 12 Q^2, and by Theorem 4.15 (vi)
    (2Q)^2 * 4 * (2 (B/(2Q)) (tr K)^(1/2) + 2 ||y|| / (2Q)) / l. It holds for every function of that norm, whatever
    found it. Without any theorem the error is at most (2Q)^2.

    The theorem has no offset. With one, Q = R B + |b|, since |g| <= Q then; and (y - g)^2 has the Lipschitz constant
    4Q, so that the contraction lemma without absolute values gives 8 Q / l (B (tr K)^(1/2) + |b| l^(1/2)). The capacity
    above covers |b| <= beta = (B (tr K)^(1/2) + 2 ||y||) / l^(1/2); a larger offset adds 8 Q (|b| - beta) / l^(1/2).
    """
    g = _function(certificate, delta)
    y, R = certificate.sample.y, support_radius(g.gram, R)
    largest, offset = float(np.max(np.abs(y))), abs(g.offset)
    B = _norm_bound(g, max(g.norm, (largest - offset) / R) if B is None else B)
    Q = R * B + offset
    if largest > Q * (1 + 1e-12):
        raise InputError(
            f"A target has the size {largest:.6g}, but B R and the offset add up to {Q:.6g}.",
            f"Choose B >= {(largest - offset) / R:.6g}.",
        )
    root, length = B * math.sqrt(trace(g.gram)), float(np.linalg.norm(y))
    terms = {
        "mean squared error": float(np.mean((y - g.values) ** 2)),
        "capacity": 16 * Q / g.n * (root + length),
        **offset_term(g.n, offset, (root + 2 * length) / math.sqrt(g.n), L=4 * Q),
        "confidence": 4 * Q**2 * confidence(g.n, delta),
    }
    assumes = (
        INDEPENDENT,
        within(R),
        _fixed(B),
        f"|y| <= {Q:.6g} for all y, not only in the sample",
        *offset_assumption(g.offset, 0.0),
    )
    return Bound(Reference(BOOK, "Theorem 7.39"), "E (y - g(x))^2", terms, assumes, delta, trivial=(2 * Q) ** 2)


def tube_bound(
    certificate: Certificate,
    gamma: float,
    delta: float = 0.05,
    *,
    epsilon: float | None = None,
    B: float | None = None,
    printed: bool = False,
) -> Bound:
    r"""Theorem 7.49, for linear functions g with ||w|| <= B, and slacks xi_i = (|y_i - g(x_i)| - epsilon)_+.

        P(|y - g(x)| > gamma) <= ( 1/l sum_i xi_i + 4B/l (tr K)^(1/2) + 4/l ||y|| ) / (gamma - epsilon)
                                 + 3 (ln(2/delta) / (2 l))^(1/2)

    epsilon   half the width of the tube; the machine's own where none is given, 0 where it has none
    B         the norm of w where none is given
    printed   without the term in ||y||

    The constant is 4 = 2 L (gamma - epsilon) * 2 as in Theorem 4.17. The text leaves out the targets, which its lemma,
    Theorem 4.15 (v), charges like the functions. The contraction lemma without absolute values, behind Corollary 6.13
    of Mohri, Rostamizadeh and Talwalkar, charges them nothing and the functions half: with it the printed bound holds,
    and has room for offsets up to beta = B (tr K / l)^(1/2). The larger bound with the term in ||y|| has that room too.
    A larger offset b adds 2 (|b| - beta) / (l^(1/2) (gamma - epsilon)) to either.
    """
    g = _function(certificate, delta)
    y = certificate.sample.y
    if epsilon is None:
        epsilon = _tube(certificate)
    check_positive("gamma", gamma)
    check_nonnegative("epsilon", epsilon)
    if not epsilon < gamma:
        raise InputError(
            f"gamma is {gamma:.6g} and epsilon {epsilon:.6g}, but 0 <= epsilon < gamma.",
            "Choose a larger gamma, or a narrower tube.",
        )
    B = _norm_bound(g, g.norm if B is None else B)
    covered = B * math.sqrt(trace(g.gram) / g.n)
    xi = np.maximum(0.0, np.abs(y - g.values) - epsilon)
    unit = g.n * (gamma - epsilon)
    terms = {"slacks": float(np.sum(xi)) / unit, "capacity": 4 * B * math.sqrt(trace(g.gram)) / unit}
    if not printed:
        terms["targets"] = 4 * float(np.linalg.norm(y)) / unit
    terms |= offset_term(g.n, g.offset, covered, L=1 / (gamma - epsilon))
    terms["confidence"] = confidence(g.n, delta)
    assumes = (
        INDEPENDENT,
        "gamma and epsilon were fixed before the sample was seen",
        _fixed(B),
        *offset_assumption(g.offset, covered),
    )
    return Bound(Reference(BOOK, "Theorem 7.49"), "P(|y - g(x)| > gamma)", terms, assumes, delta)


def _function(certificate: Certificate, delta: float) -> Linear:
    check_delta(delta)
    check_certificate(certificate, Task.REGRESSION)
    return linear(certificate)


def _norm_bound(g: Linear, B: float) -> float:
    check_positive("B", B)
    if g.norm > B * (1 + 1e-12):
        raise InputError(
            f"B is {B:.6g}, but the weight vector has the norm {g.norm:.6g}.", f"Choose B >= {g.norm:.6g}."
        )
    return B


def _fixed(B: float) -> str:
    return f"B = {B:.6g} was fixed before the sample was seen"


def _tube(certificate: Certificate) -> float:
    """The machine's own epsilon: a variable, or a parameter."""
    own = certificate.primal.get("epsilon", getattr(certificate.formulation, "epsilon", 0.0))
    return max(0.0, float(own))
