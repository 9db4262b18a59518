"""What every formulation that kopt finds must satisfy, on generated instances and on degenerate ones."""

import dataclasses
import warnings
from functools import cache

import cvxpy as cp
import numpy as np
import pytest

import kopt
from kopt import Combination, Sample, Task
from kopt.solvers import Problem
from kopt.solvers.dense import Dense
from kopt.views import ProductView
from tests.instances import (
    BY_NAME,
    FORMULATIONS,
    KERNELS,
    Instance,
    accepts,
    data,
    draw_parameters,
    instance,
    parameters,
    plainly_solved,
    trivial,
    vanishes,
    variable_names,
)
from tests.tolerances import CERTIFIED, CLAIM, ENCLOSURE, PRIMAL_SIDE, RAY, VALUE, VANISHING, WEIGHT

# Every kernel once; odd seeds have costs per point.
CASES = [("linear", 0), ("gaussian", 1), ("polynomial", 0), ("sum", 1)]
NAMES = list(BY_NAME)

every_name = pytest.mark.parametrize("name", NAMES)
every_case = pytest.mark.parametrize(("kernel", "seed"), CASES)


def solve_unwarned(formulation: kopt.Formulation, sample: Sample, **options: str) -> kopt.Solution:
    """Solve for tests that look at the certificate themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kopt.CertificateWarning)
        return kopt.solve(formulation, sample, **options)


@cache
def solved(name: str, kernel: str, seed: int, side: str, method: str = "CLARABEL") -> kopt.Solution:
    given = instance(name, kernel, seed)
    return solve_unwarned(given.formulation, given.sample, side=side, method=method)


@dataclasses.dataclass(frozen=True)
class Optimum:
    """The optimum as the certificate of the dual side encloses it."""

    lower: float
    upper: float
    scale: float

    @property
    def middle(self) -> float:
        return (self.lower + self.upper) / 2

    @property
    def slack(self) -> float:
        return ENCLOSURE * self.scale


@cache
def optimum(name: str, kernel: str, seed: int) -> Optimum:
    certificate = solved(name, kernel, seed, "dual").certificate
    return Optimum(certificate.bounds.lower, certificate.bounds.upper, certificate.as_given.scale)


def assert_encloses(bounds, known: Optimum) -> None:
    assert bounds.lower <= known.upper + known.slack
    assert bounds.upper >= known.lower - known.slack


def weights(solution: kopt.Solution) -> dict[str, Combination]:
    return {name: value for name, value in solution.primal.items() if isinstance(value, Combination)}


def failures(certificate: kopt.Certificate, tolerance: float) -> list[str]:
    return [f"{block}, {name}: {r.relative:.1e}" for block, name, r in certificate.as_given.failures(tolerance)]


def measured_failures(certificate: kopt.Certificate) -> list[str]:
    """The failures of a primal alone, without the kinked variables whose stationarity only a dual can show."""
    notes = certificate.as_given.notes
    unmeasured = [name for name in certificate.primal if any(f"in {name} cannot be measured" in note for note in notes)]
    found = failures(certificate, PRIMAL_SIDE)
    return [each for each in found if each not in [f"stationarity, {name}: inf" for name in unmeasured]]


@every_case
@every_name
class TestBothSides:
    def test_the_dual_side_is_certified(self, name, kernel, seed):
        certificate = solved(name, kernel, seed, "dual").certificate
        assert failures(certificate, CERTIFIED) == []
        assert certificate.holds(CERTIFIED)
        assert certificate.bounds.relative_gap <= CERTIFIED
        assert certificate.bounds.notes == ()

    def test_the_bounds_enclose_the_optimum_of_plain_cvxpy(self, name, kernel, seed):
        known = optimum(name, kernel, seed)
        assert known.lower <= known.upper
        value = instance(name, kernel, seed).optimum
        assert known.lower - CERTIFIED * known.scale <= value <= known.upper + CERTIFIED * known.scale

    @pytest.mark.parametrize("side", ["dual", "primal"])
    def test_the_claims_hold(self, name, kernel, seed, side):
        claims = solved(name, kernel, seed, side).certificate.claims
        assert claims
        assert [claim for claim in claims if not claim.holds(CLAIM)] == []

    def test_the_primal_side_agrees(self, name, kernel, seed):
        solution, known = solved(name, kernel, seed, "primal"), optimum(name, kernel, seed)
        assert failures(solution.certificate, PRIMAL_SIDE) == []
        assert abs(solution.value - known.middle) <= CERTIFIED * known.scale
        assert_encloses(solution.certificate.bounds, known)

    def test_the_weight_vectors_agree(self, name, kernel, seed):
        # Every optimum here is not 0, so every machine pays for the length of its weight vectors: they are unique. One
        # of several that vanishes has no size of its own.
        given = instance(name, kernel, seed)
        view = ProductView(given.sample)
        given.formulation.primal(view)
        primal, dual = (weights(solved(name, kernel, seed, side)) for side in ("primal", "dual"))
        assert primal.keys() == dual.keys() == view.weights.keys()
        largest = max((w.norm for w in dual.values()), default=0.0)
        for key, w in dual.items():
            size = largest if w.norm <= VANISHING * largest else w.norm
            assert (primal[key] - w).norm <= WEIGHT * size

    def test_the_dense_solver_agrees_or_gives_a_reason(self, name, kernel, seed):
        given, known = instance(name, kernel, seed), optimum(name, kernel, seed)
        reason = Dense().accepts(Problem(given.formulation, given.sample))
        if reason is not None:
            assert reason.strip()
            with pytest.raises(kopt.InputError) as caught:
                kopt.solve(given.formulation, given.sample, method="DENSE")
            assert reason in caught.value.what
            return
        solution = solved(name, kernel, seed, "dual", "DENSE")
        assert solution.certificate.holds(CERTIFIED)
        assert abs(solution.value - known.middle) <= CERTIFIED * known.scale


@every_name
def test_the_dense_solver_leaves_primals_alone(name):
    given = instance(name, "gaussian", 0)
    assert Dense().accepts(Problem(given.formulation, given.sample, "primal"))


OTHER_SOLVERS = [
    (method, side, kernel)
    for method in ("OSQP", "SCS", "ECOS")
    for side, kernels in {"dual": ("linear", "sum"), "primal": ("polynomial",)}.items()
    for kernel in kernels
]


@pytest.mark.parametrize(("method", "side", "kernel"), OTHER_SOLVERS)
@every_name
def test_what_a_certificate_says_of_another_solver_is_true(name, kernel, side, method):
    given, known = instance(name, kernel, 1), optimum(name, kernel, 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", kopt.CertificateWarning)
        try:
            solution = kopt.solve(given.formulation, given.sample, side=side, method=method)
        except kopt.SolverError as refusal:
            assert_two_sentences(refusal)
            return
    certificate = solution.certificate
    assert bool(caught) == (not certificate.holds(CERTIFIED))
    assert_encloses(certificate.bounds, known)
    if certificate.holds(CERTIFIED):
        assert abs(solution.value - known.middle) <= VALUE * known.scale


@pytest.mark.parametrize("junk", ["noise", "zero", "shifted"])
@pytest.mark.parametrize("kernel", ["linear", "sum"])
@every_name
def test_junk_is_enclosed_but_never_certified(name, kernel, junk):
    given, known = instance(name, kernel, 0), optimum(name, kernel, 0)
    rng = np.random.default_rng(5)
    dual = solved(name, kernel, 0, "dual").dual
    answer, keys = {}, variable_names(given.formulation.problem(given.sample, "dual"))
    sizes = {key: float(np.max(np.abs(value))) for key, value in dual.items()}
    if junk == "zero" and max(sizes[key] for key in keys) <= VANISHING * max(sizes.values()):
        pytest.skip("0 is the optimum: no constraint with a multiplier of its own is active")
    for key in keys:
        size = sizes[key] if sizes[key] > VANISHING * max(sizes.values()) else max(sizes.values())
        noise = size * rng.standard_normal(np.shape(dual[key]))
        answer[key] = {"noise": noise, "zero": 0 * noise, "shifted": dual[key] + 0.01 * noise}[junk]
    certificate = kopt.verify(given.formulation, given.sample, answer)
    assert not certificate.holds(CERTIFIED)
    assert_encloses(certificate.bounds, known)


def without(given: Instance, *methods: str) -> kopt.Formulation:
    """The same formulation with some of its methods undeclared."""
    cls = type(given.formulation)
    bare = type(f"Bare{cls.__name__}", (cls,), {each: getattr(kopt.Formulation, each) for each in methods})
    return bare(**parameters(given.formulation))


NO_ROOM = {
    "HardMarginKernelLearning": (
        "directions from multipliers that a solver rounded reach no functional margin of 1 for any weights; the "
        "machine's own rule scales them"
    ),
}


@pytest.mark.parametrize("kernel", ["polynomial", "sum"])
@every_name
class TestPartsOfADeclaration:
    def test_a_primal_alone_is_solved(self, name, kernel):
        given, known = instance(name, kernel, 1), optimum(name, kernel, 1)
        solution = solve_unwarned(without(given, "dual", "recover"), given.sample, method="CLARABEL")
        assert solution.side == "primal"
        assert measured_failures(solution.certificate) == []
        assert abs(solution.value - known.middle) <= CERTIFIED * known.scale
        assert solution.certificate.bounds.notes == ("No bounds: no dual is declared.",)

    def test_the_dual_side_of_a_primal_alone_is_refused(self, name, kernel):
        given = instance(name, kernel, 1)
        with pytest.raises(kopt.InputError, match="declares no dual"):
            kopt.solve(without(given, "dual", "recover"), given.sample, side="dual")

    def test_recovery_by_optimality_agrees_with_the_declared_rule(self, name, kernel):
        if name in NO_ROOM:
            pytest.skip(NO_ROOM[name])
        given, known = instance(name, kernel, 1), optimum(name, kernel, 1)
        certificate = solve_unwarned(
            without(given, "recover"), given.sample, side="dual", method="CLARABEL"
        ).certificate
        assert abs(certificate.as_given.primal_value - known.middle) <= CERTIFIED * known.scale
        assert_encloses(certificate.bounds, known)


@every_name
class TestDeclaration:
    def test_it_says_where_it_stands(self, name):
        assert isinstance(BY_NAME[name].reference, kopt.Reference)
        assert BY_NAME[name].reference.text
        assert BY_NAME[name].reference.item

    def test_the_docstring_states_the_pair(self, name):
        assert "Primal" in BY_NAME[name].__doc__
        assert "Dual" in BY_NAME[name].__doc__

    def test_it_is_frozen(self, name):
        formulation = draw_parameters(BY_NAME[name], np.random.default_rng(0))
        for parameter in [*parameters(formulation), "anything"]:
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(formulation, parameter, 0.5)

    def test_its_repr_shows_the_parameters(self, name):
        formulation = draw_parameters(BY_NAME[name], np.random.default_rng(0))
        shown = ", ".join(f"{key}={value!r}" for key, value in parameters(formulation).items())
        assert repr(formulation) == f"{name}({shown})"

    def test_parameters_outside_their_domain_are_refused(self, name):
        for parameter in parameters(BY_NAME[name]()):
            for wrong in (-0.5, np.nan, np.inf, "1", True):
                with pytest.raises(kopt.InputError, match=parameter):
                    BY_NAME[name](**{parameter: wrong})

    @pytest.mark.parametrize("kernel", ["linear", "sum"])
    def test_both_sides_are_plain_convex_problems_with_the_same_value(self, name, kernel):
        given, known = instance(name, kernel, 0), optimum(name, kernel, 0)
        for side in ("primal", "dual"):
            problem = given.formulation.problem(given.sample, side)
            assert type(problem) is cp.Problem
            assert problem.is_dcp()
            assert abs(plainly_solved(problem) - known.middle) <= CERTIFIED * known.scale


def test_formulations_are_found():
    assert len(FORMULATIONS) >= 13
    assert len(BY_NAME) == len(FORMULATIONS)


def line(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((19, 1)) + 0.4
    return X, np.where(X[:, 0] + 0.6 * rng.standard_normal(19) > 0.5, 1.0, -1.0)


def degenerate(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Points and labels that are legal and awkward."""
    rng = np.random.default_rng(11)
    X, y = rng.standard_normal((7, 2)), np.array([1.0, -1.0, -1.0, 1.0, -1.0, -1.0, -1.0])
    separable = X + 3 * y[:, None]
    return {
        "one point per class": (np.array([[0.3, -1.0], [1.2, 0.4]]), np.array([-1.0, 1.0])),
        "duplicated points": (np.repeat(separable, [1, 2, 1, 3, 1, 1, 2], axis=0), np.repeat(y, [1, 2, 1, 3, 1, 1, 2])),
        "opposite duplicates": (np.tile(X, (2, 1)), np.append(y, -y)),
        "one opposite duplicate": (np.vstack([separable, separable[:1]]), np.append(y, -y[0])),
        "points on a line": line(rng),
        "constant features": (np.full((7, 2), 1.5), y),
        "one constant feature": (np.column_stack([separable[:, 0], np.full(7, 2.0)]), y),
        "all points at the origin": (np.zeros((7, 2)), y),
        "one point at the origin": (np.vstack([separable, np.zeros((1, 2))]), np.append(y, -1.0)),
        "far from the origin": (separable + 1e3, y),
    }[kind]


