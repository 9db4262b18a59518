import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from kopt.completion import minimise_hinges
from kopt.errors import InputError

INF = math.inf


def objective(t, slope, rising, falling, power):
    (a, p), (c, q) = rising, falling
    t = np.atleast_1d(np.asarray(t, dtype=float))[:, None]
    up = np.asarray(a) * np.maximum(t - np.asarray(p, dtype=float), 0) ** power
    down = np.asarray(c) * np.maximum(np.asarray(q, dtype=float) - t, 0) ** power
    return slope * t[:, 0] + up.sum(axis=1) + down.sum(axis=1)


def interval(*args, **kwargs):
    found = minimise_hinges(*args, **kwargs)
    return found.low, found.high, found.chosen


integers = st.integers(-6, 6)
weights = st.integers(0, 4)
hinges = st.lists(st.tuples(weights, integers), max_size=8)


def columns(pairs):
    return [w for w, _ in pairs], [x for _, x in pairs]


def exact_interval_power_1(slope, rising, falling, t_min):
    """Brute force in integers: the values at all breakpoints, and the slopes at both ends."""
    kinks = sorted({*rising[1], *falling[1], *([t_min] if t_min > -INF else [0])})
    kinks = [t for t in kinks if t >= t_min]
    values = objective(kinks, slope, rising, falling, 1)
    left = slope - sum(falling[0])
    right = slope + sum(rising[0])
    if (left > 0 and t_min == -INF) or right < 0:
        return None
    best = [t for t, v in zip(kinks, values, strict=True) if v == values.min()]
    low = -INF if left == 0 and best[0] == kinks[0] and t_min == -INF else best[0]
    high = INF if right == 0 and best[-1] == kinks[-1] else best[-1]
    return low, high


@given(st.integers(-8, 8), hinges, hinges, st.one_of(st.just(-INF), integers))
def test_power_1_agrees_with_enumeration_in_integers(slope, rising, falling, t_min):
    rising, falling = columns(rising), columns(falling)
    expected = exact_interval_power_1(slope, rising, falling, t_min)
    if expected is None:
        with pytest.raises(InputError, match="no minimum"):
            minimise_hinges(slope, rising, falling, t_min=t_min)
        return
    found = minimise_hinges(slope, rising, falling, t_min=t_min)
    assert (found.low, found.high) == expected
    assert found.low <= found.chosen <= found.high
    assert math.isfinite(found.chosen)


@given(st.integers(-8, 8), hinges, hinges, st.one_of(st.just(-INF), integers))
def test_power_2_root_has_zero_derivative_and_no_better_neighbour(slope, rising, falling, t_min):
    rising, falling = columns(rising), columns(falling)
    if (slope < 0 and not any(rising[0])) or (slope > 0 and not any(falling[0]) and t_min == -INF):
        with pytest.raises(InputError, match="no minimum"):
            minimise_hinges(slope, rising, falling, 2, t_min)
        return
    found = minimise_hinges(slope, rising, falling, 2, t_min)
    at = objective(found.chosen, slope, rising, falling, 2)[0]
    grid = np.concatenate([np.linspace(-30, 30, 2401), found.chosen + np.array([-1e-3, 1e-3])])
    grid = grid[grid >= t_min]
    assert at <= objective(grid, slope, rising, falling, 2).min() + 1e-12 * (1 + abs(at))
    if found.high > found.low:
        ends = [t for t in (found.low, found.high) if math.isfinite(t)]
        assert np.all(objective(ends, slope, rising, falling, 2) == at)
        outside = [t for t in (found.low - 0.5, found.high + 0.5) if math.isfinite(t) and t >= t_min]
        assert np.all(objective(outside, slope, rising, falling, 2) > at)


def test_power_1_value_agrees_with_a_linear_program():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 20):
        a, c = rng.random(n), rng.random(n)
        p, q = rng.standard_normal(n), rng.standard_normal(n)
        slope = rng.uniform(-a.sum(), c.sum())
        eye, one = np.eye(n), np.ones((n, 1))
        rows = np.block([[one, -eye, 0 * eye], [-one, 0 * eye, -eye]])
        program = linprog(
            np.concatenate([[slope], a, c]),
            A_ub=rows,
            b_ub=np.concatenate([p, -q]),
            bounds=[(None, None)] + [(0, None)] * (2 * n),
        )
        chosen = minimise_hinges(slope, (a, p), (c, q)).chosen
        assert objective(chosen, slope, (a, p), (c, q), 1)[0] == pytest.approx(program.fun, abs=1e-9)


