"""The referee: no false alarm on the library, each kind of fault found and placed, counter-examples that check."""

import re

import cvxpy as cp
import numpy as np
import pytest

import kopt
from formulations.classification import HardMargin, NuSoftMargin, SoftMargin, UnitSoftMargin
from formulations.regression import Ridge
from kopt import Formulation, Program, Reference, Sample, Task, positive
from kopt.errors import NoDual
from kopt.kernels import Gaussian
from kopt.referee import Judgement, Kind, referee
from kopt.referee.factors import factor_text
from kopt.referee.instances import random_instances
from kopt.referee.trial import Trial
from tests.degenerate import SMALL_GRID, judged
from tests.instances import FORMULATIONS

# `python -m tests.benchmarks.false_alarms` tries more.
INSTANCES = 8
# What the value of the dual function is off by where it is a closed form, and where a solver minimises the Lagrangian.
CLOSED_FORM, BY_A_SOLVER = 1e-12, 1e-6
every_formulation = pytest.mark.parametrize("cls", FORMULATIONS, ids=lambda cls: cls.__name__)


def needs_a_solver(cls):
    """Whether some Lagrangian has more than quadratic terms and lengths, and is minimised by a search."""
    drawn = random_instances(cls, INSTANCES, seed=0)
    return any(Trial(given, np.random.default_rng(0)).lagrangian.remainder is not None for given in drawn)


def kinds(verdict):
    return {(fault.kind, fault.where) for fault in verdict.faults}


class TestNoFalseAlarm:
    @every_formulation
    def test_every_shipped_dual_is_exact(self, cls):
        """On one seed; `tests.benchmarks.false_alarms` tries three, and more instances."""
        verdict = referee(cls, instances=INSTANCES, seed=0)
        assert verdict.judgement is Judgement.EXACT, str(verdict)
        assert verdict.instances == INSTANCES
        points, discrepancy = (10, BY_A_SOLVER) if needs_a_solver(cls) else (30, CLOSED_FORM)
        assert verdict.points >= points * INSTANCES
        assert verdict.discrepancy < discrepancy
        assert not verdict.faults

    @every_formulation
    def test_degenerate_samples_raise_no_alarm(self, cls, capsys):
        """Undecided would be allowed here, and counted; at the time of writing there is none."""
        judgements = [judged(cls, cell) for cell in SMALL_GRID]
        known = [judgement for judgement in judgements if judgement is not None]
        with capsys.disabled():
            undecided = known.count(Judgement.UNDECIDED)
            print(f"\n{cls.__name__}: {len(known)} degenerate cells, {undecided} undecided", end="")
        assert len(known) >= len(judgements) / 2
        assert set(known) <= {Judgement.EXACT, Judgement.UNDECIDED}

    def test_the_same_seed_gives_the_same_verdict(self):
        wrong = soft_margin(objective=lambda f, s, a, w: cp.sum(a) - w.norm_squared, b=lambda *_: None)
        first, second = (referee(wrong, instances=3, seed=7).as_dict() for _ in range(2))
        assert {**first, "seconds": 0} == {**second, "seconds": 0}

    def test_a_needlessly_complicated_spelling_changes_nothing(self):
        class Complicated(SoftMargin):
            def dual(self, s):
                alpha = cp.Variable(s.n, name="alpha")
                u = s.combination(2 * cp.multiply(s.y, alpha) - cp.multiply(s.y, alpha))
                objective = cp.sum(3 * alpha) / 3 - (u.norm_squared + 0.0 * cp.sum(alpha)) / 4 - u.norm_squared / 4
                return Program(
                    cp.Maximize(objective),
                    {"b": -2 * (s.y @ alpha) == 0, "xi": 3 * self.C * s.costs >= 3 * alpha},
                    domain=[-alpha <= 0, alpha >= -alpha],
                    multipliers={"mu": 2 * self.C * s.costs - alpha - self.C * s.costs},
                )

        assert referee(Complicated, instances=4).judgement is Judgement.EXACT


def soft_margin(**changes):
    """The soft margin machine with parts of its dual exchanged."""

    class Changed(SoftMargin):
        def dual(self, s):
            alpha = cp.Variable(s.n, name="alpha")
            w = s.combination(cp.multiply(s.y, alpha))
            C = self.C * s.costs
            parts = {
                "objective": lambda: cp.sum(alpha) - 0.5 * w.norm_squared,
                "b": lambda: s.y @ alpha == 0,
                "xi": lambda: alpha <= C,
                "domain": lambda: [alpha >= 0],
                "mu": lambda: C - alpha,
            }
            made = {
                name: changes[name](self, s, alpha, w) if name in changes else make() for name, make in parts.items()
            }
            named = {name: made[name] for name in ("b", "xi") if made[name] is not None}
            return Program(cp.Maximize(made["objective"]), named, domain=made["domain"], multipliers={"mu": made["mu"]})

    return Changed


