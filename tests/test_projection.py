import math

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from kopt.errors import InputError
from kopt.projection import Polyhedron, corrected, project

EPS = np.finfo(float).eps
INF = math.inf


def labels(rng, n):
    y = np.where(rng.random(n) < rng.choice([0.5, 0.15]), 1.0, -1.0)
    y[0], y[-1] = 1.0, -1.0
    return y


def smaller_class(y):
    return min((y > 0).sum(), (y < 0).sum())


def soft_margin(rng, n, C=1.0):
    return {"lower": np.zeros(n), "upper": np.full(n, C), "A": labels(rng, n)[None], "b": [0.0]}


def simplex(rng, n):
    return {"lower": np.zeros(n), "upper": np.full(n, INF), "A": np.ones((1, n)), "b": [1.0]}


def nu_margin(rng, n, room=1.4):
    y = labels(rng, n)
    C = room / (2 * smaller_class(y))
    return {"lower": np.zeros(n), "upper": np.full(n, C), "A": np.vstack([y, np.ones(n)]), "b": [0.0, 1.0]}


def nu_margin_at_the_boundary(rng, n):
    return nu_margin(rng, n, room=1.0)


def nu_inequality(rng, n):
    y = labels(rng, n)
    nu = rng.choice([0.5, 1.0]) * 2 * smaller_class(y) / n
    rows = {"A": y[None], "b": [0.0], "G": -np.ones((1, n)), "h": [-nu]}
    return {"lower": np.zeros(n), "upper": np.full(n, 1 / n), **rows}


def regression(rng, n):
    row = np.concatenate([np.ones(n), -np.ones(n)])[None]
    return {"lower": np.zeros(2 * n), "upper": np.full(2 * n, 0.3), "A": row, "b": [0.0]}


def balance_rows(rng, n):
    rows = rng.choice([-1.0, 1.0], size=(5, n))
    rows[:, 0], rows[:, 1] = 1.0, -1.0
    return {"lower": np.zeros(n), "upper": np.ones(n), "A": rows, "b": np.zeros(5)}


def mixed(rng, n):
    inside, rows = rng.random(n), rng.standard_normal((6, n))
    lower = np.where(rng.random(n) < 0.5, inside - rng.random(n), -INF)
    upper = np.where(rng.random(n) < 0.5, inside + rng.random(n), INF)
    slack = rng.random(3) * (rng.random(3) < 0.5)
    return {
        "lower": lower,
        "upper": upper,
        "A": rows[:3],
        "b": rows[:3] @ inside,
        "G": rows[3:],
        "h": rows[3:] @ inside + slack,
    }


def coinciding_rows(rng, n):
    rows = rng.choice([-1.0, 0.0, 1.0], size=(2, n))
    rows = np.vstack([rows, rows[:1], 2 * rows[0] - rows[1], -rows[1]])
    return {"lower": np.zeros(n), "upper": np.ones(n), "A": rows, "b": rows @ rng.integers(0, 2, n)}


CASES = [
    soft_margin,
    simplex,
    nu_margin,
    nu_margin_at_the_boundary,
    nu_inequality,
    regression,
    balance_rows,
    mixed,
    coinciding_rows,
]


def instance(case, seed, scales=(0.0,)):
    rng = np.random.default_rng(seed)
    data = case(rng, int(rng.integers(4, 40)))
    z0 = rng.standard_normal(data["lower"].size) * 10 ** rng.choice(scales)
    return data, np.round(z0) if rng.random() < 0.2 else z0


def terms(data, z):
    for M, rhs in (("A", "b"), ("G", "h")):
        for row, value in zip(data.get(M, ()), data.get(rhs, ()), strict=True):
            products = row * z
            yield M, math.fsum([*products, -value]), math.fsum(np.abs(products))


def assert_feasible_to_rounding(data, z):
    assert np.all(z >= data["lower"])
    assert np.all(z <= data["upper"])
    for kind, residual, size in terms(data, z):
        assert (abs(residual) if kind == "A" else residual) <= 4 * EPS * size


