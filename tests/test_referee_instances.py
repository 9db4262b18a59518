"""Random instances: which numbers a factor may be made of, and which parameters are drawn."""

import numpy as np

import kopt
from formulations.classification import NuSoftMargin
from kopt import Judgement, losses
from kopt.referee.instances import drawn_parameters, numbers_of
from kopt.regularised_risk import MarginRisk, ResidualRisk, regularised_risk


def test_numbers_are_the_parameters_their_complements_and_those_of_the_loss():
    assert numbers_of(NuSoftMargin(nu=0.25)) == {"nu": 0.25, "(1 - nu)": 0.75}
    assert numbers_of(regularised_risk(losses.Huber(delta=2), cost=1.7)) == {"delta": 2.0, "C": 1.7}
    assert numbers_of(regularised_risk(losses.Hinge(), offset=False)) == {"C": 1.0}


def test_parameters_of_the_loss_are_drawn_and_what_has_no_domain_stays():
    rng = np.random.default_rng(0)
    drawn = [drawn_parameters(regularised_risk(losses.Pinball(tau=0.3), offset=False), rng) for _ in range(5)]
    assert len({machine.loss.tau for machine in drawn}) == len({machine.C for machine in drawn}) == 5
    assert all(type(machine) is ResidualRisk and not machine.offset for machine in drawn)
    assert drawn_parameters(MarginRisk, rng).loss == losses.Hinge()


class HuberOfOneWidth(losses.Huber):
    """The conjugate is right for delta = 0.4 alone."""

    def conjugate_expression(self, u):
        return super().conjugate_expression(u) * self.delta / 0.4


def test_a_dual_that_is_right_for_one_parameter_of_the_loss_is_refused():
    machine = regularised_risk(HuberOfOneWidth(delta=0.4), cost=1.7)
    assert kopt.referee(machine, instances=1).judgement is Judgement.EXACT
    assert kopt.referee(machine, instances=2).judgement is Judgement.WRONG
