"""What the language can declare: a formulation is one file, and every verb does what it can with what is there.

The machines below are written to a file that kopt has never seen, found there, solved, certified and used to predict.
Each is compared with a model of the same machine written by hand in CVXPY with explicit features.
"""

import sys
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

import kopt
from kopt.kernels import Gaussian, Linear, Polynomial

MACHINES = '''
"""Machines of a third party."""

import cvxpy as cp
import numpy as np

from kopt import Formulation, Program, Reference, Task, fraction, positive

ROWS = [np.arange(0, 9), np.arange(9, 21)]
CLASSES = 3


class Quantile(Formulation):
    """Quantile regression: a primal alone, the pinball loss as two slack vectors and an equality."""

    reference = Reference("Koenker and Bassett", "(3.1)")
    task = Task.REGRESSION
    tau: float = fraction(default=0.3)
    C: float = positive(default=2.0)

    def primal(self, s):
        w, b = s.weight("w"), cp.Variable(name="b")
        above, below = cp.Variable(s.n, name="above"), cp.Variable(s.n, name="below")
        loss = self.tau * cp.sum(above) + (1 - self.tau) * cp.sum(below)
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * loss),
            {"beta": above - below == s.y - w.values - b, "mu": above >= 0, "nu": below >= 0},
        )


class WithoutRecovery(Formulation):
    """Soft margin with primal and dual, and nothing else."""

    task = Task.CLASSIFICATION
    C: float = positive(default=0.7)

    def primal(self, s):
        w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * cp.sum(xi)),
            {"alpha": cp.multiply(s.y, w.values + b) >= 1 - xi, "mu": xi >= 0},
        )

    def dual(self, s):
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, alpha))
        return Program(
            cp.Maximize(cp.sum(alpha) - 0.5 * w.norm_squared),
            {"b": s.y @ alpha == 0, "xi": alpha <= self.C},
            domain=[alpha >= 0],
            multipliers={"mu": self.C - alpha},
        )


class MultiTask(Formulation):
    """Regularised multi-task learning: a shared vector and one per task on its rows, each with its own kernel."""

    task = Task.CLASSIFICATION
    C: float = positive(default=0.5)
    share: float = positive(default=3.0)

    def primal(self, s):
        w = s.weight("w", kernel="shared")
        own = [s.weight(f"v[{t}]", kernel="own", rows=rows) for t, rows in enumerate(ROWS)]
        objective, constraints = 0.5 * w.norm_squared, {}
        for t, rows in enumerate(ROWS):
            xi = cp.Variable(len(rows), name=f"xi[{t}]")
            objective = objective + self.share / 2 * own[t].norm_squared + self.C * cp.sum(xi)
            decision = w.values[rows] + own[t].values
            constraints |= {f"alpha[{t}]": cp.multiply(s.y[rows], decision) >= 1 - xi, f"mu[{t}]": xi >= 0}
        return Program(cp.Minimize(objective), constraints)

    def dual(self, s):
        alphas = [cp.Variable(len(rows), name=f"alpha[{t}]") for t, rows in enumerate(ROWS)]
        signed = [cp.multiply(s.y[rows], alpha) for rows, alpha in zip(ROWS, alphas)]
        w = s.combination(cp.hstack(signed), kernel="shared")
        objective = sum(cp.sum(alpha) for alpha in alphas) - 0.5 * w.norm_squared
        for rows, coefficients in zip(ROWS, signed):
            objective = objective - 0.5 / self.share * s.combination(coefficients, "own", rows).norm_squared
        return Program(
            cp.Maximize(objective),
            {f"xi[{t}]": alpha <= self.C for t, alpha in enumerate(alphas)},
            domain=[alpha >= 0 for alpha in alphas],
            multipliers={f"mu[{t}]": self.C - alpha for t, alpha in enumerate(alphas)},
        )

    def recover(self, s, dual):
        signed = [s.y[rows] * dual[f"alpha[{t}]"] for t, rows in enumerate(ROWS)]
        w = s.combination(np.concatenate(signed), kernel="shared")
        point = {"w": w}
        for t, rows in enumerate(ROWS):
            v = s.combination(signed[t] / self.share, "own", rows)
            point[f"v[{t}]"] = v
            point[f"xi[{t}]"] = np.maximum(0.0, 1 - s.y[rows] * (w.values[rows] + v.values))
        return point

    def decision(self, s, primal):
        """The shared function with the vector of the first task."""
        return primal.w.values + primal["v[0]"].values


class CrammerSinger(Formulation):
    """All classes at once: one weight vector per class, one slack per point."""

    task = Task.OTHER
    C: float = positive(default=0.8)

    def primal(self, s):
        W = s.weight("W", outputs=CLASSES)
        xi = cp.Variable(s.n, name="xi")
        own = np.eye(CLASSES)[s.y.astype(int)]
        score = cp.sum(cp.multiply(W.values, own), axis=1)
        constraints = {
            f"eta[{c}]": score - W.values[:, c] >= 1 - own[:, c] - xi for c in range(CLASSES)
        }
        return Program(cp.Minimize(0.5 * W.norm_squared + self.C * cp.sum(xi)), constraints)

    def dual(self, s):
        etas = [cp.Variable(s.n, name=f"eta[{c}]") for c in range(CLASSES)]
        own = np.eye(CLASSES)[s.y.astype(int)]
        coefficients = self.C * own - cp.vstack(etas).T
        W = s.combination(coefficients)
        loss = sum((1 - own[:, c]) @ etas[c] for c in range(CLASSES))
        return Program(
            cp.Maximize(loss - 0.5 * W.norm_squared),
            {"xi": sum(etas) == self.C},
            domain=[eta >= 0 for eta in etas],
        )

    def decision(self, s, primal):
        return primal.W.values


class Covariance(Formulation):
    """A matrix variable: the semi-definite matrix nearest to a given one."""

    def primal(self, s):
        S = cp.Variable((s.n, s.n), name="S", symmetric=True)
        target = s.gram() - np.outer(s.y, s.y)
        return Program(cp.Minimize(0.5 * cp.sum_squares(S - target)), {"Z": S >> 0})

    def dual(self, s):
        Z = cp.Variable((s.n, s.n), name="Z", symmetric=True)
        target = s.gram() - np.outer(s.y, s.y)
        return Program(
            cp.Maximize(-0.5 * cp.sum_squares(Z) - cp.trace(Z @ target)), domain=[Z >> 0]
        )

    def recover(self, s, dual):
        values, vectors = np.linalg.eigh(s.gram() - np.outer(s.y, s.y) + dual.Z)
        return {"S": (vectors * np.maximum(values, 0.0)) @ vectors.T}


class Transfer(Formulation):
    """Two regressions whose weight vectors are drawn to each other: a difference of weight vectors."""

    task = Task.REGRESSION
    ridge: float = positive(default=0.4)
    pull: float = positive(default=1.5)

    def primal(self, s):
        w, v = s.weight("w"), s.weight("v")
        xi, zeta = cp.Variable(s.n, name="xi"), cp.Variable(s.n, name="zeta")
        penalty = self.ridge * (w.norm_squared + v.norm_squared) + self.pull * (w - v).norm_squared
        return Program(
            cp.Minimize(penalty + cp.sum_squares(xi) + cp.sum_squares(zeta)),
            {"beta": xi == s.y - w.values, "delta": zeta == s.y**2 - v.values},
        )


class Robust(Formulation):
    """Regression whose errors lie in a ball: a second-order cone with a multiplier of the same shape."""

    task = Task.REGRESSION
    radius: float = positive(default=2.5)

    def primal(self, s):
        w, b = s.weight("w"), cp.Variable(name="b")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + 0.05 * cp.square(b)),
            {"z": cp.SOC(cp.Constant(self.radius), s.y - w.values - b)},
        )
'''

