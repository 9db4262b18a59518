"""The dictionary between formulations: every entry in both directions, by solving both sides."""

import warnings
from collections.abc import Iterator
from functools import cache

import cvxpy as cp
import numpy as np
import pytest

import kopt
from formulations.classification import (
    HardMargin,
    NuSoftMargin,
    SoftMargin,
    TwoNormSoftMargin,
    UnitHardMargin,
    UnitNuSoftMargin,
    UnitSoftMargin,
    UnitTwoNormSoftMargin,
)
from formulations.maps.ridge_of_the_lectures import lambda_of_the_lectures, ridge_of_the_lectures
from formulations.novelty import Hypersphere, NuHypersphere, SoftHypersphere
from formulations.regression import EpsilonInsensitive, NuRegression, Ridge
from kopt import InputError, Sample, Solution, Task
from kopt.conversion import Conversion, entries
from kopt.kernels import Gaussian
from kopt.solvers.through_cvxpy import OPTIONS
from tests.instances import BY_NAME, KERNELS, data, instance, parameters
from tests.tolerances import CERTIFIED, DIFFERENT, LIBSVM_GAP, MAP, PRIMAL_SIDE, VALUE

ENTRIES = entries()
SEEDS = range(4)
# The maps between these two ask for a constant k(x, x).
CONSTANT_DIAGONAL = {"NuHypersphere", "OneClass"}
# Of these, many parameters have one image: the way back finds the smallest C.
SEVERAL_TO_ONE = ("HardMargin", "Hypersphere")

every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e.source.__name__}-{e.target.__name__}")
every_kernel = pytest.mark.parametrize("kernel", ["gaussian", "sum"])


@cache
def solved(name: str, kernel: str, seed: int) -> Solution:
    given = instance(name, kernel, seed)
    return kopt.solve(given.formulation, given.sample)


def solutions(cls: type, kernel: str) -> Iterator[Solution]:
    """Solutions of a formulation: on random instances, and as images of others, which reach special cases."""
    yield from (solved(cls.__name__, kernel, seed) for seed in SEEDS)
    for entry in ENTRIES:
        if entry.target is cls:
            images = (image(entry, solved(entry.source.__name__, kernel, seed)) for seed in SEEDS)
            yield from filter(None, images)


def image(entry: Conversion, solution: Solution) -> Solution | None:
    """What an entry makes of a solution; None where it refuses."""
    try:
        return entry(solution)
    except InputError:
        return None


@cache
def first_image(entry: Conversion, kernel: str) -> tuple[Solution, Solution]:
    for solution in solutions(entry.source, kernel):
        found = image(entry, solution)
        if found is not None:
            return solution, found
    assert {entry.source.__name__, entry.target.__name__} == CONSTANT_DIAGONAL, "refused everywhere"
    assert kernel != "gaussian"
    pytest.skip("refused everywhere: this map asks for a constant k(x, x), which the Gaussian kernel has")


@every_kernel
@every_entry
class TestEveryEntry:
    def test_the_image_is_what_the_target_finds_itself(self, entry, kernel):
        _, found = first_image(entry, kernel)
        assert found.certificate.holds(CERTIFIED), found.certificate
        solved_again = kopt.solve(found.formulation, found.sample)
        assert abs(found.value - solved_again.value) <= VALUE * solved_again.certificate.as_given.scale

    def test_there_and_back(self, entry, kernel):
        start, there = first_image(entry, kernel)
        reverse = [e for e in ENTRIES if e.source is entry.target and e.target is entry.source]
        if not reverse:
            pytest.skip("leads to another sample, from which nothing leads back; the test above solved both sides")
        back = reverse[0](there)
        assert back.certificate.holds(CERTIFIED)
        assert abs(back.value - start.value) <= VALUE * start.certificate.as_given.scale
        if entry.target.__name__ in SEVERAL_TO_ONE:
            return
        for name, value in parameters(start.formulation).items():
            assert getattr(back.formulation, name) == pytest.approx(value, rel=MAP)


