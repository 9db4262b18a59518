"""Machines that learn a kernel with their margin: against the plain machines, against each other, and mutated."""

import warnings
from functools import cache
from itertools import islice

import cvxpy as cp
import numpy as np
import pytest

import formulations.kernel_learning as learning
import kopt
from formulations.kernel_learning.instances import several_kernels
from kopt import InputError, Judgement, Program, Sample
from kopt.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial
from kopt.views import ProductView
from tests.tolerances import CERTIFIED, CLAIM, DIFFERENT, ENCLOSURE, MAP, MULTIPLIER, PRIMAL_SIDE, VALUE, WEIGHT

FAMILIES = ["SoftMargin", "HardMargin", "TwoNorm"]
NON_NEGATIVE = {name: getattr(learning, f"{name}KernelLearning") for name in FAMILIES}
SEMIDEFINITE = {name: getattr(learning, f"Semidefinite{name}KernelLearning") for name in FAMILIES}
CLASSES = [*NON_NEGATIVE.values(), *SEMIDEFINITE.values()]
SOFT = [NON_NEGATIVE["SoftMargin"], SEMIDEFINITE["SoftMargin"]]
KERNELS: dict[str, Kernel] = {"linear": Linear(), "wide": Gaussian(sigma=1.4), "narrow": Gaussian(sigma=0.7)}

every_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
every_family = pytest.mark.parametrize("family", FAMILIES)
every_semidefinite = pytest.mark.parametrize("cls", SEMIDEFINITE.values(), ids=lambda cls: cls.__name__)


def is_semidefinite(cls) -> bool:
    return cls in SEMIDEFINITE.values()


def made(cls, **parameters) -> kopt.Formulation:
    """A member with parameters that are not 1, those that it has."""
    known = {"C": 1.7, "c": 0.6, **parameters}
    return cls(**{name: value for name, value in known.items() if name in cls.__dataclass_fields__})


def points(n: int = 14, overlap: bool = True, seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, 2)) * [1.0, 1.5] + [0.4, -0.2], 2)
    y = np.where(X[:, 0] * X[:, 1] + 0.4 * rng.standard_normal(n) * overlap > -0.1, 1.0, -1.0)
    return X, y


def sample(kernels=KERNELS, costs: bool = False, **options) -> Sample:
    X, y = points(**options)
    return Sample(X, y, kernel=kernels, costs=np.linspace(0.5, 2.0, len(y)) if costs else None)


def best(formulation: kopt.Formulation, s: Sample) -> kopt.Solution:
    """The answer of the side on which conic solvers are most accurate.

    From multipliers of a primal, which are the less accurate ones, bounds follow that may be wider than a certificate
    allows.
    """
    side = "primal" if is_semidefinite(type(formulation)) else "dual"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kopt.CertificateWarning)
        solution = kopt.solve(formulation, s, side=side)
    assert solution.certificate.as_given.worst <= CERTIFIED
    assert solution.certificate.bounds.relative_gap <= PRIMAL_SIDE
    return solution


@cache
def solved(cls, p: float = 1.0) -> kopt.Solution:
    return best(made(cls, p=p), sample())


NEW = np.random.default_rng(9).standard_normal((11, 2))


def plain(solution: kopt.Solution, kernel: Kernel, costs=None) -> kopt.Solution:
    """The machine for one kernel, on the same points."""
    old = solution.sample
    return kopt.solve(solution.formulation.machine(), Sample(old.X, old.y, kernel=kernel, costs=costs))