class TestFaultsOfTheObjective:
    @pytest.mark.parametrize(
        ("factor", "needed"),
        [
            (lambda f, s: 1.0, "1/2"),
            (lambda f, s: 0.25, "2"),
            (lambda f, s: -0.5, "-1"),
            (lambda f, s: 0.5 * f.C, "1/C"),
            (lambda f, s: 0.5 / f.C, "C"),
            (lambda f, s: 0.5 / s.n, "l"),
            (lambda f, s: 0.5 * f.C * s.n, "1/(C l)"),
        ],
    )
    def test_a_wrong_factor_is_named_with_its_expression(self, factor, needed):
        cls = soft_margin(objective=lambda f, s, a, w: cp.sum(a) - factor(f, s) * w.norm_squared)
        verdict = referee(cls, instances=5)
        assert not verdict.accepts
        [fault] = verdict.faults
        assert fault.kind is Kind.WRONG_COEFFICIENT
        assert fault.factor == needed
        assert "||sum_i (y * alpha)_i phi(x_i)||^2" in fault.where

    def test_the_counter_example_checks_by_hand(self):
        """Only numpy and the numbers of the example: alpha' (yy' K) alpha and the sum of alpha."""
        cls = soft_margin(objective=lambda f, s, a, w: cp.sum(a) - w.norm_squared)
        example = referee(cls).faults[0].example
        alpha, y, K = example.point["alpha"], example.y, example.grams["K"]
        quadratic = (y * alpha) @ K @ (y * alpha)
        assert np.all(alpha >= 0)
        assert np.all(alpha <= example.parameters["C"] * (1 if example.costs is None else example.costs) + 1e-12)
        assert y @ alpha == pytest.approx(0, abs=1e-12)
        assert example.claimed == pytest.approx(alpha.sum() - quadratic)
        assert example.true == pytest.approx(alpha.sum() - quadratic / 2)
        assert len(y) == 5

    @pytest.mark.parametrize(
        ("objective", "kind", "text"),
        [
            (lambda f, s, a, w: -0.5 * w.norm_squared, Kind.MISSING_TERM, "sum(alpha)"),
            (lambda f, s, a, w: cp.sum(a), Kind.MISSING_TERM, "(y * alpha)' K (y * alpha)"),
            (lambda f, s, a, w: cp.sum(a) - 0.5 * w.norm_squared + 3, Kind.WRONG_TERM, "3"),
            (
                lambda f, s, a, w: cp.sum(a) - 0.5 * w.norm_squared - cp.sum_squares(a),
                Kind.WRONG_TERM,
                "sum_squares(alpha)",
            ),
            (lambda f, s, a, w: cp.sum(a) - 0.5 * s.combination(a).norm_squared, Kind.WRONG_TERM, "phi"),
        ],
    )
    def test_terms_that_are_missing_or_too_many(self, objective, kind, text):
        verdict = referee(soft_margin(objective=objective), instances=5)
        assert verdict.judgement is Judgement.WRONG
        assert [fault.kind for fault in verdict.faults] == [kind]
        assert text in verdict.faults[0].where

    def test_an_objective_that_nothing_explains_is_still_refused(self):
        cls = soft_margin(objective=lambda f, s, a, w: cp.sum(cp.sqrt(a + 1)) - 0.3 * w.norm)
        assert kinds(referee(cls, instances=4)) == {(Kind.WRONG_OBJECTIVE, "objective")}

    def test_the_optimum_alone_would_not_have_told(self):
        """A penalty that vanishes at the optimum of every instance: complementarity of a free variable."""

        class Pinball(Formulation):
            task = Task.REGRESSION

            def primal(self, s):
                w, up, down = s.weight("w"), cp.Variable(s.n, name="up"), cp.Variable(s.n, name="down")
                return Program(
                    cp.Minimize(0.5 * w.norm_squared + cp.sum(0.3 * up + 0.7 * down)),
                    {"beta": up - down == s.y - w.values, "mu_up": up >= 0, "mu_down": down >= 0},
                )

            def dual(self, s):
                beta, nu = cp.Variable(s.n, name="beta"), cp.Variable(s.n, name="mu_up")
                u = s.combination(beta)
                return Program(
                    cp.Maximize(-s.y @ beta - 0.5 * u.norm_squared - cp.sum_squares(nu - 0.3 - beta)),
                    domain=[beta >= -0.3, beta <= 0.7, nu >= 0],
                    multipliers={"mu_down": 0.7 - beta},
                )

        sample = next(iter(random_instances(Pinball, 1, 0))).sample
        primal, dual = (Pinball().problem(sample, side).solve(solver="CLARABEL") for side in ("primal", "dual"))
        assert primal == pytest.approx(dual, rel=1e-6)
        assert not referee(Pinball, instances=3).accepts


