"""Low rank: pivoted Cholesky, the interior point method on diagonal plus low rank, and the solver built on both."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.preprocessing import StandardScaler

import kopt
from formulations.classification import (
    HardMargin,
    LogisticRegression,
    NuSoftMargin,
    SoftMargin,
    TwoNormSoftMargin,
)
from formulations.novelty import Hypersphere, OneClass
from formulations.regression import EpsilonInsensitive, LeastSquares, NuRegression
from kopt.errors import InputError
from kopt.gram import Gram
from kopt.gram.pivoted import pivoted_cholesky
from kopt.kernels import FromFunction, Gaussian, Laplacian, Linear, Polynomial, Precomputed
from kopt.polyhedra import nearby_point
from kopt.projection import Polyhedron
from kopt.quadratic import QuadraticProgram
from kopt.solvers import CertificateWarning, Problem, low_rank
from kopt.solvers.dense import minimise as piqp
from kopt.solvers.interior_point import MOST_ITERATIONS, LowRankProgram, _Newton, minimise
from kopt.solvers.low_rank import COPIES, LowRank, _gap, _implied_box, _lowest, _Point
from kopt.solvers.solver import INTERRUPTED
from tests.benchmarks.problems import mc
from tests.instances import data
from tests.tolerances import CERTIFIED, VALUE

INF = math.inf
ROUNDING = 1e-12

rng = np.random.default_rng(5)
X = rng.normal(size=(200, 2))


def given(K):
    """A Gram matrix of which only the values are known."""
    return Gram(Precomputed(K), np.arange(len(K)))


def one_pivot_at_a_time(K, tolerance):
    """The textbook algorithm on a matrix that is there: the largest remaining diagonal entry is the next pivot."""
    rest, rank = K.copy(), 0
    while rest.diagonal().max() > tolerance * K.diagonal().max():
        pivot = rest.diagonal().argmax()
        rest -= np.outer(rest[:, pivot], rest[pivot]) / rest[pivot, pivot]
        rank += 1
    return rank


# Pivoted Cholesky


@pytest.mark.parametrize("tolerance", [1e-2, 1e-6, 1e-10, 1e-12])
@pytest.mark.parametrize(
    "kernel",
    [Gaussian(1.0), 3 * Gaussian(0.5).centred(), Laplacian(2.0), Linear(), Polynomial(3), Gaussian(1.0) + Linear()],
    ids=repr,
)
def test_what_is_left_is_as_small_as_asked_for_and_positive(kernel, tolerance):
    gram = Gram(kernel, X)
    part = pivoted_cholesky(gram, tolerance)
    assert "dense" not in vars(gram)
    largest = gram.diagonal.max()
    rest = gram.dense - part.L @ part.L.T
    assert np.abs(rest).max() <= (tolerance + ROUNDING) * largest
    assert np.linalg.eigvalsh(rest)[0] >= -ROUNDING * len(X) * largest
    np.testing.assert_allclose(part.remaining, rest.diagonal(), atol=ROUNDING * largest)
    assert not part.remaining[part.pivots].any()
    assert part.remaining.sum() == pytest.approx(np.trace(rest), abs=ROUNDING * len(X) * largest)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-6, 1e-10])
def test_several_pivots_at_once_need_few_more_than_one_at_a_time(tolerance):
    gram = Gram(Gaussian(1.0), rng.normal(size=(600, 2)))
    assert pivoted_cholesky(gram, tolerance).rank <= 1.05 * one_pivot_at_a_time(gram.dense, tolerance) + 1


@pytest.mark.parametrize("rank", [1, 2, 7])
@pytest.mark.parametrize("tolerance", [1e-6, 0.0])
def test_a_matrix_of_low_rank_is_found_to_be_one(rank, tolerance):
    factor = rng.normal(size=(60, rank)) * np.logspace(0, -2, rank)
    part = pivoted_cholesky(given(factor @ factor.T), tolerance)
    assert part.rank == rank == len(set(part.pivots.tolist()))
    np.testing.assert_allclose(part.L @ part.L.T, factor @ factor.T, atol=ROUNDING * np.square(factor).max())


def test_the_zero_matrix_has_rank_zero():
    part = pivoted_cholesky(given(np.zeros((4, 4))), 1e-6)
    assert (part.rank, part.L.shape, part.remaining.sum()) == (0, (4, 0), 0.0)


def test_repeated_points_are_taken_once():
    gram = Gram(Gaussian(1.0), np.repeat(X[:5], 30, axis=0))
    part = pivoted_cholesky(gram, 0.0)
    assert sorted(part.pivots // 30) == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(part.L @ part.L.T, gram.dense, atol=ROUNDING)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(1.0).centred(), Linear().centred()], ids=repr)
@pytest.mark.parametrize("formed", [False, True])
def test_the_rest_is_small_and_the_rows_of_the_pivots_are_those_of_K(kernel, formed):
    gram, K = Gram(kernel, X), Gram(kernel, X).dense
    assert not formed or gram.dense is not None
    part = pivoted_cholesky(gram, 1e-8)
    assert part.L.shape == (len(X), part.rank)
    np.testing.assert_allclose(part.L @ part.L.T, K, atol=2e-8 * K.diagonal().max())
    np.testing.assert_allclose((part.L @ part.L.T)[part.pivots], K[part.pivots], atol=1e-10)


def test_points_need_not_be_vectors():
    words = ["cat", "care", "dog", "cat"]
    kernel = FromFunction(lambda a, b: float(len(set(a) & set(b))))
    part = pivoted_cholesky(Gram(kernel, words), 0.0)
    np.testing.assert_allclose(part.L @ part.L.T, kernel(words), atol=ROUNDING)


def test_the_rank_stays_within_the_most_and_can_be_raised_later():
    gram = Gram(Gaussian(1.0), X)
    first = pivoted_cholesky(gram, 1e-10, most=20)
    assert first.rank == 20
    assert first.remaining.max() > 1e-10
    more = pivoted_cholesky(gram, 1e-10, start=first)
    assert more.remaining.max() <= 1e-10
    np.testing.assert_array_equal(more.L[:, :20], first.L)
    np.testing.assert_array_equal(more.pivots[:20], first.pivots)
    np.testing.assert_allclose(more.L @ more.L.T, gram.dense, atol=2e-10)


def test_it_stops_when_enough_of_the_trace_is_there():
    gram = Gram(Gaussian(1.0), np.linspace(0.0, 1.0, 500)[:, None])
    part, whole = (pivoted_cholesky(gram, 0.0, enough=enough) for enough in (1e-3, 0.0))
    assert part.remaining.sum() <= 1e-3
    assert part.rank < whole.rank
    assert pivoted_cholesky(gram, 0.0, enough=501.0).rank == 0


def test_points_of_no_length_are_left_out():
    assert pivoted_cholesky(given(np.diag([1.0, *np.full(9, 1e-12)])), 1e-10).rank == 1


def test_a_matrix_with_a_negative_eigenvalue_is_not_followed_into_it():
    K = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    part = pivoted_cholesky(given(K), 1e-6)
    assert np.isfinite(part.L).all()
    assert part.remaining.max() > 1e-6


def test_values_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="NaN or infinite"):
        pivoted_cholesky(Gram(Polynomial(3), np.array([[1.0], [1e150]])), 1e-6)


# The interior point method


def program(n=30, rank=4, rows=2, seed=0):
    """A random program with a feasible point well inside its box."""
    draw = np.random.default_rng([seed, n, rank, rows])
    A, upper = draw.normal(size=(rows, n)), np.full(n, 10 ** draw.uniform(-1, 2))
    b = A @ (draw.uniform(0.2, 0.8, n) * upper)
    return LowRankProgram(np.zeros(n), draw.normal(size=(n, rank)), draw.normal(size=n), np.zeros(n), upper, A, b)


def changed(p, **fields):
    """A program with other parts, its rows through the same point or the nearest one in the box."""
    parts = {name: getattr(p, name) for name in ("D", "V", "q", "lower", "upper", "A", "b")} | fields
    if "b" not in fields:
        inside = np.linalg.lstsq(p.A, p.b, rcond=None)[0]
        inside = nearby_point(inside, Polyhedron(p.lower, p.upper, p.A, p.b)) if len(p.b) else inside
        parts["b"] = parts["A"] @ np.clip(inside, parts["lower"], parts["upper"])
    return LowRankProgram(**parts)


def some(p, seed, share):
    return np.random.default_rng(seed).random(len(p.q)) < share


VARIANTS = {
    "plain": lambda p, seed: p,
    "with a diagonal": lambda p, seed: changed(p, D=np.linspace(0, 2, len(p.q))),
    "one-sided and free coordinates": lambda p, seed: changed(
        p,
        D=np.linspace(0.1, 2, len(p.q)),
        lower=np.where(some(p, [1, seed], 0.4), -INF, p.lower),
        upper=np.where(some(p, [2, seed], 0.4), INF, p.upper),
    ),
    "no bounds": lambda p, seed: changed(p, D=np.ones(len(p.q)), lower=p.lower - INF, upper=p.upper + INF),
    "fixed coordinates": lambda p, seed: changed(p, upper=np.where(some(p, seed, 0.3), p.lower, p.upper)),
    "everything fixed": lambda p, seed: changed(p, lower=p.upper, upper=p.upper),
    "redundant rows": lambda p, seed: changed(p, A=np.vstack([p.A, 2 * p.A, p.A.sum(axis=0), 0 * p.A[:1]])),
    "no rows": lambda p, seed: changed(p, A=p.A[:0], b=p.b[:0]),
    "no rank": lambda p, seed: changed(p, V=p.V[:, :0]),
    "neither rank nor rows": lambda p, seed: changed(p, V=p.V[:, :0], A=p.A[:0], b=p.b[:0]),
    "a simplex": lambda p, seed: changed(p, q=0 * p.q, upper=p.upper + INF, A=np.ones((1, len(p.q))), b=np.ones(1)),
    "a vertex only": lambda p, seed: changed(p, A=np.ones((1, len(p.q))), b=p.upper.sum(keepdims=True)),
    "bounds of all sizes": lambda p, seed: changed(
        p,
        upper=np.logspace(-6, 6, len(p.q)),
        A=np.sign(p.A[:1]),
        b=np.sign(p.A[:1]) @ np.logspace(-6, 6, len(p.q)) / 3,
    ),
    "large bounds": lambda p, seed: changed(p, q=-np.ones(len(p.q)), upper=np.full(len(p.q), 1e6), A=p.A[:1], b=[0.0]),
    "small numbers": lambda p, seed: changed(p, V=1e-6 * p.V, q=1e-9 * p.q, b=p.b),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", VARIANTS)
def test_the_interior_point_is_as_good_as_that_of_piqp(name, seed):
    p = VARIANTS[name](program(n=(11, 30, 47, 60)[seed], rank=(2, 4, 7, 12)[seed], seed=seed), seed)
    answer = minimise(p)
    check_optimal(p, answer)
    P = np.diag(p.D) + p.V @ p.V.T
    size = max(np.abs(p.q).max(), P.diagonal().mean())
    rows = sparse.csr_array(p.A) if len(p.A) else None
    z, _ = piqp(P / size, p.q / size, Polyhedron(p.lower, p.upper, rows, p.b))
    theirs, ours = (0.5 * v @ P @ v + p.q @ v for v in (z, answer.z))
    assert ours - theirs <= 1e-7 * (abs(theirs) + 0.5 * z**2 @ P.diagonal())


def check_optimal(p, answer):
    """The optimality conditions, from the program alone."""
    z, terms = answer.z, np.abs(p.A) @ np.abs(answer.z) + np.abs(p.b)
    assert ((p.lower <= z) & (z <= p.upper)).all()
    assert (np.abs(p.A @ z - p.b) <= 1e-8 * terms).all()
    assert min(answer.s_lower.min(), answer.s_upper.min()) >= 0
    slope = p.times(z) + p.q + p.A.T @ answer.mu
    uncancelled = p.D * np.abs(z) + np.abs(p.V) @ (np.abs(p.V).T @ np.abs(z))
    sizes = uncancelled + np.abs(p.q) + np.abs(p.A).T @ np.abs(answer.mu) + answer.s_lower + answer.s_upper
    assert np.abs(slope - answer.s_lower + answer.s_upper).max() <= 1e-7 * sizes.max()
    products = [
        s[np.isfinite(bound)] @ np.abs(z - bound)[np.isfinite(bound)]
        for s, bound in ((answer.s_lower, p.lower), (answer.s_upper, p.upper))
    ]
    assert sum(products) <= 1e-7 * (np.abs(z) @ (uncancelled + np.abs(p.q)) + np.abs(answer.mu) @ terms)
    assert answer.iterations <= MOST_ITERATIONS


@pytest.mark.parametrize("unit", [1e-8, 1e5])
def test_units_do_not_matter(unit):
    p = program(rank=5)
    here = minimise(p)
    there = minimise(
        LowRankProgram(p.D, p.V / unit, p.q / unit, p.lower * unit, p.upper * unit, 7 * p.A / unit, 7 * p.b)
    )
    np.testing.assert_allclose(there.z / unit, here.z, atol=1e-6 * p.upper.max())
    assert (here.status, there.status) == ("converged", "converged")
    dear = minimise(LowRankProgram(p.D, unit * p.V, unit**2 * p.q, p.lower, p.upper, p.A, p.b))
    assert dear.iterations == here.iterations


def test_a_large_constant_makes_a_gap_small():
    p = program()
    exact = minimise(p)
    assert minimise(changed(p)).iterations == exact.iterations
    rough = minimise(LowRankProgram(p.D, p.V, p.q, p.lower, p.upper, p.A, p.b, constant=1e9))
    assert rough.iterations < exact.iterations


@pytest.mark.parametrize(
    ("p", "status"),
    [
        (changed(program(), b=program().b + 1e6), "stalled"),
        (changed(program(rows=1), A=np.ones((2, 30)), b=np.array([1.0, 2.0])), "inconsistent rows"),
        (changed(program(rows=0), q=-np.ones(30), upper=np.full(30, INF)), "stalled"),
    ],
    ids=["no feasible point", "contradicting rows", "unbounded"],
)
def test_what_has_no_solution_is_not_called_solved(p, status):
    answer = minimise(p)
    assert answer.status == status
    assert answer.error > 1e-3


@pytest.mark.parametrize("spread", [0, 4, 8])
def test_the_newton_system_is_solved_however_far_its_diagonal_spreads(spread):
    p = program(n=60, rank=12)
    theta = 10.0 ** np.random.default_rng(spread).uniform(-spread, spread, 60)
    f, g = np.random.default_rng(1).normal(size=60), np.ones(2)
    dz, dmu = _Newton(p, theta).solve(f, g)
    rest = f - theta * dz - p.V @ (p.V.T @ dz) - p.A.T @ dmu
    assert np.linalg.norm(rest / np.sqrt(theta)) <= 1e-6 * np.linalg.norm(f / np.sqrt(theta))
    assert np.abs(p.A @ dz - g).max() <= 1e-6


# The solver


def sample_of(task, kernel, n=120):
    return kopt.Sample(*data(task, n, 1.0, np.random.default_rng(3)), kernel=kernel)


def moons(n, seed=0):
    points, y = make_moons(n, noise=0.3, random_state=seed)
    points = StandardScaler().fit_transform(points)
    return kopt.Sample(points, np.where(y > 0, 1, -1), kernel=Gaussian.from_gamma(1.0))


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.3), 0.3 * Linear() + Gaussian(0.9)], ids=repr)
@pytest.mark.parametrize(
    "formulation",
    [
        SoftMargin(C=0.02),
        SoftMargin(C=70.0),
        NuSoftMargin(nu=0.4),
        TwoNormSoftMargin(C=3.0),
        EpsilonInsensitive(C=5.0, epsilon=0.2),
        NuRegression(),
        OneClass(),
        Hypersphere(),
    ],
    ids=repr,
)
def test_the_certificate_holds(formulation, kernel):
    sample = sample_of(formulation.task, kernel)
    solution = kopt.solve(formulation, sample, method="LOW_RANK")
    assert solution.attempts[0].status == "solved"
    assert solution.certificate.holds(CERTIFIED)
    best = kopt.solve(formulation, sample, method="DENSE").certificate
    scale = max(solution.certificate.as_given.scale, best.as_given.scale)
    assert abs(solution.certificate.as_given.dual_value - best.as_given.dual_value) <= VALUE * scale


def test_the_matrix_is_never_formed():
    sample = moons(700)
    sample.grams["k"].budget = 1
    solution = kopt.solve(SoftMargin(C=10.0), sample, method="LOW_RANK", side="dual")
    assert solution.certificate.holds(CERTIFIED)


@pytest.mark.parametrize("tolerances", [low_rank.TOLERANCES, (1e-12,)])
def test_most_points_rest_exactly_at_their_bounds(tolerances, monkeypatch):
    monkeypatch.setattr(low_rank, "TOLERANCES", tolerances)
    sample, C = moons(1500), 10.0
    solution = kopt.solve(SoftMargin(C=C), sample, method="LOW_RANK")
    alpha = solution.dual.alpha
    inside = np.count_nonzero((alpha > 0) & (alpha < C))
    assert solution.certificate.holds(CERTIFIED)
    assert inside <= 200
    assert np.count_nonzero(alpha) <= 0.4 * sample.n


def test_rounds_make_up_for_a_rank_that_is_too_low():
    every = moons(600)
    sample = kopt.Sample(every.X, every.y, kernel=Gaussian.from_gamma(1.0), budget=8 * 600 * 80 * COPIES)
    answer = LowRank().solve(problem := Problem(SoftMargin(C=1.0), sample))
    assert answer.status == "solved"
    assert problem.watch.history[0].relative_gap > CERTIFIED
    assert pivoted_cholesky(sample.gram(), 1e-6, most=80).remaining.max() > 1e-4


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_a_slow_spectrum_is_admitted(C):
    with pytest.warns(CertificateWarning):
        solution = kopt.solve(SoftMargin(C=C), mc(1200), method="LOW_RANK")
    assert solution.attempts[0].status.startswith("not solved: at rank 500, which leaves ")
    assert not solution.certificate.holds(CERTIFIED)


@pytest.mark.parametrize("n", [150, 1200])
@pytest.mark.parametrize("C", [1e-3, 0.1, 1e3])
def test_solved_is_said_of_what_is_certified_only(n, C):
    sample, formulation = mc(n, seed=2), SoftMargin(C=C)
    answer = LowRank().solve(Problem(formulation, sample))
    certificate = kopt.verify(formulation, sample, answer.values)
    assert certificate.holds(CERTIFIED) or answer.status.startswith("not solved")
    assert n > 150 or answer.status == "solved"


def test_the_rank_is_raised_where_it_was_not_enough():
    problem = Problem(SoftMargin(C=1e5), moons(600), tolerance=1e-8)
    answer = LowRank().solve(problem)
    gaps = [moment.relative_gap for moment in problem.watch.history]
    assert answer.status == "solved"
    assert gaps[0] > 1e-8
    assert min(gaps) <= 1e-8


def test_the_budget_bounds_the_rank():
    every = sample_of(SoftMargin.task, Linear())
    sample = kopt.Sample(every.X, every.y, kernel=Gaussian(0.3), budget=8 * 120 * 10 * COPIES)
    answer = LowRank().solve(Problem(SoftMargin(C=100.0), sample))
    assert answer.status.startswith("not solved: at rank 10, ")


def test_the_history_holds_both_values_of_each_round():
    sample, seen = moons(400), []
    solution = kopt.solve(SoftMargin(C=50.0), sample, method="LOW_RANK", callback=seen.append)
    assert tuple(seen) == solution.history
    optimum = solution.certificate.bounds
    for moment in solution.history:
        assert moment.dual <= optimum.upper + 1e-9 * abs(optimum.upper)
        assert moment.primal >= optimum.lower - 1e-9 * abs(optimum.lower)
        assert 0 < moment.support_vectors <= sample.n


def test_ctrl_c_leaves_the_best_answer_so_far():
    def stop(moment):
        raise KeyboardInterrupt

    formulation, sample = SoftMargin(C=50.0), moons(400)
    with pytest.warns(CertificateWarning):
        solution = kopt.solve(formulation, sample, method="LOW_RANK", callback=stop, tolerance=1e-12)
    assert solution.attempts[0].status == INTERRUPTED
    assert len(solution.history) == 1
    assert solution.certificate.bounds.relative_gap <= 1e-2


def test_before_the_first_round_ends_the_answer_is_the_start(monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    formulation, sample = SoftMargin(C=50.0), moons(400)
    first = kopt.solve(formulation, sample, method="LOW_RANK")
    monkeypatch.setattr(low_rank, "minimise", stop)
    again = LowRank().solve(Problem(formulation, sample, start=first.dual))
    np.testing.assert_array_equal(again.values["alpha"], first.dual.alpha)
    assert again.status == INTERRUPTED


@pytest.mark.parametrize(
    ("formulation", "side", "reason"),
    [
        (LogisticRegression(), "dual", "not differentiable"),
        (LeastSquares(), "dual", "0 kernel terms, not one"),
        (SoftMargin(), "primal", "duals only"),
    ],
    ids=repr,
)
def test_other_duals_are_refused_with_the_reason(formulation, side, reason):
    sample = sample_of(formulation.task, Linear(), n=20)
    with pytest.raises(InputError, match=reason):
        kopt.solve(formulation, sample, side=side, method="LOW_RANK")


def test_it_has_to_be_named():
    assert LowRank().place(Problem(SoftMargin(), moons(40))) is None


# The gap


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "formulation", [SoftMargin(C=2.0), NuSoftMargin(nu=0.4), TwoNormSoftMargin(C=3.0), Hypersphere()], ids=repr
)
def test_the_gap_bounds_the_distance_to_the_optimum_for_any_multipliers(formulation, seed):
    sample = sample_of(formulation.task, Gaussian(1.3), n=40)
    quadratic = Problem(formulation, sample).quadratic
    P, q = quadratic.dense()
    scale = quadratic.linear[0] / q[0] if quadratic.linear[0] else np.inf
    best, _ = piqp(P, q, quadratic.feasible)
    draw = np.random.default_rng(seed)
    z = nearby_point(best + draw.normal(size=len(q)) * draw.choice([1e-3, 1.0]), quadratic.feasible)
    if not np.isfinite(scale):
        scale = 1e-4 * max(np.mean(2 * term.factor * term.gram.diagonal.mean()) for term in quadratic.terms)

    def value(v):
        return scale * (0.5 * v @ P @ v + q @ v)

    at = _Point(z, scale * (P @ z + q), value(z))
    mu = draw.normal(size=len(quadratic.feasible.rows[1]))
    gap = _gap(quadratic, _implied_box(quadratic.feasible), at, mu)
    assert np.isfinite(gap)
    assert gap >= value(z) - value(best) - 1e-9 * abs(value(best))


def test_the_gap_of_a_machine_without_upper_bounds_vanishes_at_its_solution_only():
    sample = kopt.Sample([[0.0], [1.0], [4.0], [5.0]], [-1, -1, 1, 1])
    problem = Problem(HardMargin(), sample)
    answer = LowRank().solve(problem)
    assert answer.status == "solved"
    np.testing.assert_allclose(answer.values["alpha"], [0.0, 2 / 9, 2 / 9, 0.0], atol=1e-6)
    nothing = _Point(np.zeros(4), problem.quadratic.linear, 0.0)
    box = _implied_box(problem.quadratic.feasible)
    assert _gap(problem.quadratic, box, nothing, np.zeros(1)) == INF


def line(**fields):
    """min 1/2 v^2 - v over the v >= 0 with v <= 2 as a row."""
    feasible = Polyhedron([0.0], [fields.pop("upper", 1.0)], G=[[1.0]], h=[2.0])
    return QuadraticProgram({}, (), np.ones(1), -np.ones(1), feasible)


@pytest.mark.parametrize(("mu", "gap"), [(0.0, 0.5), (-10.0, 0.5), (0.5, 1.125)])
def test_the_gap_in_one_variable_is_what_can_be_computed_by_hand(mu, gap):
    nothing = _Point(np.zeros(1), -np.ones(1), 0.0)
    for upper in (1.0, INF):
        program = line(upper=upper)
        assert _gap(program, program.feasible.box, nothing, np.array([mu])) == pytest.approx(gap)


def test_a_step_ends_where_the_objective_is_smallest():
    P = np.array([[2.0, 0.5], [0.5, 1.0]])

    def point(z):
        return _Point(z, P @ z - 1, 0.5 * z @ P @ z - z.sum())

    now, far, near, behind = (point(np.array(z)) for z in ([0.0, 0.0], [4.0, 4.0], [0.1, 0.1], [-1.0, -1.0]))
    lowest = _lowest(now, far)
    assert lowest.z.tolist() == [0.5, 0.5]
    assert lowest.value == pytest.approx(point(lowest.z).value)
    np.testing.assert_allclose(lowest.slope, point(lowest.z).slope)
    assert _lowest(now, near) is near
    assert _lowest(now, behind) is now


def test_a_row_of_positive_terms_bounds_them():
    lower, upper = _implied_box(Polyhedron(np.zeros(3), [INF, INF, 0.5], A=[[1.0, 2.0, 1.0]], b=[4.0]))
    assert (lower.tolist(), upper.tolist()) == ([0, 0, 0], [4, 2, 0.5])
    lower, upper = _implied_box(Polyhedron([0, -INF], [INF, 1.0], G=[[1.0, -1.0]], h=[2.0]))
    assert (lower.tolist(), upper.tolist()) == ([0, -2], [3, 1])