DEGENERATE = {
    "one point per class": ("linear",),
    "duplicated points": ("linear", "gaussian"),
    "opposite duplicates": ("linear", "gaussian"),
    "one opposite duplicate": ("linear", "gaussian"),
    "points on a line": ("linear",),
    "constant features": ("linear", "gaussian"),
    "one constant feature": ("linear",),
    "all points at the origin": ("linear",),
    "one point at the origin": ("linear",),
    "far from the origin": ("linear",),
}


BEYOND_SOLVERS = {
    ("SemidefiniteHardMarginKernelLearning", "far from the origin"): (
        "K has rank 2 and entries of 1e6: conic solvers leave 1e-10 of them in the block, and the optimum moves by a "
        "quarter; that the bounds enclose it is tested with the machine"
    ),
}


def labelled(task: Task, y: np.ndarray) -> np.ndarray | None:
    """Labels for classes, ranks, targets that vary between equal labels for regression, nothing for novelty."""
    if task is Task.NOVELTY:
        return None
    if task is Task.RANKING:
        return np.where(y < 0, 1.0, 2.0 + np.cumsum(y > 0) % 2) if np.sum(y > 0) > 1 else np.where(y < 0, 1.0, 2.0)
    return y if task is Task.CLASSIFICATION else y + 0.3 * np.sin(np.arange(len(y)))


