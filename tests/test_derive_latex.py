"""Every formula of every derivation is typeset by MathJax, as a notebook would."""

import re

import cvxpy as cp
import pytest

import kopt
from kopt import Program
from tests.derivations import NEWCOMERS, derivation
from tests.instances import BY_NAME, FORMULATIONS
from tests.mathjax import errors

every_class = pytest.mark.parametrize("cls", [*FORMULATIONS, *NEWCOMERS], ids=lambda cls: cls.__name__)


def displayed(fragment: str) -> list[str]:
    r"""The formulas between \[ and \]."""
    return re.findall(r"\\\[\n(.*?)\n\\\]", fragment, flags=re.DOTALL)


def between_dollars(markdown: str) -> list[str]:
    return re.findall(r"\$\$\n(.*?)\n\$\$", markdown, flags=re.DOTALL)


@every_class
def test_every_section_is_typeset(cls):
    mistakes = {title: errors(formula) for title, formula in derivation(cls).formulas.items()}
    assert {title: found for title, found in mistakes.items() if found} == {}


@every_class
def test_the_fragment_and_the_notebook_show_the_same_formulas(cls):
    derived = derivation(cls)
    assert displayed(derived.latex()) == list(derived.formulas.values())
    assert between_dollars(derived._repr_markdown_()) == list(derived.formulas.values())


GREEK = "alpha|beta|gamma|delta|epsilon|eta|kappa|lambda|mu|nu|rho|tau|theta|xi"


def as_typed(formula: str) -> list[str]:
    r"""What stands in a formula as it would in plain text: alpha for \alpha, <= for \le."""
    outside = re.sub(r"\\(?:text|operatorname)\{[^{}]*\}", "", formula)
    return re.findall(rf"(?<![\\A-Za-z])(?:{GREEK})(?![A-Za-z])|[<>]=", outside)


@every_class
def test_nothing_is_left_as_plain_text(cls):
    assert {title: as_typed(f) for title, f in derivation(cls).formulas.items() if as_typed(f)} == {}


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
