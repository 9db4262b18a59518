"""A claimed dual beside the derived one: no false alarm, and the row that differs is the one that was changed."""

import importlib
import json
import pickle
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import kopt
from formulations.classification import SoftMargin
from formulations.novelty import SoftHypersphere
from formulations.regression import EpsilonInsensitive
from kopt import Formulation, Judgement, Program
from kopt.derive.compare import Comparison, Row, compared
from kopt.derive.compare.comparison import MISSING, SUPERFLUOUS
from kopt.derive.compare.constraints import IDLE
from kopt.derive.compare.matching import Values, matched
from kopt.derive.monomial import negated
from kopt.derive.writing import Writing
from kopt.referee.instances import Instance, random_instances
from tests.derivations import DERIVED
from tests.instances import BY_NAME
from tests.mutants import Mutant, Prototype, constraints, spurious, subclass, terms, with_dual

MUTATED = ("SoftMargin", "EpsilonInsensitive", "SoftHypersphere", "UnitNuSoftMargin", "Ridge")
# What is said of each kind of change.
SAID = {
    "term dropped": MISSING,
    "term doubled": "claimed is 2 times it",
    "term with its sign flipped": "claimed has the opposite sign",
    "constraint dropped": MISSING,
    "constraint with its right-hand side doubled": "claimed bound is 2 times it",
    "constraint turned into an equality": "claimed is an equality",
    "constraint turned into <=": "claimed is an inequality",
    "spurious constraint": SUPERFLUOUS,
}


def first(cls: type[Formulation]) -> Instance:
    return next(iter(random_instances(cls, 1, 0)))


def with_costs(cls: type[Formulation]) -> Instance:
    return next(each for each in random_instances(cls, 4, 0) if np.any(each.sample.costs != 1))


def one_of_each_kind(name: str) -> list[Mutant]:
    prototype = Prototype(first(BY_NAME[name]).formulation, first(BY_NAME[name]).sample)
    made = [m for make in (terms, constraints, spurious) for m in make(BY_NAME[name], [prototype])]
    return list({mutant.kind: mutant for mutant in made if mutant.kind in SAID}.values())


@pytest.mark.parametrize("name", [cls.__name__ for cls in DERIVED])
def test_a_correct_machine_is_the_same_in_every_row(name):
    comparison = compared(first(BY_NAME[name]))
    assert comparison.same, comparison
    assert [row for row in comparison.rows if row.part == "objective" and row.note == "same"]
    assert all(row.derived and row.claimed for row in comparison.rows if row.note == "same"), comparison


@pytest.mark.parametrize("name", MUTATED)
def test_the_row_that_differs_is_the_one_that_was_changed(name):
    mutants = one_of_each_kind(name)
    assert len(mutants) >= 4
    for mutant in mutants:
        [row] = compared(first(mutant.cls)).differences
        assert row.note.removesuffix(IDLE) == SAID[mutant.kind], f"{mutant.label}: {row}"
        changed = mutant.kind.split()[0]
        assert (row.part == "objective") == (changed == "term"), f"{mutant.label}: {row}"
        assert bool(row.derived) == (row.note != SUPERFLUOUS)
        assert bool(row.claimed) == (row.note != MISSING)
        if changed == "constraint":
            assert row.part in (*mutant.part.names, "domain"), f"{mutant.label}: {row}"


def changed(cls: type[Formulation], change) -> Comparison:
    return compared(first(with_dual(cls, change)))


def with_part(program: Program, **parts) -> Program:
    kept = {"domain": program.domain, "multipliers": program.multipliers, "constraints": program.constraints}
    return Program(program.objective, **{**kept, **parts})


def test_a_wrong_multiplier_differs():
    def doubled(program):
        return with_part(program, multipliers={"mu": 2 * program.multipliers["mu"]})

    [row] = changed(SoftMargin, doubled).differences
    assert row == Row("multiplier", "mu_i = C - alpha_i", "mu = 2 * (C - alpha)", "claimed is 2 times it")