def assert_two_sentences(error: kopt.KoptError) -> None:
    assert error.what.endswith(".")
    assert error.remedy.endswith(".")
    assert str(error) == f"{error.what} {error.remedy}"


def solved_or_refused(formulation: kopt.Formulation, sample: Sample) -> kopt.Solution | None:
    """The solution, or None where kopt refuses in two sentences; that no solver answers is not a refusal."""
    try:
        return solve_unwarned(formulation, sample)
    except kopt.SolverError as error:
        pytest.fail(f"gave up: {error}")
    except kopt.KoptError as error:
        assert_two_sentences(error)
        return None


def assert_certified(solution: kopt.Solution | None) -> None:
    """Whatever was solved is certified."""
    if solution is not None:
        assert failures(solution.certificate, CERTIFIED) == []
        assert solution.certificate.bounds.consistent


@cache
def solved_on_degenerate(name: str, kind: str, kernel: str) -> kopt.Solution | None:
    X, y = degenerate(kind)
    sample = Sample(X, labelled(BY_NAME[name].task, y), kernel=KERNELS[kernel])
    return solved_or_refused(BY_NAME[name](), sample)


# Machines without classes or ranks that need several points all the same, and why.
MORE_THAN_ONE_POINT = {
    "CentredAlignment": "centring makes a single target 0",
    "TransductiveAlignment": "it takes a training point and a test point",
}

