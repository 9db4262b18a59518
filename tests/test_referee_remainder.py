"""The part of a Lagrangian that a solver minimises: the solver's word is looked into."""

import cvxpy as cp
import numpy as np
import pytest

from kopt.program import Program
from kopt.referee.remainder import Remainder

P = 1.6
COSTS = np.array([2.4, 1.0, 1.8])
# The relative change from one pull to the next at which a minimum counts as settled.
SETTLED = 1e-6


class Liar:
    """A problem whose solver says that it has found the minimum, wherever it is."""

    status = cp.OPTIMAL
    value = -1e16

    def __init__(self, problem, said):
        self.objective, self.said = problem.objective, said

    def solve(self, **_):
        for variable in self.objective.variables():
            variable.save_value(self.said.get(variable.name(), np.zeros(variable.shape)))


@pytest.fixture
def remainder():
    """The minimum over t and u of sum_i c_i (1 - t_i)_+^p + exp(u) - u + alpha' (t - f)."""
    t, u, f = cp.Variable(3, name="t"), cp.Variable(name="u"), cp.Variable(3, name="f")
    objective = COSTS @ cp.power(cp.pos(1 - t), P) + cp.exp(u) - u
    return Remainder(Program(cp.Minimize(objective), {"alpha": t == f}), [u, t])


def minimiser(alpha):
    """alpha_i = p c_i (1 - t_i)^(p - 1)."""
    return 1 - (alpha / (P * COSTS)) ** (1 / (P - 1))


def minimum(alpha):
    t = minimiser(alpha)
    return float(COSTS @ (1 - t) ** P + alpha @ t) + 1


def test_the_minimum_is_the_closed_form(remainder):
    for alpha in ([0.3, 0.2, 0.1], [1.0, 4.0, 2.0], [30.0, 2.0, 9.0]):
        value, escaping = remainder.minimise({"alpha": np.array(alpha)})
        assert value == pytest.approx(minimum(np.array(alpha)), rel=1e-9)
        assert escaping is None


@pytest.mark.parametrize("far", [1e3, 5.7e9, 1.8e15])
@pytest.mark.parametrize("t", [-1.0, 0.5, -3e4])
def test_a_far_point_that_a_solver_calls_optimal_is_none(remainder, t, far):
    remainder.problem = Liar(remainder.problem, {"t": np.array([t, far, far / 7])})
    assert remainder.minimise({"alpha": np.array([1.0, -0.4, 0.0])}) == (-np.inf, "t")


@pytest.mark.parametrize("part", [0.1, 0.4])
def test_a_point_on_the_way_to_the_minimum_is_neither_far_nor_believed(remainder, part):
    alpha = np.array([6.0, 3.0, 5.0])
    remainder.problem = Liar(remainder.problem, {"t": part * minimiser(alpha)})
    value, escaping = remainder.minimise({"alpha": alpha})
    assert escaping is None
    assert not abs(value - minimum(alpha)) > SETTLED * abs(minimum(alpha)), "neither the minimum nor nan"


def test_the_minimum_itself_is_taken_at_its_word(remainder):
    alpha = np.array([30.0, 12.0, 9.0])
    remainder.problem = liar = Liar(remainder.problem, {"t": minimiser(alpha)})
    liar.value = minimum(alpha) / max(remainder.slope, 30.0)
    assert remainder.minimise({"alpha": alpha})[0] == pytest.approx(minimum(alpha), rel=1e-14)
