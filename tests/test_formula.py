"""Formulas are printed as the declarations write them, and what is printed means what the tree means."""

import re
from fractions import Fraction
from math import prod

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from formulations.classification.soft_margin import SoftMargin
from formulations.classification.unit_soft_margin import UnitSoftMargin
from formulations.novelty.soft_hypersphere import SoftHypersphere
from formulations.regression.nu_regression import NuRegression
from kopt.show.formula import (
    Call,
    Inner,
    Kernel,
    Name,
    Norm,
    Number,
    Over,
    Phi,
    Positive,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    Words,
)
from kopt.show.mathematics import aligned, columns, latex, text

ONE, TWO, MINUS = Number(1), Number(2), Number(-1)
HALF = Number(Fraction(1, 2))
C, NU, EPSILON, B, W, X = Name("C"), Name("nu"), Name("epsilon"), Name("b"), Name("w"), Name("x")
L, P, R = Name("l"), Name("p"), Name("R")


def letter(name):
    return lambda index: Name(name, (index,))


alpha, alpha_hat, xi, xi_hat, y = map(letter, ("alpha", "alpha_hat", "xi", "xi_hat", "y"))


def times(*factors):
    return Product(factors)


def plus(*terms):
    return Sum(terms)


def minus(left, right):
    return plus(left, times(MINUS, right))


def over(index, body, where=""):
    return Over(body, tuple(index), where)


VALUE = Inner(W, Phi("i"))
DIFFERENCE = [minus(alpha_hat(i), alpha(i)) for i in "ij"]
SIGNED_SQUARE = over("ij", times(y("i"), y("j"), alpha("i"), alpha("j"), Kernel("i", "j")))
SQUARE = over("ij", times(alpha("i"), alpha("j"), Kernel("i", "j")))
TOTAL = over("i", alpha("i"))

DECLARED = [
    (SoftMargin, plus(times(HALF, Inner(W, W)), times(C, over("i", xi("i"))))),
    (SoftMargin, Relation(times(y("i"), plus(VALUE, B)), ">=", minus(ONE, xi("i")))),
    (SoftMargin, plus(TOTAL, times(Number(Fraction(-1, 2)), SIGNED_SQUARE))),
    (SoftMargin, Relation(over("i", times(y("i"), alpha("i"))), "=", Number(0))),
    (
        NuRegression,
        plus(
            times(HALF, Inner(W, W)),
            times(C, plus(times(NU, EPSILON), times(Quotient(ONE, L), over("i", plus(xi("i"), xi_hat("i")))))),
        ),
    ),
    (NuRegression, Relation(plus(y("i"), times(MINUS, VALUE), times(MINUS, B)), "<=", plus(EPSILON, xi_hat("i")))),
    (
        NuRegression,
        plus(
            over("i", times(y("i"), DIFFERENCE[0])),
            times(MINUS, HALF, over("ij", times(*DIFFERENCE, Kernel("i", "j")))),
        ),
    ),
    (NuRegression, Relation(over("i", plus(alpha_hat("i"), alpha("i"))), "<=", times(C, NU))),
    (NuRegression, Relation(alpha_hat("i"), "<=", Quotient(C, L))),
    (SoftHypersphere, Relation(Power(Norm(minus(Phi("i"), Name("c"))), TWO), "<=", plus(R, xi("i")))),
    (UnitSoftMargin, plus(times(MINUS, Name("gamma")), times(C, over("i", xi("i"))))),
    (UnitSoftMargin, times(MINUS, Power(SIGNED_SQUARE, HALF))),
]


@pytest.mark.parametrize(("formulation", "formula"), DECLARED, ids=lambda item: getattr(item, "__name__", ""))
def test_the_text_is_the_declared_one(formulation, formula):
    assert text(formula) in " ".join(formulation.__doc__.split())


def test_a_quotient_of_sums_is_the_declared_one_with_its_brackets_written():
    formula = minus(over("i", times(alpha("i"), Kernel("i", "i"))), Quotient(SQUARE, TOTAL))
    printed = text(formula)
    assert printed.endswith(" - ( sum_ij alpha_i alpha_j k(x_i, x_j) ) / ( sum_i alpha_i )")
    assert printed.replace("( sum", "sum").replace(" )", "") in SoftHypersphere.__doc__