def variational_gap(data, z0, z):
    """max (z0 - z)'(v - z) over feasible v within 10 max|z| of z, both factors scaled: at least ||z - z*||^2."""
    unit, step = np.abs(z0 - z).max() or 1.0, np.abs(z).max() or 1.0
    bounds = np.column_stack([(data["lower"] - z) / step, (data["upper"] - z) / step]).clip(-10, 10)
    rows = {"A_eq": data["A"], "b_eq": np.zeros(len(data["A"]))}
    if "G" in data:
        rows |= {"A_ub": data["G"], "b_ub": np.maximum(data["h"] - data["G"] @ z, 0) / step}
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog((z - z0) / unit, bounds=bounds, options=tight, **rows)
    assert found.status == 0
    return -found.fun


def clarabel(data, z0):
    z = cp.Variable(z0.size)
    low, high = np.isfinite(data["lower"]), np.isfinite(data["upper"])
    held = [data["A"] @ z == np.asarray(data["b"])]
    held += [z[low] >= data["lower"][low]] if low.any() else []
    held += [z[high] <= data["upper"][high]] if high.any() else []
    held += [data["G"] @ z <= np.asarray(data["h"])] if "G" in data else []
    tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    cp.Problem(cp.Minimize(cp.sum_squares(z - z0)), held).solve(solver="CLARABEL", **tight)
    return z.value


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_an_interior_point_solver(case, seed):
    data, z0 = instance(case, seed)
    found = project(z0, Polyhedron(**data))
    reference = clarabel(data, z0)
    assert np.abs(found.point - reference).max() <= 1e-5
    assert found.distance <= np.linalg.norm(reference - z0) + 1e-7


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_is_feasible_to_rounding_and_satisfies_the_variational_inequality(case, seed):
    data, z0 = instance(case, seed, scales=(-3.0, 0.0, 0.0, 2.0, 6.0, 12.0))
    polyhedron = Polyhedron(**data)
    found = project(z0, polyhedron)
    assert_feasible_to_rounding(data, found.point)
    assert polyhedron.contains(found.point)
    assert variational_gap(data, z0, found.point) <= 1e-8
    assert found.distance == pytest.approx(np.linalg.norm(found.point - z0), rel=1e-12)
    assert found.largest_change == np.abs(found.point - z0).max()
    again = project(found.point, polyhedron)
    assert again.point.tobytes() == found.point.tobytes()
    assert (again.distance, again.largest_change) == (0.0, 0.0)


@pytest.mark.parametrize("box", [1e-8, 1e8])
@pytest.mark.parametrize("far", [1e-8, 1.0, 1e8, 1e12])
@pytest.mark.parametrize("seed", range(3))
def test_scales_far_apart(box, far, seed):
    rng = np.random.default_rng(seed)
    data = soft_margin(rng, 30, box)
    z0 = far * rng.standard_normal(30)
    z = project(z0, Polyhedron(**data)).point
    assert_feasible_to_rounding(data, z)
    # The same problem in units of the box, where the linear program's tolerances mean something.
    scaled = {**data, "upper": data["upper"] / box}
    assert variational_gap(scaled, z0 / box, z / box) <= 1e-8


def test_coordinates_of_very_different_boxes():
    rng = np.random.default_rng(0)
    data = {**soft_margin(rng, 40), "upper": 10.0 ** rng.integers(-8, 9, 40)}
    z0 = data["upper"] * rng.standard_normal(40)
    z = project(z0, Polyhedron(**data)).point
    assert_feasible_to_rounding(data, z)
    # The multiplier is known from any free coordinate; clipping with it must give the point back.
    y, free = data["A"][0], (z > 0) & (z < data["upper"])
    mu = ((z0 - z) * y)[free]
    assert np.ptp(mu) <= 1e-15 * np.abs(z0).max()
    assert np.abs(np.clip(z0 - y * mu.mean(), 0, data["upper"]) - z).max() <= 1e-15 * np.abs(z0).max()