def test_a_bound_the_other_way_round_and_other_coefficients_differ():
    def turned(program):
        return with_part(program, domain=[program.variables["alpha"] <= 0])

    def unsigned(program):
        return with_part(program, constraints={**program.constraints, "b": cp.sum(program.variables["alpha"]) == 0})

    [row] = changed(SoftMargin, turned).differences
    assert row == Row("domain", "alpha_i >= 0", "alpha <= 0", "claimed is the other way round")
    [row] = changed(SoftMargin, unsigned).differences
    assert row == Row("b", "sum_i y_i alpha_i = 0", "sum(alpha) == 0", "claimed has other coefficients")


def test_a_bound_at_another_number_than_0_differs():
    def raised(program):
        return with_part(program, domain=[program.variables["alpha"] >= 0.01])

    [row] = changed(SoftMargin, raised).differences
    assert row == Row("domain", "alpha_i >= 0", "alpha >= 0.01", "claimed bound is not 0")


def test_a_term_without_values_is_not_the_same():
    """log(-alpha_i) has no value at any point that the derived dual allows."""

    def dual(self, s):
        program = SoftMargin.dual(self, s)
        alpha = program.variables["alpha"]
        return rewritten(program, cp.sum(cp.log(-alpha)) - 0.5 * s.combination(cp.multiply(s.y, alpha)).norm_squared)

    [row] = compared(first(subclass(SoftMargin, dual=dual))).differences
    assert (row.derived, row.claimed, row.note) == (
        "sum_i alpha_i",
        "sum(log(-alpha))",
        "claimed is no multiple of it",
    )


def test_a_sign_inside_a_sum_is_told_by_its_term():
    def dual(self, s):
        program = EpsilonInsensitive.dual(self, s)
        alpha, alpha_hat = (program.variables.get(n) or cp.Variable(s.n, name=n) for n in ("alpha", "alpha_hat"))
        quadratic = 0.5 * s.combination(alpha_hat - alpha).norm_squared
        objective = s.y @ (alpha_hat + alpha) - self.epsilon * cp.sum(alpha_hat + alpha) - quadratic
        return Program(
            cp.Maximize(objective), program.constraints, domain=program.domain, multipliers=program.multipliers
        )

    [row] = compared(first(subclass(EpsilonInsensitive, dual=dual))).differences
    assert row.derived == "sum_i y_i (alpha_hat_i - alpha_i)"
    assert row.claimed == "y @ (alpha_hat + alpha)"
    assert row.note == "claimed has -1 times -sum_i y_i alpha_i"


def test_a_sum_may_be_one_term_or_two():
    def dual(self, s):
        program = SoftMargin.dual(self, s)
        alpha = program.variables.get("alpha") or cp.Variable(s.n, name="alpha")
        half = 0.5 * cp.sum(alpha)
        return rewritten(program, half + half - 0.5 * s.combination(cp.multiply(s.y, alpha)).norm_squared)

    comparison = compared(first(subclass(SoftMargin, dual=dual)))
    assert comparison.same
    assert comparison.rows[0] == Row("objective", "sum_i alpha_i", "0.5 * sum(alpha) + 0.5 * sum(alpha)", "same")


def rewritten(program: Program, objective) -> Program:
    return Program(cp.Maximize(objective), program.constraints, domain=program.domain, multipliers=program.multipliers)


def test_terms_that_agree_on_the_equalities_alone_are_the_same():
    """sum_i alpha_i = sum_i alpha_hat_i, so that 2 epsilon sum_i alpha_i is epsilon sum_i (alpha_i + alpha_hat_i)."""

    def dual(self, s):
        program = EpsilonInsensitive.dual(self, s)
        alpha, alpha_hat = program.variables["alpha"], program.variables["alpha_hat"]
        beta = alpha_hat - alpha
        return rewritten(
            program, s.y @ beta - 2 * self.epsilon * cp.sum(alpha) - 0.5 * s.combination(beta).norm_squared
        )

    comparison = compared(first(subclass(EpsilonInsensitive, dual=dual)))
    assert comparison.same, comparison


def test_costs_are_written_where_they_make_the_difference():
    def dual(self, s):
        program = SoftMargin.dual(self, s)
        return with_part(program, constraints={**program.constraints, "xi": program.variables["alpha"] <= self.C})

    [row] = compared(with_costs(subclass(SoftMargin, dual=dual))).differences
    assert row == Row("xi", "alpha_i <= C c_i", "alpha <= C", "claimed bound is 1/c_i times it")