PRINTED = [
    # Numbers
    (Number(0.1), "0.1", "0.1"),
    (Number(-2.0), "-2", "-2"),
    (Number(-0.0), "0", "0"),
    (Number(2 / 3), "0.666667", "0.666667"),
    (Number(Fraction(-3, 4)), "-3/4", r"-\tfrac{3}{4}"),
    (Number(Fraction(4, 2)), "2", "2"),
    (times(Number(2.5e-8), X), "2.5e-08 x", r"2.5 \cdot 10^{-8} x"),
    (Number(float("inf")), "inf", r"\infty"),
    # Signs
    (times(MINUS, X), "-x", "-x"),
    (times(MINUS, MINUS, X), "x", "x"),
    (times(X, MINUS), "-x", "-x"),
    (times(MINUS, plus(X, B)), "-(x + b)", "-(x + b)"),
    (times(X, Number(-2)), "x (-2)", "x (-2)"),
    (minus(X, minus(B, C)), "x - (b - C)", "x - (b - C)"),
    (plus(X, minus(B, C)), "x + b - C", "x + b - C"),
    (plus(Quotient(Number(-1), C), times(Number(-2), X)), "-1/C - 2 x", r"-\frac{1}{C} - 2 x"),
    (Power(times(MINUS, X), TWO), "(-x)^2", "(-x)^2"),
    (times(MINUS, Power(X, TWO)), "-x^2", "-x^2"),
    (over("i", times(MINUS, alpha("i"))), "sum_i (-alpha_i)", r"\sum_{i} (-\alpha_i)"),
    # Units
    (plus(), "0", "0"),
    (times(), "1", "1"),
    (times(ONE, X), "x", "x"),
    (times(X, plus(times(ONE, B))), "x b", "x b"),
    # Products and quotients
    (times(TWO, C), "2 C", "2 C"),
    (times(TWO, Number(3)), "2 * 3", r"2 \cdot 3"),
    (times(TWO, HALF), "2 * 1/2", r"2 \cdot \tfrac{1}{2}"),
    (Quotient(ONE, times(Number(4), C)), "1/(4 C)", r"\frac{1}{4 C}"),
    (Quotient(ONE, TWO), "1/2", r"\tfrac{1}{2}"),
    (Quotient(times(C, Name("c", ("i",))), L), "C c_i/l", r"\frac{C c_i}{\ell}"),
    (Quotient(Quotient(X, B), Quotient(C, L)), "(x/b)/(C/l)", r"\frac{\frac{x}{b}}{\frac{C}{\ell}}"),
    (Quotient(ONE, Number(-2)), "1/(-2)", r"\frac{1}{-2}"),
    (Quotient(plus(X, B), Power(C, TWO)), "(x + b)/C^2", r"\frac{x + b}{C^2}"),
    (times(X, Quotient(B, C), L), "x (b/C) l", r"x \frac{b}{C} \ell"),
    (times(plus(X, Quotient(B, C)), L), "(x + b/C) l", r"\left( x + \frac{b}{C} \right) \ell"),
    # Powers
    (Power(Quotient(X, P), TWO), "(x/p)^2", r"\left( \frac{x}{p} \right)^2"),
    (Power(HALF, TWO), "(1/2)^2", r"(\tfrac{1}{2})^2"),
    (Power(Power(X, TWO), P), "(x^2)^p", "(x^2)^p"),
    (Power(X, Power(TWO, P)), "x^(2^p)", "x^{2^p}"),
    (Power(X, minus(P, ONE)), "x^(p - 1)", "x^{p - 1}"),
    (Power(X, Number(-1)), "x^(-1)", "x^{-1}"),
    (Power(X, Number(Fraction(3, 2))), "x^(3/2)", "x^{3/2}"),
    (Power(plus(X, B), HALF), "(x + b)^(1/2)", r"\sqrt{x + b}"),
    (Power(plus(X, TOTAL), Quotient(ONE, TWO)), "( x + sum_i alpha_i )^(1/2)", r"\sqrt{x + \sum_{i} \alpha_i}"),
    (Power(Name("xi_l", ("i",)), TWO), "xi_l_i^2", r"(\xi^{l}_i)^2"),
    (Power(plus(Name("Phi'")), TWO), "Phi'^2", r"(\Phi')^2"),
    (Power(alpha_hat("i"), TWO), "alpha_hat_i^2", r"\hat{\alpha}_i^2"),
    (Power(Norm(W), TWO), "||w||^2", r"\lVert w \rVert^2"),
    (Power(Positive(minus(ONE, X)), TWO), "(1 - x)_+^2", "(1 - x)_+^2"),
    # Sums over indices
    (times(TOTAL, X), "(sum_i alpha_i) x", r"\left( \sum_{i} \alpha_i \right) x"),
    (times(X, TOTAL, B), "x (sum_i alpha_i) b", r"x \left( \sum_{i} \alpha_i \right) b"),
    (Quotient(times(C, TOTAL), L), "( C sum_i alpha_i ) / l", r"\frac{C \sum_{i} \alpha_i}{\ell}"),
    (times(Quotient(TOTAL, L), X), "(( sum_i alpha_i ) / l) x", r"\frac{\sum_{i} \alpha_i}{\ell} x"),
    (times(TWO, Quotient(TOTAL, L)), "2 ( sum_i alpha_i ) / l", r"2 \frac{\sum_{i} \alpha_i}{\ell}"),
    (over("i", over("j", plus(X, B))), "sum_i sum_j (x + b)", r"\sum_{i} \sum_{j} (x + b)"),
    (over("i", alpha("i"), "y_i = y"), "sum_(i: y_i = y) alpha_i", r"\sum_{i\,:\,y_i = y} \alpha_i"),
    (over("ij", C, "y_i != y_j"), "sum_(ij: y_i != y_j) C", r"\sum_{i,j\,:\,y_i \ne y_j} C"),
    (over("ij", C, "i<=j"), "sum_(ij: i<=j) C", r"\sum_{i,j\,:\,i \le j} C"),
    (over("ij", C, "i<j"), "sum_(ij: i<j) C", r"\sum_{i,j\,:\,i < j} C"),
    # Letters
    (Name("mu_hat_l", ("i",)), "mu_hat_l_i", r"\hat{\mu}^{l}_i"),
    (Name("rho_plus"), "rho_plus", r"\rho_{+}"),
    (Name("b", ("y_i - 1",)), "b_(y_i - 1)", r"b_{y_i - 1}"),
    (Name("b", ("y_i",)), "b_(y_i)", r"b_{y_i}"),
    (Name("delta", ("i", "j")), "delta_ij", r"\delta_{ij}"),
    (Name("alpha", ("r", "y_i")), "alpha_(r, y_i)", r"\alpha_{r,y_i}"),
    (Name("w1"), "w1", "w_1"),
    (Name("w_2", ("i",)), "w_2_i", "w_{2,i}"),
    (Name("Phi'"), "Phi'", r"\Phi'"),
    (Name("xi[0]", ("i",)), "xi[0]_i", r"\xi^{(0)}_i"),
    (Name("lambda"), "lambda", r"\lambda"),
    (Name("Rho"), "Rho", r"\mathrm{P}"),
    (times(Name("above"), Name("tau")), "above tau", r"\mathrm{above} \, \tau"),
    (Name("50%_of{all}"), "50%_of{all}", r"\mathrm{50\%}^{\mathrm{of\{all\}}}"),
    (Name("w<i>"), "w<i>", r"\mathrm{w{<}i{>}}"),
    (Name("_a"), "_a", r"\mathrm{\_a}"),
    # Functions, relations, words
    (Kernel("i", ""), "k(x_i, x)", "k(x_i, x)"),
    (Inner(TOTAL, W), "<sum_i alpha_i, w>", r"\left\langle \sum_{i} \alpha_i, w \right\rangle"),
    (Call("log", (Quotient(X, C),)), "log(x/C)", r"\log\left( \frac{x}{C} \right)"),
    (Call("max", (Number(0), X)), "max(0, x)", r"\max(0, x)"),
    (Call("huber", (X,)), "huber(x)", r"\operatorname{huber}(x)"),
    (Relation(Relation(Number(0), "<=", X), "<=", C), "0 <= x <= C", r"0 \le x \le C"),
    (times(TWO, Words("apples"), X), "2 apples x", r"2\ \text{apples}\ x"),
    (Relation(X, "in", Words("the 50% hull")), "x in the 50% hull", r"x \in \text{the 50}\%\text{ hull}"),
]