N = 21
RNG = np.random.default_rng(11)
X = RNG.normal(size=(N, 3))
TARGETS = X @ np.array([1.0, -0.5, 0.3]) + 0.4 * RNG.normal(size=N)
LABELS = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.6 * RNG.normal(size=N) > 0, 1.0, -1.0)
CLASSES = np.digitize(X[:, 0], [-0.4, 0.4]).astype(float)
ROWS = [np.arange(0, 9), np.arange(9, 21)]
NEW = RNG.normal(size=(6, 3))
NAMES = ["Covariance", "CrammerSinger", "MultiTask", "Quantile", "Robust", "Transfer", "WithoutRecovery"]


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    folder = tmp_path_factory.mktemp("third_party")
    file = folder / "machines.py"
    file.write_text(MACHINES, encoding="utf-8")
    return {cls.__name__: cls for cls in kopt.discover(file)}


def solved(objective, *constraints) -> float:
    return float(cp.Problem(cp.Minimize(objective), list(constraints)).solve(solver="CLARABEL"))


def certified(solution: kopt.Solution, value: float) -> None:
    """The certificate holds, and the value is that of the model by hand."""
    assert solution.certificate.holds(1e-6), str(solution)
    assert solution.value == pytest.approx(value, rel=1e-6, abs=1e-7)


