"""Solve one side of a formulation, and certify what came back."""

from __future__ import annotations

import time
import warnings

import numpy as np

from kopt.errors import InputError, SolverError
from kopt.formulation import Formulation, Pair
from kopt.sample import Sample
from kopt.solution import Attempt, Solution
from kopt.solvers.choice import candidates
from kopt.solvers.infeasibility import prove_infeasible
from kopt.solvers.solver import RawAnswer, Solver
from kopt.verify import Certificate, certify
from kopt.views import ProductView

TOLERANCE = 1e-6


class CertificateWarning(UserWarning):
    """An answer was returned whose certificate does not hold."""


def solve(formulation: Formulation, sample: Sample, side: str | None = None, method: str = "auto") -> Solution:
    """The solution of a formulation on a sample, with its certificate.

    side     "dual" (the default where a dual is declared) or "primal"
    method   "auto" starts with CLARABEL, or with a dense quadratic programming solver where the sample is large
             enough for it to pay, and goes on to other solvers while the certificate does not hold to 1e-6; a name
             ("CLARABEL", "OSQP", "SCS", "ECOS", "PIQP", or any that CVXPY has installed) means that solver alone

    >>> # solution = kopt.solve(SoftMargin(C=1.0), sample)
    """
    formulation.check(sample)
    side = _chosen_side(formulation, sample, side)
    attempts: list[Attempt] = []
    best: tuple[Certificate, str] | None = None
    suspicious = False
    for solver in candidates(formulation, sample, side, method):
        answer, seconds = _timed(solver, formulation, sample, side)
        certificate = _judged(formulation, sample, answer)
        worst = np.inf if certificate is None else certificate.as_given.worst
        attempts.append(Attempt(solver.name, answer.status, seconds, worst))
        suspicious |= "infeasible" in answer.status or "unbounded" in answer.status
        if certificate is not None and (best is None or worst < best[0].as_given.worst):
            best = certificate, solver.name
        if worst <= TOLERANCE:
            break
        if suspicious:
            prove_infeasible(formulation, sample)
    if best is None or best[0].as_given.worst > TOLERANCE:
        prove_infeasible(formulation, sample)
    if best is None:
        raise SolverError(
            f"No solver returned an answer for {formulation!r}: {'; '.join(map(str, attempts))}.",
            "Check the scale of the data and the parameters, or name another method.",
        )
    certificate, name = best
    if not certificate.holds(TOLERANCE):
        warnings.warn(_doubt(certificate, name), CertificateWarning, stacklevel=2)
    return Solution(formulation, sample, side, name, tuple(attempts), certificate)


def _chosen_side(formulation: Formulation, sample: Sample, side: str | None) -> str:
    if side not in (None, "primal", "dual"):
        raise InputError(f"The side is {side!r}.", 'Choose "primal" or "dual".')
    view = ProductView(sample)
    declared = Pair(formulation, view, view).dual is not None
    if side == "dual" and not declared:
        raise InputError(f"{type(formulation).__name__} declares no dual.", 'Choose side="primal", or declare it.')
    return side or ("dual" if declared else "primal")


def _timed(solver: Solver, formulation: Formulation, sample: Sample, side: str) -> tuple[RawAnswer, float]:
    start = time.perf_counter()
    answer = solver.solve(formulation, sample, side)
    return answer, time.perf_counter() - start


def _judged(formulation: Formulation, sample: Sample, answer: RawAnswer) -> Certificate | None:
    if not answer.values or not all(np.isfinite(value).all() for value in answer.values.values()):
        return None
    return certify(formulation, sample, answer.values)


def _doubt(certificate: Certificate, method: str) -> str:
    failures = certificate.as_given.failures(TOLERANCE)
    if not failures:
        return (
            f"The lower bound exceeds the upper one by {-certificate.bounds.relative_gap:.1e} relative. The dual or "
            "the recovery of this formulation is wrong."
        )
    block, name, residual = failures[0]
    return (
        f"The answer of {method} is the best found, but its certificate does not hold: {block}, {name} is "
        f"{residual.relative:.1e} relative. Look at solution.certificate.bounds for what is known about the optimum."
    )
