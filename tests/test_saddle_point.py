"""Saddle points: margins with learnt weights, against conic solvers, against plain machines, and inside the budget."""

import tracemalloc
import warnings
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification, make_moons
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kopt
from formulations.classification import HardMargin, NuSoftMargin, SoftMargin, TwoNormSoftMargin
from formulations.kernel_learning import Alignment, SoftMarginKernelLearning, TwoNormKernelLearning
from formulations.kernel_learning.solvers.saddle_interior_point import SaddleInteriorPoint
from formulations.kernel_learning.solvers.saddle_newton import Newton
from formulations.kernel_learning.solvers.saddle_point import SaddlePoint, saddle_of
from formulations.kernel_learning.solvers.saddle_program import SaddleProgram
from formulations.kernel_learning.solvers.weighted_grams import WeightedGrams, least_bytes
from formulations.regression import EpsilonInsensitive, NuRegression
from kopt import Infeasible, InputError, Sample
from kopt.gram import Gram
from kopt.kernels import FromFunction, Gaussian, Laplacian, Linear, Polynomial
from kopt.polyhedra import membership
from kopt.quadratic import quadratic_program
from kopt.solvers import Problem
from kopt.solvers.solver import INTERRUPTED
from tests.tolerances import CERTIFIED

NORMS = (1.0, 1.3, 2.0, 4.0)
#: Values of this method and of a conic solver, relative.
AGREED = 1e-7
SEVERAL = {"narrow": Gaussian(0.5), "wide": Gaussian(2.0), "linear": Linear(), "quadratic": Polynomial(2, R=1.0)}


def classes(kind, n, seed):
    """Points of two classes that overlap."""
    if kind == "moons":
        X, y = make_moons(n, noise=0.3, random_state=seed)
    elif kind == "clusters":
        X, y = make_classification(n, 6, n_informative=4, flip_y=0.1, random_state=seed)
    else:
        X, y = load_breast_cancer(return_X_y=True)
        X, chosen = StandardScaler().fit_transform(X), np.random.default_rng(seed).permutation(len(y))[:n]
        X, y = X[chosen], y[chosen]
    return X, 2.0 * y - 1


def with_weights(machine, c=1.0, p=1.0):
    """What the method needs to know of a formulation that learns weights for a machine."""
    return SimpleNamespace(machine=lambda: machine, c=c, p=p)


def conic_value(machine, sample, c, p):
    """The optimum by a conic solver, from the machine's quadratic program and the definition of the problem."""
    grams = list(sample.grams.values())
    plain = quadratic_program(machine, Sample(sample.X, sample.y, kernel=grams[0].kernel, costs=sample.costs))
    [term], z = plain.terms, cp.Variable(plain.linear.size)
    roots = [gram.factor.T @ term.J / np.sqrt(gram.diagonal.mean()) for gram in grams]
    shares = cp.hstack([cp.sum_squares(root @ z) for root in roots])
    size = cp.max(shares) if p == 1 else cp.pnorm(shares, p / (p - 1))
    gain = -plain.linear @ z - cp.sum(cp.multiply(plain.shift / 2, cp.square(z)))
    problem = cp.Problem(cp.Maximize(gain - term.factor * c * size), membership(plain.feasible, z))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the last digits may be inexact
        problem.solve(cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-9, max_step_fraction=0.8)
    return problem.value


def run(formulation, sample, accuracy=1e-10):
    """The method by itself: how it ended, and its best answer."""
    read = saddle_of(formulation, sample)
    assert not isinstance(read, str), read
    method = SaddleInteriorPoint(read[1], accuracy)
    return method.run(), method.best


# Against a conic solver


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize(("kind", "seed"), [("moons", 0), ("clusters", 1), ("cancer", 2)])
def test_the_conic_solver_finds_the_same(kind, seed, p):
    rng = np.random.default_rng(seed)
    X, y = classes(kind, int(rng.integers(12, 40)), seed)
    sample = Sample(X, y, kernel=SEVERAL, costs=rng.uniform(0.5, 2.0, len(y)))
    formulation = SoftMarginKernelLearning(C=float(np.exp(rng.uniform(-2, 4))), c=float(rng.uniform(0.3, 3)), p=p)
    fast = kopt.solve(formulation, sample, method="SADDLE_POINT")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kopt.solvers.CertificateWarning)  # in power cones it is less exact
        slow = kopt.solve(formulation, sample, method="CLARABEL")
    assert fast.certificate.holds(CERTIFIED)
    assert fast.certificate.bounds.relative_gap <= 1e-8
    assert fast.value == pytest.approx(slow.value, rel=max(AGREED, slow.certificate.bounds.relative_gap))


