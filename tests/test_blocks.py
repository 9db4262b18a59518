"""Block decomposition on duals whose rows tie groups of variables together."""

import numpy as np
import pytest

import kopt
from formulations.classification import SoftMargin
from formulations.novelty import OneClass
from formulations.ranking import NuRanking, OrderedNuRanking
from formulations.regression import NuRegression
from kopt import CertificateWarning, Sample
from kopt.kernels import Gaussian
from kopt.polyhedra import nearby_point
from kopt.solvers import Problem, block_descent
from kopt.solvers.block_descent import Descent
from kopt.solvers.blocks import Blocks
from kopt.solvers.choice import candidates
from kopt.solvers.linear_programs import sparse_point
from tests.instances import KERNELS, instance
from tests.tolerances import CERTIFIED, VALUE


def ranks(n: int, seed: int = 0) -> Sample:
    """Four ranks of a noisy linear score in five dimensions."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    score = X @ np.array([1.0, -0.5, 0.3, 0.0, 0.2]) + 0.5 * rng.standard_normal(n)
    return Sample(X, np.digitize(score, [-1.0, 0.0, 1.0]) + 1.0, kernel=Gaussian(sigma=2.0))


def solve(formulation, sample, **options):
    return kopt.solve(formulation, sample, method="BLOCKS", **options)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(block_descent, "BLOCK", 12)


@pytest.mark.parametrize("kernel", list(KERNELS))
@pytest.mark.parametrize("name", ["NuRanking", "OrderedNuRanking", "SoftMargin", "NuRegression", "OneClass"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_optimum_is_the_reference_s(small_blocks, name, kernel, seed):
    given = instance(name, kernel, seed)
    solution = solve(given.formulation, given.sample)
    assert solution.certificate.holds(CERTIFIED)
    assert solution.value == pytest.approx(given.optimum, rel=VALUE, abs=VALUE)


@pytest.mark.parametrize("cls", [NuRanking, OrderedNuRanking])
def test_it_is_chosen_for_rankings_of_many_points(cls):
    problem = Problem(cls(nu=0.5), ranks(1200))
    [(first, reason), *_] = candidates(problem, "auto")
    assert first.name == "BLOCKS"
    assert "more than" in reason


def test_a_ranking_in_several_blocks():
    sample = ranks(600)
    solution = solve(NuRanking(nu=0.5), sample)
    assert solution.certificate.holds(CERTIFIED)
    assert len(solution.history) > 1
    assert solution.value == pytest.approx(kopt.solve(NuRanking(nu=0.5), sample, method="DENSE").value, rel=VALUE)


class TestVariablesThatRoundingMovesOffTheirBounds:
    """Where nu l is an integer all variables of a vertex are at their bounds, and its rows hold but for rounding."""

    @pytest.mark.parametrize(("n", "nu"), [(4000, 0.9), (7000, 0.9), (10000, 0.5), (10000, 0.9), (10000, 1.0)])
    def test_a_descent_begins_at_a_vertex(self, n, nu):
        problem = Problem(OneClass(nu=nu), Sample(np.random.default_rng(0).standard_normal((n, 2))))
        feasible = problem.quadratic.feasible
        descent = Descent(problem.quadratic, problem)
        assert descent.begin(None)
        assert feasible.contains(descent.z)
        for z in (descent.z, nearby_point(sparse_point(feasible), feasible)):
            assert np.sum((feasible.lower < z) & (z < feasible.upper)) <= 1

    def test_it_converges(self):
        sample = Sample(np.random.default_rng(0).standard_normal((7000, 2)) + 1.0)
        solution = solve(OneClass(nu=0.9), sample)
        assert solution.certificate.holds(CERTIFIED)

    @pytest.mark.parametrize("off", [1e-16, 1e-10])
    def test_a_start_near_its_bounds_is_taken_to_be_there(self, off):
        sample = ranks(600)
        solution = solve(NuRanking(nu=1.0), sample)
        start = {name: value + off * np.max(value) for name, value in solution.dual.items()}
        problem = Problem(NuRanking(nu=1.0), sample, start=start)
        descent = Descent(problem.quadratic, problem)
        assert descent.begin(problem.stacked_start())
        assert np.sum(descent.inside) < 200


def test_duplicate_points(small_blocks):
    sample = ranks(40)
    doubled = Sample(np.vstack([sample.X, sample.X]), np.tile(sample.y, 2), kernel=Gaussian(sigma=1.0))
    assert solve(NuRanking(nu=0.5), doubled).certificate.holds(CERTIFIED)


def test_it_agrees_with_the_decomposition_into_pairs(small_blocks):
    sample = instance("SoftMargin", "gaussian", 0).sample
    theirs = kopt.solve(SoftMargin(C=0.7), sample, method="DECOMPOSITION").value
    assert solve(SoftMargin(C=0.7), sample).value == pytest.approx(theirs, rel=VALUE)
    sample = instance("NuRegression", "gaussian", 0).sample
    theirs = kopt.solve(NuRegression(C=2.0, nu=0.4), sample, method="DECOMPOSITION").value
    assert solve(NuRegression(C=2.0, nu=0.4), sample).value == pytest.approx(theirs, rel=VALUE)


def test_interrupted_it_gives_the_best_so_far(small_blocks):
    def stop(progress):
        if progress.iteration == 3:
            raise KeyboardInterrupt

    with pytest.warns(CertificateWarning):
        solution = solve(NuRanking(nu=0.5), ranks(80), callback=stop)
    assert solution.attempts[-1].status == "interrupted"
    assert solution.certificate.bounds.lower <= solution.certificate.bounds.upper


def test_what_it_does_not_take_has_a_reason():
    given = instance("LogisticRegression", "sum", 0)
    reason = Blocks().accepts(Problem(given.formulation, given.sample))
    assert reason == "the dual objective is not differentiable everywhere"
    assert Blocks().accepts(Problem(SoftMargin(), ranks(20), "primal")) == "it solves duals only"