class TestFaultsOfTheFeasibleSet:
    def test_a_missing_equality_names_the_variable_and_the_condition(self):
        verdict = referee(soft_margin(b=lambda *_: None), instances=4)
        assert kinds(verdict) == {(Kind.MISSING_CONSTRAINT, "b")}
        assert "sum_i y_i alpha_i = 0" in verdict.faults[0].fix
        assert verdict.faults[0].example.true == -np.inf

    def test_a_missing_bound_names_the_multiplier(self):
        verdict = referee(soft_margin(xi=lambda *_: None), instances=4)
        assert kinds(verdict) == {(Kind.MISSING_BOUND, "mu")}
        example = verdict.faults[0].example
        assert np.max(example.point["alpha"]) > example.parameters["C"]

    def test_a_missing_sign_names_the_dual_variable(self):
        verdict = referee(soft_margin(domain=lambda *_: []), instances=4)
        assert kinds(verdict) == {(Kind.MISSING_BOUND, "alpha")}
        assert "alpha_i >= 0" in verdict.faults[0].fix

    @pytest.mark.parametrize(("bound", "needed"), [(2.0, "1/2"), (0.25, "4")])
    def test_a_wrong_bound_is_named_with_its_factor(self, bound, needed):
        cls = soft_margin(xi=lambda f, s, a, w: a <= bound * f.C * s.costs)
        verdict = referee(cls, instances=6)
        assert verdict.judgement is Judgement.WRONG
        assert (Kind.WRONG_BOUND, "xi") in kinds(verdict)
        assert verdict.faults[0].factor == needed
        assert "alpha_i <= C" in verdict.faults[0].fix

    def test_one_forgotten_entry_of_a_bound_is_found(self):
        cls = soft_margin(domain=lambda f, s, a, w: [a >= 0, a[1:] <= f.C * s.costs[1:]], xi=lambda *_: None)
        assert (Kind.MISSING_BOUND, "mu") in kinds(referee(cls, instances=3))

    def test_one_wrong_entry_of_a_bound_is_named(self):
        cls = soft_margin(xi=lambda f, s, a, w: a <= f.C * s.costs * np.where(np.arange(s.n) == 2, 2.0, 1.0))
        [fault] = referee(cls, instances=3).faults
        assert (fault.kind, fault.where, fault.factor) == (Kind.WRONG_BOUND, "xi", None)
        assert fault.what == "The constraint 'xi' is wrong in some entries only: 2."

    def test_a_superfluous_constraint_that_costs_the_optimum_is_wrong(self):
        cls = soft_margin(domain=lambda f, s, a, w: [a >= 0, cp.sum(a) <= 0.1 * f.C])
        verdict = referee(cls)
        assert verdict.judgement is Judgement.WRONG
        assert any(kind is Kind.SUPERFLUOUS_CONSTRAINT and "sum(alpha)" in where for kind, where in kinds(verdict))
        assert any(fault.kind is Kind.DUALITY_GAP for fault in verdict.faults)

    def test_a_smaller_set_with_the_same_optimum_is_restricted(self):
        """The texts write sum alpha = nu where the dual has >=."""

        class AsPrinted(NuSoftMargin):
            def dual(self, s):
                program = super().dual(s)
                alpha = program.variables["alpha"]
                constraints = {**program.constraints, "rho": cp.sum(alpha) == self.nu}
                return Program(program.objective, constraints, domain=program.domain, multipliers=program.multipliers)

        verdict = referee(AsPrinted)
        assert verdict.judgement is Judgement.RESTRICTED
        assert kinds(verdict) == {(Kind.SUPERFLUOUS_CONSTRAINT, "rho")}
        assert verdict.accepts

    def test_a_multiplier_declared_as_0_does_not_hide_a_restriction(self):
        class AsPrinted(NuSoftMargin):
            def dual(self, s):
                program = super().dual(s)
                constraints = {**program.constraints, "rho": cp.sum(program.variables["alpha"]) == self.nu}
                multipliers = {**program.multipliers, "delta": 0.0}
                return Program(program.objective, constraints, domain=program.domain, multipliers=multipliers)

        assert referee(AsPrinted).judgement is Judgement.RESTRICTED

    def test_a_set_that_is_empty_where_the_dual_has_points_is_wrong(self):
        cls = soft_margin(xi=lambda f, s, a, w: a <= -f.C)
        verdict = referee(cls, instances=4)
        assert not verdict.accepts
        assert verdict.judgement is Judgement.WRONG