class TestPlainMachines:
    @every_class
    @pytest.mark.parametrize(
        "kernel", [Gaussian(sigma=1.1), Polynomial(degree=2, R=0.7) + Gaussian(sigma=0.8)], ids=repr
    )
    def test_one_kernel_gives_the_plain_machine_back(self, cls, kernel):
        """The weight is c / r, whatever p is."""
        X, y = points()
        c = 0.6
        weight = c / np.mean(kernel.diagonal(X))
        for p in (1.0, 1.7):
            solution = best(made(cls, c=c, p=p), Sample(X, y, kernel=kernel))
            one = plain(solution, weight * kernel)
            scale = one.certificate.as_given.scale
            np.testing.assert_allclose(solution.primal.mu, [weight], rtol=CERTIFIED)
            assert solution.value == pytest.approx(one.value, abs=VALUE * scale)
            f = one.decision_function(X)
            np.testing.assert_allclose(solution.decision_function(X), f, atol=MULTIPLIER * np.max(np.abs(f)))
            assert solution.primal.b == pytest.approx(one.primal.b, abs=MULTIPLIER * np.max(np.abs(f)))
            if not is_semidefinite(cls):
                assert solution.primal["w[k]"].norm_squared / weight == pytest.approx(
                    one.primal.w.norm_squared, rel=WEIGHT
                )

    @every_class
    @pytest.mark.parametrize("p", [1.0, 1.5, 4.0])
    def test_the_learnt_kernel_in_the_plain_machine_gives_the_same(self, cls, p):
        """Value, offset and decision, also on new points."""
        if is_semidefinite(cls) and p != 1:
            pytest.skip("weights of any sign are bounded by the trace alone")
        solution = solved(cls, p)
        one = plain(solution, solution.kernel)
        assert one.value == pytest.approx(solution.value, abs=VALUE * one.certificate.as_given.scale)
        f = one.decision_function(NEW)
        np.testing.assert_allclose(solution.decision_function(NEW), f, atol=MULTIPLIER * np.max(np.abs(f)))
        assert np.array_equal(solution.predict(NEW), one.predict(NEW))

    @every_class
    def test_costs_per_point(self, cls):
        """They are those of the plain machine, or refused where it has none."""
        s = sample(costs=True)
        formulation = made(cls)
        if "C" not in cls.__dataclass_fields__:
            with pytest.raises(InputError, match="costs"):
                kopt.solve(formulation, s)
            return
        solution = best(formulation, s)
        one = plain(solution, solution.kernel, costs=s.costs)
        assert one.value == pytest.approx(solution.value, abs=VALUE * one.certificate.as_given.scale)
        assert abs(solution.value - solved(cls).value) > DIFFERENT * solution.value

    @every_class
    def test_costs_are_repetitions(self, cls):
        """The trace bound is on a mean over the points: c changes by the mean of k(x, x), which is 1 here."""
        if "C" not in cls.__dataclass_fields__:
            pytest.skip("it has no costs")
        X, y = points(9)
        times = np.array([1, 2, 1, 3, 1, 1, 2, 1, 1])
        kernels = {"wide": Gaussian(sigma=1.4), "narrow": Gaussian(sigma=0.7), "laplacian": Laplacian(sigma=1.0)}
        one = best(made(cls), Sample(X, y, kernel=kernels, costs=times))
        other = best(made(cls), Sample(np.repeat(X, times, axis=0), np.repeat(y, times), kernel=kernels))
        assert other.value == pytest.approx(one.value, abs=VALUE * one.certificate.as_given.scale)
        np.testing.assert_allclose(other.primal.mu, one.primal.mu, atol=WEIGHT * np.max(np.abs(one.primal.mu)))


class TestOrder:
    @every_family
    def test_more_freedom_is_no_worse(self, family):
        """Weights of any sign, weights >= 0 of bounded trace, one kernel of that trace."""
        free, few = solved(SEMIDEFINITE[family]).value, solved(NON_NEGATIVE[family]).value
        X, y = points()
        alone = [
            best(made(NON_NEGATIVE[family]), Sample(X, y, kernel={name: kernel})).value
            for name, kernel in KERNELS.items()
            if not (family == "HardMargin" and name == "linear")
        ]
        slack = VALUE * few
        assert free <= few + slack
        assert few <= min(alone) + slack

    def test_a_negative_weight_can_pay(self):
        """Differences of kernels sharpen them: the optimum is smaller by more than any tolerance."""
        X, y = points(12, seed=8)
        s = Sample(X, y, kernel={"wide": Gaussian(sigma=2.0), "narrow": Gaussian(sigma=0.8)})
        free, few = (best(made(family["HardMargin"]), s) for family in (SEMIDEFINITE, NON_NEGATIVE))
        assert np.min(free.primal.mu) < -DIFFERENT
        assert free.value < few.value * (1 - DIFFERENT)
        assert np.linalg.eigvalsh(free.kernel(X, X))[0] >= -CERTIFIED

    @every_family
    def test_p_of_1_is_sparse_and_a_large_p_is_uniform(self, family):
        r = np.array([np.mean(kernel.diagonal(points()[0])) for kernel in KERNELS.values()])
        one, many = (solved(NON_NEGATIVE[family], p).primal.mu * r for p in (1.0, 60.0))
        assert np.sum(one == 0) >= 1
        assert one.sum() == pytest.approx(0.6)
        np.testing.assert_allclose(many, 0.6, rtol=0.1)

    @every_family
    def test_the_optimum_falls_as_p_grows(self, family):
        values = [solved(NON_NEGATIVE[family], p).value for p in (1.0, 1.2, 1.5, 2.0, 4.0, 60.0)]
        assert np.all(np.diff(values) <= VALUE * values[0])
        assert values[-1] < values[0] * (1 - DIFFERENT)

    @every_family
    def test_p_near_1_is_near_p_of_1(self, family):
        near, at = solved(NON_NEGATIVE[family], 1.02).value, solved(NON_NEGATIVE[family], 1.0).value
        assert near == pytest.approx(at, rel=0.05)