@pytest.mark.parametrize("seed", range(8))
def test_multipliers_reproduce_the_point(seed):
    """KKT: z = clip(z0 - B'mu), mu from least squares on the free coordinates, mu_G >= 0 and 0 on slack rows."""
    data, z0 = instance(mixed, seed)
    z = project(z0, Polyhedron(**data)).point
    B = np.vstack([data["A"], data["G"]])
    active = np.concatenate([np.ones(3, bool), data["h"] - data["G"] @ z <= 1e-9])
    free = (z > data["lower"]) & (z < data["upper"])
    assert free.sum() >= active.sum()
    mu = np.linalg.lstsq(B[active][:, free].T, (z0 - z)[free], rcond=None)[0]
    assert np.all(mu[3:] >= -1e-10)
    np.testing.assert_allclose(np.clip(z0 - B[active].T @ mu, data["lower"], data["upper"]), z, atol=1e-10)


def test_known_answers():
    box = Polyhedron(np.zeros(3), np.ones(3))
    assert project([-1.0, 0.5, 3.0], box).point.tolist() == [0.0, 0.5, 1.0]
    triangle = Polyhedron(np.zeros(3), np.full(3, INF), A=np.ones((1, 3)), b=1.0)
    assert project([1.0, 0.5, -4.0], triangle).point.tolist() == [0.75, 0.25, 0.0]
    half_space = Polyhedron([-INF, -INF], [INF, INF], G=[[3.0, 4.0]], h=[0.0])
    moved = project([3.0, 4.0], half_space)
    np.testing.assert_allclose(moved.point, [0, 0], atol=1e-15)
    assert (moved.distance, moved.largest_change) == (pytest.approx(5.0), pytest.approx(4.0))
    line = Polyhedron([-INF, -INF], [INF, INF], A=[[1.0, 1.0], [1.0, -1.0]], b=[1.0, 0.0])
    np.testing.assert_allclose(project([7.0, -9.0], line).point, [0.5, 0.5], rtol=4e-15)


@pytest.mark.parametrize("seed", range(20))
def test_only_the_origin_is_feasible(seed):
    rng = np.random.default_rng(seed)
    nothing_else = Polyhedron(np.full(3, -INF), np.full(3, INF), A=rng.standard_normal((3, 3)), b=np.zeros(3))
    found = project(rng.standard_normal(3), nothing_else)
    assert np.abs(found.point).max() <= 1e-15
    assert nothing_else.contains(found.point)


def test_an_inactive_inequality_changes_nothing():
    rng = np.random.default_rng(3)
    data, z0 = soft_margin(rng, 25), rng.standard_normal(25)
    alone = project(z0, Polyhedron(**data)).point
    with_row = project(z0, Polyhedron(**data, G=np.ones((1, 25)), h=[100.0])).point
    assert np.array_equal(alone, with_row)


def test_sparse_dense_and_doubled_rows_agree():
    rng = np.random.default_rng(4)
    data, z0 = nu_margin(rng, 30), rng.standard_normal(30)
    dense = project(z0, Polyhedron(**data)).point
    assert np.array_equal(dense, project(z0, Polyhedron(**{**data, "A": sparse.csr_matrix(data["A"])})).point)
    assert np.array_equal(dense, project(z0, Polyhedron(**{**data, "A": sparse.coo_array(data["A"])})).point)
    doubled = {**data, "A": np.vstack([data["A"], 3 * data["A"]]), "b": [0.0, 1.0, 0.0, 3.0]}
    np.testing.assert_allclose(project(z0, Polyhedron(**doubled)).point, dense, atol=1e-14)
    two_sided = {**data, "A": data["A"][:1], "b": [0.0], "G": [np.ones(30), -np.ones(30)], "h": [1.0, -1.0]}
    np.testing.assert_allclose(project(z0, Polyhedron(**two_sided)).point, dense, atol=1e-14)


