"""The errors of a classifier on points that it was not trained on, one at a time."""

from __future__ import annotations

import warnings

import numpy as np

from formulations.bounds.bound import Bound
from formulations.bounds.givens import check_certificate, check_optimal
from formulations.bounds.sparsity import perhaps_support
from kopt import Certificate, CertificateWarning, Formulation, InputError, Reference, Sample, Task, solve


def leave_one_out_bound(certificate: Certificate) -> Bound:
    r"""Remark 7.57: the leave-one-out error is at most the fraction of support vectors.

        1/l #{i : y_i != f_i(x_i)} <= #sv / l,   f_i trained without point i

    A point with alpha_i = 0 can be left out: the rest of alpha stays optimal, and the weight vector is unique. The mean
    of the left side over samples is the mean error of machines trained on l - 1 points; its variance stays open.

    Points that are undecided at the accuracy of the answer count as support vectors. Where no support vector is free
    the offset may be any number of an interval, and either end may hang on one point with alpha_i = 0: these two count
    as well, for each threshold that the machine has (a margin and an offset are a threshold for each class).

    At fixed nu the remark is false, and refused: there the box 1/(nu l) changes with l, and so does the machine.
    """
    check_certificate(certificate, Task.CLASSIFICATION)
    name = type(certificate.formulation).__name__
    if hasattr(certificate.formulation, "nu"):
        raise InputError(
            f"{name} has a fixed nu, so that its box 1/(nu l) changes with l when a point is left out.",
            "Use the machine with a fixed C instead.",
        )
    if not certificate.points:
        raise InputError(
            f"The certificate of {name} knows no support vectors.",
            "Give that of a machine with one inequality per point.",
        )
    check_optimal(certificate)
    n = certificate.sample.n
    undecided = len(perhaps_support(certificate)) - len(certificate.support_vectors)
    ends = min(_loose_ends(certificate), n - len(perhaps_support(certificate)))
    terms = {
        "support vectors": len(certificate.support_vectors) / n,
        "undecided points": undecided / n,
        "ends of the offset": ends / n,
    }
    assumes = ("no parameter of the machine depends on the number of points",)
    return Bound(Reference("Shawe-Taylor and Cristianini", "Remark 7.57"), "leave-one-out error", terms, assumes, None)


def leave_one_out_errors(formulation: Formulation, sample: Sample) -> np.ndarray:
    """The points that the machine gets wrong when it is trained without them; it is solved l times.

    A point without company in its class counts as an error, and so does the value 0.

    >>> from formulations.classification import HardMargin
    >>> leave_one_out_errors(HardMargin(), Sample([[0.0], [2.0], [3.0], [3.5]], [-1, -1, 1, 1])).tolist()
    [1]
    """
    formulation.check(sample)
    if formulation.task is not Task.CLASSIFICATION or len(sample.grams) > 1:
        raise InputError(
            f"{type(formulation).__name__} is made for {formulation.task.value}, on {len(sample.grams)} kernels.",
            "Give a classifier with a single kernel.",
        )
    return np.array([i for i in range(sample.n) if not _right_without(formulation, sample, i)], dtype=int)


def _right_without(formulation: Formulation, sample: Sample, i: int) -> bool:
    keep = np.arange(sample.n) != i
    y = sample.y
    if not np.any(y[keep] == y[i]):
        return False
    K = sample.gram().dense
    rest = Sample.from_gram(K[np.ix_(keep, keep)], y[keep], costs=sample.costs[keep])
    with warnings.catch_warnings():
        warnings.simplefilter("error", CertificateWarning)  # an answer that does not hold proves nothing
        decision = solve(formulation, rest).decision_function(K[i, keep][None, :], diagonal=K[[i], [i]])
    return bool(y[i] * decision[0] > 0)


def _loose_ends(certificate: Certificate) -> int:
    """Two for each threshold that no free support vector fixes."""
    primal, y = certificate.primal, certificate.sample.y
    free = np.unique(np.concatenate([points.free for points in certificate.points.values()]).astype(int))
    if any(name in primal for name in ("gamma", "rho", "rho_plus")):
        return 2 * (2 - len(np.unique(y[free])))
    return 2 if "b" in primal and not len(free) else 0