class TestNorms:
    @pytest.mark.parametrize("cls", NON_NEGATIVE.values(), ids=lambda cls: cls.__name__)
    @pytest.mark.parametrize("p", [1.02, 1.0567, 1.73205, 2.71828, 40.0])
    def test_norms_that_are_no_simple_fractions(self, cls, p):
        solution = solved(cls, p)
        assert solution.certificate.holds(CERTIFIED), str(solution.certificate)
        assert solution.certificate.bounds.consistent

    @pytest.mark.parametrize("p", [0.5, 1.001, 1e4, np.inf])
    def test_norms_whose_dual_norm_has_no_numbers_are_refused(self, p):
        with pytest.raises(InputError, match=r"must be 1, or a number from 1\.02 to 1000\. Choose p so\."):
            NON_NEGATIVE["SoftMargin"](p=p)


class TestUnits:
    @pytest.mark.parametrize("size", [1e-8, 1e-3, 1e8])
    def test_semidefinite_machines_in_other_units_have_bounds_as_narrow(self, size):
        """C K and C c stay."""
        cls = SEMIDEFINITE["SoftMargin"]
        one, other = (kopt.solve(cls(C=C, c=1 / C), sample()) for C in (1.0, size))
        assert other.value == pytest.approx(size * one.value, rel=VALUE)
        for solution in (one, other):
            assert solution.certificate.holds(CERTIFIED)
            assert solution.certificate.bounds.upper - solution.certificate.bounds.lower <= CERTIFIED * solution.value


class TestDuplicates:
    @every_class
    def test_kernels_that_are_there_twice_share_their_weight(self, cls):
        X, y = points()
        twice = {"wide": KERNELS["wide"], "narrow": KERNELS["narrow"], "again": KERNELS["wide"]}
        once = Sample(X, y, kernel={name: KERNELS[name] for name in ("wide", "narrow")})
        two, one = best(made(cls), Sample(X, y, kernel=twice)), best(made(cls), once)
        assert two.certificate.holds(CERTIFIED)
        assert two.value == pytest.approx(one.value, abs=VALUE * one.certificate.as_given.scale)
        mu = two.primal.mu
        np.testing.assert_allclose(
            [mu[0] + mu[2], mu[1]], one.primal.mu, atol=10 * WEIGHT * np.max(np.abs(one.primal.mu))
        )

    @every_semidefinite
    def test_they_do_not_spoil_the_recovery(self, cls):
        """From the dual variables alone."""
        X, y = points()
        twice = Sample(X, y, kernel={"wide": KERNELS["wide"], "narrow": KERNELS["narrow"], "again": KERNELS["wide"]})
        found = best(made(cls), twice)
        certificate = kopt.verify(made(cls), twice, {name: found.dual[name] for name in ("alpha", "V", "tau")})
        assert certificate.bounds.relative_gap <= 10 * CERTIFIED

    @every_semidefinite
    def test_combinations_that_are_singular_for_all_weights(self, cls):
        """Linear kernels of few features."""
        rng = np.random.default_rng(2)
        X = rng.standard_normal((12, 3))
        y = np.where(X @ [1.0, 0.5, -0.4] > 0.1, 1.0, -1.0)
        X += 0.5 * y[:, None] * [1.0, 0.5, -0.4]
        grams = {str(j): np.outer(X[:, j], X[:, j]) for j in range(3)}
        s = Sample.from_gram({**grams, "all": X @ X.T}, y)
        found = best(made(cls), s)
        certificate = kopt.verify(made(cls), s, {name: found.dual[name] for name in ("alpha", "V", "tau")})
        assert certificate.bounds.notes == ()
        assert certificate.bounds.relative_gap <= 10 * CERTIFIED