@pytest.mark.parametrize(("formula", "as_text", "as_latex"), PRINTED, ids=[row[1] for row in PRINTED])
def test_a_formula_in_both_dialects(formula, as_text, as_latex):
    assert text(formula) == as_text
    assert latex(formula) == as_latex


def test_rows_are_laid_out_in_columns():
    rows = [("max", "x", ": mu"), ("s.t.", "", ""), ("", "x = 1")]
    assert columns(rows) == "max   x      : mu\ns.t.\n      x = 1"
    assert aligned(rows) == "\\begin{aligned}\nmax & x & : mu \\\\\ns.t. &  &  \\\\\n & x = 1\n\\end{aligned}"


VALUES = {"a": Fraction(3, 7), "b": Fraction(-5, 3), "C": Fraction(11, 2)}
LEAVES = st.one_of(
    st.sampled_from([Name(name) for name in VALUES]),
    st.integers(-3, 3).map(Number),
    st.fractions(-2, 2, max_denominator=3).map(Number),
    st.sampled_from([Number(0.25), Number(-1.5)]),
)
EXPONENTS = st.sampled_from([TWO, MINUS, plus(ONE, ONE), times(MINUS, TWO), Quotient(TWO, MINUS), Power(TWO, ONE)])


def larger(formulas):
    several = st.lists(formulas, max_size=4).map(tuple)
    return st.one_of(
        several.map(Product),
        several.map(Sum),
        st.builds(minus, formulas, formulas),
        st.builds(Quotient, formulas, formulas),
        st.builds(Power, formulas, EXPONENTS),
    )