@pytest.mark.parametrize("count", [1, 3, 7, 10, 13, 39])
@pytest.mark.parametrize("weight", [0.1, 1 / 3, 0.7, 1e-9, 1e9])
def test_ties_up_to_rounding_give_the_interval(count, weight):
    points = np.arange(40.0)
    assert interval(-weight * count, rising=(weight, points)) == (count - 1, count, count - 0.5)
    assert interval(weight * count, falling=(weight, -points)) == (-count, 1 - count, 0.5 - count)


@pytest.mark.parametrize(("nu", "n"), [(0.1, 40), (0.3, 20), (0.2, 10_000), (0.7, 100_000)])
def test_the_nu_rule_at_an_integer_number_of_points(nu, n):
    k = round(nu * n / 2)
    points = np.random.default_rng(1).permutation(n).astype(float)
    assert interval(-nu / 2, rising=(1 / n, points)) == (k - 1, k, k - 0.5)
    assert interval(-1, rising=(2 / (nu * n), points)) == (k - 1, k, k - 0.5)


def test_a_tie_broken_by_one_weight_is_no_tie():
    points = np.arange(100_000.0)
    assert interval(-0.1 * 50_000 - 1e-6, rising=(0.1, points)) == (50_000, 50_000, 50_000)
    assert interval(-0.1 * 50_000 + 1e-6, rising=(0.1, points)) == (49_999, 49_999, 49_999)


def test_weights_of_the_other_side_leave_no_rounding_behind():
    assert interval(0, rising=(1e-20, [0.0]), falling=(1.0, [-1.0])) == (-1, 0, -0.5)
    assert interval(0, rising=([1e-300], [3.0]), falling=([0.1] * 10, range(-10, 0))) == (-1, 3, 1)


def test_duplicates_and_single_points():
    assert interval(-1, rising=(1, [2, 2, 2])) == (2, 2, 2)
    assert interval(-3, rising=(1, [2, 2, 2, 5])) == (2, 5, 3.5)
    assert interval(0, rising=(1, [0, 0]), falling=(1, [0, 0])) == (0, 0, 0)
    assert interval(-1, rising=(2, [5.0])) == (5, 5, 5)
    assert interval(-1, rising=(1, [5.0])) == (5, INF, 5)


def test_half_infinite_and_constant():
    assert interval(0, rising=(1, [4.0, 7.0])) == (-INF, 4, 4)
    assert interval(0, falling=(1, [4.0, 7.0])) == (7, INF, 7)
    assert interval(0, falling=(1, [4.0, 7.0]), power=2) == (7, INF, 7)
    assert interval(0) == (-INF, INF, 0)
    assert interval(0, rising=(0, [1.0, 2.0]), falling=([0], [9]), power=2) == (-INF, INF, 0)
    assert interval(0, t_min=3.0) == (3, INF, 3)
    assert interval(0, t_min=-3.0) == (-3, INF, 0)


def test_the_lower_limit():
    assert interval(1, t_min=2.5) == (2.5, 2.5, 2.5)
    assert interval(1, falling=(0.4, [-5, -4, -3, -2]), t_min=0) == (0, 0, 0)
    assert interval(0, rising=(1, [4.0]), t_min=1.0) == (1, 4, 2.5)
    assert interval(2, falling=(1, [1.0]), power=2, t_min=-4) == (0, 0, 0)
    assert interval(2, falling=(1, [1.0]), power=2, t_min=0.5) == (0.5, 0.5, 0.5)


def test_zero_weights_do_not_bend():
    with_zeros = interval(-1, rising=([0, 1, 0, 1, 0], [-9, 1, 1.5, 2, 9]))
    assert with_zeros == interval(-1, rising=(1, [1, 2])) == (1, 2, 1.5)
    assert interval(0, ([0, 1], [-3, 2]), ([1, 0], [-1, 8]), 2) == (-1, 2, 0.5)


def test_power_2_by_hand():
    assert interval(-2, rising=(1, [0.0]), power=2) == (1, 1, 1)
    assert interval(0, rising=(1, [-1.0]), falling=(3, [1.0]), power=2) == (0.5, 0.5, 0.5)
    assert interval(0, rising=(2, [-4.0]), falling=(2, [6.0]), power=2) == (1, 1, 1)


