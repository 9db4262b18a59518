"""Every formulation on every fast solver: a certified optimum that is the reference's, or a reason why not.

Decomposition has the same test in `test_decomposition`, in each size of its working sets.
"""

import re
import warnings

import pytest

import kopt
from kopt import CertificateWarning, InputError
from kopt.solvers import Problem, Solver, block_descent
from kopt.solvers.blocks import Blocks
from kopt.solvers.linear_system import LinearSystem
from kopt.solvers.low_rank import LowRank
from tests.instances import BY_NAME, FULL_RANK, Instance, instance
from tests.tolerances import CERTIFIED, VALUE

#: Kernels of low and of full rank; where the seed is odd each point has a cost of its own.
INSTANCES = [("linear", 0), ("polynomial", 1), ("gaussian", 1), ("sum", 0)]


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch):
    monkeypatch.setattr(block_descent, "BLOCK", 12)


@pytest.mark.parametrize(("kernel", "seed"), INSTANCES)
@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("solver", [LowRank(), LinearSystem(), Blocks()], ids=lambda solver: solver.name)
def test_the_optimum_is_the_reference_s(solver: Solver, name: str, kernel: str, seed: int):
    given = instance(name, kernel, seed)
    reason = solver.accepts(Problem(given.formulation, given.sample))
    if reason is not None:
        refused_with(reason, solver, given)
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CertificateWarning)
        solution = kopt.solve(given.formulation, given.sample, side="dual", method=solver.name)
    if caught:
        assert isinstance(solver, LowRank)
        assert kernel in FULL_RANK
        assert solution.attempts[-1].status.startswith("not solved: at rank")
        return
    assert solution.certificate.holds(CERTIFIED)
    assert solution.value == pytest.approx(given.optimum, rel=VALUE, abs=VALUE)


@pytest.mark.parametrize(
    "case", [("NuRegression", "gaussian", 12), ("HardMargin", "linear", 2)], ids=lambda case: case[0]
)
def test_low_rank_gets_on_where_the_next_bound_is_always_near(case: tuple[str, str, int]):
    given = instance(*case)
    assert kopt.solve(given.formulation, given.sample, method="LOW_RANK").certificate.holds(CERTIFIED)


def refused_with(reason: str, solver: Solver, given: Instance) -> None:
    """Assert that a reason reads as the end of a sentence, and is what the user is told."""
    assert re.fullmatch(r"\w+( \S+){3,}", reason)
    assert not reason.endswith(".")
    with pytest.raises(InputError, match=re.escape(reason)):
        kopt.solve(given.formulation, given.sample, side="dual", method=solver.name)
