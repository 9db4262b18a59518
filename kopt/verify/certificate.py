"""The certificate of an answer, recomputed from the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kopt.claim import Claim
from kopt.errors import DeclarationError, InputError
from kopt.formulation import Formulation, check_arguments
from kopt.locations import BriefTraceback, FaultsOf, method_with_place
from kopt.point import Point
from kopt.sample import Sample
from kopt.show.text import certificate_tree
from kopt.verify.bounds import Bounds, repaired_bounds
from kopt.verify.conditions import Conditions
from kopt.verify.measure import measure
from kopt.verify.points import Points, classify
from kopt.verify.record import Record
from kopt.verify.recovery import recovered

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Certificate:
    """What is known about an answer, from the data alone.

    as_given   every optimality condition of the answer itself
    bounds     two numbers between which the optimum lies, after the dual variables are made feasible
    points     support vectors, by multiplier
    claims     the statements of the theory, with their numbers
    """

    formulation: Any
    sample: Sample
    as_given: Record
    bounds: Bounds
    points: Mapping[str, Points]
    claims: tuple[Claim, ...]
    primal: Point
    dual: Point

    def holds(self, tolerance: float = TOLERANCE) -> bool:
        """Whether the answer satisfies all optimality conditions, each relative residual within the tolerance.

        The bounds must agree: no wider than the tolerance, and the answer's own values within it. Where they are not
        known, nothing is asked of them, unless the formulation says how its dual is repaired.
        """
        return self.as_given.holds(tolerance) and self.bounds.agree_with(self.as_given, tolerance)

    @property
    def worst(self) -> float:
        """The largest relative residual, by which answers are compared; or the width of bounds that are promised."""
        return max(self.as_given.worst, self.bounds.relative_gap) if self.bounds.promised else self.as_given.worst

    @property
    def support_vectors(self) -> np.ndarray:
        """Indices of the points known to be support vectors, for any of the multipliers."""
        known = [points.support for points in self.points.values()]
        return np.unique(np.concatenate(known)) if known else np.array([], dtype=int)

    def __str__(self) -> str:
        return certificate_tree(self, TOLERANCE)


def verify(formulation: Formulation, sample: Sample, answer: Mapping[str, Any]) -> Certificate:
    """The certificate of anybody's answer to a formulation on a sample.

    answer   values by name: dual variables, primal variables, multipliers, as far as they are known. A weight vector
             is given by its representer coefficients c, w = sum_i c_i phi(x_i). What is not given is recovered from
             the dual variables.

    Everything is recomputed from the data with products by K; no factor, no solver and, where K comes from a kernel,
    no n x n matrix is needed.
    """
    with BriefTraceback():
        check_arguments(formulation, sample)
        return certify(formulation, sample, answer)


def certify(formulation: Formulation, sample: Sample, answer: Mapping[str, Any]) -> Certificate:
    """As `verify`, for a sample that has been checked already."""
    with np.errstate(all="ignore"):  # an infinite or missing number ends as an infinite residual
        return _certified(formulation, sample, answer)


def _certified(formulation: Formulation, sample: Sample, answer: Mapping[str, Any]) -> Certificate:
    conditions = Conditions(formulation, sample)
    primal_given, dual_given, multipliers = _sorted_answer(conditions, answer)
    conditions.bind_dual(dual_given, multipliers)
    primal = dict(primal_given)
    follows = not primal_given and not multipliers
    if not _complete(conditions, primal_given):
        primal = {**recovered(formulation, conditions, dual_given), **primal_given}
    conditions.bind_primal(primal)
    record = measure(conditions)
    points = classify(conditions, record.worst)
    primal_point = Point(_with_vectors(conditions, primal))
    dual_point = Point({**conditions.multipliers, **dual_given})
    return Certificate(
        formulation=formulation,
        sample=sample,
        as_given=record,
        points=points,
        claims=_claims(formulation, conditions, primal_point, dual_point, record),
        primal=primal_point,
        dual=dual_point,
        bounds=repaired_bounds(formulation, conditions, dual_given, record if follows else None),
    )


def _sorted_answer(
    conditions: Conditions, answer: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The answer's values as primal variables, dual variables, and multipliers that are neither."""
    if not isinstance(answer, Mapping):
        raise InputError(f"The answer is of type {type(answer).__name__}.", 'Give values by name: {"alpha": ...}.')
    primal_names = set(conditions.primal_names)
    dual_names = set(conditions.dual_names)
    names = primal_names | dual_names | set(conditions.primal.cones)
    unknown = [name for name in answer if name not in names]
    if unknown or not answer:
        known = ", ".join(sorted(names))
        what = f"The answer names {unknown[0]!r}" if unknown else "The answer is empty"
        raise InputError(f"{what}.", f"Known are: {known}.")
    primal = {name: value for name, value in answer.items() if name in primal_names}
    dual = {name: conditions.dual_array(name, value) for name, value in answer.items() if name in dual_names}
    multipliers = {name: value for name, value in answer.items() if name in conditions.primal.cones}
    return primal, dual, {name: value for name, value in multipliers.items() if name not in dual}


def _complete(conditions: Conditions, primal: Mapping[str, Any]) -> bool:
    return all(name in primal for name in conditions.primal_names)


def _with_vectors(conditions: Conditions, primal: Mapping[str, Any]) -> dict[str, Any]:
    weights = {name: weight.number for name, weight in conditions.primal_view.weights.items()}
    return {**primal, **weights}


def _claims(
    formulation: Formulation, conditions: Conditions, primal: Point, dual: Point, record: Record
) -> tuple[Claim, ...]:
    """The formulation's claims, where the answer has all the numbers that they are about."""
    if not np.isfinite(record.gap.absolute):
        return ()
    with FaultsOf(formulation, "claims"):
        claims = tuple(formulation.claims(conditions.primal_view, primal, dual))
    for claim in claims:
        if not isinstance(claim, Claim):
            raise DeclarationError(
                f"{method_with_place(formulation, 'claims')} gives {claim!r:.80}, of type {type(claim).__name__}.",
                "Give claims: kopt.equal(...) or kopt.at_most(...).",
            )
    return claims