class TestFaultsOfTheNames:
    @pytest.mark.parametrize(
        ("change", "factor"),
        [
            (lambda f, s, a, w: 2 * (f.C * s.costs - a), "1/2"),
            (lambda f, s, a, w: a - f.C * s.costs, "-1"),
            (lambda f, s, a, w: f.C * s.costs + a, None),
            (lambda f, s, a, w: 1 - a, None),
        ],
    )
    def test_a_wrong_eliminated_multiplier(self, change, factor):
        verdict = referee(soft_margin(mu=change), instances=5)
        assert verdict.judgement is Judgement.WRONG
        assert kinds(verdict) == {(Kind.WRONG_ELIMINATED_MULTIPLIER, "mu")}
        assert verdict.faults[0].factor == factor
        assert re.search(r"with mu_\d = (C|[\d.]+) - alpha_\d\.", verdict.faults[0].fix), verdict.faults[0].fix

    def test_a_wrong_eliminated_norm(self):
        class Doubled(UnitSoftMargin):
            def dual(self, s):
                program = super().dual(s)
                multipliers = {**program.multipliers, "lambda": 2 * program.multipliers["lambda"]}
                return Program(program.objective, program.constraints, domain=program.domain, multipliers=multipliers)

        verdict = referee(Doubled, instances=4)
        assert verdict.judgement is Judgement.WRONG
        assert kinds(verdict) == {(Kind.WRONG_ELIMINATED_MULTIPLIER, "lambda")}
        assert verdict.faults[0].factor == "1/2"

    def test_an_equality_written_the_other_way_round(self):
        class Turned(Ridge):
            """w.values on the left: the same residual."""

            def primal(self, s):
                w, xi = s.weight("w"), cp.Variable(s.n, name="xi")
                return Program(
                    cp.Minimize(self.ridge * w.norm_squared + cp.sum(cp.multiply(s.costs, cp.square(xi)))),
                    {"beta": w.values == s.y - xi},
                )

        assert referee(Turned, instances=3).judgement is Judgement.EXACT

        class Flipped(Ridge):
            def primal(self, s):
                w, xi = s.weight("w"), cp.Variable(s.n, name="xi")
                return Program(
                    cp.Minimize(self.ridge * w.norm_squared + cp.sum(cp.multiply(s.costs, cp.square(xi)))),
                    {"beta": -xi == w.values - s.y},
                )

        assert (Kind.WRONG_NAMED_MULTIPLIER, "beta") in kinds(referee(Flipped, instances=3))

    def test_a_dual_constraint_with_the_name_of_another_variable(self):
        class Misnamed(Formulation):
            task = Task.CLASSIFICATION

            def primal(self, s):
                w, b, gamma = s.weight("w"), cp.Variable(name="b"), cp.Variable(name="gamma")
                return Program(
                    cp.Maximize(gamma - 0.5 * w.norm_squared), {"alpha": cp.multiply(s.y, w.values + b) >= gamma}
                )

            def dual(self, s):
                alpha = cp.Variable(s.n, name="alpha")
                u = s.combination(cp.multiply(s.y, alpha))
                names = {"gamma": s.y @ alpha == 0, "b": cp.sum(alpha) == 1}
                return Program(cp.Minimize(0.5 * u.norm_squared), names, domain=[alpha >= 0])

        assert kinds(referee(Misnamed, instances=3)) == {
            (Kind.WRONG_NAMED_MULTIPLIER, "gamma"),
            (Kind.WRONG_NAMED_MULTIPLIER, "b"),
        }

    @pytest.mark.parametrize("name", ["w", "b", "xi"])
    def test_a_wrong_recovery_names_the_variable(self, name):
        class Recovered(SoftMargin):
            def recover(self, s, dual):
                point = super().recover(s, dual)
                shift = 1.0 if name != "w" else point["w"]
                return {**point, name: point[name] + shift}

        verdict = referee(Recovered)
        assert verdict.judgement is Judgement.WRONG
        assert (Kind.WRONG_RECOVERY, name) in kinds(verdict)
        assert {fault.kind for fault in verdict.faults} == {Kind.WRONG_RECOVERY}

    def test_a_recovery_that_is_wrong_only_as_a_whole(self):
        """Each value belongs to an optimal point, the two together to none."""

        class Halves(Formulation):
            def primal(self, s):
                u, v = cp.Variable(name="u"), cp.Variable(name="v")
                return Program(cp.Minimize(cp.square(u + v)), {"a": u + v >= 1})

            def dual(self, s):
                a, t = cp.Variable(name="a"), cp.Variable(name="t")
                return Program(cp.Maximize(a - cp.square(a) / 4 + 0 * t), domain=[a >= 0, t == a])

            def recover(self, s, dual):
                return {"u": 1.0, "v": 1.0}

        with pytest.raises(kopt.DeclarationError, match="'t' is the multiplier of no primal constraint"):
            referee(Halves, instances=2)

        class WithoutT(Halves):
            def dual(self, s):
                a = cp.Variable(name="a")
                return Program(cp.Maximize(a - cp.square(a) / 4), domain=[a >= 0])

        assert kinds(referee(WithoutT, instances=2)) == {(Kind.WRONG_RECOVERY, "u, v")}