class TestReferee:
    @every_class
    def test_the_declared_pair_is_exact(self, cls):
        assert kopt.referee(cls, instances=6).judgement is Judgement.EXACT

    @every_class
    @pytest.mark.parametrize("side", ["dual", "primal"])
    def test_its_instances_are_certified(self, cls, side):
        # On the primal side of the hinge loss an error of alpha counts to first order in the upper bound.
        for formulation, s in islice(cls.instances(np.random.default_rng(1)), 4):
            certificate = kopt.solve(formulation, s, side=side).certificate
            assert certificate.as_given.worst <= CERTIFIED
            assert certificate.bounds.relative_gap <= (CERTIFIED if side == "dual" else 10 * CERTIFIED)
            assert [claim for claim in certificate.claims if not claim.holds(CLAIM)] == []


def mutant(cls, change):
    """A subclass whose dual is changed."""

    class Mutated(cls):
        def dual(self, s):
            return change(self, s, super().dual(s))

    return Mutated


def gain_of(formulation, s, alpha) -> cp.Expression:
    """The dual objective without the length."""
    gain = cp.sum(alpha)
    if isinstance(formulation, (NON_NEGATIVE["TwoNorm"], SEMIDEFINITE["TwoNorm"])):
        gain -= 0.5 / formulation.C * cp.sum(cp.multiply(1 / s.costs, cp.square(alpha)))
    return gain


def with_length(factor):
    """The dual in which the length of the vectors, or the price of the trace, counts so many times."""

    def change(self, s, program):
        alpha = program.variables["alpha"]
        gain = gain_of(self, s, alpha)
        if "tau" in program.variables:
            lost = self.c * s.n * program.variables["tau"]
        else:
            lost = self._weights(s).length(cp.multiply(s.y, alpha))
        number = factor(self, s) if callable(factor) else factor
        return Program(
            cp.Maximize(gain - number * lost),
            program.constraints,
            domain=program.domain,
            multipliers=program.multipliers,
        )

    return change


def without(name):
    def change(self, s, program):
        kept = {key: constraint for key, constraint in program.constraints.items() if key != name}
        return Program(program.objective, kept, domain=program.domain, multipliers=program.multipliers)

    return change


def instead(name, constraint):
    def change(self, s, program):
        changed = {**program.constraints, name: constraint(self, s, program.variables)}
        return Program(program.objective, changed, domain=program.domain, multipliers=program.multipliers)

    return change