# --- discovery ---


def test_one_file_is_all_it_takes(machines):
    assert sorted(machines) == NAMES


def test_the_same_file_is_found_by_name_by_path_and_by_folder(tmp_path):
    (tmp_path / "nested").mkdir()
    file = tmp_path / "nested" / "machines.py"
    file.write_text(MACHINES, encoding="utf-8")
    (tmp_path / "more.py").write_text(
        "from kopt import Formulation\n\n\nclass Another(Formulation):\n    pass\n", encoding="utf-8"
    )
    assert sorted(cls.__name__ for cls in kopt.discover(str(file))) == NAMES
    assert sorted(cls.__name__ for cls in kopt.discover(file)) == NAMES
    assert sorted(cls.__name__ for cls in kopt.discover(tmp_path)) == sorted([*NAMES, "Another"])


def test_an_import_is_not_a_definition(tmp_path):
    file = tmp_path / "borrowed.py"
    file.write_text("from formulations.classification import SoftMargin\n", encoding="utf-8")
    assert kopt.discover(file) == []


def test_an_installed_package_is_found_by_its_entry_point(tmp_path, monkeypatch):
    before = {cls.__name__ for cls in kopt.discover()}
    package = tmp_path / "their_machines"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "regression.py").write_text(MACHINES, encoding="utf-8")
    info = tmp_path / "their_machines-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-machines\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[kopt.formulations]\ntheirs = their_machines\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = {cls.__name__: cls for cls in kopt.discover()}
    try:
        assert set(found) == before | set(NAMES)
        assert found["Quantile"].__module__ == "their_machines.regression"
        assert sorted(cls.__name__ for cls in kopt.discover("their_machines")) == NAMES
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "their_machines"]:
            del sys.modules[name]
    monkeypatch.undo()
    assert {cls.__name__ for cls in kopt.discover()} == before


def test_the_engine_imports_no_machine():
    """Adding one can then touch one file only."""
    for file in sorted(Path(kopt.__file__).parent.rglob("*.py")):
        for line in file.read_text(encoding="utf-8").splitlines():
            assert not line.lstrip().startswith(("import formulations", "from formulations")), file


# --- (a) a primal alone ---


def test_a_primal_alone_is_solved_certified_and_predicts(machines):
    formulation = machines["Quantile"](tau=0.3, C=2.0)
    solution = kopt.solve(formulation, kopt.Sample(X, TARGETS))
    w, b = cp.Variable(3), cp.Variable()
    errors = TARGETS - X @ w - b
    value = solved(0.5 * cp.sum_squares(w) + 2.0 * cp.sum(cp.maximum(0.3 * errors, -0.7 * errors)))
    assert solution.side == "primal"
    certified(solution, value)
    np.testing.assert_allclose(solution.predict(NEW), NEW @ w.value + b.value, atol=1e-4)
    assert "no dual" in solution.certificate.as_given.notes[0].lower()
    assert not np.isfinite(solution.certificate.bounds.lower)


def test_a_primal_alone_is_refused_when_a_number_is_wrong(machines):
    formulation, sample = machines["Quantile"](), kopt.Sample(X, TARGETS)
    answer = answer_of(kopt.solve(formulation, sample))
    assert kopt.verify(formulation, sample, answer).holds(1e-6)
    for name, place in {
        "b": ("primal feasibility", "beta"),
        "above": ("primal feasibility", "beta"),
        "w": ("stationarity", "w"),
        "beta": ("stationarity", "b"),
        "mu": ("stationarity", "above"),
    }.items():
        wrong = {**answer, name: np.array(answer[name]) + 0.01}
        failures = kopt.verify(formulation, sample, wrong).as_given.failures(1e-6)
        assert place in {(block, where) for block, where, _ in failures}, name