class TestScaled:
    def test_a_multiple_of_the_dual_alone_is_wrong(self):
        """Its optimum is not the primal's, and no multiple of the primal has it with these multipliers."""

        class Doubled(NuSoftMargin):
            def dual(self, s):
                program = super().dual(s)
                doubled = cp.Maximize(2 * program.objective.expr)
                return Program(doubled, program.constraints, domain=program.domain, multipliers=program.multipliers)

        assert referee(Doubled, instances=4).judgement is Judgement.WRONG

    def test_the_parameters_of_an_instance_are_tried(self):
        class OnlyBelow(SoftMargin):
            def dual(self, s):
                program = super().dual(s)
                factor = 1.0 if self.C < 50 else 2.0
                scaled = cp.Maximize(factor * program.objective.expr)
                return Program(scaled, program.constraints, domain=program.domain, multipliers=program.multipliers)

        assert referee(OnlyBelow(C=3.0)).judgement is Judgement.EXACT
        assert referee(OnlyBelow(C=60.0)).judgement is Judgement.WRONG

    def test_the_dual_of_a_multiple_of_the_primal(self):
        class Doubled(SoftMargin):
            def primal(self, s):
                program = super().primal(s)
                return Program(cp.Minimize(2 * program.objective.expr), program.constraints)

        verdict = referee(Doubled)
        assert verdict.judgement is Judgement.SCALED
        assert verdict.factor == "1/2 times the dual function, at multipliers times 2"

    def test_a_multiple_that_is_a_parameter(self):
        class PerCost(SoftMargin):
            def primal(self, s):
                program = super().primal(s)
                return Program(cp.Minimize(program.objective.expr / self.C), program.constraints)

        assert referee(PerCost).factor == "C times the dual function, at multipliers times 1/C"

    def test_rescaled_multipliers(self):
        """The text's alpha of ridge regression: beta = -2 ridge alpha."""

        class InAlpha(Ridge):
            def primal(self, s):
                w, xi = s.weight("w"), cp.Variable(s.n, name="xi")
                return Program(
                    cp.Minimize(self.ridge * w.norm_squared + cp.sum_squares(xi)), {"alpha": w.values + xi == s.y}
                )

            def dual(self, s):
                alpha = cp.Variable(s.n, name="alpha")
                u = s.combination(alpha)
                return Program(
                    cp.Maximize(
                        2 * self.ridge * s.y @ (-alpha)
                        - self.ridge**2 * cp.sum_squares(alpha)
                        - self.ridge * u.norm_squared
                    )
                )

        verdict = referee(InAlpha)
        assert verdict.judgement is Judgement.SCALED
        assert verdict.factor == "1 times the dual function, at multipliers times 2 ridge"

    def test_a_negative_multiple_is_wrong(self):
        class Negative(UnitSoftMargin):
            def dual(self, s):
                program = super().dual(s)
                flipped = cp.Maximize(-program.objective.expr)
                return Program(flipped, program.constraints, domain=program.domain, multipliers=program.multipliers)

        assert referee(Negative, instances=4).judgement is Judgement.WRONG


