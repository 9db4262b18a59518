"""Every loss against the definition of its conjugate, its slopes, its proximal points, and its spelling in CVXPY."""

import math
from dataclasses import astuple, fields

import cvxpy as cp
import numpy as np
import pytest

from kopt import InputError, losses
from kopt.losses import Loss, On
from kopt.losses.bisection import first

LOSSES = [
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.PowerHinge(p=1.2),
    losses.PowerHinge(p=2.0),
    losses.PowerHinge(p=3.5),
    losses.Logistic(),
    losses.Exponential(),
    losses.SmoothedHinge(width=0.4),
    losses.EpsilonInsensitive(epsilon=0.3),
    losses.EpsilonInsensitive(epsilon=0.0),
    losses.SquaredEpsilonInsensitive(epsilon=0.3),
    losses.Excess(epsilon=0.3, side=1),
    losses.Excess(epsilon=0.3, side=-1),
    losses.SquaredExcess(epsilon=0.3, side=1),
    losses.SquaredExcess(epsilon=0.3, side=-1),
    losses.Squared(),
    losses.Absolute(),
    losses.Huber(delta=0.7),
    losses.Pinball(tau=0.3),
    losses.Power(p=1.4),
    losses.Power(p=4.0),
]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)

# What a few roundings leave of a sum, relative to its terms.
ROUNDING = 1e-13
# Off the subdifferential the inequality is strict by far more than rounding.
STRICT = 1e-7
EXTREME = np.array([0.0, 1e-300, 1e-8, 0.3, 0.6, 0.7, 1.0, 30.0, 1e8, 1e154, 1e300])
KINKS = np.concatenate([EXTREME, -EXTREME])


def arguments(seed: int = 0) -> np.ndarray:
    """Kinks, extreme numbers, and random ones of every size."""
    rng = np.random.default_rng(seed)
    sizes = 10 ** rng.uniform(-6, 6, 100)
    return np.concatenate([KINKS, sizes * rng.choice([-1.0, 1.0], 100), rng.uniform(-3, 3, 100)])


def inside(loss: Loss, seed: int = 1) -> np.ndarray:
    """Arguments of the conjugate, the ends of its domain included."""
    ends = [end for end in loss.conjugate_domain if math.isfinite(end)]
    return np.concatenate([np.clip(arguments(seed), *loss.conjugate_domain), ends])