class TestMutants:
    """A slip in the dual is refused, wherever it is; what the families share is tried with one of them."""

    @pytest.mark.parametrize(
        ("cls", "factor"),
        [(cls, 2.0) for cls in CLASSES]
        + [(cls, factor) for cls in SOFT for factor in (lambda self, s: 1 / self.c, lambda self, s: 1 / s.n, -1.0)],
        ids=[f"1/2 forgotten-{cls.__name__}" for cls in CLASSES]
        + [f"{slip}-{cls.__name__}" for cls in SOFT for slip in ("c forgotten", "l more", "sign")],
    )
    def test_a_wrong_factor(self, cls, factor):
        assert kopt.referee(mutant(cls, with_length(factor)), instances=4).judgement is Judgement.WRONG

    @every_class
    def test_a_forgotten_row(self, cls):
        assert kopt.referee(mutant(cls, without("b")), instances=4).judgement is Judgement.WRONG

    @pytest.mark.parametrize("cls", SOFT, ids=lambda c: c.__name__)
    def test_a_forgotten_bound(self, cls):
        assert kopt.referee(mutant(cls, without("xi")), instances=4).judgement is Judgement.WRONG

    def test_forgotten_traces(self):
        def change(self, s, program):
            alpha = program.variables["alpha"]
            q = cp.hstack([s.combination(cp.multiply(s.y, alpha), kernel=k).norm_squared for k in s.kernels])
            largest = cp.max(q) if self.p == 1 else cp.pnorm(q, self.p / (self.p - 1))
            return Program(
                cp.Maximize(gain_of(self, s, alpha) - self.c / 2 * largest),
                program.constraints,
                domain=program.domain,
                multipliers=program.multipliers,
            )

        assert kopt.referee(mutant(NON_NEGATIVE["SoftMargin"], change), instances=4).judgement is Judgement.WRONG

    @pytest.mark.parametrize("cls", [SEMIDEFINITE["SoftMargin"], SEMIDEFINITE["HardMargin"]], ids=lambda c: c.__name__)
    @pytest.mark.parametrize(
        ("name", "constraint"),
        [
            ("mu", lambda self, s, v: s.against(v["V"][:-1, :-1]) == v["tau"]),
            ("mu", lambda self, s, v: s.against(v["V"][:-1, :-1]) == -v["tau"] * s.traces),
            ("f", lambda self, s, v: v["V"][:-1, -1] + v["V"][-1, :-1] == cp.multiply(s.y, v["alpha"])),
            ("f", lambda self, s, v: v["V"][:-1, -1] + v["V"][-1, :-1] == cp.multiply(-s.y / 2, v["alpha"])),
            ("t", lambda self, s, v: v["V"][-1, -1] == 1),
        ],
        ids=["no traces", "sign of tau", "sign of v", "half of v", "1/2 forgotten"],
    )
    def test_a_wrong_stationarity(self, cls, name, constraint):
        verdict = kopt.referee(mutant(cls, instead(name, constraint)), instances=4)
        # Twice the last row and column of V belong to twice the primal, where no C gives the slacks a unit.
        expected = Judgement.SCALED if (name, "Hard" in cls.__name__) == ("t", True) else Judgement.WRONG
        assert verdict.judgement is expected

    @every_semidefinite
    def test_a_forgotten_cone(self, cls):
        def change(self, s, program):
            kept = [constraint for constraint in program.domain if not isinstance(constraint, cp.constraints.PSD)]
            return Program(program.objective, program.constraints, domain=kept, multipliers=program.multipliers)

        assert kopt.referee(mutant(cls, change), instances=4).judgement is Judgement.WRONG