def test_fixed_coordinates_and_no_free_coordinate():
    fixed = Polyhedron([0.25, 0.0, 0.0], [0.25, 1.0, 1.0], A=[[1.0, -1.0, 1.0]], b=[0.0])
    assert project([9.0, 0.5, 0.5], fixed).point.tolist() == [0.25, 0.625, 0.375]
    all_fixed = Polyhedron([0.1] * 10, [0.1] * 10, A=np.ones((1, 10)), b=[1.0])
    assert project(np.arange(10.0), all_fixed).point.tolist() == [0.1] * 10
    corner = Polyhedron(np.zeros(2), np.ones(2), A=[[1.0, 1.0]], b=[2.0])
    assert project([-5.0, 0.3], corner).point.tolist() == [1.0, 1.0]
    zero_row = Polyhedron(np.zeros(2), np.ones(2), A=sparse.csr_array((1, 2)), b=[0.0])
    assert project([2.0, 0.3], zero_row).point.tolist() == [1.0, 0.3]
    assert project([], Polyhedron([], [])).distance == 0.0


@pytest.mark.parametrize("n", [3, 7, 10, 49, 1000])
def test_the_feasibility_boundary_is_not_empty(n):
    y = np.concatenate([np.ones(n), -np.ones(3 * n)])
    data = {"lower": np.zeros(4 * n), "upper": np.full(4 * n, 1 / (2 * n)), "A": np.vstack([y, np.ones(4 * n)])}
    z = project(np.random.default_rng(n).standard_normal(4 * n), Polyhedron(**data, b=[0.0, 1.0])).point
    assert_feasible_to_rounding({**data, "b": [0.0, 1.0]}, z)
    assert np.abs(z[:n] - 1 / (2 * n)).max() <= 1e-15


def test_feasible_points_come_back_bit_for_bit():
    tenths = np.full(10, 0.1)
    kept = project(tenths, Polyhedron(np.zeros(10), np.ones(10), A=np.ones((1, 10)), b=[1.0]))
    assert kept.point.tobytes() == tenths.tobytes()
    assert kept.point is not tenths
    signed = np.array([-0.0, 0.0, 1.0])
    assert project(signed, Polyhedron(np.zeros(3), np.ones(3))).point.tobytes() == signed.tobytes()


def test_a_point_just_beyond_rounding_moves_by_rounding():
    tenths = np.full(10, 0.1)
    tenths[3] += 1e-14
    moved = project(tenths, Polyhedron(np.zeros(10), np.ones(10), A=np.ones((1, 10)), b=[1.0]))
    assert 1e-16 < moved.largest_change < 1e-14
    assert abs(math.fsum([*moved.point, -1.0])) <= 4 * EPS


def test_the_correction_leaves_bounds_only_when_no_coordinate_is_free():
    half = Polyhedron(np.zeros(3), np.ones(3), A=np.ones((1, 3)), b=[1.5])
    assert corrected(np.array([1.0, 0.25, 0.0]), half).tolist() == [1.0, 0.5, 0.0]
    assert corrected(np.array([1.0, 0.0, 0.0]), half).tolist() == [1.0, 0.25, 0.25]


@pytest.mark.parametrize("angle", [1e-2, 1e-3, 1e-4])
def test_nearly_parallel_rows(angle):
    rng = np.random.default_rng(8)
    rows = rng.standard_normal((2, 20))
    rows[1] = rows[0] + angle * rows[1]
    inside, z0 = rng.standard_normal(20), rng.standard_normal(20)
    whole_space = Polyhedron(np.full(20, -INF), np.full(20, INF), A=rows, b=rows @ inside)
    expected = z0 + np.linalg.pinv(rows) @ (rows @ (inside - z0))
    np.testing.assert_allclose(project(z0, whole_space).point, expected, atol=1e-13 / angle)


@pytest.mark.parametrize("far", [1.0, 1e12])
@pytest.mark.parametrize("case", [soft_margin, simplex, nu_margin_at_the_boundary, nu_inequality, balance_rows])
def test_many_coordinates(case, far):
    rng = np.random.default_rng(5)
    data = case(rng, 100_000)
    assert_feasible_to_rounding(data, project(far * rng.standard_normal(100_000), Polyhedron(**data)).point)