def fenchel_young(loss: Loss, t: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """loss(t) + loss*(u) - t u, and the size of its terms; nan where a term overflows."""
    value, conjugate = loss.value(t), loss.conjugate(u)
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(value) + np.abs(conjugate) + np.abs(t * u)
        return np.where(np.isfinite(size), value + conjugate - t * u, np.nan), size


def check_inequality(loss: Loss, unit: float = 0.0) -> None:
    """loss(t) + loss*(u) >= t u; terms below the unit have rounding like it."""
    t, u = np.meshgrid(arguments(), inside(loss))
    gap, size = fenchel_young(loss, t, u)
    known = np.isfinite(gap)
    assert known.mean() > 0.5
    assert np.all(gap[known] >= -ROUNDING * (size[known] + unit))


def check_equality(loss: Loss) -> None:
    """On the subdifferential, its ends and its inside, there is equality; off it there is none."""
    t = arguments()
    lower, upper = loss.subdifferential(t)
    known = np.isfinite(lower) & np.isfinite(upper)
    assert np.all(lower <= upper)
    assert known.mean() > 0.8
    t, lower, upper = t[known], lower[known], upper[known]
    for share in (0.0, 0.3, 1.0):
        u = (1 - share) * lower + share * upper
        gap, size = fenchel_young(loss, t, u)
        finite = np.isfinite(gap)
        assert finite.mean() > 0.8
        assert np.all(np.abs(gap[finite]) <= ROUNDING * size[finite])
    for u in (lower - 0.2 * (1 + np.abs(lower)), upper + 0.2 * (1 + np.abs(upper))):
        conjugate = loss.conjugate(u)
        gap, size = fenchel_young(loss, t, u)
        finite = np.isfinite(gap)
        assert np.all(np.isfinite(gap) | np.isinf(size) | np.isinf(conjugate))
        assert np.all(gap[finite] > STRICT * size[finite])


def check_supremum(loss: Loss) -> None:
    """The conjugate is the largest u t - loss(t) on a grid that has a maximiser, and infinite outside its domain."""
    grid = np.concatenate([np.linspace(-5, 5, 501), [-0.3, 0.3, 0.6, 0.7, -0.7]])
    lower, upper = loss.subdifferential(grid)
    for u in (lower, (lower + upper) / 2, upper):
        table = u[:, None] * grid - loss.value(grid)
        np.testing.assert_allclose(loss.conjugate(u), table.max(axis=1), rtol=1e-12, atol=1e-12)
    far = np.array([1e3, 1e6, 1e9])
    low, high = loss.conjugate_domain
    for end, side in ((low, -1.0), (high, 1.0)):
        if math.isfinite(end):
            outside = end + 0.1 * side
            assert loss.conjugate(np.array([outside]))[0] == np.inf
            assert np.all(np.diff(outside * side * far - loss.value(side * far)) > 1)


def check_biconjugate(loss: Loss) -> None:
    """The loss is the largest u t - loss*(u) on a grid of slopes that has a maximiser."""
    t = np.linspace(-5, 5, 501)
    slopes = np.concatenate(loss.subdifferential(t))
    table = t[:, None] * slopes - loss.conjugate(slopes)
    np.testing.assert_allclose(loss.value(t), table.max(axis=1), rtol=1e-12, atol=1e-12)


def check_prox(loss: Loss) -> None:
    """(t - z) / step is a slope at z, up to the last digits of z and t; and prox is firmly non-expansive."""
    t = np.concatenate([arguments(2), -EXTREME[:8], EXTREME[:8]])
    t = t[np.abs(t) <= 1e8]
    unit = 1.0 if loss.on is On.MARGIN else 0.0  # differences to the margin 1 are rounded like it
    for step in (1e-3, 0.7, 40.0):
        z = loss.prox(t, step)
        last = 8 * np.finfo(float).eps * np.maximum(unit, np.maximum(np.abs(z), np.abs(t))) + 1e-300
        (lower, _), (_, upper) = loss.subdifferential(z - last), loss.subdifferential(z + last)
        excused = last + 1e-14 * step * np.abs(lower + upper)
        assert np.all(step * lower - excused <= t - z)
        assert np.all(t - z <= step * upper + excused)
        dz, dt = z[:, None] - z, t[:, None] - t
        assert np.all(dz * dt - dz**2 >= -(np.abs(dt) + np.abs(dz)) * np.maximum(last, last[:, None]))


CHECKS = [check_inequality, check_equality, check_supremum, check_biconjugate, check_prox]


@each_loss
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_loss_is_what_it_says(loss, check):
    check(loss)


class ShiftedConjugate(losses.Huber):
    def conjugate(self, u):
        return super().conjugate(u) + 1e-6


class HalvedConjugate(losses.Squared):
    def conjugate(self, u):
        return super().conjugate(u) / 2


class NarrowConjugate(losses.Hinge):
    def conjugate(self, u):
        return np.where(u < -0.9, np.inf, super().conjugate(u))


class WideConjugate(losses.Pinball):
    conjugate_domain = (-1.0, 1.0)

    def conjugate(self, u):
        return np.where(np.abs(u) > 1, np.inf, 0.0)


class NoSlopesAtTheKink(losses.Hinge):
    def subdifferential(self, t):
        return np.where(t >= 1, 0.0, -1.0), np.where(t >= 1, 0.0, -1.0)


class TooManySlopes(losses.EpsilonInsensitive):
    def subdifferential(self, t):
        return -np.ones_like(t), np.ones_like(t)


class ProxOfTheHalf(losses.Logistic):
    def prox(self, t, step):
        return super().prox(t, step / 2)


@pytest.mark.parametrize(
    ("wrong", "check"),
    [
        (ShiftedConjugate(0.7), check_equality),
        (ShiftedConjugate(0.7), check_supremum),
        (ShiftedConjugate(0.7), check_biconjugate),
        (HalvedConjugate(), check_inequality),
        (NarrowConjugate(), check_supremum),
        (WideConjugate(0.3), check_inequality),
        (NoSlopesAtTheKink(), check_equality),
        (TooManySlopes(0.3), check_equality),
        (ProxOfTheHalf(), check_prox),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value)),
)
def test_the_checks_refuse_a_wrong_loss(wrong, check):
    with pytest.raises(AssertionError):
        check(wrong)


@each_loss
def test_expressions_are_convex_and_have_the_values(loss):
    t, u = arguments()[np.abs(arguments()) < 1e5], inside(loss)
    u = u[np.abs(u) < 1e5]
    x = cp.Variable(len(t))
    assert loss.expression(x).is_convex()
    assert loss.conjugate_expression(x).is_convex()
    assert loss.expression(x).shape == loss.conjugate_expression(x).shape == x.shape
    with np.errstate(over="ignore"):
        evaluated = loss.expression(cp.Constant(t)).value
    np.testing.assert_allclose(evaluated, loss.value(t), rtol=1e-9, atol=1e-12)
    evaluated = loss.conjugate_expression(cp.Constant(u)).value
    np.testing.assert_allclose(evaluated, loss.conjugate(u), rtol=1e-9, atol=1e-12)