def test_costs_have_a_letter_that_is_free():
    """c_i is a multiplier of the reduced hulls."""
    comparison = compared(with_costs(BY_NAME["ReducedConvexHulls"]))
    assert comparison.same, comparison
    assert "c_i <= D p_i" in {row.derived for row in comparison.rows}


def test_constraints_put_together_are_the_same():
    def stacked(program):
        both = cp.hstack([program.variables["alpha"], program.variables["alpha_hat"]])
        return with_part(program, domain=[both >= 0])

    comparison = changed(EpsilonInsensitive, stacked)
    assert comparison.same, comparison
    assert [row.note for row in comparison.rows].count("same: follows from the claim") == 2


def test_a_constraint_that_follows_is_the_same():
    def looser(program):
        return with_part(program, domain=[*program.domain, program.variables["alpha"] >= -1])

    comparison = changed(SoftMargin, looser)
    assert comparison.rows[-2] == Row("domain", "", "alpha >= -1", "same: follows from the derived ones")


def interval(highest: float) -> Comparison:
    """min x within [1, 3]: the multiplier of x <= 3 is a - 1; a claim with an upper bound on a as well."""
    x, a = cp.Variable(name="x"), cp.Variable(name="a")
    primal = Program(cp.Minimize(x), {"a": x >= 1, "m": x <= 3})
    dual = Program(cp.Maximize(a - 3 * (a - 1)), domain=[a >= 0, a >= 1, a <= highest], multipliers={"m": a - 1})
    return kopt.referee(primal=primal, dual=dual).comparison


def test_a_multiplier_that_the_claim_eliminates_is_substituted():
    [row] = interval(5.0).differences
    assert row == Row("domain", "", "a <= 5", SUPERFLUOUS)


def test_a_wrong_bound_that_is_idle_is_said_to_be_idle():
    """With sum_i alpha_i <= 1, alpha_i <= 2 C says as little as alpha_i <= C where C is at least 1."""

    def doubled(program):
        C = program.constraints["xi"].args[1]
        return with_part(program, constraints={**program.constraints, "xi": program.variables["alpha"] <= 2 * C})

    cls = with_dual(SoftHypersphere, doubled)
    sample = first(SoftHypersphere).sample
    notes = [compared(Instance(cls(C=C), sample)).differences[0].note for C in (0.7, 1.7)]
    assert notes == ["claimed bound is 2 times it", "claimed bound is 2 times it" + IDLE]


class Kept(SoftMargin):
    """mu stays a variable."""

    def dual(self, s):
        alpha, mu = cp.Variable(s.n, name="alpha"), cp.Variable(s.n, name="mu")
        return Program(
            cp.Maximize(cp.sum(alpha) - 0.5 * s.combination(cp.multiply(s.y, alpha)).norm_squared),
            {"b": s.y @ alpha == 0, "xi": alpha + mu == self.C * s.costs},
            domain=[alpha >= 0, mu >= 0],
        )


class InDifferences(EpsilonInsensitive):
    """beta = alpha_hat - alpha."""

    highest = 1.0
    offset = True

    def dual(self, s):
        beta, C = cp.Variable(s.n, name="beta"), self.C * s.costs
        alpha, alpha_hat = cp.pos(-beta), cp.pos(beta)
        return Program(
            cp.Maximize(s.y @ beta - self.epsilon * cp.norm1(beta) - 0.5 * s.combination(beta).norm_squared),
            {"b": cp.sum(beta) == 0} if self.offset else {},
            domain=[beta <= self.highest * C, beta >= -C],
            multipliers={"alpha": alpha, "alpha_hat": alpha_hat, "mu": C - alpha, "mu_hat": C - alpha_hat},
        )


def test_a_multiplier_that_the_claim_keeps_is_not_eliminated():
    comparison = compared(first(Kept))
    assert comparison.same, comparison
    assert Row("xi", "alpha_i + mu_i = C", "alpha + mu == C", "same") in comparison.rows
    assert "multiplier" not in {row.part for row in comparison.rows}