def answer_of(solution: kopt.Solution) -> dict[str, np.ndarray]:
    values = {**solution.primal, **solution.dual}
    return {k: np.array(v.coefficients if isinstance(v, kopt.Combination) else v) for k, v in values.items()}


# --- (b) without recovery ---


@pytest.mark.parametrize("side", ["dual", "primal"])
def test_without_recovery_the_primal_follows_from_optimality(machines, side):
    sample = kopt.Sample(X, LABELS)
    solution = kopt.solve(machines["WithoutRecovery"](C=0.7), sample, side=side)
    w, b = cp.Variable(3), cp.Variable()
    value = solved(0.5 * cp.sum_squares(w) + 0.7 * cp.sum(cp.pos(1 - cp.multiply(LABELS, X @ w + b))))
    certified(solution, value)
    np.testing.assert_allclose(solution.decision_function(NEW), NEW @ w.value + b.value, atol=1e-4)
    bounds = solution.certificate.bounds
    assert bounds.lower <= value + 1e-7
    assert bounds.upper >= value - 1e-7
    assert bounds.gap <= 1e-5 * abs(value)


def test_without_recovery_multipliers_alone_are_an_answer(machines):
    sample = kopt.Sample(X, LABELS, kernel=Gaussian(1.2))
    formulation = machines["WithoutRecovery"]()
    alpha = kopt.solve(formulation, sample).dual.alpha
    assert kopt.verify(formulation, sample, {"alpha": alpha}).holds(1e-6)
    assert not kopt.verify(formulation, sample, {"alpha": 1.01 * alpha}).holds(1e-6)


# --- (c) several weight vectors with kernels and rows of their own ---


def multi_task_by_hand(C: float, share: float, shared: np.ndarray, own: np.ndarray) -> tuple[float, list[np.ndarray]]:
    w, vs = cp.Variable(shared.shape[1]), [cp.Variable(own.shape[1]) for _ in ROWS]
    objective = 0.5 * cp.sum_squares(w)
    for rows, v in zip(ROWS, vs, strict=True):
        decision = shared[rows] @ w + own[rows] @ v
        objective += share / 2 * cp.sum_squares(v) + C * cp.sum(cp.pos(1 - cp.multiply(LABELS[rows], decision)))
    value = solved(objective)
    return value, [w.value, *(v.value for v in vs)]


@pytest.mark.parametrize("side", ["dual", "primal"])
def test_several_weight_vectors_with_kernels_and_rows_of_their_own(machines, side):
    sample = kopt.Sample(X, LABELS, kernel={"shared": Linear(), "own": 2.0 * Linear()})
    solution = kopt.solve(machines["MultiTask"](C=0.5, share=3.0), sample, side=side)
    value, (w, v, _) = multi_task_by_hand(0.5, 3.0, X, np.sqrt(2.0) * X)
    certified(solution, value)
    np.testing.assert_allclose(solution.decision_function(NEW), NEW @ w + np.sqrt(2.0) * NEW @ v, atol=1e-4)
    assert set(solution.dual) == {"alpha[0]", "alpha[1]", "mu[0]", "mu[1]"}
    assert solution.dual["alpha[1]"].shape == (12,)


def test_two_kernels_that_differ_in_kind(machines):
    sample = kopt.Sample(X, LABELS, kernel={"shared": Linear(), "own": Polynomial(degree=2)})
    K = (X @ X.T + 1) ** 2
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    value, _ = multi_task_by_hand(0.5, 3.0, X, features)
    certified(kopt.solve(machines["MultiTask"](), sample), value)
    certified(kopt.solve(machines["MultiTask"](), sample, side="primal"), value)


def test_a_kernel_that_the_sample_does_not_have(machines):
    with pytest.raises(kopt.InputError, match=r"no kernel named 'shared'\. Known are: k\."):
        kopt.solve(machines["MultiTask"](), kopt.Sample(X, LABELS))