@each_loss
def test_summands_add_up(loss):
    t = arguments()
    total = sum(part.value(t) for part in loss.summands)
    np.testing.assert_array_equal(total, loss.value(t))


def evaluated(text: str, loss: Loss, **letters: float) -> float:
    names = {"max": max, "abs": abs, "ln": math.log, "exp": math.exp}
    names |= {field.name: value for field, value in zip(fields(loss), astuple(loss), strict=True)}
    return eval(text.replace("^", "**"), {"__builtins__": {}}, {**names, **letters})


@each_loss
def test_formulas_say_what_the_code_does(loss):
    for t in (-2.1, -0.45, 0.2, 0.65, 0.9, 1.7):
        assert evaluated(loss.formula.text, loss, t=t) == pytest.approx(float(loss.value(np.array(t))), abs=1e-14)
    for u in (-2.1, -0.9, -0.6, -0.2, 0.2, 0.6, 0.9, 2.1):
        low, high = loss.conjugate_domain
        holds = not loss.conjugate_domain_formula.text or evaluated(loss.conjugate_domain_formula.text, loss, u=u)
        assert holds == (low <= u <= high)
        if holds:
            conjugate = float(loss.conjugate(np.array(u)))
            assert evaluated(loss.conjugate_formula.text, loss, u=u) == pytest.approx(conjugate, abs=1e-14)
    assert all((formula.text == "") == (formula.latex == "") for formula in (loss.formula, loss.conjugate_formula))


x = cp.Variable(3, name="x")
z = np.random.default_rng(5).normal(size=(4, 3)) @ x + np.array([0.3, -0.2, 1.0, 0.0])


def check_reading(expression, reading, points=20):
    """factor * loss(inner) has the values of the expression, at random points."""
    factor, loss, inner = reading
    assert factor > 0
    assert inner.is_affine()
    assert inner.shape == expression.shape
    rng = np.random.default_rng(0)
    for _ in range(points):
        x.value = 2 * rng.normal(size=3)
        np.testing.assert_allclose(factor * loss.value(inner.value), expression.value, rtol=1e-10, atol=1e-12)


@each_loss
def test_reading_inverts_writing(loss):
    expression = 3.5 * loss.expression(z)
    reading = losses.read(expression)
    check_reading(expression, reading)
    if type(loss).read.__func__ is not Loss.read.__func__ and astuple(loss) != (2.0,):
        assert reading[0] == pytest.approx(3.5)
        assert type(reading[1]) is type(loss)
        assert astuple(reading[1]) == pytest.approx(astuple(loss))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (cp.pos(z), losses.Hinge()),
        (cp.maximum(0, 1 - z), losses.Hinge()),
        (cp.neg(z), losses.Hinge()),
        (-2 * cp.minimum(z - 1, 0) / 3, losses.Hinge()),
        (cp.pos(z) ** 2, losses.SquaredHinge()),
        (cp.power(cp.pos(z), 1.5), losses.PowerHinge(1.5)),
        (cp.logistic(z), losses.Logistic()),
        (cp.exp(z), losses.Exponential()),
        (cp.square(z), losses.Squared()),
        (z**2 / 2, losses.Squared()),
        (cp.square(cp.abs(z)), losses.Squared()),
        (cp.power(z, 4), losses.Power(4.0)),
        (cp.power(cp.abs(z), 1.3, approx=False), losses.Power(1.3)),
        (cp.abs(z), losses.Absolute()),
        (cp.huber(z, 0.8), losses.Huber(0.8)),
        (cp.huber(cp.pos(z), 0.8), losses.SmoothedHinge(0.8)),
        (cp.maximum(0.2 * z, -0.8 * z), losses.Pinball(0.2)),
        (cp.scalene(z, 0.2, 0.8), losses.Pinball(0.2)),
        (cp.pos(cp.abs(z) - 0.1), losses.EpsilonInsensitive(0.1)),
        (cp.pos(2 * cp.abs(z) - 0.1), losses.EpsilonInsensitive(0.1)),
        (cp.maximum(z - 0.1, -z - 0.1, 0), losses.EpsilonInsensitive(0.1)),
        (cp.square(cp.pos(cp.abs(z) - 0.1)), losses.SquaredEpsilonInsensitive(0.1)),
    ],
    ids=lambda value: "" if isinstance(value, cp.Expression) else repr(value),
)
def test_natural_spellings_are_read(expression, expected):
    reading = losses.read(expression)
    check_reading(expression, reading)
    assert type(reading[1]) is type(expected)
    assert astuple(reading[1]) == pytest.approx(astuple(expected))


