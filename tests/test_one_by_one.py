"""Minima over numbers that do not meet, of any size: against closed forms."""

import cvxpy as cp
import numpy as np
import pytest

from kopt.referee.one_by_one import HIGHEST, LOWEST, least_one_by_one

#: Twelve digits on either side of 1.
SIZES = [1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e12]
#: 64 halvings of sixty powers of ten leave 1e-17 of an exponent: rounding.
EXACT = 1e-12


def least(function, x):
    found = least_one_by_one(function, x)
    return found, None if found is None or not np.isfinite(found) else np.array(x.value)


class TestClosedForms:
    @pytest.mark.parametrize("size", SIZES)
    def test_a_squared_norm_divided_by_a_number(self, size):
        """q / t + r t is least at t = (q / r)^(1/2), where it is 2 (q r)^(1/2)."""
        t, q, r = cp.Variable(), 3.0 * size, 0.7 / size
        found, at = least(q * cp.inv_pos(t) + r * t, t)
        assert found == pytest.approx(2 * np.sqrt(q * r), rel=EXACT)
        assert at == pytest.approx(np.sqrt(q / r), rel=1e-7)

    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("p", [1.05, 1.3, 2.0, 4.0])
    def test_powers_against_gains(self, size, p):
        """a x^p - g x is least at x^(p-1) = g / (p a); a gain that is a price leaves 0."""
        x, a, g = cp.Variable(3), np.array([0.3, 2.0, 1.0]) * size, np.array([1.0, 0.4, -1.0]) * size
        found, at = least(cp.sum(cp.multiply(a, cp.power(x, p))) - g @ x, x)
        expected = np.where(g > 0, (np.maximum(g, 0) / (p * a)) ** (1 / (p - 1)), 0.0)
        np.testing.assert_allclose(at, expected, rtol=1e-6)
        assert at[2] == 0
        assert found == pytest.approx(float(a @ expected**p - g @ expected), rel=1e-9)

    @pytest.mark.parametrize("p", [1.3, 2.0])
    def test_entries_of_all_sizes_at_once(self, p):
        x, minimisers = cp.Variable(len(SIZES)), np.array(SIZES)
        g = p * minimisers ** (p - 1)
        found, at = least(cp.sum(cp.power(x, p)) - g @ x, x)
        np.testing.assert_allclose(at, minimisers, rtol=1e-6)
        assert found == pytest.approx((1 - p) * np.sum(minimisers**p), rel=EXACT)

    @pytest.mark.parametrize("size", SIZES)
    def test_a_constant_is_counted(self, size):
        x = cp.Variable(2)
        found, at = least(cp.sum(x) + size, x)
        assert found == pytest.approx(size, rel=EXACT)
        assert np.array_equal(at, [0.0, 0.0])

    def test_a_matrix_keeps_its_shape_and_order(self):
        x, centres = cp.Variable((2, 3)), np.arange(1.0, 7.0).reshape(2, 3)
        found, at = least(cp.sum_squares(x - centres), x)
        assert found == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(at, centres, rtol=1e-7)

    def test_a_kink(self):
        """The slope of |x - 3| jumps where it is least: it vanishes nowhere, and nobody says so."""
        x = cp.Variable()
        assert least_one_by_one(cp.abs(x - 3.0), x) in (None, pytest.approx(0.0, abs=1e-6))

    @pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
    def test_several_minimisers_have_one_value(self, size):
        """The excess over an interval is 0 anywhere in it."""
        x = cp.Variable(2)
        function = cp.sum_squares(cp.pos(x - 3 * size)) + cp.sum_squares(cp.pos(2 * size - x)) + 1.0
        found, at = least(function, x)
        assert found == pytest.approx(1.0, rel=EXACT)
        assert np.all((2 * size * (1 - 1e-6) <= at) & (at <= 3 * size * (1 + 1e-6)))

    def test_a_function_that_is_constant_in_an_entry(self):
        x = cp.Variable(2)
        found, at = least(cp.square(x[0] - 2.0) + 0.0 * x[1], x)
        assert found == pytest.approx(0.0, abs=1e-12)
        assert at[0] == pytest.approx(2.0, rel=1e-6)