@every_entry
def test_another_parameter_is_not_equivalent(entry):
    """The control: on some instance the same answer is not certified for a parameter that is two percent off."""
    for parameter in entry.target.__dataclass_fields__:
        found = (image(entry, solution) for kernel in KERNELS for solution in solutions(entry.source, kernel))
        assert any(each is not None and not holds_nearby(each, parameter) for each in found)


def holds_nearby(found: Solution, parameter: str) -> bool:
    """Whether an answer is certified for other parameters, too; also where those are refused."""
    try:
        given = parameters(found.formulation)
        other = type(found.formulation)(**{**given, parameter: 0.98 * given[parameter] or 0.02})
        values = {**found.dual, **found.primal}
        names = {*found.primal, *other.problem(found.sample, "dual").var_dict}
        return kopt.verify(other, found.sample, {name: values[name] for name in names}).holds(CERTIFIED)
    except InputError:
        return True


class TestConvert:
    sample = Sample(*data(Task.CLASSIFICATION, 31, 1.0, np.random.default_rng(0)), kernel=Gaussian(sigma=1.3))

    def test_several_entries_are_taken_in_turn(self):
        solution = kopt.solve(SoftMargin(C=0.4), self.sample)
        unit = kopt.convert(solution, to=UnitNuSoftMargin)
        assert unit.certificate.holds(CERTIFIED)
        assert len(unit.origin) == 2
        assert "converted from SoftMargin(C=0.4)" in str(unit)
        np.testing.assert_allclose(unit.predict(self.sample.X), solution.predict(self.sample.X))

    def test_to_itself_nothing_happens(self):
        solution = kopt.solve(SoftMargin(C=0.4), self.sample)
        assert kopt.convert(solution, to=SoftMargin) is solution

    def test_another_sample_is_the_end_of_a_chain(self):
        solution = kopt.solve(TwoNormSoftMargin(C=0.4), self.sample)
        hard = kopt.convert(solution, to=HardMargin)
        np.testing.assert_allclose(hard.sample.gram().dense, self.sample.gram().dense + np.eye(31) / 0.4)
        with pytest.raises(InputError, match="leads over another sample"):
            kopt.convert(solution, to=SoftMargin)

    def test_an_answer_that_has_no_counterpart_is_refused_with_the_number(self):
        solution = kopt.solve(SoftMargin(C=0.4), self.sample)
        with pytest.raises(InputError, match=r"The largest slack is [\d.]+, so that no hard machine"):
            kopt.convert(solution, to=UnitHardMargin)

    def test_machines_that_nothing_ties_together(self):
        solution = kopt.solve(SoftMargin(C=0.4), self.sample)
        with pytest.raises(InputError, match=r"No map leads from SoftMargin to Hypersphere\. From"):
            kopt.convert(solution, to=Hypersphere)

    @pytest.mark.parametrize("wrong", [SoftMargin(), "NuSoftMargin", int])
    def test_the_target_is_a_class(self, wrong):
        with pytest.raises(InputError, match="Give the class of a formulation"):
            kopt.convert(kopt.solve(SoftMargin(), self.sample), to=wrong)

    def test_an_answer_that_is_not_optimal_is_warned_about(self):
        estimator = SoftMargin(C=0.4).to_scikit_learn(self.sample).set_params(tol=0.5)
        with pytest.warns(kopt.CertificateWarning, match="The converted answer has a certificate that does not hold"):
            kopt.convert(estimator.fit(self.sample.gram().dense, self.sample.y), to=SoftMargin, sample=self.sample)


def with_counterpart() -> list[str]:
    return [name for name, cls in BY_NAME.items() if cls.to_scikit_learn is not kopt.Formulation.to_scikit_learn]