def test_an_indexed_name_is_refused_where_it_is_wrong(machines):
    sample = kopt.Sample(X, LABELS, kernel={"shared": Linear(), "own": Gaussian(1.0)})
    formulation = machines["MultiTask"]()
    answer = answer_of(kopt.solve(formulation, sample))
    # The coefficients of a vector that lives on some rows are given for these rows.
    for t, rows in enumerate(ROWS):
        answer[f"v[{t}]"] = answer[f"v[{t}]"][rows]
    assert kopt.verify(formulation, sample, answer).holds(1e-6)
    wrong = {**answer, "v[1]": 1.001 * answer["v[1]"]}
    failures = {(b, n) for b, n, _ in kopt.verify(formulation, sample, wrong).as_given.failures(1e-6)}
    assert ("stationarity", "v[1]") in failures
    assert not any(name in ("v[0]", "alpha[0]", "mu[0]", "xi[0]") for _, name in failures)


def test_an_answer_that_was_given_back_is_taken(machines):
    """What a solution says about its weight vectors, `verify` understands."""
    sample = kopt.Sample(X, LABELS, kernel={"shared": Linear(), "own": Gaussian(1.0)})
    formulation = machines["MultiTask"]()
    solution = kopt.solve(formulation, sample)
    assert kopt.verify(formulation, sample, {**solution.primal, **solution.dual}).holds(1e-6)


# --- (d) several outputs ---


@pytest.mark.parametrize("side", ["dual", "primal"])
def test_several_outputs(machines, side):
    solution = kopt.solve(machines["CrammerSinger"](C=0.8), kopt.Sample(X, CLASSES), side=side)
    W, xi = cp.Variable((3, 3)), cp.Variable(N)
    own = np.eye(3)[CLASSES.astype(int)]
    scores = X @ W
    margins = [cp.sum(cp.multiply(scores, own), axis=1) - scores[:, c] >= 1 - own[:, c] - xi for c in range(3)]
    value = solved(0.5 * cp.sum_squares(W) + 0.8 * cp.sum(xi), *margins)
    certified(solution, value)
    decision = solution.decision_function(NEW)
    assert decision.shape == (6, 3)
    np.testing.assert_allclose(decision, NEW @ W.value, atol=1e-4)


def test_several_outputs_with_a_kernel_are_refused_when_a_coefficient_is_wrong(machines):
    sample = kopt.Sample(X, CLASSES, kernel=Gaussian(1.5))
    formulation = machines["CrammerSinger"]()
    answer = answer_of(kopt.solve(formulation, sample))
    assert answer["W"].shape == (N, 3)
    assert kopt.verify(formulation, sample, answer).holds(1e-6)
    answer["W"][4, 1] += 0.01
    failures = kopt.verify(formulation, sample, answer).as_given.failures(1e-6)
    assert ("stationarity", "W") in {(block, name) for block, name, _ in failures}


# --- (e) a matrix variable ---


@pytest.mark.parametrize("side", ["dual", "primal"])
def test_a_matrix_variable_with_a_semidefinite_constraint(machines, side):
    points, y = X[:6], LABELS[:6]
    solution = kopt.solve(machines["Covariance"](), kopt.Sample(points, y), side=side)
    target = points @ points.T - np.outer(y, y)
    values, vectors = np.linalg.eigh(target)
    nearest = (vectors * np.maximum(values, 0.0)) @ vectors.T
    certified(solution, 0.5 * np.sum((nearest - target) ** 2))
    np.testing.assert_allclose(solution.primal.S, nearest, atol=1e-5)
    np.testing.assert_allclose(solution.dual.Z, nearest - target, atol=1e-5)


def test_a_matrix_that_leaves_the_cone_is_refused(machines):
    formulation, sample = machines["Covariance"](), kopt.Sample(X[:6], LABELS[:6])
    answer = answer_of(kopt.solve(formulation, sample, side="primal"))
    assert kopt.verify(formulation, sample, answer).holds(1e-6)
    for name, place in {"S": ("primal feasibility", "Z"), "Z": ("dual feasibility", "multiplier Z")}.items():
        wrong = {**answer, name: answer[name] - 0.1 * np.eye(6)}
        failures = kopt.verify(formulation, sample, wrong).as_given.failures(1e-6)
        assert place in {(block, where) for block, where, _ in failures}