class TestFallingFunctions:
    @pytest.mark.parametrize("size", SIZES)
    def test_a_line_down_has_no_minimum(self, size):
        x = cp.Variable(2)
        assert least_one_by_one(x[0] - size * x[1], x) == -np.inf

    @pytest.mark.parametrize("size", SIZES)
    def test_a_price_that_is_too_low(self, size):
        """q / t + (r - g) t with r < g."""
        t = cp.Variable()
        assert least_one_by_one(size * cp.inv_pos(t) - size * t, t) == -np.inf

    def test_a_ray_on_which_several_entries_fall_together(self):
        x = cp.Variable(2)
        assert least_one_by_one(-cp.sum(x), x) == -np.inf

    def test_one_that_rises_in_the_end_is_no_falling_one(self):
        """Falling up to 1e20, within the range that is looked at."""
        x = cp.Variable()
        found, at = least(cp.square(1e-20 * x - 1.0), x)
        assert found == pytest.approx(0.0, abs=1e-9)
        assert at == pytest.approx(1e20, rel=1e-6)

    def test_beyond_the_range_it_counts_as_falling(self):
        x = cp.Variable()
        assert least_one_by_one(cp.square(10.0 ** -(HIGHEST + 5) * x - 1.0), x) == -np.inf

    def test_below_the_range_it_counts_as_0(self):
        x = cp.Variable()
        found, at = least(10.0 ** (-LOWEST + 5) * cp.square(x) - x, x)
        assert at == 0
        assert found == 0


class TestEntriesThatMeet:
    def test_none_where_the_slope_of_one_depends_on_the_other(self):
        x = cp.Variable(2)
        assert least_one_by_one(cp.square(x[0] + x[1] - 1.0) + cp.square(x[0] - 0.2), x) is None

    @pytest.mark.parametrize("size", SIZES)
    def test_none_at_any_size(self, size):
        """Three squares of the same size that no point makes 0 together."""
        x = cp.Variable(2)
        function = (
            cp.square((x[0] + x[1]) / size - 1) + cp.square((x[0] + 2 * x[1]) / size) + 3 * cp.square(x[0] / size - 1)
        )
        assert least_one_by_one(function, x) is None

    def test_where_the_slopes_vanish_together_by_chance_it_is_the_minimum(self):
        """Entries that move alike: both are bisected along the diagonal, on which the minimum lies."""
        x = cp.Variable(2)
        found, at = least(cp.square(x[0] + x[1] - 2.0) + cp.sum_squares(x - 1.0), x)
        assert found == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(at, [1.0, 1.0], rtol=1e-6)

    @pytest.mark.parametrize("seed", range(20))
    def test_never_a_value_that_is_not_the_minimum(self, seed):
        """Random convex quadratics, most of whose entries meet: None, or what a solver finds."""
        rng = np.random.default_rng(seed)
        B = rng.uniform(0.0, 1.0, (3, 3)) if seed % 3 else np.diag(rng.uniform(0.5, 2.0, 3))
        b = rng.standard_normal(3)
        x = cp.Variable(3)
        function = cp.sum_squares(B @ x - b)
        found = least_one_by_one(function, x)
        problem = cp.Problem(cp.Minimize(function), [x >= 0])
        problem.solve(cp.CLARABEL)
        if seed % 3 == 0:
            assert found is not None
        assert found is None or found == pytest.approx(problem.value, rel=1e-6, abs=1e-8)

    @pytest.mark.xfail(strict=True, reason="the slopes in the far corner are taken for those of single entries")
    def test_entries_that_pull_each_other_down_are_no_falling_function(self):
        """(x - 2 y)^2 + x + y is least at 0; its slope in x is negative wherever y is as large as x."""
        x = cp.Variable(2)
        assert least_one_by_one(cp.square(x[0] - 2 * x[1]) + cp.sum(x), x) in (None, 0.0)

    def test_a_variable_that_does_not_occur(self):
        x, y = cp.Variable(2), cp.Variable(2)
        y.save_value(np.zeros(2))
        assert least_one_by_one(cp.sum_squares(y), x) is None