class TestWhatItTakes:
    def test_the_users_variables_keep_their_values(self):
        x, a = cp.Variable(name="x"), cp.Variable(name="a")
        x.value, a.value = 5.0, None
        primal = Program(cp.Minimize(cp.square(x)), {"a": x >= 3})
        assert referee(primal=primal, dual=Program(cp.Maximize(3 * a - cp.square(a) / 4), domain=[a >= 0])).accepts
        assert x.value == 5.0
        assert a.value is None

    def test_a_variable_that_nothing_bounds_is_said(self):
        x, t, a = cp.Variable(name="x"), cp.Variable(name="t"), cp.Variable(name="a")
        primal = Program(cp.Minimize(cp.square(x) + t), {"a": x >= 3})
        verdict = referee(primal=primal, dual=Program(cp.Maximize(3 * a - cp.square(a) / 4), domain=[a >= 0]))
        assert kinds(verdict) == {(Kind.UNBOUNDED_PRIMAL, "t")}

    @pytest.mark.parametrize("scale", [1e-8, 1e-4, 1e4])
    def test_a_general_loss_in_other_units_raises_no_alarm(self, scale):
        class Logistic(Formulation):
            task = Task.CLASSIFICATION

            def primal(self, s):
                w, t = s.weight("w"), cp.Variable(s.n, name="t")
                risk = 0.5 * w.norm_squared + cp.sum(cp.logistic(-t))
                return Program(cp.Minimize(scale * risk), {"alpha": t <= cp.multiply(s.y, w.values)})

            def dual(self, s):
                alpha = cp.Variable(s.n, name="alpha")
                w, p = s.combination(cp.multiply(s.y, alpha)), alpha / scale
                entropy = cp.sum(cp.entr(p) + cp.entr(1 - p))
                return Program(
                    cp.Maximize(scale * entropy - w.norm_squared / (2 * scale)), domain=[alpha >= 0, alpha <= scale]
                )

        assert referee(Logistic, instances=3).judgement is Judgement.EXACT

    def test_a_users_own_sample_large_or_small(self):
        rng = np.random.default_rng(0)
        for n in (9, 150):
            X = rng.normal(size=(n, 2))
            sample = Sample(X, np.where(X[:, 0] > 0.2, 1, -1), kernel=Gaussian(0.8))
            assert referee(SoftMargin, sample, instances=3).judgement is Judgement.EXACT

    def test_two_programs_without_a_sample(self):
        x, a = cp.Variable(2, name="x"), cp.Variable(2, name="a")
        c = np.array([1.0, 2.5])
        primal = Program(cp.Minimize(c @ x), {"a": x >= 1})
        assert referee(primal=primal, dual=Program(cp.Maximize(cp.sum(a)), {"x": a == c})).accepts
        wrong = referee(primal=primal, dual=Program(cp.Maximize(cp.sum(a)), {"x": a == 2 * c}, domain=[a >= 0]))
        assert (Kind.WRONG_BOUND, "x") in kinds(wrong)

    def test_two_functions_and_a_sample(self):
        sample = Sample(np.arange(5.0)[:, None], [-1, -1, 1, -1, 1])
        made = SoftMargin(C=0.7)
        assert referee(primal=made.primal, dual=made.dual, sample=sample).judgement is Judgement.EXACT

    def test_a_formulation_brings_its_own_instances(self):
        seen = []

        class TwoKernels(Formulation):
            task = Task.REGRESSION

            @classmethod
            def instances(cls, rng):
                for n in (5, 6):
                    X = rng.normal(size=(n, 2))
                    kernels = {"a": Gaussian(0.7), "b": Gaussian(2.1)}
                    seen.append(n)
                    yield cls(), Sample(X, rng.normal(size=n), kernel=kernels)

            def primal(self, s):
                u, v, xi = s.weight("u", kernel="a"), s.weight("v", kernel="b"), cp.Variable(s.n, name="xi")
                return Program(
                    cp.Minimize(0.5 * u.norm_squared + 2 * v.norm_squared + 0.5 * cp.sum_squares(xi)),
                    {"beta": xi == s.y - u.values - v.values},
                )

            def dual(self, s):
                beta = cp.Variable(s.n, name="beta")
                u, v = s.combination(beta, kernel="a"), s.combination(beta, kernel="b")
                quadratic = 0.5 * u.norm_squared + v.norm_squared / 8
                return Program(cp.Maximize(-s.y @ beta - 0.5 * cp.sum_squares(beta) - quadratic))

        verdict = referee(TwoKernels)
        assert verdict.judgement is Judgement.EXACT
        assert verdict.instances == 2
        assert seen == [5, 6]

    def test_instances_can_tell(self):
        """No parameter is 1, classes are not balanced on most, diagonals vary on most, some have costs."""
        found = list(random_instances(SoftMargin, 8, 0))
        assert all(each.formulation.C != 1 for each in found)
        assert sum(each.sample.y.sum() != 0 for each in found) >= 4
        assert sum(np.ptp(each.sample.gram().diagonal) > 0.1 for each in found) >= 6
        assert sum(np.ptp(each.sample.costs) > 0 for each in found) == 4

    def test_a_primal_that_is_not_convex_is_judged_by_its_lagrangian(self):
        class UnitLength(Formulation):
            task = Task.CLASSIFICATION
            reference = Reference("Shawe-Taylor and Cristianini", "(7.12), before the relaxation")

            def primal(self, s):
                w, b, gamma = s.weight("w"), cp.Variable(name="b"), cp.Variable(name="gamma")
                return Program(
                    cp.Maximize(gamma),
                    {"alpha": cp.multiply(s.y, w.values + b) >= gamma, "lambda": w.norm_squared == 1},
                )

            def dual(self, s):
                alpha = cp.Variable(s.n, name="alpha")
                u = s.combination(cp.multiply(s.y, alpha))
                constraints = {"b": s.y @ alpha == 0, "gamma": cp.sum(alpha) == 1}
                return Program(
                    cp.Minimize(u.norm), constraints, domain=[alpha >= 0], multipliers={"lambda": 0.5 * u.norm}
                )

        verdict = referee(UnitLength, instances=3)
        assert verdict.judgement is Judgement.EXACT
        assert kinds(verdict) == {(Kind.NOT_CONVEX, "primal")}

    def test_an_infeasible_primal_is_said(self):
        class Never(HardMargin):
            def primal(self, s):
                w, b = s.weight("w"), cp.Variable(name="b")
                return Program(
                    cp.Minimize(0.5 * w.norm_squared),
                    {"alpha": cp.multiply(s.y, w.values + b) >= 1, "beta": 0 * w.values >= 1},
                )

            def dual(self, s):
                alpha, beta = cp.Variable(s.n, name="alpha"), cp.Variable(s.n, name="beta")
                w = s.combination(cp.multiply(s.y, alpha))
                return Program(
                    cp.Maximize(cp.sum(alpha) + cp.sum(beta) - 0.5 * w.norm_squared),
                    {"b": s.y @ alpha == 0},
                    domain=[alpha >= 0, beta >= 0],
                )

            recover = Formulation.recover

        verdict = referee(Never, instances=3)
        assert verdict.judgement is Judgement.EXACT
        assert kinds(verdict) == {(Kind.INFEASIBLE_PRIMAL, "primal")}


