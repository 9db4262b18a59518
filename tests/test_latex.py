"""LaTeX that MathJax typesets passes, and LaTeX that it cannot typeset is refused with MathJax's own words."""

import xml.etree.ElementTree as ET

import pytest
import quickjs

from tests.mathjax import errors, svg

SOFT_MARGIN = r"""
\begin{aligned}
\min_{w,\, b,\, \xi} \quad & \tfrac{1}{2} \lVert w \rVert^2 + C \sum_{i=1}^n \xi_i \\
\text{s.t.} \quad & y_i \bigl( \langle w, \varphi(x_i) \rangle + b \bigr) \ge 1 - \xi_i, \quad i = 1, \dots, n \\
& \xi_i \ge 0
\end{aligned}
"""

GOOD = [
    SOFT_MARGIN,
    r"\max_{0 \le \hat\alpha \le C} \ \mathbf{1}^\top \hat\alpha - \frac{1}{2} \hat\alpha^\top K \hat\alpha",
    r"\left\{ \begin{array}{rl} \alpha_i = 0 & \text{if } y_i f(x_i) > 1 \\ C & \text{else} \end{array} \right.",
    r"w = \sum_{i=1}^n \alpha_i y_i \varphi(x_i) \in \mathcal{H}, \qquad \operatorname{diag}(y) \succeq 0",
]

BAD = [
    (r"\undefinedmacro", r"Undefined control sequence \undefinedmacro"),
    (r"\text{\undefinedmacro}", r"Undefined control sequence \undefinedmacro"),
    (r"{", "Extra open brace or missing close brace"),
    (r"}", "Extra close brace or missing open brace"),
    (r"\frac{1}", r"Missing argument for \frac"),
    (r"a & b", "Misplaced &"),
    (r"\begin{aligned} a & b & \end{array}", r"\begin{aligned} ended with \end{array}"),
    (r"\begin{aligned} a", r"Missing \end{aligned}"),
    (r"\begin{alinged} a \end{alinged}", "Unknown environment 'alinged'"),
    (r"\left( x", r"Extra \left or missing \right"),
    (r"\xi_i_j", "Double subscripts: use braces to clarify"),
    (r"\text{kernel_matrix}", "'_' allowed only in math mode"),
]


@pytest.mark.parametrize("latex", GOOD)
def test_a_formula_without_mistakes_passes(latex):
    assert errors(latex) == []


@pytest.mark.parametrize(("latex", "message"), BAD)
def test_a_mistake_is_named(latex, message):
    assert errors(latex) == [message]


def test_a_mistake_deep_inside_a_derivation_is_found():
    assert errors(SOFT_MARGIN.replace(r"\rangle", r"\rangel")) == [r"Undefined control sequence \rangel"]


def test_a_definition_ends_with_its_formula():
    assert errors(r"\DeclareMathOperator{\tr}{tr} \tr K") == []
    assert errors(r"\tr K") == [r"Undefined control sequence \tr"]


def nested(depth):
    return r"\frac{1}{" * depth + "x" + "}" * depth


def test_nesting_beyond_the_stack_is_a_mistake_and_the_engine_survives_it():
    assert errors(nested(100)) == []
    assert errors(nested(1_000)) == ["Maximum call stack size exceeded"]
    assert errors("x") == []


def test_the_picture_has_the_glyphs_of_the_formula():
    drawn = [path.get("data-c") for path in ET.fromstring(svg(r"\alpha + 1")).iter("{http://www.w3.org/2000/svg}path")]
    assert drawn == ["1D6FC", "2B", "31"]


def test_a_mistake_has_no_picture():
    with pytest.raises(quickjs.JSException, match="Undefined control sequence"):
        svg(r"\undefinedmacro")
