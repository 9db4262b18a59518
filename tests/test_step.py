"""Lines of derivations: right ones pass, and each planted mistake is refused in its own line.

The derivations are written out by hand below, with data, costs and sizes that cannot make a wrong factor look right.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import kopt
from formulations.classification import SoftMargin
from kopt.errors import DeclarationError, InputError, KoptError
from kopt.kernels import Linear
from kopt.steps.derivation import derivative
from kopt.steps.lagrangian import lagrangian
from kopt.steps.step import Step, check_step
from kopt.views import ExplicitView

N, D = 5, 2
C = 2.37
RNG = np.random.default_rng(8)
X = RNG.normal(size=(N, D)) * [1.0, 2.0]
Y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
TARGET = RNG.normal(size=N)
DIAGONAL = np.sum(X**2, axis=1)


@dataclass
class Derivation:
    """A Lagrangian, its variables by name, and the right claims about it."""

    L: cp.Expression
    claims: dict[str, Any]

    def __post_init__(self) -> None:
        expressions = [self.L, *self.claims["stationarity"].values(), self.claims["gives"]]
        self.variables = {v.name(): v for e in expressions for v in e.variables()}

    def __getitem__(self, name: str) -> cp.Variable:
        return self.variables[name]

    def check(self, seed: int = 0, **changed: Any) -> Step:
        return check_step(self.L, seed=seed, **{**self.claims, **changed})


def vectors(*names: str) -> list[cp.Variable]:
    return [cp.Variable(N, name=name) for name in names]


def scalars(*names: str) -> list[cp.Variable]:
    return [cp.Variable(name=name) for name in names]


def soft_margin(X: np.ndarray = X, C: float = C) -> Derivation:
    w, (b,), (xi, alpha, mu) = cp.Variable(D, name="w"), scalars("b"), vectors("xi", "alpha", "mu")
    L = 0.5 * cp.sum_squares(w) + C * cp.sum(xi) - alpha @ (cp.multiply(Y, X @ w + b) - 1 + xi) - mu @ xi
    v = X.T @ cp.multiply(Y, alpha)
    return Derivation(
        L,
        {
            "stationarity": {w: v},
            "conditions": [Y @ alpha == 0, alpha + mu == C],
            "gives": cp.sum(alpha) - 0.5 * cp.sum_squares(v),
        },
    )


def two_norm() -> Derivation:
    w, (b,), (xi, alpha) = cp.Variable(D, name="w"), scalars("b"), vectors("xi", "alpha")
    L = 0.5 * cp.sum_squares(w) + C / 2 * cp.sum_squares(xi) - alpha @ (cp.multiply(Y, X @ w + b) - 1 + xi)
    v = X.T @ cp.multiply(Y, alpha)
    return Derivation(
        L,
        {
            "stationarity": {w: v, xi: alpha / C},
            "conditions": [Y @ alpha == 0],
            "gives": cp.sum(alpha) - 0.5 * cp.sum_squares(v) - cp.sum_squares(alpha) / (2 * C),
        },
    )


def ridge() -> Derivation:
    w, (xi, alpha) = cp.Variable(D, name="w"), vectors("xi", "alpha")
    L = C * cp.sum_squares(w) + cp.sum_squares(xi) + alpha @ (TARGET - X @ w - xi)
    return Derivation(
        L,
        {
            "stationarity": {w: X.T @ alpha / (2 * C), xi: alpha / 2},
            "gives": TARGET @ alpha - cp.sum_squares(X.T @ alpha) / (4 * C) - cp.sum_squares(alpha) / 4,
        },
    )


def sphere() -> Derivation:
    c, (R,), (xi, alpha, mu) = cp.Variable(D, name="c"), scalars("R"), vectors("xi", "alpha", "mu")
    L = R + C * cp.sum(xi) + alpha @ (DIAGONAL - 2 * X @ c + cp.sum_squares(c) - R - xi) - mu @ xi
    return Derivation(
        L,
        {
            "stationarity": {c: X.T @ alpha},  # true only where the multipliers add up to 1
            "conditions": [cp.sum(alpha) == 1, alpha + mu == C],
            "gives": DIAGONAL @ alpha - cp.sum_squares(X.T @ alpha),
        },
    )


def unit_norm() -> Derivation:
    w, (b, gamma, lam), (alpha,) = cp.Variable(D, name="w"), scalars("b", "gamma", "lambda"), vectors("alpha")
    L = -gamma - alpha @ (cp.multiply(Y, X @ w + b) - gamma) + lam * (cp.sum_squares(w) - 1)
    v = X.T @ cp.multiply(Y, alpha)
    return Derivation(
        L,
        {
            "stationarity": {w: v / (2 * lam)},
            "conditions": [Y @ alpha == 0, cp.sum(alpha) == 1],
            "gives": -1 / (4 * lam) * cp.sum_squares(v) - lam,
        },
    )


def unit_norm_lambda() -> Derivation:
    """The second step: lambda goes as well."""
    (lam,), (alpha,) = scalars("lambda"), vectors("alpha")
    v = X.T @ cp.multiply(Y, alpha)
    return Derivation(
        -1 / (4 * lam) * cp.sum_squares(v) - lam,
        {"stationarity": {lam: 0.5 * cp.norm(v)}, "gives": -cp.norm(v)},
    )


def logistic() -> Derivation:
    w, (m, alpha) = cp.Variable(D, name="w"), vectors("m", "alpha")
    L = 0.5 * cp.sum_squares(w) + cp.sum(cp.logistic(-m)) + alpha @ (m - cp.multiply(Y, X @ w))
    v = X.T @ cp.multiply(Y, alpha)
    return Derivation(
        L,
        {
            "stationarity": {w: v, m: cp.log(1 - alpha) - cp.log(alpha)},
            "conditions": [alpha <= 1],
            "gives": cp.sum(cp.entr(alpha) + cp.entr(1 - alpha)) - 0.5 * cp.sum_squares(v),
        },
    )


def soft_maximum() -> Derivation:
    """log sum exp: the condition is demanded by a claim, and the result is defined for positive alpha only."""
    m, alpha = vectors("m", "alpha")
    return Derivation(
        cp.log_sum_exp(m) - alpha @ m,
        {
            "stationarity": {m: cp.log(alpha)},
            "conditions": [cp.sum(alpha) == 1],
            "gives": cp.sum(cp.entr(alpha)),
        },
    )


def smallest_eigenvalue() -> Derivation:
    """min <A, S>, trace(S) = 1, S positive semi-definite: of A, only the symmetric part is demanded."""
    A = np.array([[2.0, 0.3, -1.0], [1.3, -1.5, 0.7], [-0.5, 0.2, 0.4]])
    S = cp.Variable((3, 3), name="S", symmetric=True)
    L, multipliers = lagrangian(kopt.Program(cp.Minimize(cp.trace(A @ S)), {"nu": cp.trace(S) == 1, "Z": S >> 0}))
    nu, Z = multipliers["nu"], multipliers["Z"]
    return Derivation(L, {"stationarity": {}, "conditions": [(A + A.T) / 2 + nu * np.eye(3) == Z], "gives": -nu})


RIGHT = [
    soft_margin,
    two_norm,
    ridge,
    sphere,
    unit_norm,
    unit_norm_lambda,
    logistic,
    soft_maximum,
    smallest_eigenvalue,
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("derivation", RIGHT)
def test_right_derivations_hold(derivation: Callable[[], Derivation], seed: int) -> None:
    step = derivation().check(seed)
    assert step.holds, str(step)
    assert bool(step)
    assert not step.failures
    assert max(line.discrepancy for line in step.lines) < 1e-8


def test_every_claim_has_its_line() -> None:
    d = soft_margin()
    assert [line.claimed for line in d.check().lines] == [
        "dL/dw = 0 at w = [..] @ ([..] * alpha)",
        "dL/db = 0 under the conditions",
        "dL/dxi = 0 under the conditions",
        "[..] @ alpha == 0 is demanded",
        "alpha + mu == 2.37 is demanded",
        "L = sum(alpha) - 0.5 * sum_squares([..] @ ([..] * alpha)) after the substitution",
    ]


Change = Callable[[Derivation], dict[str, Any]]


def claim(name: str, change: Callable[[Derivation, cp.Expression], Any]) -> Change:
    """The claim for one variable, changed; the result is left out, because it would fail too."""

    def changed(d: Derivation) -> dict[str, Any]:
        claims = d.claims["stationarity"]
        return {"stationarity": {**claims, d[name]: change(d, claims[d[name]])}, "gives": None}

    return changed


def conditions(change: Callable[[Derivation], list[Any]]) -> Change:
    return lambda d: {"conditions": change(d)}


def gives(change: Callable[[Derivation], Any]) -> Change:
    return lambda d: {"gives": change(d)}


def square(d: Derivation) -> cp.Expression:
    return cp.sum_squares(X.T @ cp.multiply(Y, d["alpha"]))


# (the derivation, the mistake, the lines that fail, a part of the first one's what, why or fix)
MISTAKES = {
    "factor 2 in w": (soft_margin, claim("w", lambda d, e: 2 * e), ["dL/dw"], "Multiply the claimed w by 1/2."),
    "sign of w": (soft_margin, claim("w", lambda d, e: -e), ["dL/dw"], "Multiply the claimed w by -1."),
    "forgotten y": (soft_margin, claim("w", lambda d, e: X.T @ d["alpha"]), ["dL/dw"], "and L is stationary at ["),
    "w almost right": (
        soft_margin,
        claim("w", lambda d, e: 1.0001 * e),
        ["dL/dw"],
        "Multiply the claimed w by 1 / 1.0001.",
    ),
    "forgotten 1/C": (
        two_norm,
        claim("xi", lambda d, e: d["alpha"]),
        ["dL/dxi"],
        "Multiply the claimed xi by 1 / 2.37.",
    ),
    "y too many": (
        two_norm,
        claim("xi", lambda d, e: cp.multiply(Y, e)),
        ["dL/dxi"],
        "entry by entry, by [1, -1, 1, 1, -1]",
    ),
    "forgotten 1/(2 lambda)": (
        unit_norm,
        claim("w", lambda d, e: X.T @ cp.multiply(Y, d["alpha"])),
        ["dL/dw"],
        "Multiply the claimed w by 1/2 / lambda.",
    ),
    "factor 2 in lambda": (unit_norm_lambda, claim("lambda", lambda d, e: 2 * e), ["dL/dlambda"], "is not quadratic"),
    "sign of m": (logistic, claim("m", lambda d, e: -e), ["dL/dm"], "L is not quadratic in m"),
    "w = 0": (ridge, claim("w", lambda d, e: np.zeros(D)), ["dL/dw"], "the claimed w is [0, 0]"),
    "a multiplier claimed": (
        soft_margin,
        lambda d: {"stationarity": {d["mu"]: C - d["alpha"]}, "conditions": (), "gives": None},
        ["dL/dmu"],
        "say so in conditions=[mu == ...]",
    ),
    "no condition for xi": (
        soft_margin,
        conditions(lambda d: [Y @ d["alpha"] == 0]),
        ["dL/dxi"],
        "] with slope 2.37 - alpha[",
    ),
    "no condition for b": (
        soft_margin,
        conditions(lambda d: [d["alpha"] + d["mu"] == C]),
        ["dL/db"],
        "slope -alpha[0] + alpha[1] - alpha[2] - alpha[3] + ..., which your conditions do not make 0",
    ),
    "no condition at all": (
        two_norm,
        conditions(lambda d: []),
        ["dL/db"],
        "which no condition makes 0",
    ),
    "wrong condition": (
        soft_margin,
        conditions(lambda d: [cp.sum(d["alpha"]) == 0, d["alpha"] + d["mu"] == C]),
        ["dL/db", "sum(alpha) == 0 is demanded"],
        "L is affine in b",
    ),
    "wrong constant": (
        soft_margin,
        conditions(lambda d: [Y @ d["alpha"] == 0, d["alpha"] + d["mu"] == 2 * C]),
        ["dL/dxi", "alpha + mu == 4.74 is demanded"],
        "slope 2.37 - alpha[",
    ),
    "superfluous condition": (
        soft_margin,
        conditions(lambda d: [*d.claims["conditions"], cp.sum(d["alpha"]) == 1]),
        ["sum(alpha) == 1 is demanded"],
        "It is not demanded by any variable.",
    ),
    "condition of nobody": (
        ridge,
        conditions(lambda d: [cp.sum(d["alpha"]) == 0]),
        ["sum(alpha) == 0 is demanded"],
        "with or without conditions",
    ),
    "claim without its condition": (
        sphere,
        conditions(lambda d: [d["alpha"] + d["mu"] == C]),
        ["dL/dc", "dL/dR", "L ="],
        "dL",
    ),
    "forgotten 1/2": (
        soft_margin,
        gives(lambda d: cp.sum(d["alpha"]) - square(d)),
        ["L ="],
        "Multiply the term -sum_squares([..] @ ([..] * alpha)) by 1/2.",
    ),
    "forgotten factor of a function": (
        unit_norm,
        gives(lambda d: -square(d) - d["lambda"]),
        ["L ="],
        "Multiply the term -sum_squares([..] @ ([..] * alpha)) by 1/4 / lambda.",
    ),
    "wrong sign": (soft_margin, gives(lambda d: 0.5 * square(d) + cp.sum(d["alpha"])), ["L ="], "by -1."),
    "two factors": (
        soft_margin,
        gives(lambda d: 3 * cp.sum(d["alpha"]) - square(d)),
        ["L ="],
        "Multiply the term 3 * sum(alpha) by 1/3, and multiply the term -sum_squares([..] @ ([..] * alpha)) by 1/2.",
    ),
    "missing sum": (soft_margin, gives(lambda d: -0.5 * square(d)), ["L ="], "Add the missing term sum(alpha)."),
    "missing square": (
        soft_margin,
        gives(lambda d: cp.sum(d["alpha"])),
        ["L ="],
        "Add the missing term -0.5 * sum_squares(w).",
    ),
    "missing square and a factor": (
        two_norm,
        gives(lambda d: 2 * cp.sum(d["alpha"]) - 0.5 * square(d)),
        ["L ="],
        "Multiply the term 2 * sum(alpha) by 1/2, and add the missing term",
    ),
    "missing constant": (
        soft_margin,
        gives(lambda d: d.claims["gives"] + 3.5),
        ["L ="],
        "Leave out the term 3.5.",
    ),
    "superfluous term": (
        soft_margin,
        gives(lambda d: d.claims["gives"] + cp.sum_squares(d["alpha"])),
        ["L ="],
        "Leave out the term sum_squares(alpha).",
    ),
    "missing square, where the other terms cancel": (
        sphere,
        gives(lambda d: DIAGONAL @ d["alpha"] + cp.sum(d["alpha"]) - 1),
        ["L ="],
        "Add the missing term",
    ),
    "something else": (soft_margin, gives(lambda d: cp.sum(cp.exp(d["alpha"]))), ["L ="], "Substitute again"),
    "nothing solved": (
        soft_margin,
        lambda d: {"stationarity": None},
        ["w is gone", "L ="],
        "no stationary point is claimed for it",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused_and_located(mistake: str) -> None:
    derivation, change, failing, said = MISTAKES[mistake]
    d = derivation()
    step = d.check(**change(d))
    assert not step.holds
    assert not step
    assert [line.claimed for line in step.failures if not line.claimed.startswith(tuple(failing))] == []
    assert len(step.failures) == len(failing), str(step)
    first = step.failures[0]
    assert said in " ".join([first.what, first.why, first.fix]), str(step)
    assert all(line.what and line.why and line.fix and line.discrepancy > 1e-8 for line in step.failures)


def test_a_result_at_a_wrong_point_refers_to_that_point() -> None:
    d = soft_margin()
    step = d.check(stationarity={d["w"]: 2 * d.claims["stationarity"][d["w"]]})
    assert [line.fix for line in step.failures] == ["Multiply the claimed w by 1/2.", "Correct that first."]


@pytest.mark.parametrize("scale", [1e-3, 1e3])
@pytest.mark.parametrize("cost", [1e-4, 1e4])
def test_scales_do_not_matter(scale: float, cost: float) -> None:
    d = soft_margin(scale * X, cost)
    assert d.check().holds
    v = d.claims["stationarity"][d["w"]]
    assert [line.fix for line in d.check(stationarity={d["w"]: v / 3}, gives=None).failures] == [
        "Multiply the claimed w by 3."
    ]
    assert not d.check(gives=cp.sum(d["alpha"]) - cp.sum_squares(v)).holds
    assert not d.check(gives=0.5 * cp.sum(d["alpha"]) - 0.5 * cp.sum_squares(v)).holds


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_a_multiple_of_the_lagrangian(factor: float) -> None:
    d = soft_margin()
    assert check_step(factor * d.L, **{**d.claims, "gives": factor * d.claims["gives"]}).holds
    superfluous = [*d.claims["conditions"], cp.sum(d["alpha"]) == 1]
    assert len(check_step(factor * d.L, conditions=superfluous).failures) == 1


def test_the_same_step_written_otherwise() -> None:
    """One sum for all constraints, a square that cancels, a condition solved for mu, claims in a chain."""
    w, u = cp.Variable(D, name="w"), cp.Variable(D, name="u")
    (b,), (xi, alpha, mu) = scalars("b"), vectors("xi", "alpha", "mu")
    margins = cp.multiply(alpha, 1 - xi - cp.multiply(Y, X @ w + b))
    L = cp.sum_squares(w) + C * cp.sum(xi) + cp.sum(margins - cp.multiply(mu, xi)) - 0.5 * w @ w + cp.sum_squares(u - w)
    v = X.T @ cp.multiply(Y, alpha)
    step = check_step(
        L,
        stationarity={u: w, w: v},
        conditions=[mu == C - alpha, -2 * Y @ alpha == 0, 2 * alpha + 2 * mu == 2 * C],
        gives=-cp.sum_squares(v) / 2 + np.ones(N) @ alpha,
    )
    assert step.holds, str(step)


def test_terms_that_cancel_for_every_value() -> None:
    """A slope of 1e-16 here is 1e-16 nearby as well, and is 0 all the same."""
    w, (b,), (alpha,) = cp.Variable(N, name="w"), scalars("b"), vectors("alpha")
    L = 0.5 * cp.sum_squares(w) - alpha @ w + 0.1 * b * cp.sum(alpha) - cp.sum(cp.multiply(alpha, 0.1 * b * np.ones(N)))
    assert check_step(L, stationarity={w: alpha}, gives=-0.5 * cp.sum_squares(alpha)).holds


@pytest.mark.parametrize("m", np.linspace(-3.0, 3.0, 25))
@pytest.mark.parametrize("size", [1.0, 4.0, 16.0])
def test_derivatives_are_not_fooled_by_coarse_differences(m: float, size: float) -> None:
    """log(1 + exp(-m)) is odd but for a line: coarse differences agree by accident."""
    found = derivative(lambda t: float(np.logaddexp(0.0, -m - t)), size)
    assert found == pytest.approx(-1 / (1 + np.exp(m)), abs=1e-10)


def test_parts_can_be_checked_alone() -> None:
    d = soft_margin()
    w, b, xi, alpha, mu = (d[name] for name in ("w", "b", "xi", "alpha", "mu"))
    v = d.claims["stationarity"][w]
    assert len(check_step(d.L, stationarity={w: v}).lines) == 1
    assert check_step(d.L, conditions=d.claims["conditions"]).holds
    assert [line.claimed for line in check_step(d.L, conditions=[Y @ alpha == 0], over=[b]).lines] == [
        "dL/db = 0 under the conditions",
        "[..] @ alpha == 0 is demanded",
    ]
    halfway = cp.sum(alpha) - 0.5 * cp.sum_squares(v) - b * (Y @ alpha) + xi @ (C - alpha - mu)
    assert check_step(d.L, stationarity={w: v}, gives=halfway).holds
    assert not check_step(d.L, stationarity={w: v}, gives=halfway - 2 * b * (Y @ alpha)).holds


def test_a_result_may_keep_a_variable() -> None:
    d = soft_margin()
    w, b, xi, alpha, mu = (d[name] for name in ("w", "b", "xi", "alpha", "mu"))
    v = d.claims["stationarity"][w]
    halfway = cp.sum(alpha) - 0.5 * cp.sum_squares(v) - b * (Y @ alpha)
    claims = {"stationarity": {w: v}, "conditions": [alpha + mu == C], "over": [w, b, xi]}
    assert [line.claimed for line in check_step(d.L, gives=halfway, **claims).failures] == [
        "dL/db = 0 under the conditions"
    ]
    wrong = check_step(d.L, gives=halfway - 2 * b * (Y @ alpha), **claims).failures[-1]
    assert wrong.claimed.startswith("L =")
    assert wrong.fix == "Multiply the term -b * [..] @ alpha by -1, or leave out the term -2 * b * [..] @ alpha."


def test_slopes_that_cannot_vanish() -> None:
    w, b, a = scalars("w", "b", "a")
    step = check_step(0.5 * w**2 - a * w + b, stationarity={w: a}, conditions=[a == 2])
    assert [line.what for line in step.failures] == [
        "L is affine in b with slope 1, which your conditions do not make 0.",
        "No multipliers were found for which L is stationary in b.",
    ]


def test_multipliers_are_told_from_primal_variables() -> None:
    """mu occurs in no claim, but it meets xi only: the missing condition is one of xi, not of mu."""
    d = soft_margin()
    step = d.check(conditions=[Y @ d["alpha"] == 0])
    assert [line.claimed for line in step.failures] == ["dL/dxi = 0 under the conditions"]
    assert "alpha[" in step.failures[0].what
    assert "mu[" in step.failures[0].what


def test_inequalities_choose_the_points() -> None:
    """|beta| = beta where nothing is said, and -beta where beta <= 0."""
    (beta,) = vectors("beta")
    w = cp.Variable(N, name="w")
    L = 0.5 * cp.sum_squares(w) - beta @ w + cp.norm1(beta)
    right, wrong = cp.sum(beta) - 0.5 * cp.sum_squares(beta), -cp.sum(beta) - 0.5 * cp.sum_squares(beta)
    assert check_step(L, stationarity={w: beta}, gives=right).holds
    assert not check_step(L, stationarity={w: beta}, gives=wrong).holds
    assert check_step(L, stationarity={w: beta}, conditions=[beta <= 0], gives=wrong).holds
    assert not check_step(L, stationarity={w: beta}, conditions=[beta <= 0], gives=right).holds


def test_values_of_the_user_are_kept() -> None:
    d = soft_margin()
    d["w"].value, d["alpha"].value = np.array([1.0, -2.0]), np.arange(5.0)
    d.check()
    with pytest.raises(InputError):
        d.check(gives=cp.sum(cp.log(-d["alpha"])))
    assert d["w"].value.tolist() == [1.0, -2.0]
    assert d["alpha"].value.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert d["b"].value is None
    assert d["mu"].value is None


def test_the_same_seed_gives_the_same_step() -> None:
    d = soft_margin()
    wrong = {d["w"]: X.T @ d["alpha"]}
    assert d.check(stationarity=wrong) == d.check(stationarity=wrong)
    assert d.check(stationarity=wrong) != d.check(stationarity=wrong, seed=1)


def test_text_and_html() -> None:
    alpha, w = cp.Variable(2, name="alpha<b>"), cp.Variable(2, name="w<i>")
    L = 0.5 * cp.sum_squares(w) - alpha @ w
    step = check_step(L, stationarity={w: 2 * alpha})
    assert str(step).splitlines() == [
        "step DOES NOT HOLD: 1 of 1 lines fail",
        "└─ x  dL/dw<i> = 0 at w<i> = 2 * alpha<b>",
        f"   ├─ what: {step.lines[0].what}",
        "   ├─ why: The stationary point is 1/2 times the claimed one.",
        "   └─ fix: Multiply the claimed w<i> by 1/2.",
    ]
    page = step._repr_html_()
    assert "<i>" not in page
    assert "w&lt;i&gt; = 2 * alpha&lt;b&gt;" in page
    assert "Multiply the claimed w&lt;i&gt; by 1/2." in page
    right = check_step(L, stationarity={w: alpha})
    assert str(right).splitlines()[0].startswith("step holds (largest relative discrepancy ")
    assert str(right).splitlines()[1] == "└─ ok dL/dw<i> = 0 at w<i> = alpha<b>"


def test_named_arrays_keep_their_names() -> None:
    (alpha,), w = vectors("alpha"), cp.Variable(D, name="w")
    A = cp.Constant(X, name="X")
    step = check_step(0.5 * cp.sum_squares(w) - alpha @ (A @ w), stationarity={w: A.T @ alpha})
    assert step.holds
    assert step.lines[0].claimed == "dL/dw = 0 at w = X.T @ alpha"


def refuse(**claims: Any) -> Callable[[Derivation], Step]:
    return lambda d: check_step(d.L, **{name: make(d) for name, make in claims.items()})


REFUSED: dict[str, tuple[Callable[[Derivation], Step], type[KoptError], str]] = {
    "nothing claimed": (refuse(), InputError, "Nothing is claimed about L. Give at least one of stationarity={...}"),
    "a vector": (
        lambda d: check_step(d["alpha"], gives=0),
        InputError,
        "L has shape (5,). Give a scalar: sum the entries with cp.sum.",
    ),
    "an objective": (
        lambda d: check_step(cp.Minimize(d.L), gives=0),
        DeclarationError,
        "L is an objective. Give the expression in it: objective.expr.",
    ),
    "no expression": (
        lambda d: check_step("L", gives=0),
        DeclarationError,
        "L is of type str. Give a CVXPY expression or numbers.",
    ),
    "a result that is a vector": (
        refuse(gives=lambda d: d["alpha"]),
        InputError,
        "The expression in gives= has shape (5,). Give a scalar",
    ),
    "a claim for another variable": (
        refuse(stationarity=lambda d: {cp.Variable(D, name="w"): np.zeros(D)}),
        InputError,
        "w in stationarity={...} does not occur in L. Use the very variable that L was built with",
    ),
    "a claim by name": (
        refuse(stationarity=lambda d: {"w": np.zeros(D)}),
        DeclarationError,
        "stationarity={...} names 'w', of type str. Name the cp.Variable itself.",
    ),
    "claims in a list": (
        refuse(stationarity=lambda d: [d["w"]]),
        DeclarationError,
        "stationarity= is of type list. Give the claimed expressions by variable",
    ),
    "another shape": (
        refuse(stationarity=lambda d: {d["w"]: d["alpha"]}),
        InputError,
        "w has shape (2,), but the claim for it has shape (5,). Give both the same shape.",
    ),
    "a claim with itself": (
        refuse(stationarity=lambda d: {d["w"]: d["w"] / 2}),
        InputError,
        "The claim for w contains w itself. Solve for it",
    ),
    "claims in a circle": (
        refuse(stationarity=lambda d: {d["xi"]: d["mu"], d["mu"]: d["xi"]}),
        InputError,
        "The claims for xi, mu use each other in a circle. Substitute until one is free of the others.",
    ),
    "two variables of one name": (
        refuse(gives=lambda d: cp.sum(cp.Variable(N, name="alpha"))),
        DeclarationError,
        "Two different variables are both named 'alpha'. Build L and the claims with one and the same variable",
    ),
    "one condition": (
        refuse(conditions=lambda d: Y @ d["alpha"] == 0),
        DeclarationError,
        "conditions= is a single constraint. Give a list",
    ),
    "one variable": (
        refuse(over=lambda d: d["b"], conditions=lambda d: [Y @ d["alpha"] == 0]),
        DeclarationError,
        "over= is a single variable. Give a list: over=[b].",
    ),
    "no constraint": (
        refuse(conditions=lambda d: [True]),
        DeclarationError,
        "A condition is True, of type bool. Compare CVXPY expressions",
    ),
    "not affine": (
        refuse(conditions=lambda d: [cp.sum_squares(d["alpha"]) == 1]),
        InputError,
        "The condition sum_squares(alpha) == 1 is not an affine equality or inequality. State it with ==, <= or >=",
    ),
    "contradictory": (
        refuse(conditions=lambda d: [cp.sum(d["alpha"]) == 0, cp.sum(d["alpha"]) == 1]),
        InputError,
        "The conditions contradict each other: no values come nearer to all of them than 0.5. Correct the equalities",
    ),
    "empty": (
        refuse(conditions=lambda d: [cp.sum(d["alpha"]) == -1, d["alpha"] >= 0]),
        InputError,
        "No values satisfy all the conditions: some inequality is missed by 0.2. Correct the inequalities",
    ),
    "a condition on a claimed variable": (
        refuse(stationarity=lambda d: {d["xi"]: d["alpha"]}, conditions=lambda d: [d["xi"] == 0]),
        InputError,
        "The condition xi == 0 contains xi, over which L is minimised. Conditions are about multipliers",
    ),
    "a condition on a variable of over": (
        refuse(over=lambda d: [d["b"]], conditions=lambda d: [d["b"] == 0]),
        InputError,
        "The condition b == 0 contains b, over which L is minimised.",
    ),
    "over another variable": (
        refuse(over=lambda d: [cp.Variable(name="z")], conditions=lambda d: [Y @ d["alpha"] == 0]),
        InputError,
        "z in over=[...] does not occur in L.",
    ),
    "no value": (
        refuse(gives=lambda d: cp.sum(cp.log(-d["alpha"]))),
        InputError,
        "Say by inequalities where the multipliers live: conditions=[..., alpha <= C].",
    ),
    "a parameter without a value": (
        refuse(gives=lambda d: cp.Parameter(name="nu") * cp.sum(d["alpha"])),
        InputError,
        "The parameter nu has no value. Set its value first.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_input_is_refused_in_two_sentences(case: str) -> None:
    call, kind, said = REFUSED[case]
    with pytest.raises(kind) as refused:
        call(soft_margin())
    assert said in str(refused.value)
    assert refused.value.what.endswith(".")
    assert refused.value.remedy


def at_random(expression: cp.Expression) -> float:
    """An expression where each variable has values that depend on its name and shape alone."""
    for v in expression.variables():
        v.save_value(np.random.default_rng(sum(map(ord, v.name()))).normal(size=v.shape))
    return float(expression.value)


def test_the_lagrangian_is_the_one_on_paper() -> None:
    w, (b,), (xi,) = cp.Variable(D, name="w"), scalars("b"), vectors("xi")
    program = kopt.Program(
        cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)),
        {"alpha": cp.multiply(Y, X @ w + b) >= 1 - xi, "mu": xi >= 0},
    )
    L, multipliers = lagrangian(program)
    assert {name: v.shape for name, v in multipliers.items()} == {"alpha": (N,), "mu": (N,)}
    assert at_random(L) == pytest.approx(at_random(soft_margin().L), rel=1e-12)


def test_the_lagrangian_of_a_maximisation_and_of_cones() -> None:
    """max x_0, norm(x) <= 2, x = (1, 0): L = -x_0 - <s, (2, x)> + <nu, x - (1, 0)>."""
    x = cp.Variable(2, name="x")
    program = kopt.Program(cp.Maximize(x[0]), {"s": cp.SOC(cp.Constant(2.0), x), "nu": x == np.array([1.0, 0.0])})
    L, multipliers = lagrangian(program)
    value = at_random(L)
    s, nu = multipliers["s"].value, multipliers["nu"].value
    assert value == pytest.approx(-x.value[0] - s @ [2.0, *x.value] + nu @ (x.value - [1.0, 0.0]), rel=1e-12)


def test_the_lagrangian_of_a_formulation() -> None:
    sample = kopt.Sample(X, Y, kernel=Linear())
    program = SoftMargin(C=C).primal(ExplicitView(sample))
    L, multipliers = lagrangian(program)
    alpha, mu, w = multipliers["alpha"], multipliers["mu"], program.variables["w"]
    step = check_step(
        L,
        stationarity={w: sample.gram().factor.T @ cp.multiply(Y, alpha)},
        conditions=[Y @ alpha == 0, alpha + mu == C],
        gives=cp.sum(alpha) - 0.5 * cp.sum_squares(X.T @ cp.multiply(Y, alpha)),
    )
    assert step.holds, str(step)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (lambda x: cp.Problem(cp.Minimize(x)), "The Lagrangian of a Problem is asked for. Give a kopt.Program"),
        (
            lambda x: kopt.Program(cp.Minimize(x), {"mu": x >= 0}, domain=[x <= 1]),
            "The program has constraints in domain=, such as x <= 1.0, which name no multiplier.",
        ),
        (lambda x: kopt.Program(cp.Minimize(x), {"x": x >= 0}), "A variable and a multiplier are both named 'x'."),
    ],
)
def test_lagrangians_that_cannot_be_written_down(program: Callable[[cp.Variable], Any], said: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        lagrangian(program(cp.Variable(name="x")))
    assert said in str(refused.value)
