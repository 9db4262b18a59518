"""Pairs of multipliers merged into their difference: which are, what they say, and which must not be."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import kopt
from formulations.regression import (
    EpsilonInsensitive,
    EpsilonInsensitiveWithoutOffset,
    HardTube,
    NuRegression,
    QuadraticEpsilonInsensitive,
)
from kopt import Formulation, Program, Sample
from kopt.derive.dual import Dual, raw_dual
from kopt.derive.merge import Merged, Pair, merged
from kopt.derive.reading import read_program
from kopt.derive.simplify import simplified
from kopt.derive.trace import Ledger, TracingView, traced
from kopt.formulation import primal_of
from kopt.kernels import Gaussian, Linear
from kopt.referee import Judgement, referee
from kopt.referee.instances import random_instances
from kopt.show.formula import Call, Name
from kopt.show.mathematics import latex, text
from kopt.views import ExplicitView
from tests.derivations import DERIVED
from tests.instances import instance
from tests.tolerances import CERTIFIED, DIFFERENT, VALUE

TUBES = (
    EpsilonInsensitive,
    EpsilonInsensitiveWithoutOffset,
    HardTube,
    NuRegression,
    QuadraticEpsilonInsensitive,
)
WITH_WIDTH = (EpsilonInsensitive, EpsilonInsensitiveWithoutOffset, HardTube, QuadraticEpsilonInsensitive)
X = np.array([[0.0, 1.0], [1.0, -0.5], [2.0, 0.3], [3.0, -1.0], [-1.3, 0.4], [0.6, 2.0]])
RISING = np.array([0.3, 1.2, 1.9, -0.4, 0.8, 2.1])
Y = np.array([0.4, -1.1, 0.7])
BETA_SIZE = Call("abs", (Name("beta", ("i",)),))


def dual_of(formulation: Formulation, sample: Sample, costs: str = "c") -> Dual:
    ledger = Ledger()
    view = TracingView(sample, ledger, costs)
    return simplified(raw_dual(read_program(primal_of(traced(formulation, ledger), view), ledger, view)))


def dual_of_program(objective: cp.Expression, constraints: dict[str, cp.Constraint]) -> Dual:
    return simplified(raw_dual(read_program(Program(cp.Minimize(objective), constraints), Ledger())))


def found_in(dual: Dual) -> Merged:
    found = merged(dual)
    assert found is not None
    return found


def solved(program: Program) -> float:
    return float(program.problem().solve(solver=cp.CLARABEL))


def with_merged_dual(cls: type[Formulation], price: float = 1.0) -> type[Formulation]:
    """The machine with the merged dual; with a price other than 1 the linear part in |beta| is wrong by this factor."""

    class InDifferences(cls):
        def dual(self, s):
            found = found_in(dual_of(self, s.sample))
            [pair] = found.pairs
            matrices = {m: price * a if m == pair.size else a for m, a in found.linear.matrices.items()}
            return replace(found, linear=replace(found.linear, matrices=matrices)).program(s)

    return InDifferences


def check_agreement(formulation: Formulation, sample: Sample) -> float:
    """The merged optimum, where it is that of the unmerged dual and its multipliers are optimal there."""
    dual, view = dual_of(formulation, sample), ExplicitView(sample)
    program, unmerged = found_in(dual).program(view), dual.program(view)
    optimum, value = solved(unmerged), solved(program)
    scale = max(abs(optimum), float(np.mean(sample.gram().diagonal)))
    assert value == pytest.approx(optimum, abs=VALUE * scale)
    for name in ("alpha", "alpha_hat"):
        unmerged.variables[name].value = program.multipliers[name].value
    assert unmerged.objective.expr.value == pytest.approx(value, abs=VALUE * scale)
    size = 1 + max(float(np.max(variable.value)) for variable in unmerged.variables.values())
    for constraint in (*unmerged.constraints.values(), *unmerged.domain):
        assert np.max(constraint.violation()) <= CERTIFIED * size
    assert not np.any(unmerged.variables["alpha"].value * unmerged.variables["alpha_hat"].value)
    for name, expression in unmerged.multipliers.items():
        assert program.multipliers[name].value == pytest.approx(expression.value, abs=CERTIFIED * size)
    return value


def test_the_tubes_have_a_pair_and_no_other_machine_has():
    having = set()
    for cls in DERIVED:
        [drawn] = random_instances(cls, 1, 0)
        found = merged(dual_of(drawn.formulation, drawn.sample))
        if found is not None:
            having.add(cls)
            assert found.pairs == (Pair("beta", plus="alpha_hat", minus="alpha"),)
    assert having == set(TUBES)


@pytest.mark.parametrize("cls", TUBES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("seed", [0, 1])  # odd seeds have costs per point
def test_optima_agree(cls, seed):
    drawn = instance(cls.__name__, "sum", seed)
    value = check_agreement(drawn.formulation, drawn.sample)
    assert value == pytest.approx(drawn.optimum, rel=VALUE, abs=VALUE)


@pytest.mark.parametrize("cls", WITH_WIDTH, ids=lambda cls: cls.__name__)
def test_optima_agree_without_width(cls):
    value = check_agreement(cls(epsilon=0.0), Sample(X, RISING, kernel=Gaussian(sigma=1.3)))
    assert value > DIFFERENT


@pytest.mark.parametrize("cls", TUBES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("target", [0.0, 0.7])
def test_optima_agree_for_constant_targets(cls, target):
    check_agreement(cls(), Sample(X, np.full(len(X), target), kernel=Gaussian(sigma=1.3)))


@pytest.mark.parametrize("cls", WITH_WIDTH[:2], ids=lambda cls: cls.__name__)
def test_optima_agree_on_duplicates_without_width(cls):
    check_agreement(cls(C=0.7, epsilon=0.0), Sample(X[[0, 0, 1, 1, 2, 2]], RISING, kernel=Linear()))


@pytest.mark.parametrize("cls", TUBES, ids=lambda cls: cls.__name__)
def test_solutions_are_certified(cls):
    sample = Sample(X, RISING, kernel=Gaussian(sigma=1.3))
    solution = kopt.solve(with_merged_dual(cls)(), sample, side="dual")
    assert solution.certificate.holds(CERTIFIED)
    assert solution.primal.w.norm == pytest.approx(kopt.solve(cls(), sample).primal.w.norm, rel=CERTIFIED)


@pytest.mark.parametrize("cls", [EpsilonInsensitive, HardTube, NuRegression], ids=lambda cls: cls.__name__)
def test_the_referee_accepts_it(cls):
    assert referee(with_merged_dual(cls), instances=1).accepts


def test_the_referee_rejects_a_wrong_price():
    assert referee(with_merged_dual(EpsilonInsensitive, price=2.0), instances=1).judgement is Judgement.WRONG


def test_the_text_of_the_linear_tube():
    dual = dual_of(EpsilonInsensitive(C=2.7, epsilon=0.13), Sample(X, RISING), costs="")
    assert found_in(dual).section().text().splitlines()[:-1] == [
        "Dual in beta",
        "  with  beta_i = alpha_hat_i - alpha_i",
        f"  max   sum_i y_i beta_i - epsilon sum_i {text(BETA_SIZE)} - 1/2 sum_ij beta_i beta_j k(x_i, x_j)",
        "  s.t.  sum_i beta_i = 0   : b",
        "        -C <= beta_i <= C  : xi_i, xi_hat_i",
        "  then  alpha_hat_i = (beta_i)_+",
        "        alpha_i = (-beta_i)_+",
    ]


def test_the_text_of_squares_and_of_a_bound_on_the_sum():
    squares = dual_of(QuadraticEpsilonInsensitive(C=2.7, epsilon=0.13), Sample(X, RISING), costs="")
    assert "- 1/(4 C) sum_i beta_i^2" in found_in(squares).section().text()
    bounded = found_in(dual_of(NuRegression(C=2.7, nu=0.43), Sample(X, RISING), costs="")).section()
    assert "-C/l <= beta_i <= C/l" in bounded.text()
    assert f"sum_i {text(BETA_SIZE)} <= C nu" in bounded.text()
    assert rf"\sum_{{i}} {latex(BETA_SIZE)} \le C \nu" in bounded.latex()


def tube(width: float = 0.2, hat: float = -1.0, names: tuple[str, str] = ("p", "m")) -> Dual:
    x = cp.Variable(3, name="x")
    first, second = names
    return dual_of_program(cp.sum_squares(x), {first: x - Y <= width, second: hat * (x - Y) <= width})


def soft_tube(weight: float) -> Dual:
    x, u, v = (cp.Variable(3, name=name) for name in "xuv")
    objective = cp.sum_squares(x) + 1.7 * cp.sum_squares(u) + weight * cp.sum_squares(v)
    return dual_of_program(objective, {"p": x - Y - u <= 0.2, "m": Y - x - v <= 0.2})


def test_controls_are_merged():
    assert found_in(tube()).pairs == (Pair("beta", plus="m", minus="p"),)
    assert found_in(tube(width=0.0)).pairs
    assert solved(found_in(soft_tube(1.7)).program(None)) == pytest.approx(solved(soft_tube(1.7).program(None)))


def test_a_linear_part_that_rises_in_the_sum_is_not_merged():
    assert merged(tube(width=-0.2)) is None


def test_unequal_weights_are_not_merged():
    assert merged(soft_tube(1.6)) is None


@pytest.mark.parametrize("hat", [1.0, 2.0, -2.0])
def test_other_signs_and_scales_are_not_merged(hat):
    # So wide that the linear part falls in the sum.
    assert merged(tube(width=5.0, hat=hat)) is None
    assert found_in(tube(width=5.0)).pairs


class TwoPrices(Formulation):
    """Errors above and below cost differently, though not by default."""

    C: float = kopt.positive(default=1.37)
    D: float = kopt.positive(default=1.37)

    def primal(self, s):
        w = s.weight("w")
        xi, xi_hat = cp.Variable(s.n, name="xi"), cp.Variable(s.n, name="xi_hat")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * cp.sum_squares(xi) + self.D * cp.sum_squares(xi_hat)),
            {"alpha": w.values - s.y <= xi, "alpha_hat": s.y - w.values <= xi_hat},
        )


def test_weights_with_two_names_are_not_merged():
    assert merged(dual_of(TwoPrices(D=2.41), Sample(X, RISING))) is None


def changed_bound(offset: float = 1.0, row: bool = False) -> Dual:
    """The linear tube whose bound on alpha has another sign, or is on the sum of its entries."""
    dual = dual_of(EpsilonInsensitive(C=2.7, epsilon=0.13), Sample(X, RISING))
    [k] = [k for k, bound in enumerate(dual.bounds) if bound.about == "xi"]
    form = dual.bounds[k].form
    form = replace(form, offset=offset * form.offset)
    if row:
        total = {name: sp.csr_array(matrix.sum(axis=0)[None, :]) for name, matrix in form.matrices.items()}
        form = replace(form, index="", matrices=total, offset=form.offset[:1])
    dual.bounds[k] = replace(dual.bounds[k], form=form)
    return dual


def test_bounds_that_the_difference_does_not_tell_are_not_merged():
    assert found_in(changed_bound()).pairs
    assert merged(changed_bound(offset=-1.0)) is None
    assert merged(changed_bound(row=True)) is None


def test_unequal_bounds_keep_their_sides():
    x, u, v = (cp.Variable(3, name=name) for name in "xuv")
    objective = cp.sum_squares(x) + 0.3 * cp.sum(u) + 0.8 * cp.sum(v)
    dual = dual_of_program(objective, {"p": x - Y - u <= 0.2, "m": Y - x - v <= 0.2, "r": u >= 0, "t": v >= 0})
    found = found_in(dual)
    program = found.program(None)
    assert solved(program) == pytest.approx(solved(dual.program(None)), rel=VALUE)
    assert program.variables["beta"].value == pytest.approx([0.4, -0.3, 0.8], abs=CERTIFIED)
    assert "-0.3 <= beta_i <= 0.8" in found.section().text()


def test_names_that_are_taken_are_avoided():
    assert found_in(tube(names=("beta", "beta_hat"))).pairs[0].name == "delta"
    assert merged(tube(names=("beta", "delta")), name="theta").pairs[0].name == "theta"
    x = cp.Variable(3, name="delta")
    dual = dual_of_program(cp.sum_squares(x), {"beta": x - Y <= 0.2, "alpha": Y - x <= 0.2})
    assert found_in(dual).pairs[0].name == "gamma"


def test_two_pairs_are_merged_both():
    x, z = cp.Variable(3, name="x"), cp.Variable(name="z")
    constraints = {"p": x - Y - z <= 0.2, "m": Y + z - x <= 0.2, "a": z - 0.5 <= 0.1, "c": 0.5 - z <= 0.1}
    dual = dual_of_program(cp.sum_squares(x) + cp.square(z), constraints)
    found = found_in(dual)
    assert [(pair.plus, pair.minus) for pair in found.pairs] == [("m", "p"), ("c", "a")]
    assert solved(found.program(None)) == pytest.approx(solved(dual.program(None)), rel=VALUE)


def test_a_maximised_primal_keeps_its_sense():
    x = cp.Variable(3, name="x")
    primal = Program(cp.Maximize(-cp.sum_squares(x)), {"p": x - Y <= 0.2, "m": Y - x <= 0.2})
    found = found_in(simplified(raw_dual(read_program(primal, Ledger()))))
    assert solved(found.program(None)) == pytest.approx(solved(primal), rel=VALUE)
    assert "  min   " in found.section().text()
