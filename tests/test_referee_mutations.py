"""The referee under mutation: wrong duals made out of right ones are refused, and the fault is found.

A sample of the mutants of every formulation; `python -m tests.benchmarks.mutations` tries all of them. Whether a
mutant is wrong at all is the oracle's word, which is tested here too.
"""

import cvxpy as cp
import numpy as np
import pytest

from kopt import Formulation, Program, Task, fraction, positive
from kopt.referee.referee import referee
from kopt.referee.verdict import Fault, Judgement, Kind, Verdict
from tests.benchmarks.mutations import Outcome, all_mutants, listed, outcome, table
from tests.instances import BY_NAME
from tests.mutants import CONTROL, Mutant, Part, Prototype, control, mutants, skeleton, with_dual
from tests.oracle import Oracle, conflict, instances

# The referee judges on as many instances as it does by default: the first three of a nu-machine have no slack at the
# optimum, so that no recovery of the slacks is wrong on them.
MUTANTS_OF_EACH = 1
# A control is its original, which test_referee judges on more: what is asked here is whether it is still the same.
OF_A_CONTROL = 2


class Pinball(Formulation):
    """Quantile regression: up - down is the residual. Its bounds stand in `domain=`, and one of them twice."""

    task = Task.REGRESSION
    tau: float = fraction(default=0.3)
    C: float = positive(default=1.0)

    def primal(self, s):
        w, b = s.weight("w"), cp.Variable(name="b")
        up, down = cp.Variable(s.n, name="up"), cp.Variable(s.n, name="down")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * cp.sum(self.tau * up + (1 - self.tau) * down)),
            {"beta": up - down == s.y - w.values - b, "mu_up": up >= 0, "mu_down": down >= 0},
        )

    def dual(self, s):
        beta = cp.Variable(s.n, name="beta")
        w = s.combination(-beta)
        low, high = self.tau * self.C, (1 - self.tau) * self.C
        return Program(
            cp.Maximize(-s.y @ beta - 0.5 * w.norm_squared),
            {"b": cp.sum(beta) == 0},
            domain=[beta >= -low, beta <= high, beta <= 2 * high],
            multipliers={"mu_up": low + beta, "mu_down": high - beta},
        )


class Averaged(Formulation):
    """The mean loss, so that the size of the sample stands in an expression of the dual."""

    task = Task.REGRESSION
    ridge: float = positive(default=1.0)

    def primal(self, s):
        w, xi = s.weight("w"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(self.ridge * w.norm_squared + cp.sum_squares(xi) / s.n), {"beta": xi == s.y - w.values}
        )

    def dual(self, s):
        beta = cp.Variable(s.n, name="beta")
        squares = cp.sum_squares(beta) / (1 / s.n)
        return Program(cp.Maximize(-s.y @ beta - squares / 4 - s.combination(beta).norm_squared / (4 * self.ridge)))


def judged(cls: type[Formulation]) -> Verdict:
    return referee(cls, seed=0)


def some(oracle: Oracle) -> list[Mutant]:
    """A few mutants besides the control, by a seed."""
    _, *others = all_mutants(oracle)
    rng = np.random.default_rng([2, *map(ord, oracle.cls.__name__)])
    return [others[i] for i in rng.choice(len(others), MUTANTS_OF_EACH, replace=False)]


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    found = []
    for cls in BY_NAME.values():
        oracle = Oracle(cls, count=4)
        found += [outcome(mutant, oracle, judged, at_optimum=False) for mutant in some(oracle)]
    print(f"\n{table(found)}\n{listed(found)}")
    return found


def test_wrong_duals_are_refused(outcomes):
    different = [o for o in outcomes if o.different]
    assert len(different) >= 0.9 * len(outcomes)
    assert sum(o.refused for o in different) >= 0.99 * len(different), listed(outcomes)


def test_wrong_duals_are_located(outcomes):
    different = [o for o in outcomes if o.different]
    assert sum(o.located for o in different) >= 0.9 * len(different), listed(outcomes)


def test_no_equivalent_dual_is_called_wrong(outcomes):
    assert not [o.label for o in outcomes if not o.different and o.judgement == Judgement.WRONG.word]


@pytest.mark.parametrize("name", BY_NAME)
def test_the_control_is_judged_exact_like_the_original(name):
    [mutant] = control(BY_NAME[name], [])
    assert mutant.kind == CONTROL
    assert not Oracle(BY_NAME[name], count=1).judge(mutant.cls).different
    assert referee(mutant.cls, instances=OF_A_CONTROL).judgement is Judgement.EXACT


# The oracle.


