"""What the texts state about an optimum: it holds there, and every statement fails for an answer that is near it."""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

import kopt
from formulations.classification import (
    ConvexHulls,
    HardMargin,
    HardMarginWithoutOffset,
    ReducedConvexHulls,
    SoftMargin,
    SoftMarginWithoutOffset,
    TwoNormSoftMarginWithoutOffset,
    UnitNuSoftMargin,
)
from formulations.novelty import Hypersphere, SoftHypersphere
from kopt import Claim, Combination, Sample, Solution, Task
from kopt.kernels import Gaussian
from tests.instances import BY_NAME, KERNELS, data, instance, variable_names
from tests.tolerances import CLAIM

every_name = pytest.mark.parametrize("name", list(BY_NAME))
every_kernel = pytest.mark.parametrize("kernel", ["polynomial", "sum"])

# One part of the answer at a time is wrong by this much of its largest entry.
ERRORS = (0.01, -0.01, 0.1, -0.1)


@cache
def solved(name: str, kernel: str) -> Solution:
    given = instance(name, kernel, 1)
    return kopt.solve(given.formulation, given.sample)


def answer(solution: Solution) -> dict[str, np.ndarray]:
    """Every primal and dual variable of a solution, weight vectors by their coefficients."""
    found = {}
    for side, point in {"primal": solution.primal, "dual": solution.dual}.items():
        for key in variable_names(solution.formulation.problem(solution.sample, side)):
            value = point[key]
            found[key] = value.coefficients if isinstance(value, Combination) else np.asarray(value, float)
    return found


def nearby(value: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """A value that is too large, too small, or uneven."""
    size = float(np.max(np.abs(value))) or 1.0
    for error in ERRORS:
        yield value * (1 + error)
        yield value + error * size
        yield value + error * size * rng.standard_normal(value.shape)


def failing(solution: Solution) -> set[str]:
    """The statements about a solution that fail when one part of it is changed."""
    right, rng = answer(solution), np.random.default_rng(0)
    failed = set()
    for key, value in right.items():
        for other in nearby(value, rng):
            certificate = kopt.verify(solution.formulation, solution.sample, {**right, key: other})
            failed |= {claim.statement for claim in certificate.claims if not claim.holds(CLAIM)}
    return failed


def statements(claims: tuple[Claim, ...]) -> list[str]:
    return [claim.statement for claim in claims]


@every_kernel
@every_name
class TestEveryClaim:
    def test_it_holds_at_the_optimum(self, name, kernel):
        claims = solved(name, kernel).certificate.claims
        assert claims
        assert [claim for claim in claims if not claim.holds(CLAIM)] == []

    def test_it_is_stated_once(self, name, kernel):
        stated = statements(solved(name, kernel).certificate.claims)
        assert len(set(stated)) == len(stated)


@every_name
def test_every_claim_can_fail(name):
    """On one of the two instances; a claim that no wrong answer breaks says nothing."""
    kernels = ("polynomial", "sum")
    stated = {statement for kernel in kernels for statement in statements(solved(name, kernel).certificate.claims)}
    failed = {statement for kernel in kernels for statement in failing(solved(name, kernel))}
    assert sorted(stated - failed) == []
