"""The sign convention against CVXPY, for every kind of constraint and both senses of the objective.

A strictly convex problem is solved for each way of writing a constraint. With the multiplier that `from_cvxpy` gives,
the Lagrangian `sign * objective + <multiplier, residual>` must be stationary, the multiplier must lie in the dual cone,
and the two must be complementary. Residual, cone and gradient are written out here in numpy, from the table in
`kopt.cones`, so that a wrong sign there cannot cancel.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import cvxpy as cp
import numpy as np
import pytest

from kopt.cones import Free, NonNegative, SecondOrder, Semidefinite, cone_of
from kopt.errors import DeclarationError

# What CLARABEL reaches at its default tolerances; a wrong sign or order is off by the size of the multiplier.
ACCURACY = 1e-5
Array = np.ndarray


def draw(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed + 17).standard_normal(shape)


A, B, TARGET = draw(4, 3, seed=1), draw(4, seed=2), 3 * draw(3, seed=3)
M, SIDE, MATRIX_TARGET = draw(2, 3, seed=4), draw(2, 2), 3 * draw(3, 2, seed=5)
FS = np.array([(f + f.T) / 2 for f in draw(4, 3, 3, seed=6)])
SYMMETRIC = np.array(FS[0])
FS[1] += 4 * np.eye(3)  # definite, so that the pencil can be made so


def pencil(x: Array) -> Array:
    """F_0 + sum_k x_k F_k."""
    return FS[0] + np.tensordot(x, FS[1:], axes=1)


def symbolic_pencil(x: cp.Variable) -> cp.Expression:
    return FS[0] + sum(x[k] * FS[k + 1] for k in range(3))


def columns(stacked: Array) -> list[tuple[float, Array]]:
    """The pairs (t, X) of a stack of second-order cones, column by column."""
    table = stacked.reshape(stacked.shape[0], -1, order="F")
    return [(column[0], column[1:]) for column in table.T]


def in_orthant(multiplier: Array) -> bool:
    return bool(np.all(multiplier >= -ACCURACY))


def anything(multiplier: Array) -> bool:
    return True


def in_second_order_cone(multiplier: Array) -> bool:
    return all(np.linalg.norm(X) <= t + ACCURACY for t, X in columns(multiplier))


def in_semidefinite_cone(multiplier: Array) -> bool:
    return bool(np.allclose(multiplier, multiplier.T) and np.linalg.eigvalsh(multiplier)[0] >= -ACCURACY)


@dataclass(frozen=True)
class Written:
    """A way of writing a constraint, its residual by the convention, and the dual cone."""

    constraint: Callable[[cp.Variable], cp.Constraint]
    residual: Callable[[Array], Array]
    cone: type
    contains: Callable[[Array], bool]
    target: Array = field(default_factory=lambda: TARGET)


def stack(t: Array, X: Array) -> Array:
    return -np.vstack([np.reshape(t, (1, -1)), X])


WRITTEN = {
    "<=": Written(lambda x: A @ x <= B, lambda x: A @ x - B, NonNegative, in_orthant),
    ">=": Written(lambda x: A @ x >= B, lambda x: B - A @ x, NonNegative, in_orthant),
    "number <=": Written(lambda x: cp.sum(x) <= -7.0, lambda x: np.array(x.sum() + 7), NonNegative, in_orthant),
    "number on the left": Written(
        lambda x: 9.0 <= cp.sum(x),  # noqa: SIM300
        lambda x: np.array(9 - x.sum()),
        NonNegative,
        in_orthant,
    ),
    "curved <=": Written(lambda x: cp.sum_squares(x) <= 1, lambda x: np.array(x @ x - 1), NonNegative, in_orthant),
    "==": Written(lambda x: A[:2] @ x == B[:2], lambda x: A[:2] @ x - B[:2], Free, anything),
    "== reversed": Written(lambda x: cp.Constant(B[:2]) == A[:2] @ x, lambda x: B[:2] - A[:2] @ x, Free, anything),
    # In `array == expression` CVXPY sees `expression == array`, as the caution in kopt.cones says.
    "== after an array": Written(lambda x: B[:2] == A[:2] @ x, lambda x: A[:2] @ x - B[:2], Free, anything),
    "NonNeg": Written(lambda x: cp.NonNeg(A @ x - B), lambda x: B - A @ x, NonNegative, in_orthant),
    "Zero": Written(lambda x: cp.Zero(A[:2] @ x - B[:2]), lambda x: A[:2] @ x - B[:2], Free, anything),
    "matrix <=": Written(lambda X: M @ X - SIDE <= 0, lambda X: M @ X - SIDE, NonNegative, in_orthant, MATRIX_TARGET),
    "matrix >=": Written(lambda X: X >= 1.0, lambda X: 1.0 - X, NonNegative, in_orthant, MATRIX_TARGET),
    "matrix ==": Written(lambda X: M @ X - SIDE == 0, lambda X: M @ X - SIDE, Free, anything, MATRIX_TARGET),
    "SOC": Written(
        lambda x: cp.SOC(1 + 0.1 * x[0], A @ x),
        lambda x: -np.concatenate([[1 + 0.1 * x[0]], A @ x]),
        SecondOrder,
        in_second_order_cone,
    ),
    "SOC, one column": Written(
        lambda x: cp.SOC(cp.reshape(x[0] + 1, (1,), order="F"), cp.reshape(A @ x, (4, 1), order="F")),
        lambda x: stack(x[:1] + 1, (A @ x).reshape(4, 1)),
        SecondOrder,
        in_second_order_cone,
    ),
    "SOC, several columns": Written(
        lambda X: cp.SOC(np.array([0.5, 0.7]), X, axis=0),
        lambda X: stack(np.array([0.5, 0.7]), X),
        SecondOrder,
        in_second_order_cone,
        MATRIX_TARGET,
    ),
    "SOC, several rows": Written(
        lambda X: cp.SOC(np.array([0.5, 0.7, 0.9]), X, axis=1),
        lambda X: stack(np.array([0.5, 0.7, 0.9]), X.T),
        SecondOrder,
        in_second_order_cone,
        MATRIX_TARGET,
    ),
    "norm <=": Written(
        lambda x: cp.norm(A @ x) <= 1, lambda x: np.array(np.linalg.norm(A @ x) - 1), NonNegative, in_orthant
    ),
    ">>": Written(lambda X: X >> SYMMETRIC, lambda X: SYMMETRIC - X, Semidefinite, in_semidefinite_cone, -3 * FS[1]),
    "<<": Written(lambda X: X << SYMMETRIC, lambda X: X - SYMMETRIC, Semidefinite, in_semidefinite_cone, 3 * FS[1]),
    ">> affine": Written(
        lambda x: symbolic_pencil(x) >> 0.5 * np.eye(3),
        lambda x: 0.5 * np.eye(3) - pencil(x),
        Semidefinite,
        in_semidefinite_cone,
        np.array([-3.0, 1.0, 2.0]),
    ),
    "<< affine": Written(
        lambda x: symbolic_pencil(x) << -0.5 * np.eye(3),
        lambda x: pencil(x) + 0.5 * np.eye(3),
        Semidefinite,
        in_semidefinite_cone,
        np.array([3.0, 1.0, 2.0]),
    ),
}


def variable_of(written: Written) -> cp.Variable:
    symmetric = written.target.ndim == 2 and written.cone is Semidefinite
    return cp.Variable(written.target.shape, name="x", symmetric=symmetric)


def numeric_gradient(function: Callable[[Array], float], x: Array) -> Array:
    step = 1e-5
    gradient = np.zeros(x.size)
    for i in range(x.size):
        shift = np.zeros(x.size)
        shift[i] = step
        shift = shift.reshape(x.shape)
        gradient[i] = (function(x + shift) - function(x - shift)) / (2 * step)
    return gradient


def solved(written: Written, maximise: bool) -> tuple[cp.Variable, cp.Constraint]:
    x = variable_of(written)
    distance = 0.5 * cp.sum_squares(x - written.target)
    constraint = written.constraint(x)
    objective = cp.Maximize(-distance) if maximise else cp.Minimize(distance)
    problem = cp.Problem(objective, [constraint])
    problem.solve(solver="CLARABEL")
    assert problem.status == "optimal"
    return x, constraint


@pytest.mark.parametrize("maximise", [False, True], ids=["minimise", "maximise"])
@pytest.mark.parametrize("how", WRITTEN)
def test_the_multiplier_makes_the_lagrangian_stationary(how, maximise):
    written = WRITTEN[how]
    variable, constraint = solved(written, maximise)
    multiplier = cone_of(constraint).from_cvxpy(constraint.dual_value)
    x = np.array(variable.value)
    residual = written.residual(x)
    assert multiplier.shape == residual.shape
    assert np.linalg.norm(multiplier) > 1e-2, "the constraint is not active, so this instance tells nothing"
    assert written.contains(multiplier)

    def lagrangian(point: Array) -> float:
        # A maximisation of -f is the minimisation of f: the objective enters alike in both senses.
        return 0.5 * float(np.sum((point - written.target) ** 2)) + float(np.sum(multiplier * written.residual(point)))

    assert np.max(np.abs(numeric_gradient(lagrangian, x))) <= 100 * ACCURACY
    assert abs(np.sum(multiplier * residual)) <= 10 * ACCURACY


@pytest.mark.parametrize("how", WRITTEN)
def test_the_residual_is_the_one_of_the_convention(how):
    written = WRITTEN[how]
    variable = variable_of(written)
    cone = cone_of(written.constraint(variable))
    point = draw(*written.target.shape, seed=40)
    if variable.attributes["symmetric"]:
        point = point + point.T
    variable.save_value(point)
    assert type(cone) is written.cone
    np.testing.assert_allclose(cone.residual.value, written.residual(point), atol=1e-12)


@pytest.mark.parametrize("how", WRITTEN)
def test_the_violation_is_zero_at_the_solution_and_positive_outside(how):
    written = WRITTEN[how]
    variable, constraint = solved(written, maximise=False)
    cone = cone_of(constraint)
    assert cone.violation(np.asarray(cone.residual.value)) <= ACCURACY
    # Every target lies outside, because the constraint is active.
    variable.save_value(written.target)
    assert cone.violation(np.asarray(cone.residual.value)) > 1e-2


@pytest.mark.parametrize("how", WRITTEN)
def test_the_violation_of_a_multiplier_agrees_with_the_dual_cone(how):
    written = WRITTEN[how]
    _, constraint = solved(written, maximise=False)
    cone = cone_of(constraint)
    multiplier = cone.from_cvxpy(constraint.dual_value)
    assert cone.multiplier_violation(multiplier) <= ACCURACY
    assert (cone.multiplier_violation(-multiplier) > 1e-3) == (written.cone is not Free)


def test_violations_in_numbers():
    x = cp.Variable(3, name="x")
    inequality, equality = cone_of(x <= 0), cone_of(x == 0)
    assert inequality.violation(np.array([-5.0, 2.0, 1.0])) == 2.0
    assert inequality.multiplier_violation(np.array([-5.0, 2.0, 1.0])) == 5.0
    assert equality.violation(np.array([-5.0, 2.0, 1.0])) == 5.0
    assert equality.multiplier_violation(np.array([-5.0, 2.0, 1.0])) == 0.0
    second_order = cone_of(cp.SOC(x[0], x[1:]))
    assert second_order.violation(-np.array([1.0, 3.0, 4.0])) == 4.0
    assert second_order.multiplier_violation(np.array([6.0, 3.0, 4.0])) == 0.0
    semidefinite = cone_of(cp.diag(x) >> 0)
    assert semidefinite.violation(np.diag([3.0, -1.0, -2.0])) == pytest.approx(3.0)
    assert semidefinite.multiplier_violation(np.diag([3.0, -1.0, -2.0])) == pytest.approx(2.0)


@pytest.mark.parametrize("not_a_number", [np.nan, np.inf - np.inf])
@pytest.mark.parametrize(
    "constraint",
    [
        lambda x: x <= 0,
        lambda x: x == 0,
        lambda x: cp.SOC(x[0], x[1:]),
        lambda x: cp.diag(x) >> 0,
    ],
    ids=["<=", "==", "SOC", ">>"],
)
def test_what_is_not_a_number_violates(constraint, not_a_number):
    cone = cone_of(constraint(cp.Variable(3, name="x")))
    values = np.zeros(cone.residual.shape)
    values.flat[1] = not_a_number
    assert not cone.violation(values) <= 1e300
    if not isinstance(cone, Free):
        assert not cone.multiplier_violation(values) <= 1e300


@pytest.mark.parametrize(
    ("constraint", "kind"),
    [
        (lambda x: cp.ExpCone(x[0], x[1], x[2]), "ExpCone"),
        (lambda x: cp.PowCone3D(x[0], x[1], x[2], 0.3), "PowCone3D"),
        (lambda x: cp.PowConeND(x[:2], x[2], np.array([0.4, 0.6])), "PowConeND"),
        (lambda x: cp.FiniteSet(x[0], [1, 2]), "FiniteSet"),
    ],
    ids=["ExpCone", "PowCone3D", "PowConeND", "FiniteSet"],
)
def test_a_constraint_without_a_multiplier_is_refused(constraint, kind):
    with pytest.raises(DeclarationError, match=rf"of type {kind}, for which no multiplier is defined\. Write it with"):
        cone_of(constraint(cp.Variable(3, name="x")))
