"""What kind of convex program a problem is, by the cones it compiles to."""

from __future__ import annotations

import warnings

import cvxpy as cp


def problem_class(problem: cp.Problem) -> str:
    """The smallest of the usual classes that a convex problem belongs to.

    >>> x = cp.Variable(2)
    >>> problem_class(cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.sum(x) == 1]))
    'linear system'
    >>> problem_class(cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1]))
    'QP'
    >>> problem_class(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]))
    'LP'
    >>> problem_class(cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) <= 1]))
    'SOCP'
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data, _, _ = problem.get_problem_data(cp.CLARABEL)
    cones, quadratic = data["dims"], data.get("P") is not None and data["P"].nnz > 0
    named = {
        "SDP": cones.psd,
        "exponential cone": cones.exp,
        "power cone": [*cones.p3d, *cones.pnd],
        "SOCP": cones.soc,
    }
    for name, present in named.items():
        if present:
            return name
    if not quadratic:
        return "LP"
    return "QP" if cones.nonneg else "linear system"
