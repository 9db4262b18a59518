"""Solve one side of a formulation, and certify what came back."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import numpy as np

from kopt.claim import Claim
from kopt.errors import InputError, NoDual, SolverError
from kopt.formulation import Formulation, Pair, check_arguments
from kopt.locations import BriefTraceback
from kopt.sample import Sample
from kopt.solution import Attempt, Solution
from kopt.solvers.choice import candidates
from kopt.solvers.infeasibility import prove_infeasible
from kopt.solvers.solver import RawAnswer, Solver
from kopt.verify.certificate import TOLERANCE, Certificate, certify
from kopt.views import ProductView


class CertificateWarning(UserWarning):
    """An answer was returned whose certificate does not hold."""


def solve(formulation: Formulation, sample: Sample, side: str | None = None, method: str = "auto") -> Solution:
    """The solution of a formulation on a sample, with its certificate.

    side     "dual" or "primal"; where none is named, the dual if there is one, and the primal if that fails
    method   "auto" starts with CLARABEL, or with a dense quadratic programming solver where the sample is large
             enough for it to pay, and goes on to other solvers while the certificate does not hold to 1e-6; a name
             ("CLARABEL", "OSQP", "SCS", "ECOS", "DENSE", or any that CVXPY has installed) means that solver alone

    >>> import kopt
    >>> from kopt.examples import example
    >>> [SoftMargin] = [f for f in kopt.discover() if f.__name__ == "SoftMargin"]
    >>> solve(SoftMargin(C=1.0), example(SoftMargin.task)).certificate.holds(1e-6)
    True
    """
    with BriefTraceback():
        solution = _best(formulation, sample, side, method)
    if not solution.certificate.holds(TOLERANCE):
        subject = f"The best answer found, of {solution.method},"
        warnings.warn(doubt(solution.certificate, subject), CertificateWarning, stacklevel=2)
    return solution


def _best(formulation: Formulation, sample: Sample, side: str | None, method: str) -> Solution:
    """The first answer whose certificate holds, or else the one with the smallest residuals."""
    check_arguments(formulation, sample)
    attempts: list[Attempt] = []
    best: tuple[Certificate, Attempt, tuple[Claim, ...]] | None = None
    for tried_side, solver in _tries(formulation, sample, side, method):
        answer, seconds = _timed(solver, formulation, sample, tried_side)
        certificate = _judged(formulation, sample, answer)
        worst = np.inf if certificate is None else certificate.as_given.worst
        attempts.append(Attempt(solver.name, tried_side, answer.status, seconds, worst))
        if certificate is not None and (best is None or worst < best[1].worst):
            best = certificate, attempts[-1], answer.claims
        if certificate is not None and certificate.holds(TOLERANCE):
            break
        if len(attempts) == 1:
            prove_infeasible(formulation, sample)
    if best is None:
        raise SolverError(
            f"No solver returned an answer for {formulation!r} ({_words(attempts)}).",
            "Check the scale of the data and the parameters, whether the problem has a solution at all, or name "
            "another method.",
        )
    certificate, attempt, claims = best
    return Solution(formulation, sample, attempt.side, attempt.method, tuple(attempts), certificate, claims)


def _tries(formulation: Formulation, sample: Sample, side: str | None, method: str) -> Iterator[tuple[str, Solver]]:
    """Sides and solvers in the order in which they are tried."""
    if side not in (None, "primal", "dual"):
        raise InputError(f"The side is {side!r}.", 'Choose "primal" or "dual".')
    declared = Pair(formulation, ProductView(sample), ProductView(sample)).dual is not None
    if side == "dual" and not declared:
        raise NoDual(type(formulation).__name__, 'Choose side="primal", or declare it.')
    first = side or ("dual" if declared else "primal")
    yield from ((first, solver) for solver in candidates(formulation, sample, first, method))
    if side is None and method == "auto" and first == "dual":
        yield from (("primal", solver) for solver in candidates(formulation, sample, "primal", method))


def _timed(solver: Solver, formulation: Formulation, sample: Sample, side: str) -> tuple[RawAnswer, float]:
    start = time.perf_counter()
    answer = solver.solve(formulation, sample, side)
    return answer, time.perf_counter() - start


def _judged(formulation: Formulation, sample: Sample, answer: RawAnswer) -> Certificate | None:
    if not answer.values or not all(np.isfinite(value).all() for value in answer.values.values()):
        return None
    return certify(formulation, sample, answer.values)


def _words(attempts: list[Attempt]) -> str:
    return ", ".join(f"{attempt.method} said {attempt.status}" for attempt in attempts)


def doubt(certificate: Certificate, subject: str) -> str:
    """What a certificate that does not hold says about an answer, in two sentences."""
    failures = certificate.as_given.failures(TOLERANCE)
    bounds = certificate.bounds
    if not bounds.consistent:
        return (
            f"The lower bound exceeds the upper one by {-bounds.relative_gap:.1e} relative. The dual or the recovery "
            "of this formulation is wrong."
        )
    if not failures:
        return (
            f"{subject} satisfies every condition, but the optimum is only known to lie in "
            f"[{bounds.lower:.9g}, {bounds.upper:.9g}]. Scale the data, or take the bounds for what they say."
        )
    block, name, residual = failures[0]
    return (
        f"{subject} has a certificate that does not hold: {block}, {name} is "
        f"{residual.relative:.1e} relative. Look at solution.certificate.bounds for what is known about the optimum."
    )