every_degenerate = pytest.mark.parametrize(
    ("kind", "kernel"), [(kind, kernel) for kind, kernels in DEGENERATE.items() for kernel in kernels]
)


@every_name
class TestDegenerateData:
    @every_degenerate
    def test_it_is_certified_or_refused(self, name, kind, kernel):
        if (name, kind) in BEYOND_SOLVERS:
            pytest.skip(BEYOND_SOLVERS[name, kind])
        assert_certified(solved_on_degenerate(name, kind, kernel))

    @every_degenerate
    def test_the_claims_hold(self, name, kind, kernel):
        """The theory has no exceptions for degenerate data, or the claim must name them."""
        solution = solved_on_degenerate(name, kind, kernel)
        if solution is None or not solution.certificate.holds(CERTIFIED):
            pytest.skip("refused, or not certified (the test above says so): no optimum to make claims about")
        assert [claim for claim in solution.certificate.claims if not claim.holds(CLAIM)] == []

    def test_a_gram_matrix_of_rank_one(self, name):
        v = np.array([0.4, -1.3, 2.2, 0.9, -0.8, 1.7])
        y = labelled(BY_NAME[name].task, np.where(v > 0.5, 1.0, -1.0))
        assert_certified(solved_or_refused(BY_NAME[name](), Sample.from_gram(np.outer(v, v), y)))

    def test_a_single_point(self, name):
        y = labelled(BY_NAME[name].task, np.array([1.0]))
        solution = solved_or_refused(BY_NAME[name](), Sample([[0.7, -0.2]], y))
        assert_certified(solution)
        two_needed = BY_NAME[name].task in (Task.CLASSIFICATION, Task.RANKING) or name in MORE_THAN_ONE_POINT
        assert (solution is None) == two_needed

    def test_one_class_only(self, name):
        if BY_NAME[name].task is not Task.CLASSIFICATION:
            pytest.skip("only classification has classes")
        with pytest.raises(kopt.InputError, match="both classes"):
            kopt.solve(BY_NAME[name](), Sample([[0.0], [1.0], [2.0]], [1, 1, 1]))

    def test_an_optimum_that_is_trivial(self, name):
        """Overlapping classes for which only w = 0 does, or for which the bound on the norm of w has no price."""
        rng = np.random.default_rng(3)
        X, y = data(BY_NAME[name].task, 23, 1.0, rng)
        found = [given for given in (self.drawn(BY_NAME[name], Sample(X, y), rng) for _ in range(12)) if given]
        if not found:
            pytest.skip("no optimum of this machine is trivial")
        for formulation, sample, value in found[:2]:
            solution = solved_or_refused(formulation, sample)
            assert solution is not None
            assert_certified(solution)
            assert abs(solution.value - value) <= CERTIFIED * np.mean(sample.gram().diagonal)

    @staticmethod
    def drawn(cls, sample, rng):
        formulation = draw_parameters(cls, rng)
        if not accepts(formulation, sample):
            return None
        primal = formulation.problem(sample, "primal")
        value = plainly_solved(primal)
        return (formulation, sample, value) if value is not None and trivial(primal, sample) else None


@pytest.mark.parametrize("kind", ["opposite duplicates", "one opposite duplicate"])
def test_hard_margins_refuse_what_cannot_be_separated(kind):
    X, y = degenerate(kind)
    for kernel in KERNELS.values():
        with pytest.raises(kopt.Infeasible, match="not separable") as caught:
            kopt.solve(BY_NAME["HardMargin"](), Sample(X, y, kernel=kernel))
        ray = caught.value.ray.alpha
        assert abs(ray @ y) <= RAY * ray.sum()
        assert Sample(X, y, kernel=kernel).gram().norm_squared(ray * y) <= RAY * ray.sum() ** 2


@pytest.mark.parametrize("kind", ["opposite duplicates", "one opposite duplicate"])
def test_the_unit_hard_margin_of_what_cannot_be_separated_is_0(kind):
    X, y = degenerate(kind)
    solution = solve_unwarned(BY_NAME["UnitHardMargin"](), Sample(X, y))
    assert vanishes(solution.value, solution.sample)
    assert solution.certificate.holds(CERTIFIED)
