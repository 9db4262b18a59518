"""The errors of a classifier on points that it was not trained on, one at a time."""

from __future__ import annotations

import warnings

import numpy as np

from formulations.bounds.bound import Bound
from formulations.bounds.givens import OPTIMAL, check_certificate, check_optimal, weight
from formulations.bounds.sparsity import perhaps_support
from formulations.classification.convex_hulls import ConvexHulls
from formulations.classification.hard_margin import HardMargin
from formulations.classification.hard_margin_without_offset import HardMarginWithoutOffset
from formulations.classification.margins import NEARLY_MEET
from formulations.classification.power_soft_margin import PowerSoftMargin
from formulations.classification.reduced_convex_hulls import ReducedConvexHulls
from formulations.classification.soft_margin import SoftMargin
from formulations.classification.soft_margin_without_offset import SoftMarginWithoutOffset
from formulations.classification.two_norm_soft_margin import TwoNormSoftMargin
from formulations.classification.two_norm_soft_margin_without_offset import TwoNormSoftMarginWithoutOffset
from formulations.classification.unit_hard_margin import UnitHardMargin
from formulations.classification.unit_soft_margin import UnitSoftMargin
from formulations.classification.unit_two_norm_soft_margin import UnitTwoNormSoftMargin
from kopt import (
    Certificate,
    CertificateWarning,
    Formulation,
    Infeasible,
    InputError,
    Reference,
    Sample,
    Solution,
    SolverError,
    Task,
    solve,
)
from kopt.formulation import check_arguments

# The norm of w is priced or, in the unit forms, bounded; each point has one margin constraint, and no other part.
WITH_UNIQUE_WEIGHT = (
    HardMargin,
    HardMarginWithoutOffset,
    UnitHardMargin,
    ConvexHulls,
    SoftMargin,
    SoftMarginWithoutOffset,
    UnitSoftMargin,
    ReducedConvexHulls,
    TwoNormSoftMargin,
    TwoNormSoftMarginWithoutOffset,
    UnitTwoNormSoftMargin,
    PowerSoftMargin,
)


def leave_one_out_bound(certificate: Certificate) -> Bound:
    r"""Remark 7.57: the leave-one-out error is at most the fraction of support vectors.

        1/l #{i : y_i != f_i(x_i)} <= #sv / l,   f_i trained without point i

    A point with alpha_i = 0 can be left out: the rest of alpha stays optimal, and the weight vector is unique. The mean
    of the left side over samples is the mean error of machines trained on l - 1 points; its variance stays open.

    Points that are undecided at the accuracy of the answer count as support vectors. Where no support vector is free
    the offset may be any number of an interval, and either end may hang on one point with alpha_i = 0: these two count
    as well, for each threshold that the machine has (a margin and an offset are a threshold for each class).

    At fixed nu the remark is false, and refused: there the box 1/(nu l) changes with l, and so does the machine. It is
    false where the weight vector is not unique, as in LinearSeparation: the rest of alpha stays optimal, but the next
    answer may have another w. So only machines with a price on the norm, or a bound on it with a positive multiplier,
    are accepted, and no hulls that meet: their w = 0 classifies nothing.
    """
    check_certificate(certificate, Task.CLASSIFICATION)
    name = type(certificate.formulation).__name__
    if hasattr(certificate.formulation, "nu"):
        raise InputError(
            f"{name} has a fixed nu, so that its box 1/(nu l) changes with l when a point is left out.",
            "Use the machine with a fixed C instead.",
        )
    if not isinstance(certificate.formulation, WITH_UNIQUE_WEIGHT):
        raise InputError(
            f"The remark needs a weight vector that its support vectors determine, which is not known of {name}.",
            "Solve a machine with a price on the norm, such as SoftMargin, or count with leave_one_out_errors.",
        )
    check_optimal(certificate)
    _check_determined(certificate)
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

    A machine that is not defined without the point counts as an error: the point was alone in its class, the classes
    are too small for the parameters, or there is no solution. So does the value 0.

    >>> from formulations.classification import HardMargin
    >>> leave_one_out_errors(HardMargin(), Sample([[0.0], [2.0], [3.0], [3.5]], [-1, -1, 1, 1])).tolist()
    [1]
    """
    check_arguments(formulation, sample)
    if formulation.task is not Task.CLASSIFICATION or len(sample.grams) > 1:
        raise InputError(
            f"{type(formulation).__name__} is made for {formulation.task.value}, on {len(sample.grams)} kernels.",
            "Give a classifier with a single kernel.",
        )
    return np.array([i for i in range(sample.n) if not _right_without(formulation, sample, i)], dtype=int)


def _right_without(formulation: Formulation, sample: Sample, i: int) -> bool:
    keep = np.arange(sample.n) != i
    K = sample.gram().dense
    rest = Sample.from_gram(K[np.ix_(keep, keep)], sample.y[keep], costs=sample.costs[keep])
    solution = _solved(formulation, rest)
    if solution is None:
        return False
    if not solution.certificate.holds():
        raise SolverError(
            f"Without point {i} no certified answer was found "
            f"(worst relative residual {solution.certificate.as_given.worst:.1e}).",
            "Scale the data, or choose other parameters.",
        )
    decision = solution.decision_function(K[i, keep][None, :], diagonal=K[[i], [i]])
    return bool(sample.y[i] * decision[0] > 0)


def _solved(formulation: Formulation, sample: Sample) -> Solution | None:
    """The best answer found; None where the machine is not defined on the sample."""
    try:
        formulation.check(sample)
    except InputError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CertificateWarning)
        try:
            return solve(formulation, sample)
        except Infeasible:
            return None


def _check_determined(certificate: Certificate) -> None:
    """Refuse a bound <w, w> <= 1 that costs nothing, and hulls without a distance."""
    w, name = weight(certificate), type(certificate.formulation).__name__
    longest = float(np.max(w.gram.lengths))
    if "lambda" in certificate.dual and not certificate.dual["lambda"] > OPTIMAL * longest:
        raise InputError(
            f"The multiplier of <w, w> <= 1 is {float(certificate.dual['lambda']):.1e}, so that the weight vector of "
            f"{name} is not unique.",
            "Choose a smaller C, or a kernel that separates the classes.",
        )
    if "rho_plus" in certificate.primal and not w.norm > NEARLY_MEET * longest:
        raise InputError(
            f"The weight vector of {name} has the length {w.norm:.1e}: the hulls meet, and it classifies nothing.",
            "Choose a smaller D in ReducedConvexHulls, or a kernel that separates the classes.",
        )


def _loose_ends(certificate: Certificate) -> int:
    """Two for each threshold that no free support vector fixes."""
    primal, y = certificate.primal, certificate.sample.y
    free = np.unique(np.concatenate([points.free for points in certificate.points.values()]).astype(int))
    if any(name in primal for name in ("gamma", "rho", "rho_plus")):
        return 2 * (2 - len(np.unique(y[free])))
    return 2 if "b" in primal and not len(free) else 0
