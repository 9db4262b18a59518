"""Mistakes in the LaTeX of a derivation are found; names that LaTeX does not expect are typeset."""

import cvxpy as cp
import pytest

import kopt
from kopt import Program
from tests.derivations import as_typed, derivation
from tests.instances import BY_NAME
from tests.mathjax import errors


def test_plain_text_in_a_formula_is_found():
    assert as_typed(r"\alpha_i \le C, \text{alpha <= C}") == []
    assert as_typed(r"alpha_i <= C + \alpha_{mu}") == ["alpha", "<=", "mu"]


@pytest.mark.parametrize(("right", "wrong"), [(r"\sum", r"\summ"), (r"_{i}", r"_{i}_{i}"), (r"\end{aligned}", "")])
def test_a_broken_derivation_is_found(right, wrong):
    formula = derivation(BY_NAME["SoftMargin"]).formulas["Dual"].replace("_i", "_{i}")
    assert right in formula
    assert errors(formula) == []
    assert errors(formula.replace(right, wrong)) != []


def test_a_program_with_awkward_names_is_typeset():
    x, y = cp.Variable(3, name="x_long_name"), cp.Variable(name="100%")
    program = Program(
        cp.Minimize(cp.sum_squares(x) + cp.square(y)),
        {"a_b_c": x + y >= 1, "price[0]": y >= 0, "lambda": cp.sum(x) <= 9},
    )
    derived = kopt.derive(program, instances=1)
    assert [errors(formula) for formula in derived.formulas.values() if errors(formula)] == []