class TestRidgeOfTheLectures:
    """(16) of 6.867, solved as printed by plain CVXPY, against the machine that the converter names; and back."""

    @every_kernel
    @pytest.mark.parametrize("lambda_", [0.07, 1.9])
    def test_it_has_the_same_minimiser(self, kernel, lambda_):
        X, y = data(Task.REGRESSION, 23, 1.0, np.random.default_rng(2))
        sample = Sample(X, y, kernel=KERNELS[kernel])
        Phi = sample.gram().factor
        w = cp.Variable(Phi.shape[1])
        printed = cp.sum_squares(y - Phi @ w) / 23 + lambda_ / 2 * cp.sum_squares(w)
        cp.Problem(cp.Minimize(printed)).solve(solver=cp.CLARABEL)
        machine = ridge_of_the_lectures(lambda_, sample)
        ours = kopt.solve(machine, sample).primal.w.values
        np.testing.assert_allclose(ours, Phi @ w.value, atol=MAP * np.max(np.abs(y)))
        assert lambda_of_the_lectures(machine, sample) == pytest.approx(lambda_, rel=1e-12)
        tenfold = kopt.solve(ridge_of_the_lectures(10 * lambda_, sample), sample).primal.w.values
        assert np.max(np.abs(tenfold - Phi @ w.value)) > DIFFERENT * np.max(np.abs(y))


class TestLimits:
    """Where a machine is at the limit of its parameter, or has no counterpart."""

    @pytest.mark.parametrize("n", [49, 98, 103])
    def test_rounding_does_not_carry_nu_beyond_1(self, n):
        X = np.random.default_rng(0).normal(size=(n, 2))
        solution = kopt.solve(NuHypersphere(nu=1.0), Sample(X, kernel=Gaussian(sigma=1.3)))
        back = kopt.convert(kopt.convert(solution, to=SoftHypersphere), to=NuHypersphere)
        assert back.formulation.nu == 1.0
        assert back.certificate.holds(CERTIFIED)

    @pytest.mark.parametrize("target", [Hypersphere, NuHypersphere])
    def test_a_sphere_that_is_a_point_is_refused(self, target):
        sample = Sample(np.random.default_rng(0).normal(size=(9, 2)))
        with pytest.raises(InputError, match=r"The radius is 0 and the multipliers add up to 0\.09"):
            kopt.convert(kopt.solve(SoftHypersphere(C=0.01), sample), to=target)

    @pytest.mark.parametrize(
        ("cls", "target"), [(SoftMargin, UnitSoftMargin), (TwoNormSoftMargin, UnitTwoNormSoftMargin)]
    )
    def test_points_at_the_origin_have_no_unit_vector(self, cls, target):
        solution = kopt.solve(cls(), Sample.from_gram(np.zeros((4, 4)), [1, 1, -1, -1]))
        with pytest.raises(InputError, match="The length of w is 0"):
            kopt.convert(solution, to=target)

    def test_multipliers_that_vanish_have_no_nu(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kopt.CertificateWarning)  # the optimum is 0, which has no size
            solution = kopt.solve(EpsilonInsensitive(), Sample([[0.0], [1.0], [2.0]], [0.5, 0.5, 0.5]))
        with pytest.raises(InputError, match="The sum of the multipliers is"):
            kopt.convert(solution, to=NuRegression)

    def test_a_parameter_that_the_target_does_not_take(self):
        sample = Sample(np.random.default_rng(0).normal(size=(12, 2)), [1, -1] * 6, costs=np.full(12, 2.0))
        solution = kopt.solve(UnitSoftMargin(C=0.05), sample)
        [entry] = [e for e in ENTRIES if (e.source, e.target) == (UnitSoftMargin, UnitNuSoftMargin)]
        with pytest.raises(InputError, match=r"No UnitNuSoftMargin is equivalent .*: the parameter nu is 1\.6"):
            entry(solution)

    def test_a_solution_has_its_own_sample(self):
        solution = kopt.solve(SoftMargin(), TestConvert.sample)
        with pytest.raises(InputError, match="has a sample of its own"):
            kopt.convert(solution, to=NuSoftMargin, sample=TestConvert.sample)