class TestRefusals:
    def test_without_a_dual(self):
        class PrimalOnly(SoftMargin):
            def dual(self, s):
                return None

        with pytest.raises(NoDual, match=r"PrimalOnly declares no dual\. Define `def dual"):
            referee(PrimalOnly)

    @pytest.mark.parametrize(
        ("call", "text"),
        [
            (lambda: referee(), r"neither a formulation nor a primal with a dual\. Give kopt\.referee"),
            (lambda: referee(primal=SoftMargin().primal, dual=SoftMargin().dual), r"there is no sample\. Give sample="),
            (lambda: referee(3), r"argument is int, which declares no machine\. Give a subclass"),
            (lambda: referee(Formulation), r"argument is Formulation, which declares no machine"),
            (lambda: referee(SoftMargin, instances=0), r"instances is 0\. Give a whole number of at least 1"),
            (lambda: referee(SoftMargin, instances="8"), r"instances is '8'\. Give a whole number"),
            (lambda: referee(SoftMargin, seed=-1), r"seed is -1\. Give a whole number of at least 0"),
            (lambda: referee(SoftMargin, np.eye(3)), r"sample is of type ndarray\. Wrap the data"),
            (lambda: referee(SoftMargin, primal=SoftMargin().primal), r"a primal or a dual beside it\. Give the one"),
            (lambda: referee(primal=3, dual=4), r"primal is of type int\. Give a kopt\.Program"),
        ],
    )
    def test_arguments(self, call, text):
        with pytest.raises(kopt.InputError, match=text):
            call()

    def test_a_loss_without_a_variable_has_no_multiplier(self):
        class Hinge(Formulation):
            task = Task.CLASSIFICATION

            def primal(self, s):
                w = s.weight("w")
                return Program(cp.Minimize(0.5 * w.norm_squared + cp.sum(cp.pos(1 - cp.multiply(s.y, w.values)))))

            def dual(self, s):
                alpha = cp.Variable(s.n, name="alpha")
                u = s.combination(cp.multiply(s.y, alpha))
                return Program(cp.Maximize(cp.sum(alpha) - 0.5 * u.norm_squared), domain=[alpha >= 0, alpha <= 1])

        with pytest.raises(
            kopt.DeclarationError, match=r"'alpha' is the multiplier of no primal constraint .*defining"
        ):
            referee(Hinge)

    def test_a_machine_that_is_defined_nowhere_says_why(self):
        class Choosy(SoftMargin):
            def requires(self, s):
                raise kopt.InputError("It rains.", "Wait.")

        with pytest.raises(
            kopt.InputError, match=r"Choosy is defined on no random instance \(It rains\.\) Give a sample"
        ):
            referee(Choosy)

    @pytest.mark.parametrize("own", [[], [1, 2], [(3, 4)]])
    def test_instances_that_are_none_are_placed(self, own):
        class Odd(SoftMargin):
            @classmethod
            def instances(cls, rng):
                return iter(own)

        with pytest.raises(kopt.DeclarationError, match=r"Odd\.instances \(.*line \d+\) yields .* Yield pairs"):
            referee(Odd)

    @pytest.mark.parametrize("value", [{"w": 0}, [1], {"w": 0, "b": 0, "xi": 0, "more": 0}])
    def test_a_recovery_of_the_wrong_form_is_placed(self, value):
        class Malformed(SoftMargin):
            def recover(self, s, dual):
                return value

        with pytest.raises(kopt.DeclarationError, match=r"Malformed\.recover \(.*line \d+\) returned"):
            referee(Malformed, instances=2)

    def test_a_bug_in_the_dual_is_placed(self):
        class Broken(SoftMargin):
            def dual(self, s):
                return Program(cp.Maximize(alpha))  # noqa: F821

        with pytest.raises(kopt.DeclarationError, match=r"Broken\.dual fails at .*test_referee\.py, line \d+"):
            referee(Broken)