def test_a_dual_in_other_variables_is_compared_at_the_multipliers_it_stands_for():
    comparison = compared(first(InDifferences))
    assert comparison.same, comparison
    assert comparison.rows[0] == Row("objective", "sum_i y_i (alpha_hat_i - alpha_i)", "y @ beta", "same")
    assert Row("xi_hat", "alpha_hat_i <= C", "beta <= C", "same") in comparison.rows


@pytest.mark.parametrize(
    ("fault", "row"),
    [
        ({"highest": 0.5}, Row("domain", "", "beta <= C/2", SUPERFLUOUS)),
        ({"offset": False}, Row("b", "sum_i (alpha_i - alpha_hat_i) = 0", "", MISSING)),
    ],
)
def test_a_fault_in_other_variables_is_found(fault, row):
    assert compared(first(subclass(InDifferences, **fault))).differences == (row,)


def maximisation(side: float) -> kopt.Verdict:
    x, a = cp.Variable(name="x"), cp.Variable(name="a")
    x.value, a.value = 5.0, 7.0
    primal = Program(cp.Maximize(2 * x - cp.square(x)), {"a": x <= 0.5})
    dual = Program(cp.Minimize(side * cp.square(2 - a) + a / 2), domain=[a >= 0])
    verdict = kopt.referee(primal=primal, dual=dual)
    assert verdict.comparison is not None
    assert (x.value, a.value) == (5.0, 7.0)
    return verdict


def test_programs_are_compared_in_the_sense_of_the_primal_and_keep_their_values():
    assert maximisation(0.25).comparison.same
    [row] = maximisation(0.5).comparison.differences
    assert (row.part, row.note) == ("objective", "claimed is 2 times it")
    assert "-" not in row.claimed.split("(")[0]


def test_terms_are_matched_by_their_values():
    rng = np.random.default_rng(0)
    x, y, z = rng.standard_normal((3, 9))

    def matches(ours, theirs):
        values = Values(np.stack(ours, axis=1), np.stack(theirs, axis=1))
        return [(left, right, None if c is None else c.round(9).tolist()) for left, right, c in matched(values, values)]

    assert matches([x, y], [y, x]) == [([0], [1], None), ([1], [0], None)]
    assert matches([x, y, z], [x + y, z]) == [([0, 1], [0], None), ([2], [1], None)]
    assert matches([x + y], [x, y]) == [([0], [0, 1], None)]
    assert matches([x, y], [x - y]) == [([0, 1], [0], [1.0, -1.0])]
    assert matches([x - 3 * y], [x, y]) == [([0], [0, 1], [1.0, -3.0])]
    assert matches([x], [x, y, -y]) == [([0], [0], None)]
    assert matches([x], [y]) == [([0], [0], [])]
    assert matches([x], [np.full(9, np.nan), 2 * x]) == [([0], [1], [2.0]), ([], [0], None)]
    assert matches([*rng.standard_normal((30, 9)), x], [2 * x])[-1] == ([30], [0], [2.0])
    assert matches([x, y], [z]) == [([0], [], None), ([1], [], None), ([], [0], None)]


class Halved(SoftMargin):
    """Without the factor 1/2, without the constraint of b."""

    def dual(self, s):
        alpha = cp.Variable(s.n, name="alpha")
        return Program(
            cp.Maximize(cp.sum(alpha) - s.combination(cp.multiply(s.y, alpha)).norm_squared),
            {"xi": alpha <= self.C * s.costs},
            domain=[alpha >= 0],
            multipliers={"mu": self.C * s.costs - alpha},
        )


TABLE = """\
└─ the claim beside the derived dual
               derived                          claimed
   objective   sum_i alpha_i                    sum(alpha)                        same
   objective   -1/2 sum_ij y_i y_j alpha_i      -||sum_i (y * alpha)_i            claimed is 2 times it
               alpha_j k(x_i, x_j)              phi(x_i)||^2
   b           sum_i y_i alpha_i = 0            -                                 missing in the claim
   xi          alpha_i <= C                     alpha <= C                        same
   domain      alpha_i >= 0                     alpha >= 0                        same
   multiplier  mu_i = C - alpha_i               mu = C - alpha                    same"""


@pytest.fixture(scope="module")
def wrong() -> kopt.Verdict:
    return kopt.referee(Halved, instances=2)