def test_a_few_dozen_rows():
    rng = np.random.default_rng(6)
    inside, rows = rng.random(300), rng.standard_normal((36, 300))
    data = {"lower": np.zeros(300), "upper": np.ones(300), "A": rows[:18], "b": rows[:18] @ inside}
    data |= {"G": rows[18:], "h": rows[18:] @ inside}
    for far in (1.0, 1e6):
        z0 = far * rng.standard_normal(300)
        z = project(z0, Polyhedron(**data)).point
        assert_feasible_to_rounding(data, z)
        assert variational_gap(data, z0, z) <= 1e-8


@pytest.mark.parametrize(
    ("rows", "amount"),
    [
        ({"A": [[1.0, 1.0]], "b": [3.0]}, "at least 1 "),
        ({"A": [[1.0, 0.0], [1.0, 0.0]], "b": [0.25, 0.75]}, "at least 0.25 "),
        ({"G": [[-1.0, -1.0]], "h": [-2.5]}, "at least 0.5 "),
        ({"A": [[1.0, -1.0]], "b": [0.0], "G": [[-1.0, -1.0]], "h": [-2.5]}, "at least 0."),
        ({"A": [[0.0, 0.0]], "b": [1e-3]}, "at least 0.001 "),
        ({"A": [[1.0, 1.0]], "b": [2 + 1e-12]}, "at least 1e-12 "),
    ],
)
@pytest.mark.parametrize("z0", [[0.2, 0.9], [-1e9, 1e9], [1.0, 1.0]])
def test_an_empty_polyhedron_says_by_how_much(rows, amount, z0):
    with pytest.raises(InputError, match=r"is empty: .* Widen the bounds") as refusal:
        project(z0, Polyhedron(np.zeros(2), np.ones(2), **rows))
    assert f"missed by {amount}" in str(refusal.value)


def test_inconsistent_rows_without_a_box_are_refused():
    rows = np.array([[1.0, 2.0, 0.3], [3.0, 6.0, 0.9]])
    with pytest.raises(InputError, match="is empty"):
        project(np.ones(3), Polyhedron(np.full(3, -INF), np.full(3, INF), A=rows, b=[1.0, 4.0]))


def test_just_short_of_the_boundary_is_empty():
    data = nu_margin(np.random.default_rng(7), 20, room=1 - 1e-10)
    with pytest.raises(InputError, match=r"is empty: .*missed by at least \d"):
        project(np.zeros(20), Polyhedron(**data))


@pytest.mark.parametrize("bad", [math.nan, INF, -INF])
def test_a_point_that_is_not_finite_is_refused(bad):
    with pytest.raises(InputError, match=r"1 of its entries are not finite\. Project a finite vector"):
        project([0.0, bad], Polyhedron(np.zeros(2), np.ones(2)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lower": [0.0, 2.0], "upper": [1.0, 1.0]}, r"coordinate 1 must lie between 2\.0 and 1\.0\. Give a lower"),
        ({"lower": [math.nan], "upper": [1.0]}, "coordinate 0 must lie between nan"),
        ({"lower": [0.0], "upper": [1.0, 1.0]}, r"shapes \(1,\) and \(2,\)\. Give two vectors"),
        (
            {"lower": [0.0], "upper": [1.0], "A": [[1.0, 1.0]], "b": [0.0]},
            r"Give one right-hand side per row and 1 col",
        ),
        ({"lower": [0.0], "upper": [1.0], "A": [[1.0]], "b": [0.0, 0.0]}, r"2 and 0 right-hand sides"),
        ({"lower": [0.0], "upper": [1.0], "G": [[1.0]], "h": [INF]}, r"leave out an inequality that never binds"),
    ],
)
def test_a_wrong_polyhedron_is_refused_where_it_is_written(arguments, message):
    with pytest.raises(InputError, match=message):
        Polyhedron(**arguments)


def test_a_point_of_the_wrong_length():
    with pytest.raises(InputError, match=r"shape \(3,\) for 2 bounds"):
        project(np.zeros(3), Polyhedron(np.zeros(2), np.ones(2)))
    assert not Polyhedron(np.zeros(2), np.ones(2)).contains(np.zeros(3))
