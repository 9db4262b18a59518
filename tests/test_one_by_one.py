"""Minima over numbers that do not meet, of any size: against closed forms."""

import cvxpy as cp
import numpy as np
import pytest

from kopt.referee.one_by_one import POWERS, least_one_by_one

#: Twelve digits on either side of 1.
SIZES = [1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e12]
EXACT = 1e-12


class TestClosedForms:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("p", [1.05, 1.3, 2.0, 4.0])
    def test_powers_against_gains(self, size, p):
        """a x^p - g x is least at x^(p-1) = g / (p a); a gain that is a price leaves 0."""
        a, g = np.array([0.3, 2.0, 1.0]) * size, np.array([1.0, 0.4, -1.0]) * size
        at = np.where(g > 0, (np.maximum(g, 0) / (p * a)) ** (1 / (p - 1)), 0.0)
        found = least_one_by_one(lambda x: float(a @ x**p - g @ x), 3)
        assert found == pytest.approx(float(a @ at**p - g @ at), rel=EXACT)

    @pytest.mark.parametrize("p", [1.3, 2.0])
    def test_minimisers_of_all_sizes_at_once(self, p):
        minimisers = np.array(SIZES)
        g = p * minimisers ** (p - 1)
        found = least_one_by_one(lambda x: float(np.sum(x**p) - g @ x), len(SIZES))
        assert found == pytest.approx((1 - p) * np.sum(minimisers**p), rel=EXACT)

    @pytest.mark.parametrize("size", SIZES)
    def test_small_entries_count_beside_large_ones(self, size):
        """The minimum of the small entry alone is 1e-12 of that of the other."""
        found = least_one_by_one(
            lambda x: float(size * (x[0] ** 2 - 2 * x[0]) + 1e-12 * size * (x[1] ** 2 - 2 * x[1])), 2
        )
        assert found == pytest.approx(-size * (1 + 1e-12), rel=1e-15)

    @pytest.mark.parametrize("size", SIZES)
    def test_a_constant_is_counted(self, size):
        assert least_one_by_one(lambda x: float(np.sum(x) + size), 2) == pytest.approx(size, rel=EXACT)

    @pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
    def test_several_minimisers_have_one_value(self, size):
        """The excess over an interval is 0 anywhere in it."""

        def excess(x):
            return float(np.sum(np.maximum(x - 3 * size, 0) ** 2 + np.maximum(2 * size - x, 0) ** 2) + 1)

        assert least_one_by_one(excess, 2) == pytest.approx(1.0, rel=EXACT)

    def test_a_kink_and_an_entry_that_does_not_occur(self):
        """At a kink the value is as exact as the place, and not the square of that."""
        assert least_one_by_one(lambda x: abs(x[0] - 3.0) + 1.0, 2) == pytest.approx(1.0, rel=1e-7)


class TestFallingFunctions:
    @pytest.mark.parametrize("size", SIZES)
    def test_a_line_down_has_no_minimum(self, size):
        assert least_one_by_one(lambda x: float(x[0] - size * x[1]), 2) == -np.inf

    def test_one_that_rises_in_the_end_is_no_falling_one(self):
        """Falling up to 1e20, within the range that is looked at."""
        assert least_one_by_one(lambda x: float((1e-20 * x[0] - 1) ** 2 - 1), 1) == pytest.approx(-1.0, rel=EXACT)

    def test_beyond_the_range_it_counts_as_falling(self):
        far = 10.0 ** (POWERS[-1] + 5)
        assert least_one_by_one(lambda x: float((x[0] / far - 1) ** 2), 1) == -np.inf


class TestEntriesThatMeet:
    @pytest.mark.parametrize("size", SIZES)
    def test_none_at_any_size(self, size):
        assert least_one_by_one(lambda x: size * float((x[0] + x[1] - 1) ** 2 + (x[0] - 0.2) ** 2), 2) is None

    def test_entries_that_pull_each_other_down_are_no_falling_function(self):
        """(x - 2 y)^2 + x + y is least at 0; its slope in x is negative wherever y is as large as x."""
        assert least_one_by_one(lambda x: float((x[0] - 2 * x[1]) ** 2 + x[0] + x[1]), 2) is None

    @pytest.mark.parametrize("seed", range(20))
    def test_never_a_value_that_is_not_the_minimum(self, seed):
        """Random convex quadratics, two in three of which have entries that meet: None, or what a solver finds."""
        rng = np.random.default_rng(seed)
        B = rng.uniform(0.0, 1.0, (3, 3)) if seed % 3 else np.diag(rng.uniform(0.5, 2.0, 3))
        b = rng.standard_normal(3)
        found = least_one_by_one(lambda x: float(np.sum((B @ x - b) ** 2)), 3)
        x = cp.Variable(3)
        problem = cp.Problem(cp.Minimize(cp.sum_squares(B @ x - b)), [x >= 0])
        problem.solve(cp.CLARABEL)
        if seed % 3:
            assert found is None
        else:
            assert found == pytest.approx(problem.value, rel=1e-6, abs=1e-8)