class TestFactors:
    SETTINGS = ({"C": 0.37, "nu": 0.61, "l": 5.0}, {"C": 4.1, "nu": 0.23, "l": 7.0}, {"C": 1.9, "nu": 0.4, "l": 4.0})

    @pytest.mark.parametrize(
        ("expression", "text"),
        [
            (lambda s: 0.5, "1/2"),
            (lambda s: -1.0, "-1"),
            (lambda s: s["C"], "C"),
            (lambda s: 1 / (2 * s["C"]), "1/(2 C)"),
            (lambda s: 1 / (s["nu"] * s["l"]), "1/(nu l)"),
            (lambda s: np.sqrt(s["C"]), "sqrt(C)"),
            (lambda s: s["l"] / s["C"] ** 2, "l/C^2"),
        ],
    )
    def test_simple_expressions_are_recognised(self, expression, text):
        assert factor_text([expression(s) for s in self.SETTINGS], self.SETTINGS) == text

    def test_others_are_numbers(self):
        assert factor_text([1.234, 5.678, 0.1], self.SETTINGS) == "1.234 (on this instance)"


def test_the_verdict_of_a_parameterless_cost():
    """A positive() parameter that the dual forgets altogether."""

    class Forgetful(Formulation):
        task = Task.REGRESSION
        C: float = positive(default=2.0)

        def primal(self, s):
            w, xi = s.weight("w"), cp.Variable(s.n, name="xi")
            return Program(
                cp.Minimize(0.5 * w.norm_squared + self.C / 2 * cp.sum_squares(xi)), {"beta": xi == s.y - w.values}
            )

        def dual(self, s):
            beta = cp.Variable(s.n, name="beta")
            u = s.combination(beta)
            return Program(cp.Maximize(-s.y @ beta - 0.5 * cp.sum_squares(beta) - 0.5 * u.norm_squared))

    [fault] = referee(Forgetful).faults
    assert fault.factor == "1/C"
    assert fault.where == "-0.5 * sum_squares(beta)"
