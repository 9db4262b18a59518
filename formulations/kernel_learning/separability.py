"""Whether some combination of kernels separates the classes."""

from typing import Any

import numpy as np

from formulations.classification.hard_margin import HardMargin
from formulations.kernel_learning.cone import is_semidefinite
from formulations.kernel_learning.traces import traces_of
from kopt import Infeasible, InputError, Sample
from kopt.kernels import Weighted
from kopt.solvers.dense import LARGE
from kopt.solvers.infeasibility import prove_infeasible
from kopt.solvers.problem import Problem


def check_separable(s: Sample) -> None:
    """Refuse classes that no combination separates, with a proof.

    Every positive semi-definite combination has its range in that of sum_k K_k / tr K_k: this one separates if any
    does. Where its range is the whole space there is nothing to prove.
    """
    if s.n > LARGE:
        return
    weights = 1 / traces_of(s)
    K = sum(weight * gram.dense for weight, gram in zip(weights, s.grams.values(), strict=True))
    # A shift that takes twice the rounding away leaves it positive definite.
    if is_semidefinite(K - 2e-13 * s.n * np.max(np.diag(K)) * np.eye(s.n)):
        return
    kernel = Weighted.of(weights, [gram.kernel for gram in s.grams.values()])
    try:
        prove_infeasible(Problem(HardMargin(), Sample(s.X, s.y, kernel=kernel, budget=s.budget)))
    except Infeasible as proof:
        ray: Any = proof.ray
        alpha = ray.alpha
        used = np.flatnonzero(alpha > 1e-9 * np.max(alpha))
        shown = ", ".join(map(str, used[:6])) + (", ..." if len(used) > 6 else "")
        raise InputError(
            "The classes are not separable with any combination of these kernels: the convex hulls share a point, a "
            f"mean of the points {shown}.",
            "Learn the kernel with a soft margin, or add a kernel with a richer feature space.",
        ) from None