class TestScikitLearn:
    """Its conventions: fitted there, read here, certified here; and the parameters there and back."""

    @every_kernel
    @pytest.mark.parametrize("seed", [0, 1])
    @pytest.mark.parametrize("name", with_counterpart())
    def test_a_fitted_estimator_is_read(self, name, kernel, seed):
        given = instance(name, kernel, seed)
        formulation, sample = given.formulation, given.sample
        estimator = formulation.to_scikit_learn(sample)
        if "tol" in estimator.get_params():
            estimator.set_params(tol=1e-10)
        fitted = estimator.fit(sample.gram().dense, sample.y, sample_weight=sample.costs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kopt.CertificateWarning)
            read = kopt.convert(fitted, to=type(formulation), sample=sample)
        for parameter, value in parameters(formulation).items():
            assert getattr(read.formulation, parameter) == pytest.approx(value, rel=1e-12)
        assert read.certificate.holds(LIBSVM_GAP), read.certificate
        assert abs(read.value - given.optimum) <= LIBSVM_GAP * read.certificate.as_given.scale

    def test_at_least_these_have_one(self):
        assert {"SoftMargin", "NuSoftMargin", "EpsilonInsensitive", "NuRegression", "OneClass", "Ridge"} == set(
            with_counterpart()
        )

    def test_what_cannot_be_read_is_refused(self):
        X, y = data(Task.CLASSIFICATION, 31, 1.0, np.random.default_rng(0))
        sample, K = Sample(X, y), X @ X.T
        fitted = SoftMargin().to_scikit_learn(sample).fit(K, y)
        with pytest.raises(InputError, match="there is no sample"):
            kopt.convert(fitted, to=SoftMargin)
        with pytest.raises(InputError, match="Give a fitted KernelRidge"):
            kopt.convert(fitted, to=Ridge, sample=sample)
        with pytest.raises(InputError, match="is not fitted"):
            kopt.convert(SoftMargin().to_scikit_learn(sample), to=SoftMargin, sample=sample)
        with pytest.raises(InputError, match="fitted on 31 points, the sample has 20"):
            kopt.convert(fitted, to=SoftMargin, sample=Sample(X[:20], y[:20]))
        with pytest.raises(InputError, match="has no y"):
            kopt.convert(fitted, to=SoftMargin, sample=Sample(X))
        three = SoftMargin().to_scikit_learn(sample).fit(K, np.arange(31) % 3)
        with pytest.raises(InputError, match="tells 3 classes apart"):
            kopt.convert(three, to=SoftMargin, sample=sample)
        with pytest.raises(InputError, match="HardMargin does not know how to read the answer of SVC"):
            kopt.convert(fitted, to=HardMargin, sample=sample)


def failures(solution: Solution) -> list[str]:
    return [
        f"{block}, {name}: {r.relative:.1e}" for block, name, r in solution.certificate.as_given.failures(PRIMAL_SIDE)
    ]


class TestCvxpy:
    """A plain problem that somebody solved: its multipliers in kopt's sign convention."""

    @pytest.mark.parametrize("name", list(BY_NAME))
    def test_its_primal_is_read(self, name):
        given = instance(name, "sum", 0)
        problem = given.formulation.problem(given.sample)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the answer is worth, the certificate says
            problem.solve(solver=cp.CLARABEL, **OPTIONS["CLARABEL"])
            read = kopt.convert(problem, to=given.formulation, sample=given.sample)
        assert failures(read) == []

    def test_another_problem_is_refused(self):
        sample = Sample(*data(Task.CLASSIFICATION, 31, 1.0, np.random.default_rng(0)))
        problem = SoftMargin(C=0.4).problem(sample)
        with pytest.raises(InputError, match="has no solution"):
            kopt.convert(problem, to=SoftMargin(C=0.4), sample=sample)
        with pytest.raises(InputError, match="is not the primal of NuSoftMargin"):
            kopt.convert(problem, to=NuSoftMargin(nu=0.4), sample=sample)
        with pytest.raises(InputError, match="does not say which parameters"):
            kopt.convert(problem, to=SoftMargin, sample=sample)
        problem.solve(solver=cp.CLARABEL)
        with pytest.warns(kopt.CertificateWarning):
            assert not kopt.convert(problem, to=SoftMargin(C=0.7), sample=sample).certificate.holds(DIFFERENT)