def test_a_wrong_verdict_prints_the_comparison(wrong):
    assert str(wrong).startswith("Halved: WRONG")
    assert str(wrong).endswith(TABLE)


def test_a_wrong_verdict_has_it_as_html_and_as_data(wrong):
    html = wrong._repr_html_()
    assert "the claim beside the derived dual" in html
    assert "<b>missing in the claim</b>" in html
    assert "<b>same</b>" not in html
    rows = json.loads(json.dumps(wrong.as_dict(), allow_nan=False))["comparison"]
    assert rows[2] == {
        "part": "b",
        "derived": "sum_i y_i alpha_i = 0",
        "claimed": "",
        "note": MISSING,
        "same": False,
    }


def test_a_comparison_is_made_once_and_travels(wrong):
    assert wrong.comparison is wrong.comparison
    assert pickle.loads(pickle.dumps(wrong)).comparison == wrong.comparison


def test_an_exact_verdict_is_compared_on_demand_alone(monkeypatch):
    asked = []
    module = importlib.import_module("kopt.referee.referee")  # the package has the function under this name
    original = module._compared
    monkeypatch.setattr(module, "_compared", lambda *args: asked.append(args) or original(*args))
    verdict = kopt.referee(SoftMargin, instances=1)
    assert verdict.judgement is Judgement.EXACT
    for shown in (str(verdict), verdict._repr_html_()):
        assert "beside" not in shown
    assert verdict.as_dict()["comparison"] is None
    assert not asked
    assert verdict.comparison.same
    assert len(asked) == 1


def test_where_the_dual_is_right_and_the_recovery_wrong_it_says_so():
    def recover(self, s, dual):
        return {**SoftMargin.recover(self, s, dual), "b": 7.0}

    verdict = kopt.referee(subclass(SoftMargin, recover=recover), instances=2)
    assert verdict.judgement is Judgement.WRONG
    assert "Every term and every constraint is that of the derived dual." in str(verdict)
    assert "Every term and every constraint is that of the derived dual." in verdict._repr_html_()


class Mixing(SoftMargin):
    """A term of two variables, of which no conjugate is known."""

    def primal(self, s):
        program = SoftMargin.primal(self, s)
        b, xi = program.variables["b"], program.variables["xi"]
        return Program(cp.Minimize(program.objective.expr + cp.square(b + xi[0])), program.constraints)


def test_without_a_derived_dual_the_verdict_says_why():
    verdict = kopt.referee(Mixing, instances=1)
    assert verdict.judgement is Judgement.WRONG
    assert verdict.comparison is None
    assert verdict.no_comparison.startswith("No dual is derived: the term (b + xi[0])^2 mixes the variables b, xi.")
    assert "no derived dual: No dual is derived: the term (b + xi[0])^2" in str(verdict)
    assert "no derived dual: " in verdict._repr_html_()
    assert verdict.as_dict()["no_comparison"] == verdict.no_comparison


def test_a_comparison_that_fails_does_not_keep_a_verdict_from_being_printed(wrong):
    def broken():
        raise ZeroDivisionError("nothing left")

    text = str(replace(wrong, _compare=broken))
    assert "The comparison itself failed with ZeroDivisionError: nothing left." in text
    assert text.startswith("Halved: WRONG")


def test_a_derived_dual_that_is_not_exact_is_not_shown(monkeypatch):
    """The derivation is spoilt on purpose: the referee notices, and nothing is compared."""
    from kopt.derive.compare import pair

    spoilt = pair.simplified

    def without_bounds(dual):
        dual = spoilt(dual)
        dual.bounds.clear()
        return dual

    monkeypatch.setattr(pair, "simplified", without_bounds)
    verdict = kopt.referee(Halved, instances=1)
    assert verdict.comparison is None
    assert verdict.no_comparison.startswith("The referee calls the derived dual wrong, not exact.")


def test_formulas_that_are_not_those_of_the_derived_dual_are_not_shown(monkeypatch):
    written = Writing.piece
    monkeypatch.setattr(Writing, "piece", lambda self, piece: negated(written(self, piece)))
    verdict = kopt.referee(Halved, instances=1)
    assert verdict.comparison is None
    assert verdict.no_comparison.startswith("The formulas of the derived dual do not evaluate to it.")