@pytest.mark.parametrize("p", [1.0, 1.7])
@pytest.mark.parametrize(
    "machine",
    [
        SoftMargin(C=3.0),
        TwoNormSoftMargin(C=2.0),
        HardMargin(),
        NuSoftMargin(nu=0.4),
        EpsilonInsensitive(C=2.0, epsilon=0.1),
        NuRegression(C=1.5, nu=0.4),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_boxes_rows_and_shifts_are_read_off_the_machine_for_one_kernel(machine, p):
    X, y = classes("moons", 30, 3)
    sample = Sample(X, y, kernel={"narrow": Gaussian(0.3), "laplacian": Laplacian(1.0), "linear": Linear()})
    status, best = run(with_weights(machine, 0.7, p), sample)
    assert status == "converged"
    assert best.lower == pytest.approx(conic_value(machine, sample, 0.7, p), rel=AGREED)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("p", [1.0, 1.5])
def test_squared_slacks_are_certified(seed, p):
    """C xi = alpha holds to the root of the gap."""
    X, y = classes("clusters", 40, seed)
    formulation = TwoNormKernelLearning(C=10.0 ** (seed - 2), p=p)
    solution = kopt.solve(formulation, Sample(X, y, kernel=SEVERAL), method="SADDLE_POINT")
    assert solution.certificate.holds(CERTIFIED), str(solution.certificate)


def test_one_kernel_gives_the_plain_machine_back():
    X, y = classes("cancer", 120, 0)
    solution = kopt.solve(SoftMarginKernelLearning(C=2.0), Sample(X, y, kernel=Gaussian(3.0)), method="SADDLE_POINT")
    svc = SVC(C=2.0, gamma=Gaussian(3.0).gamma, tol=1e-10).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    np.testing.assert_allclose(solution.dual.alpha, alpha, atol=1e-6)
    assert solution.primal.mu == pytest.approx([1.0])


# Degenerate cases


@pytest.mark.parametrize("p", [1.0, 1.02, 3.0, 100.0])
@pytest.mark.parametrize(
    "kernels",
    [
        {"one": Gaussian(1.0), "same": Gaussian(1.0), "other": Linear()},
        {"tiny": 1e-9 * Gaussian(1.0), "huge": 1e9 * Linear(), "plain": Polynomial(2)},
        {"singular": Linear(), "its double": 2.0 * Linear()},
        {"constant": Polynomial(1, R=1e4), "wide": Gaussian(1e3)},
        {f"{sigma:.3g}": Gaussian(sigma) for sigma in np.geomspace(0.05, 50, 20)},
    ],
    ids=["duplicates", "scales", "singular", "nearly constant", "many"],
)
def test_degenerate_kernels(kernels, p):
    X, y = classes("moons", 45, 1)
    solution = kopt.solve(SoftMarginKernelLearning(C=5.0, p=p), Sample(X, y, kernel=kernels), method="SADDLE_POINT")
    assert solution.certificate.bounds.relative_gap <= 1e-8
    assert solution.certificate.holds(CERTIFIED)


@pytest.mark.parametrize("y", [[1.0, -1.0], [-1.0, 1.0, 1.0]])
@pytest.mark.parametrize("step", [1.0, 0.0], ids=["different", "one and the same"])
def test_two_and_three_points(y, step):
    sample = Sample(step * np.arange(len(y))[:, None] + 1.0, y, kernel={"a": Linear(), "b": Gaussian(1.0)})
    for C in (1e-3, 1.0, 1e4):
        assert kopt.solve(SoftMarginKernelLearning(C=C), sample, method="SADDLE_POINT").certificate.holds(CERTIFIED)


@pytest.mark.parametrize("C", [1e-4, 1e5])
def test_penalties_of_any_size(C):
    X, y = classes("clusters", 60, 4)
    for p in NORMS:
        solution = kopt.solve(SoftMarginKernelLearning(C=C, p=p), Sample(X, y, kernel=SEVERAL), method="SADDLE_POINT")
        assert solution.certificate.holds(CERTIFIED)


def test_a_kernel_that_does_not_help_gets_no_weight():
    X, y = classes("moons", 80, 0)
    noise = np.random.default_rng(0).standard_normal((80, 80))
    kernels = {"good": Gaussian(0.5)(X), "noise": noise @ noise.T}
    solution = kopt.solve(SoftMarginKernelLearning(C=1.0), Sample.from_gram(kernels, y), method="SADDLE_POINT")
    assert solution.primal.mu[1] * np.trace(kernels["noise"]) / 80 <= 0.35
    wide = {"good": Gaussian(0.5)(X), "constant": np.ones((80, 80))}
    solution = kopt.solve(SoftMarginKernelLearning(C=1.0), Sample.from_gram(wide, y), method="SADDLE_POINT")
    assert solution.primal.mu == pytest.approx([1.0, 0.0], abs=1e-7)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_classes_that_nothing_separates_are_proved_to_be_so(p):
    X, y = classes("moons", 50, 0)
    sample = Sample(X, y, kernel={"linear": Linear(), "shifted": Polynomial(1, R=3.0)})
    with pytest.raises(Infeasible, match="for any weights of the kernels"):
        SaddlePoint().solve(Problem(with_weights(HardMargin(), p=p), sample))


def test_without_a_proof_an_unbounded_dual_has_no_answer(monkeypatch):
    X, y = classes("moons", 50, 0)
    monkeypatch.setattr("formulations.kernel_learning.solvers.saddle_point.prove_infeasible", lambda problem: None)
    answer = SaddlePoint().solve(Problem(with_weights(HardMargin()), Sample(X, y, kernel=Linear())))
    assert (answer.status, dict(answer.values)) == ("unbounded", {})


def test_classes_that_are_barely_separated_are_no_proof_of_anything():
    X, y = np.array([[-1.0], [0.0], [1e-3], [1.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    sample = Sample(X, y, kernel={"linear": Linear(), "wide": Gaussian(30.0)})
    _, best = run(with_weights(HardMargin()), sample)
    assert best.error <= 1e-8
    assert best.lower == pytest.approx(0.5 * 4e6 * np.mean(X**2), rel=1e-3)


@pytest.mark.parametrize("C", [1e4, 1e6])
def test_a_start_that_is_too_near_to_the_bounds_is_given_up(C):
    X, y = classes("clusters", 60, 1)
    machine, sample = TwoNormSoftMargin(C=C), Sample(X, y, kernel=Linear())
    status, best = run(with_weights(machine), sample)
    assert status == "converged"
    mean = sample.gram().diagonal.mean()
    plain = kopt.solve(machine, Sample(X, y, kernel=(1 / mean) * Linear()), method="DENSE")
    assert best.lower == pytest.approx(plain.value, rel=AGREED)


# Which problems, in which order, and within which budget


def test_it_comes_before_the_conic_solvers():
    X, y = classes("moons", 30, 0)
    solution = kopt.solve(SoftMarginKernelLearning(), Sample(X, y, kernel=SEVERAL))
    assert [(attempt.method, attempt.status) for attempt in solution.attempts] == [("SADDLE_POINT", "converged")]


@pytest.mark.parametrize(
    ("formulation", "kernel", "budget", "match"),
    [
        (Alignment(), SEVERAL, 10**9, r"the formulation has no `machine\(\)` and no `c` and no `p`"),
        (SoftMarginKernelLearning(p=200.0), SEVERAL, 10**9, "p is 200, and it takes norms from 1 to 100"),
        (SoftMarginKernelLearning(), SEVERAL, 40_000, "it needs 4.38e-05 GB, more than the budget of 4e-05 GB"),
    ],
)
def test_what_it_does_not_take(formulation, kernel, budget, match):
    X, y = classes("moons", 30, 0)
    with pytest.raises(InputError, match=match):
        kopt.solve(formulation, Sample(X, y, kernel=kernel, budget=budget), method="SADDLE_POINT")


def test_a_primal_is_not_its_business():
    X, y = classes("moons", 30, 0)
    with pytest.raises(InputError, match="it solves duals only"):
        kopt.solve(SoftMarginKernelLearning(), Sample(X, y, kernel=SEVERAL), side="primal", method="SADDLE_POINT")


def test_kernels_that_vanish_and_variables_without_room_are_refused():
    X, y = classes("moons", 30, 0)
    vanishing = Sample(X, y, kernel={"a": Linear(), "b": Linear(), "c": FromFunction(lambda x, z: 0.0)})
    reason = SaddlePoint().accepts(Problem(with_weights(SoftMargin()), vanishing))
    assert reason == "the kernel 'c' vanishes on all points"


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        (lambda: None, "`machine()` returns None, and not a formulation"),
        (lambda: "soft margin", "`machine()` returns 'soft margin', and not a formulation"),
        (SoftMargin(), "`machine` is SoftMargin(C=1.0), and not a method"),
    ],
    ids=["none", "text", "no method"],
)
def test_a_machine_that_is_none_is_refused(machine, reason):
    X, y = classes("moons", 30, 0)
    problem = Problem(SimpleNamespace(machine=machine, c=1.0, p=1.0), Sample(X, y, kernel=SEVERAL))
    assert SaddlePoint().accepts(problem) == reason


def test_without_a_machine_others_solve_it():
    class Nothing(SoftMarginKernelLearning):
        def machine(self):
            return None

    X, y = classes("moons", 20, 0)
    solution = kopt.solve(Nothing(), Sample(X, y, kernel=SEVERAL))
    assert solution.certificate.holds(CERTIFIED)
    assert solution.attempts[0].method not in {"SADDLE_POINT", "WEIGHT_DESCENT"}


def test_part_by_part_the_answer_is_the_same_inside_the_budget():
    n = 1000
    X, y = classes("clusters", n, 0)
    kernels = {**{f"{sigma}": Gaussian(sigma) for sigma in (0.5, 1.0, 2.0, 4.0)}, "laplacian": Laplacian(3.0)}
    values, budget = [], least_bytes(n, len(kernels))
    SaddlePoint().solve(Problem(SoftMarginKernelLearning(), Sample(X[:90], y[:90], kernel=kernels, budget=200_000)))
    for allowed in (10**9, budget):
        problem = Problem(SoftMarginKernelLearning(C=2.0), Sample(X, y, kernel=kernels, budget=allowed))
        assert SaddlePoint().accepts(problem) is None
        tracemalloc.start()
        answer = SaddlePoint().solve(problem)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= allowed
        assert answer.status == "converged"
        certificate = kopt.verify(problem.formulation, problem.sample, answer.values)
        assert certificate.holds(CERTIFIED)
        values.append(certificate.as_given.dual_value)
    assert not any("dense" in vars(gram) for gram in problem.sample.grams.values())
    assert values[0] == pytest.approx(values[1], rel=1e-10)


# What is reported, and interrupts


def test_the_gap_that_is_reported_falls_and_the_answer_is_between_its_bounds():
    X, y = classes("cancer", 100, 0)
    solution = kopt.solve(SoftMarginKernelLearning(C=1.0), Sample(X, y, kernel=SEVERAL), method="SADDLE_POINT")
    last = solution.history[-1]
    assert last.relative_gap <= 1e-10
    assert last.dual <= solution.value * (1 + 1e-9)
    assert solution.value * (1 - 1e-9) <= last.primal
    assert last.support_vectors == len(solution.certificate.support_vectors)
    assert all(moment.primal >= solution.value * (1 - 1e-9) for moment in solution.history)


def test_an_interrupt_leaves_the_best_answer_so_far():
    def interrupt(progress):
        if progress.iteration == 6:
            raise KeyboardInterrupt

    X, y = classes("moons", 60, 0)
    sample = Sample(X, y, kernel=SEVERAL)
    with pytest.warns(kopt.solvers.CertificateWarning):
        solution = kopt.solve(SoftMarginKernelLearning(), sample, method="SADDLE_POINT", callback=interrupt)
    assert [attempt.status for attempt in solution.attempts] == [INTERRUPTED]
    bounds, optimum = solution.certificate.bounds, kopt.solve(SoftMarginKernelLearning(), sample).value
    assert bounds.lower <= optimum <= bounds.upper
    assert bounds.relative_gap < 1


# The parts


@pytest.mark.parametrize("budget", [10**9, 0])
def test_sums_and_images(budget):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((531, 3))
    grams = [Gram(kernel, X) for kernel in (Gaussian(0.7), Linear(), Laplacian(1.0), FromFunction(np.dot))]
    scales, theta, e = np.array([1.0, 3.0, 0.5, 1e-3]), np.array([0.2, 0.0, 2.0, 1.0]), rng.standard_normal(531)
    weighted = WeightedGrams(grams, scales, budget)
    assert weighted.held == (budget > 0)
    dense = scales[:, None, None] * np.stack([Gram(gram.kernel, X).dense for gram in grams])
    for _ in range(2):  # the memory is used again
        total = np.tril(weighted.lower_sum(theta))
        np.testing.assert_allclose(total, np.tril(np.tensordot(theta, dense, 1)), atol=1e-12)
    np.testing.assert_allclose(weighted.images(e), dense @ e, atol=1e-10)


def test_newton_steps_with_no_one_and_several_variables_for_a_point():
    rng = np.random.default_rng(1)
    n, owner = 5, np.array([0, 1, 1, 3, -1, 1, 3])
    a, D = rng.standard_normal(7), 10.0 ** rng.integers(-6, 6, 7)
    grams = WeightedGrams([Gram(Gaussian(1.0), rng.standard_normal((n, 2)))], np.ones(1), 10**6)
    none = np.zeros(7)
    program = SaddleProgram(grams, owner, a, none, D, none, none + np.inf, np.zeros((0, 7)), np.zeros(0), 1.0)
    J = np.zeros((n, 7))
    J[owner[owner >= 0], np.flatnonzero(owner >= 0)] = a[owner >= 0]
    H = np.diag(D) + J.T @ grams.grams[0].dense @ J
    z = rng.standard_normal((7, 2))
    np.testing.assert_allclose(Newton(program, np.ones(1), D).solve(H @ z), z, rtol=1e-5)