class TestBounds:
    @every_class
    @pytest.mark.parametrize("kind", ["noise", "shifted", "huge", "zero", "one entry"])
    def test_junk_is_enclosed_but_not_certified(self, cls, kind):
        solution = solved(cls)
        rng, answer = np.random.default_rng(3), {}
        for name, variable in solution.formulation.dual(ProductView(solution.sample)).variables.items():
            if "combination" in name:
                continue
            value = np.asarray(solution.dual[name])
            noise = np.max(np.abs(value)) * rng.standard_normal(variable.shape)
            one = np.zeros(variable.size)
            one[0] = 1.0
            answer[name] = {
                "noise": noise,
                "shifted": value + 0.01 * noise,
                "huge": 1e9 * noise,
                "zero": 0 * value,
                "one entry": one.reshape(variable.shape),
            }[kind]
        certificate = kopt.verify(solution.formulation, solution.sample, answer)
        slack = ENCLOSURE * solution.certificate.as_given.scale + solution.certificate.bounds.gap
        assert not certificate.holds(CERTIFIED)
        assert certificate.bounds.lower <= solution.certificate.bounds.upper + slack
        assert certificate.bounds.upper >= solution.certificate.bounds.lower - slack
        assert np.isfinite(certificate.bounds.lower)
        if "HardMargin" not in cls.__name__:
            assert np.isfinite(certificate.bounds.upper)

    @every_semidefinite
    def test_the_multiplier_is_semidefinite_and_complementary(self, cls):
        solution = solved(cls)
        V, primal = solution.dual.V, solution.primal
        K = ProductView(solution.sample).mixture(primal.mu)
        block = np.block([[K, primal.f[:, None]], [primal.f, np.full((1, 1), primal.t)]])
        assert np.linalg.eigvalsh(V)[0] >= -CERTIFIED * np.max(np.abs(V))
        assert np.max(np.abs(V @ block)) <= MAP * np.max(np.abs(V)) * np.max(np.abs(block))
        v = solution.sample.y * solution.dual.alpha
        np.testing.assert_allclose(-2 * V[:-1, -1], v, atol=MAP * np.max(np.abs(v)))
        np.testing.assert_allclose(primal.f, K @ v, atol=MAP * np.max(np.abs(primal.f)))

    @every_semidefinite
    @pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
    def test_repaired_points_are_feasible_and_stay(self, cls, size):
        """From any numbers; once more, nothing moves."""
        formulation, s = made(cls), sample()
        view, rng = ProductView(s), np.random.default_rng(6)
        program = formulation.dual(view)
        junk = {name: size * rng.standard_normal(v.shape) for name, v in program.variables.items()}
        once = formulation.repair(view, kopt.Point(junk))
        again = formulation.repair(view, kopt.Point(once))
        for name, variable in program.variables.items():
            largest = np.max(np.abs(once[name])) + 1e-300
            np.testing.assert_allclose(again[name], once[name], atol=1e-12 * largest)
            variable.save_value(once[name])
        assert np.all(once["alpha"] >= 0)
        traces, V = view.traces, once["V"]
        off = view.against(V[:-1, :-1]) - once["tau"] * traces
        lengths = np.sqrt(np.diag(view.frobenius.products))
        assert np.max(np.abs(off) / lengths) <= 1e-12 * np.linalg.norm(V)
        assert np.linalg.eigvalsh(V)[0] >= -1e-13 * np.linalg.norm(V)

    def test_a_certificate_far_from_the_origin(self):
        """K of rank 2 with entries of 1e6, where conic solvers fail: it holds, with the one kernel's optimum."""
        X = np.random.default_rng(11).standard_normal((7, 2))
        y = np.array([1.0, -1.0, -1.0, 1.0, -1.0, -1.0, -1.0])
        X = X + 3 * y[:, None] + 1e3
        s = Sample(X, y, kernel=Linear())
        known = kopt.solve(learning.HardMarginKernelLearning(), s).certificate.bounds
        certificate = kopt.solve(learning.SemidefiniteHardMarginKernelLearning(), s).certificate
        assert certificate.holds(CERTIFIED)
        assert certificate.bounds.lower <= known.upper
        assert known.lower <= certificate.bounds.upper


class TestRefusals:
    @every_class
    def test_a_kernel_that_is_0_everywhere(self, cls):
        X, y = points()
        s = Sample.from_gram({"good": Gaussian(sigma=1.0)(X, X), "void": np.zeros((len(X), len(X)))}, y)
        with pytest.raises(InputError, match=r"trace of the kernel 'void' is 0.*\. Leave this kernel out"):
            kopt.solve(made(cls), s)

    @every_class
    def test_one_class_only(self, cls):
        with pytest.raises(InputError, match="both classes"):
            kopt.solve(made(cls), Sample([[0.0], [1.0]], [1, 1], kernel=dict(KERNELS)))

    @pytest.mark.parametrize("cls", [NON_NEGATIVE["HardMargin"], SEMIDEFINITE["HardMargin"]], ids=lambda c: c.__name__)
    def test_classes_that_no_combination_separates(self, cls):
        X, y = np.array([[0.0], [1.0], [1.0], [2.0]]), [-1, 1, -1, 1]
        with pytest.raises(InputError, match=r"not separable with any combination.*points 1, 2\. Learn the kernel"):
            kopt.solve(cls(), Sample(X, y, kernel=dict(KERNELS)))
        # One direction and its mirror image do not separate what lies between.
        with pytest.raises(InputError, match="not separable with any combination"):
            kopt.solve(cls(), Sample([[0.0], [1.0], [2.0]], [1, -1, 1], kernel={"a": Linear(), "b": 2.0 * Linear()}))
        assert kopt.solve(cls(), Sample(X[[0, 1, 3]], [-1, 1, 1], kernel=dict(KERNELS))).certificate.holds(CERTIFIED)

    @pytest.mark.parametrize("p", [0.5, np.inf, np.nan, "2"])
    def test_a_norm_that_is_none(self, p):
        with pytest.raises(InputError, match="p"):
            learning.TwoNormKernelLearning(p=p)


def test_the_kernels_of_the_instances_differ():
    for s in islice(several_kernels(np.random.default_rng(0)), 3):
        assert len({repr(kernel) for kernel in s.kernels.values()}) == len(s.kernels) == 3