# --- (f) a difference of weight vectors ---


def test_a_difference_of_weight_vectors(machines):
    solution = kopt.solve(machines["Transfer"](ridge=0.4, pull=1.5), kopt.Sample(X, TARGETS))
    w, v = cp.Variable(3), cp.Variable(3)
    penalty = 0.4 * (cp.sum_squares(w) + cp.sum_squares(v)) + 1.5 * cp.sum_squares(w - v)
    value = solved(penalty + cp.sum_squares(TARGETS - X @ w) + cp.sum_squares(TARGETS**2 - X @ v))
    certified(solution, value)
    np.testing.assert_allclose(solution.predict(NEW), NEW @ w.value, atol=1e-5)
    np.testing.assert_allclose(solution.primal.v.at(NEW).values, NEW @ v.value, atol=1e-5)


def test_a_difference_of_weight_vectors_pulls_on_both(machines):
    formulation, sample = machines["Transfer"](), kopt.Sample(X, TARGETS, kernel=Gaussian(1.0))
    answer = answer_of(kopt.solve(formulation, sample))
    assert kopt.verify(formulation, sample, answer).holds(1e-6)
    wrong = {**answer, "v": 1.001 * answer["v"]}
    failures = {(b, n) for b, n, _ in kopt.verify(formulation, sample, wrong).as_given.failures(1e-6)}
    assert {("stationarity", "w"), ("stationarity", "v"), ("primal feasibility", "delta")} <= failures
    assert ("primal feasibility", "beta") not in failures


# --- (g) a second-order cone ---


def test_a_second_order_cone(machines):
    solution = kopt.solve(machines["Robust"](radius=2.5), kopt.Sample(X, TARGETS))
    w, b = cp.Variable(3), cp.Variable()
    value = solved(0.5 * cp.sum_squares(w) + 0.05 * cp.square(b), cp.norm(TARGETS - X @ w - b) <= 2.5)
    certified(solution, value)
    np.testing.assert_allclose(solution.predict(NEW), NEW @ w.value + b.value, atol=1e-4)
    z = solution.dual.z
    assert z.shape == (N + 1,)
    assert np.linalg.norm(z[1:]) == pytest.approx(z[0], rel=1e-5)


def test_a_multiplier_outside_its_second_order_cone_is_refused(machines):
    formulation, sample = machines["Robust"](), kopt.Sample(X, TARGETS, kernel=Gaussian(2.0))
    answer = answer_of(kopt.solve(formulation, sample))
    assert kopt.verify(formulation, sample, answer).holds(1e-6)
    failures = kopt.verify(formulation, sample, {**answer, "z": -answer["z"]}).as_given.failures(1e-6)
    assert ("dual feasibility", "multiplier z") in {(block, name) for block, name, _ in failures}


# --- the plain problem ---


@pytest.mark.parametrize("name", NAMES)
def test_the_plain_problem_is_handed_out(machines, name):
    y = CLASSES if name == "CrammerSinger" else TARGETS if name in ("Quantile", "Transfer", "Robust") else LABELS
    kernel = {"shared": Linear(), "own": Linear()} if name == "MultiTask" else Linear()
    formulation, sample = machines[name](), kopt.Sample(X, y, kernel=kernel)
    value = formulation.problem(sample).solve(solver="CLARABEL")
    assert value == pytest.approx(kopt.solve(formulation, sample, side="primal").value, rel=1e-5, abs=1e-6)


def test_the_distance_to_a_centre_needs_the_new_points_own_kernel_values():
    from formulations.novelty import Hypersphere

    K = np.array([[1.0, 0.2, 0.1], [0.2, 1.0, 0.3], [0.1, 0.3, 1.0]])
    solution = kopt.solve(Hypersphere(), kopt.Sample.from_gram(K))
    with pytest.raises(kopt.InputError, match="diagonal="):
        solution.predict(K)
    assert solution.predict(K, diagonal=np.full(3, 9.0)).tolist() == [-1, -1, -1]
    inside = solution.decision_function(K, diagonal=np.ones(3))
    assert np.allclose(inside, 0.0, atol=1e-6)  # all three are on the surface
