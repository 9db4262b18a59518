"""Generalisation bounds: functions of a certificate and of delta, one theorem family per file.

A bound that holds for every function of a class (4.17, 7.13, 7.39, 7.49, Corollary 6.13) takes any answer, solved with
costs per point or not; one that is written in dual variables of a machine takes the optimum of that machine only.
"""

from formulations.bounds.bound import Bound
from formulations.bounds.leave_one_out import leave_one_out_bound, leave_one_out_errors
from formulations.bounds.margin import (
    hard_margin_bound,
    margin_bound,
    radius_margin_bound,
    soft_margin_bound,
    trace_margin_bound,
)
from formulations.bounds.novelty import shell_bound, shell_width, soft_sphere_bound
from formulations.bounds.nu import nu_bound
from formulations.bounds.rademacher import Complexity, rademacher_bound, rademacher_complexity
from formulations.bounds.ranking import ranking_perceptron_bound
from formulations.bounds.regression import squared_error_bound, tube_bound
from formulations.bounds.simple_novelty import conditional_novelty_bound, joint_novelty_bound, novelty_threshold
from formulations.bounds.sparsity import novikoff_bound, perceptron_bound, support_vector_bound
from formulations.bounds.two_norm import squared_slack_bound, two_norm_bound

__all__ = [
    "Bound",
    "Complexity",
    "conditional_novelty_bound",
    "hard_margin_bound",
    "joint_novelty_bound",
    "leave_one_out_bound",
    "leave_one_out_errors",
    "margin_bound",
    "novelty_threshold",
    "novikoff_bound",
    "nu_bound",
    "perceptron_bound",
    "rademacher_bound",
    "rademacher_complexity",
    "radius_margin_bound",
    "ranking_perceptron_bound",
    "shell_bound",
    "shell_width",
    "soft_margin_bound",
    "soft_sphere_bound",
    "squared_error_bound",
    "squared_slack_bound",
    "support_vector_bound",
    "trace_margin_bound",
    "tube_bound",
    "two_norm_bound",
]