@pytest.mark.parametrize("shift", [0.0, 1.0, 2.0**20, 2.0**40])
def test_power_2_keeps_its_digits_far_from_zero(shift):
    rising, falling = (1.0, shift + np.array([-1.0, 0.0])), (1.0, shift + np.array([0.25, 1.0]))
    assert (
        minimise_hinges(0, rising, falling, 2).chosen
        == shift + minimise_hinges(0, (1.0, [-1.0, 0.0]), (1.0, [0.25, 1.0]), 2).chosen
        == pytest.approx(shift + 0.0625, abs=1e-15)
    )


def test_power_2_small_slopes_far_breakpoints():
    assert interval(1e-30, falling=(1, [0.0]), power=2)[2] == -5e-31
    assert interval(-1e-30, rising=(1, [0.0, 1e12]), power=2)[2] == 5e-31


@pytest.mark.parametrize("power", [1, 2])
def test_many_points(power):
    rng = np.random.default_rng(3)
    n = 100_000
    a, c, p, q = rng.random(n), rng.random(n), rng.standard_normal(n), rng.standard_normal(n)
    slope = 0.1 * n
    chosen = minimise_hinges(slope, (a, p), (c, q), power).chosen
    near = chosen + np.array([-1e-3, 0.0, 1e-3])
    values = [math.fsum([slope * t, *(objective(t, 0.0, (a, p), (c, q), power))]) for t in near]
    assert values[1] < min(values[0], values[2])
    if power == 2:
        terms = [slope / 2, *(a * np.maximum(chosen - p, 0)), *(-c * np.maximum(q - chosen, 0))]
        assert abs(math.fsum(terms)) <= 1e-15 * n


def test_order_and_scale_do_not_matter():
    rng = np.random.default_rng(4)
    a, p, q = rng.integers(1, 5, 30), rng.standard_normal(30), rng.standard_normal(30)
    order = rng.permutation(30)
    for power in (1, 2):
        base = minimise_hinges(3, (a, p), (a, q), power)
        assert minimise_hinges(3, (a[order], p[order]), (a[order], q[order]), power) == base
        assert minimise_hinges(3 * 2.0**40, (a * 2.0**40, p), (a * 2.0**40, q), power) == base


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-3, (1, [0.0, 1.0])), r"slope towards \+inf is -1\. Give rising hinges .* at least 0\."),
        ((3, ((), ()), (1, [0.0, 1.0])), r"slope towards -inf is 1\. Give falling hinges .* at most 0, or set"),
        ((-3, ((), ()), (1, [0.0]), 2), r"slope towards \+inf is -3\."),
        ((0, (-1, [0.0])), r"rising hinge 0 has weight -1\.0 at point 0\.0\. Give finite"),
        ((0, ((), ()), ([1, math.nan], [0, 0])), r"falling hinge 1 has weight nan"),
        ((0, (1, [0, INF])), r"rising hinge 1 has weight 1\.0 at point inf"),
        ((0, ([1, 2], [0.0])), r"shape \(2,\) and points of shape \(1,\)\. Give one point per hinge"),
        ((math.nan,), r"The slope is nan"),
        ((0, ((), ()), ((), ()), 3), r"the power 3"),
    ],
)
def test_refusals_name_the_number_and_the_remedy(arguments, message):
    with pytest.raises(InputError, match=message):
        minimise_hinges(*arguments)


def test_the_soft_margin_offset_is_the_one_of_a_grid():
    rng = np.random.default_rng(5)
    f, y = rng.standard_normal(31), np.where(np.arange(31) < 12, 1, -1)
    found = minimise_hinges(0, rising=(1.0, -1 - f[y < 0]), falling=(1.0, 1 - f[y > 0]))
    candidates = np.concatenate([-1 - f[y < 0], 1 - f[y > 0], [found.chosen]])
    loss = [np.maximum(1 - y * (f + b), 0).sum() for b in candidates]
    assert loss[-1] == pytest.approx(min(loss), abs=1e-13)


def test_all_orders_of_three_points_agree():
    answers = {minimise_hinges(-1, rising=(0.5, points)) for points in itertools.permutations((1.0, 2.0, 4.0))}
    assert [(m.low, m.high) for m in answers] == [(2.0, 4.0)]