@pytest.mark.parametrize("cls", [*BY_NAME.values(), Pinball, Averaged], ids=lambda cls: cls.__name__)
def test_every_original_is_the_dual_function_at_the_points_of_the_oracle(cls):
    [ground] = Oracle(cls, count=1, seed=1).grounds
    compared = 0
    for z in ground.points:
        claimed, true = ground.original.value(z), ground.truth.minimum(ground.original.multipliers(z))
        differs = conflict(claimed, true, ground.unit)
        assert not differs, f"claimed {claimed}, true {true}"
        compared += differs is False
    # An entropy is not defined at the solver's -1e-15: six of its 25 points lie on that border.
    assert compared >= (0.75 if cls.__name__ == "LogisticRegression" else 0.8) * len(ground.points)


def made_of(cls: type[Formulation]) -> list[Mutant]:
    return mutants(cls, [Prototype(each.formulation, each.sample) for each in instances(cls, 2)])


@pytest.mark.parametrize("name", ["SoftMargin", "SoftHypersphere", "UnitHardMargin"])
def test_the_oracle_finds_nothing_wrong_with_the_identity(name):
    first = made_of(BY_NAME[name])[0]
    assert first.kind == CONTROL
    assert not Oracle(BY_NAME[name], count=3).judge(first.cls).different


def test_the_oracle_calls_the_loss_of_a_constraint_that_follows_from_another_equivalent():
    # beta <= 2 (1 - tau) C follows from beta <= (1 - tau) C, so that neither losing nor doubling it changes anything;
    # nor does adding half of it, which is the bound itself. Of the bound itself, all three do.
    others = ("equality", "beta <= 0 added")
    changes = [m for m in made_of(Pinball) if "beta <=" in m.label and not any(words in m.label for words in others)]
    oracle = Oracle(Pinball, count=3)
    assert [oracle.judge(m.cls).different for m in changes] == [True, True, False, False, True, False]


def test_the_oracle_sees_what_a_check_at_the_optimum_does_not():
    # sum alpha = nu for sum alpha >= nu: the text's own dual, with a smaller set and the same optimum.
    [found] = [m for m in made_of(BY_NAME["NuSoftMargin"]) if "rho turned into an equality" in m.label]
    opinion = Oracle(BY_NAME["NuSoftMargin"], count=4).judge(found.cls)
    assert opinion.different
    assert opinion.restricted


def test_the_size_is_inverted_where_it_is_calculated_with():
    [found] = [m for m in made_of(Averaged) if m.kind == "n and 1/n exchanged"]
    assert Oracle(Averaged, count=2).judge(found.cls).different


# The mutants.


def test_mutants_keep_the_primal_the_parameters_and_their_own_labels():
    for cls in (BY_NAME["EpsilonInsensitive"], Pinball):
        made = made_of(cls)
        assert len({m.label for m in made}) == len(made)
        for mutant in made:
            assert mutant.cls.primal is cls.primal
            assert issubclass(mutant.cls, cls)
            assert vars(mutant.cls(C=0.7)) == vars(cls(C=0.7))


def test_the_control_of_a_formulation_is_the_formulation():
    sample = instances(Pinball, 1)[0].sample
    values = [
        cls().problem(sample, "dual").solve(solver="CLARABEL") for cls in (Pinball, with_dual(Pinball, lambda p: p))
    ]
    assert values[0] == values[1]


def fault(kind: Kind, where: str) -> Fault:
    return Fault(kind, where, "", "", "")


@pytest.mark.parametrize(
    ("part", "kind", "where", "named"),
    [
        (Part(terms=frozenset({skeleton("sum(alpha)")})), Kind.WRONG_COEFFICIENT, "-0.5 * sum(alpha)", True),
        (Part(terms=frozenset({skeleton("sum(alpha)")})), Kind.WRONG_COEFFICIENT, "sum(alpha^2)", False),
        (Part(terms=frozenset({skeleton("sum(alpha)")})), Kind.MISSING_TERM, "sum(beta)", False),
        (Part(absent=True), Kind.MISSING_TERM, "sum(alpha)", True),
        (Part(absent=True), Kind.WRONG_COEFFICIENT, "sum(alpha)", False),
        (Part(names=frozenset({"xi", "mu"})), Kind.MISSING_BOUND, "mu", True),
        (Part(names=frozenset({"xi", "mu"})), Kind.MISSING_CONSTRAINT, "b", False),
        (Part(names=frozenset({"xi"})), Kind.WRONG_RECOVERY, "xi", False),
        (Part(recovered=frozenset({"xi"})), Kind.WRONG_RECOVERY, "xi", True),
        (Part(recovered=frozenset({"xi"})), Kind.MISSING_CONSTRAINT, "xi", False),
        (Part(names=frozenset({"alpha <= [0.5 0.25]"})), Kind.SUPERFLUOUS_CONSTRAINT, "alpha <= [1. 3.5 2.]", True),
    ],
)
def test_what_counts_as_naming_a_part(part, kind, where, named):
    assert part.is_named_by(fault(kind, where)) is named