@pytest.mark.parametrize(
    "impostor",
    [
        z,
        cp.Constant(np.ones(4)),
        -cp.pos(z),
        cp.pos(np.ones(4)),
        cp.sum(cp.pos(z)),
        cp.multiply(np.arange(1.0, 5.0), cp.pos(z)),
        cp.Parameter(nonneg=True) * cp.abs(z),
        cp.maximum(z, 1),
        cp.maximum(z, 2 * z),
        cp.maximum(z, 1 - 2 * z),
        cp.maximum(z[0], np.zeros(4)),
        cp.pos(cp.abs(z) + 0.1),
        cp.pos(cp.abs(z) - np.arange(4.0)),
        cp.pos(cp.abs(z) + cp.abs(x[0]) - 0.1),
        cp.maximum(z + 0.1, -z + 0.1, 0),
        cp.maximum(z - 0.1, -2 * z - 0.1, 0),
        cp.abs(z) + cp.pos(z),
        cp.pos(z) + cp.pos(2 * z),
        cp.square(cp.square(z)),
        cp.power(z, 3),
        cp.power(z, 0.5),
        cp.power(cp.abs(z), 1),
        cp.exp(cp.square(z)),
        cp.logistic(cp.pos(z)),
        cp.huber(cp.square(z), 1.0),
        cp.pos(cp.square(z) - 0.1),
    ],
    ids=str,
)
def test_impostors_are_not_read(impostor):
    assert losses.read(impostor) is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: losses.PowerHinge(p=1.0), r"The parameter p is 1\.0, but must be a finite number > 1\."),
        (lambda: losses.Power(p=math.inf), "The parameter p is inf"),
        (lambda: losses.EpsilonInsensitive(epsilon=-0.1), r"epsilon is -0\.1, but must be a finite number >= 0\."),
        (lambda: losses.Excess(side=2), "side is 2, but must be 1 or -1"),
        (lambda: losses.Huber(delta=0.0), r"delta is 0\.0, but must be a finite number > 0\."),
        (lambda: losses.SmoothedHinge(width="wide"), "width is 'wide'"),
        (lambda: losses.Pinball(tau=1.0), r"tau is 1\.0, but must be a number in \(0, 1\)\. Choose tau so\."),
    ],
)
def test_parameters_outside_their_domain_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


class LogCosh(Loss):
    """ln cosh t, as a newcomer writes it."""

    on = On.RESIDUAL
    conjugate_domain = (-1.0, 1.0)

    def expression(self, t):
        return cp.logistic(2 * t) - t - math.log(2)

    def conjugate_expression(self, u):
        return math.log(2) - cp.entr((1 + u) / 2) - cp.entr((1 - u) / 2)


def test_a_new_loss_needs_two_expressions_and_an_interval():
    loss, t = LogCosh(), np.concatenate([arguments(), [0.4]])
    check_inequality(loss, unit=1.0)
    lower, upper = loss.subdifferential(t)
    assert np.all((lower <= np.tanh(t)) & (np.tanh(t) <= upper))
    assert np.max(upper - lower) < 1e-6
    z = loss.prox(t[np.abs(t) < 1e3], 0.7)
    np.testing.assert_allclose(z + 0.7 * np.tanh(z), t[np.abs(t) < 1e3], rtol=1e-7, atol=1e-7)
    assert loss.conjugate(np.array([-1.1, 1.1])).tolist() == [np.inf, np.inf]
    assert losses.read(loss.expression(cp.Variable(2))) is None
    with pytest.raises(TypeError, match="conjugate_expression"):
        type("Half", (Loss,), {"on": On.MARGIN, "expression": LogCosh.expression, "conjugate_domain": (-1, 1)})()


def test_a_new_loss_may_be_finite_on_a_part_of_the_line_only():
    class NegativeLog(Loss):
        on = On.MARGIN
        domain = (0.0, math.inf)
        conjugate_domain = (-math.inf, 0.0)

        def expression(self, t):
            return -cp.log(t)

        def conjugate_expression(self, u):
            return -1 - cp.log(-u)

    t = np.array([-3.0, 0.5, 2.0])
    z = NegativeLog().prox(t, 2.0)
    np.testing.assert_allclose(z, (t + np.sqrt(t**2 + 8)) / 2, rtol=1e-7)


def test_bisection_ends_at_the_first_number():
    root = np.array([-1e200, -1.0, -5e-324, 0.0, 5e-324, 0.1, 1e200])
    np.testing.assert_array_equal(first(lambda t: t >= root, np.full(7, -1e300), np.full(7, 1e300)), root)
    assert first(lambda t: t >= 2, 3.0, 4.0) == 3.0
    assert first(lambda t: t >= 5, 3.0, 4.0) == 4.0