TREES = st.recursive(LEAVES, larger, max_leaves=10)


def value(formula):
    match formula:
        case Number(number):
            return Fraction(number)
        case Name(name):
            return VALUES[name]
        case Product(factors):
            return prod(map(value, factors), start=Fraction(1))
        case Sum(terms):
            return sum(map(value, terms), start=Fraction(0))
        case Quotient(numerator, denominator):
            return value(numerator) / value(denominator)
        case Power(base, exponent):
            return value(base) ** value(exponent)


def evaluated(python):
    """Python's value of a formula in which only spaces still stand for products; numbers are exact."""
    python = re.sub(r"(?<![-+*/]) (?![-+*/])", " * ", python)
    python = re.sub(r"(\d+(\.\d+)?)", r"Fraction('\1')", python)
    return eval(python, {"Fraction": Fraction, **VALUES})


def from_text(printed):
    return evaluated(printed.replace("^", "**"))


def from_latex(printed):
    """Braces occur only in fractions and exponents here: an exponent in braces is closed by two brackets as well."""
    python = re.sub(r"\\left\( | \\right\)", lambda fence: fence[0].strip("\\lefright "), printed)
    python = re.sub(r"\\t?frac{", "((", python).replace("}{", ")/(").replace("^{", "**((").replace("^", "**")
    return evaluated(python.replace("}", "))").replace(r"\cdot", "*"))


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(TREES)
def test_what_is_printed_has_the_value_of_the_tree(formula):
    try:
        expected = value(formula)
    except ZeroDivisionError:
        assume(False)
    assert from_text(text(formula)) == expected
    assert from_latex(latex(formula)) == expected


@pytest.mark.parametrize(("printed", "wrong"), [("a - (b + C)", "a - b + C"), ("a/(b C)", "a/b C"), ("(-a)^2", "-a^2")])
def test_the_evaluator_sees_a_lost_bracket(printed, wrong):
    assert from_text(printed) != from_text(wrong)


@pytest.mark.parametrize("formula", [formula for _, formula in DECLARED] + [row[0] for row in PRINTED])
def test_braces_and_fences_balance(formula):
    printed = re.sub(r"\\[{}]", "", latex(formula))
    depths = [printed[:end].count("{") - printed[:end].count("}") for end in range(len(printed) + 1)]
    assert min(depths) == 0 == depths[-1]
    assert printed.count(r"\left") == printed.count(r"\right")


def test_formulas_are_values():
    assert len({over("i", xi("i")), over("i", xi("i")), over("j", xi("j"))}) == 2
