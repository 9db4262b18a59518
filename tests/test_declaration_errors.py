"""A bug in a user's own formulation is reported with their file and line, and the traceback ends there."""

import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import kopt
from formulations.classification import SoftMargin
from kopt import DeclarationError, Formulation, InputError, Sample
from kopt.kernels import FromFunction
from kopt.locations import FaultsOf, Place

X = np.array([[0.0, 1.0], [1.0, 0.5], [3.0, 2.0], [4.0, 1.0], [2.5, 2.5]])
SAMPLE = Sample(X, np.array([-1.0, -1.0, 1.0, 1.0, 1.0]))
ANSWER = {"alpha": np.full(5, 0.1)}

MACHINE = '''
import cvxpy as cp
import numpy as np

from kopt import Formulation, Program, equal


class Mistaken(Formulation):
    """The soft margin, until something in it is replaced."""

    def requires(self, s):
        assert s.n > 1

    def primal(self, s):
        w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        margins = cp.multiply(s.y, w.values + b)
        return Program(  # PRIMAL
            cp.Minimize(0.5 * w.norm_squared + cp.sum(xi)),
            {"alpha": margins >= 1 - xi, "mu": xi >= 0},
        )

    def dual(self, s):
        alpha = cp.Variable(s.n, name="alpha")
        u = s.combination(cp.multiply(s.y, alpha))
        return Program(  # DUAL
            cp.Maximize(cp.sum(alpha) - 0.5 * u.norm_squared),
            {"b": s.y @ alpha == 0},
            domain=[alpha >= 0, alpha <= 1],
            multipliers={"mu": 1 - alpha},
        )

    def recover(self, s, dual):
        w = s.combination(s.y * dual.alpha)
        return {"w": w, "b": 0.0, "xi": np.maximum(1 - s.y * w.values, 0.0)}

    def claims(self, s, primal, dual):
        yield equal("sum y alpha = 0", s.y @ dual.alpha, 0.0, scale=1.0)

    def decision(self, s, primal):
        return primal.w.values + primal.b
'''


def mistaken(folder: Path, right: str, wrong: str) -> tuple[Formulation, Path, str]:
    """The machine with one piece of text replaced, the file in which it is, and its source."""
    assert MACHINE.count(right) == 1
    source, file = MACHINE.replace(right, wrong), folder / "mistaken.py"
    file.write_text(source, encoding="utf-8")
    [cls] = kopt.discover(file)
    return cls(), file, source


def line_of(marker: str, source: str) -> int:
    [number] = [i for i, line in enumerate(source.splitlines(), start=1) if marker in line]
    return number


def error_of(call: Callable[[], object]) -> DeclarationError:
    with pytest.raises(DeclarationError) as caught:
        call()
    assert caught.value.__cause__ is None
    return caught.value


def verify(formulation: Formulation) -> object:
    return kopt.verify(formulation, SAMPLE, ANSWER)


def solve(formulation: Formulation) -> object:
    return kopt.solve(formulation, SAMPLE)


def predict(formulation: Formulation) -> object:
    return kopt.solve(formulation, SAMPLE).predict(X)


def problem(formulation: Formulation) -> object:
    return formulation.problem(SAMPLE, "dual")


def test_the_machine_without_a_mistake(tmp_path):
    formulation, *_ = mistaken(tmp_path, "0.0, scale=1.0)", "0.0, scale=1.0)")
    assert verify(formulation).bounds.known
    with pytest.warns(kopt.CertificateWarning):  # its b is not the best
        assert kopt.solve(formulation, SAMPLE).predict(X).shape == (5,)


# --- exceptions: right, wrong, method, how the error begins, the remedy, the calls that meet it ---

RAISED = {
    "requires": (
        "assert s.n > 1",
        "assert s.n > 9",
        "requires",
        "AssertionError",
        "Correct that line.",
        [solve, verify],
    ),
    "shapes in primal": (
        "margins >= 1 - xi",
        "margins[:3] >= 1 - xi",
        "primal",
        "ValueError: ",
        "Make the shapes agree: what has one entry per point is of shape (s.n,).",
        [solve, verify],
    ),
    "exception in primal": (
        'w, b, xi = s.weight("w")',
        'w, b, xi = s.wieght("w")',
        "primal",
        "AttributeError: 'ProductView' object has no attribute 'wieght'",
        "Correct that line.",
        [solve, verify],
    ),
    "exception in dual": (
        "cp.multiply(s.y, alpha)",
        "cp.multiply(s.y, alpah)",
        "dual",
        "NameError: name 'alpah' is not defined",
        "Correct that line.",
        [solve, verify, problem],
    ),
    "shapes in dual": (
        '{"b": s.y @ alpha == 0}',
        '{"b": s.y[:3] @ alpha == 0}',
        "dual",
        "ValueError: ",
        "Make the shapes agree: what has one entry per point is of shape (s.n,).",
        [solve, verify, problem],
    ),
    "name in recover": (
        "s.combination(s.y * dual.alpha)",
        "s.combination(s.y * alpha)",
        "recover",
        "NameError: name 'alpha' is not defined",
        "Correct that line.",
        [solve, verify],
    ),
    "value in recover": (
        "s.combination(s.y * dual.alpha)",
        "s.combination(s.y * dual.aplha)",
        "recover",
        "AttributeError: There is no value named 'aplha' here",
        "Known are: alpha, mu.",
        [solve, verify],
    ),
    "claims, while they are read": (
        "s.y @ dual.alpha, 0.0",
        "s.y @ primal.alpha, 0.0",
        "claims",
        "AttributeError: There is no value named 'alpha' here",
        "Known are: w, b, xi.",
        [solve, verify],
    ),
    "decision": (
        "return primal.w.values + primal.b",
        "return primal.w.value + primal.b",
        "decision",
        "AttributeError: 'Evaluated' object has no attribute 'value'",
        "Correct that line.",
        [predict],
    ),
}


@pytest.mark.filterwarnings("ignore::kopt.CertificateWarning")
@pytest.mark.parametrize("mistake", RAISED)
def test_an_exception_in_a_declaration_is_reported_with_its_line(tmp_path, mistake):
    right, wrong, method, text, remedy, calls = RAISED[mistake]
    formulation, file, source = mistaken(tmp_path, right, wrong)
    line = line_of(wrong, source)
    for call in calls:
        error = error_of(lambda call=call: call(formulation))
        place = f"{file}, line {line} (`{source.splitlines()[line - 1].strip()}`)"
        assert error.what.startswith(f"Mistaken.{method} fails at {place} with {text}")
        assert not error.what.removesuffix(".").endswith(".")
        assert error.remedy == remedy
        assert text.startswith(type(error.__context__).__name__)


def test_the_traceback_ends_in_the_users_line_and_hides_the_rest(tmp_path):
    formulation, file, source = mistaken(tmp_path, "w.values + b)", "w.values[:3] + b)")
    error = error_of(lambda: solve(formulation))
    *_, entry, last = traceback.extract_tb(error.__traceback__)
    assert entry.name == "solve"
    assert (last.filename, last.lineno) == (str(file), line_of("w.values[:3]", source))
    assert error.__suppress_context__
    assert "cvxpy" in "".join(traceback.format_exception(error.__context__))


BRIEF = {
    "solve": lambda formulation: kopt.solve(formulation, SAMPLE),
    "verify": lambda formulation: kopt.verify(formulation, SAMPLE, ANSWER),
    "problem": lambda formulation: formulation.problem(SAMPLE),
}


@pytest.mark.parametrize("verb", BRIEF)
def test_no_frame_of_the_engine_below_the_call(tmp_path, verb):
    own = mistaken(tmp_path, "cp.Minimize(0.5 * w.norm_squared + cp.sum(xi))", "cp.sum(xi)")[0]  # refused by Program
    names = [frame.name for frame in traceback.extract_tb(error_of(lambda: BRIEF[verb](own)).__traceback__)]
    assert names[-2:] == [verb, "primal"]


def test_no_frame_of_the_engine_where_the_two_sides_disagree(tmp_path):
    formulation, *_ = mistaken(tmp_path, 'multipliers={"mu": 1 - alpha}', "multipliers={}")
    assert traceback.extract_tb(error_of(lambda: kopt.solve(formulation, SAMPLE)).__traceback__)[-1].name == "solve"


def test_a_method_that_cannot_be_called_is_reported_where_it_is_defined(tmp_path):
    formulation, file, source = mistaken(tmp_path, "def dual(self, s):", "def dual(self):")
    error = error_of(lambda: solve(formulation))
    assert error.what.startswith(f"Mistaken.dual ({file}, line {line_of('def dual', source)}) fails with TypeError: ")
    assert error.remedy == "Compare it with kopt.Formulation.dual."


def test_infeasibility_explained_wrongly(tmp_path):
    file = tmp_path / "separating.py"
    file.write_text(
        "from formulations.classification import HardMargin\n\n\n"
        "class Separating(HardMargin):\n"
        "    def explain_infeasible(self, s, ray):\n"
        "        return f'{ray.beta} proves it', 'Separate them.'\n",
        encoding="utf-8",
    )
    [cls] = kopt.discover(file)
    mixed = Sample(np.zeros((4, 1)), np.array([1.0, -1.0, 1.0, -1.0]))
    error = error_of(lambda: kopt.solve(cls(), mixed))
    assert f"Separating.explain_infeasible fails at {file}, line 6 (" in error.what
    assert error.remedy == "Known are: alpha."


def test_a_kernel_that_fails_is_reported_in_its_own_line():
    def broken(a, b):
        raise ZeroDivisionError("by design")

    error = error_of(lambda: SoftMargin().problem(Sample(X, SAMPLE.y, kernel=FromFunction(broken))))
    assert f"{Path(__file__).name}, line {broken.__code__.co_firstlineno + 1} (" in error.what


def test_errors_of_kopt_and_interruptions_pass_as_they_are():
    for error in (InputError("What.", "Remedy."), DeclarationError("What.", "Remedy."), KeyboardInterrupt()):
        with pytest.raises(type(error)) as caught, FaultsOf(SoftMargin(), "dual"):
            raise error
        assert caught.value is error


# --- what is returned ---

RETURNED = {
    "recover": (
        "np.maximum(1 - s.y * w.values, 0.0)}",
        "np.ones(3)}",
        "recover",
        "returned what cannot be used: the value of xi has shape (3,), but (5,) is declared",
        verify,
    ),
    "claims": ("0.0, scale=1.0)", "0.0, scale=1.0).left", "claims", "gives ", verify),
    "decision": ("return primal.w.values +", "primal.w.values +", "decision", "returned None", predict),
    "primal": ("return Program(  # PRIMAL", "Program(  # PRIMAL", "primal", "returned NoneType", verify),
}


@pytest.mark.filterwarnings("ignore::kopt.CertificateWarning")
@pytest.mark.parametrize("mistake", RETURNED)
def test_what_a_method_returns_is_reported_where_the_method_is_defined(tmp_path, mistake):
    right, wrong, method, text, call = RETURNED[mistake]
    formulation, file, source = mistaken(tmp_path, right, wrong)
    error = error_of(lambda: call(formulation))
    assert error.what.startswith(f"Mistaken.{method} ({file}, line {line_of(f'def {method}(', source)}) {text}")


# --- programs: right, wrong, the marker of the line, the message ---

PROGRAMS = {
    "unknown multiplier": (
        'multipliers={"mu": 1 - alpha}',
        'multipliers={"mu": 1 - alpha, "nu": alpha}',
        "# DUAL",
        "the multiplier 'nu' belongs to no primal constraint.",
    ),
    "no multiplier": (
        'multipliers={"mu": 1 - alpha}',
        "multipliers={}",
        "# DUAL",
        "the primal constraint 'mu' has no multiplier in the dual.",
    ),
    "shape of a multiplier": (
        '{"mu": 1 - alpha}',
        '{"mu": 1 - cp.sum(alpha)}',
        "# DUAL",
        "the primal constraint 'mu' has shape (5,), but its multiplier has shape ().",
    ),
    "dual constraint named after nothing": (
        '{"b": s.y @ alpha == 0}',
        '{"c": s.y @ alpha == 0}',
        "# DUAL",
        "the dual constraint 'c' is named after no primal variable.",
    ),
    "shape of a dual constraint": (
        '{"b": s.y @ alpha == 0}',
        '{"b": alpha == 0}',
        "# DUAL",
        "the dual constraint 'b' has shape (5,), but the primal variable has shape ().",
    ),
    "both minimise": (
        "cp.Maximize(cp.sum(alpha) - 0.5 * u.norm_squared)",
        "cp.Minimize(0.5 * u.norm_squared - cp.sum(alpha))",
        "# DUAL",
        "both the primal and the dual minimise.",
    ),
    "attribute in the primal": (
        'cp.Variable(s.n, name="xi")',
        'cp.Variable(s.n, name="xi", nonneg=True)',
        "# PRIMAL",
        "the variable 'xi' is declared with nonneg=..., a constraint without a multiplier.",
    ),
    "attribute in the dual": (
        'cp.Variable(s.n, name="alpha")',
        'cp.Variable(s.n, name="alpha", nonneg=True)',
        "# DUAL",
        "the variable 'alpha' is declared with nonneg=..., a constraint without a multiplier.",
    ),
    "variable without a name": (
        'cp.Variable(s.n, name="xi")',
        "cp.Variable(s.n)",
        "# PRIMAL",
        "a variable of shape (5,) has no name.",
    ),
    "two variables of one name": (
        'cp.Variable(s.n, name="xi")',
        'cp.Variable(s.n, name="b")',
        "# PRIMAL",
        "two different variables are both named 'b'.",
    ),
    "variable and multiplier of one name": (
        'cp.Variable(s.n, name="xi")',
        'cp.Variable(s.n, name="mu")',
        "# PRIMAL",
        "a primal variable and a multiplier are both named 'mu'.",
    ),
    "domain in the primal": (
        '"mu": xi >= 0},',
        '"mu": xi >= 0}, domain=[b >= 0],',
        "# PRIMAL",
        "the primal has domain= or multipliers=, which belong to a dual.",
    ),
    "cone without multipliers": (
        '"mu": xi >= 0}',
        '"mu": xi >= 0, "nu": cp.ExpCone(b, b, b)}',
        "# PRIMAL",
        "the constraint ExpCone(b, b, b) is of type ExpCone, for which no multiplier is defined.",
    ),
}


@pytest.mark.parametrize("mistake", PROGRAMS)
def test_a_program_is_refused_with_the_line_where_it_was_made(tmp_path, mistake):
    right, wrong, marker, text = PROGRAMS[mistake]
    formulation, file, source = mistaken(tmp_path, right, wrong)
    for call in (solve, verify):
        error = error_of(lambda call=call: call(formulation))
        assert error.what == f"In Mistaken ({file}, line {line_of(marker, source)}) {text}"


CURVED = {
    "objective": ("+ cp.sum(xi))", "- cp.sum_squares(xi))", "# PRIMAL", "the objective is not convex as written."),
    "constraint": (
        '"mu": xi >= 0}',
        '"mu": cp.square(xi) >= 0}',
        "# PRIMAL",
        "the constraint 'mu' is not convex as written: ",
    ),
    "dual objective": (
        "cp.sum(alpha) - 0.5 * u.norm_squared",
        "cp.sum_squares(alpha)",
        "# DUAL",
        "the objective is not concave as written.",
    ),
    "domain": (
        "domain=[alpha >= 0, alpha <= 1]",
        "domain=[alpha >= 0, cp.sqrt(alpha) <= 1]",
        "# DUAL",
        "the constraint 1 of domain is not convex as written: ",
    ),
}


@pytest.mark.parametrize("mistake", CURVED)
def test_a_program_that_is_not_convex_is_refused_with_the_line_where_it_was_made(tmp_path, mistake):
    right, wrong, marker, text = CURVED[mistake]
    formulation, file, source = mistaken(tmp_path, right, wrong)
    side = "primal" if marker == "# PRIMAL" else "dual"
    error = error_of(lambda: kopt.solve(formulation, SAMPLE, side=side, method="CLARABEL"))
    assert error.what.startswith(f"In Mistaken ({file}, line {line_of(marker, source)}) {text}")


def test_a_primal_that_is_not_convex_is_refused_where_it_completes_an_answer(tmp_path):
    formulation, file, source = mistaken(tmp_path, "+ cp.sum(xi))", "- cp.sum_squares(xi))")
    without = type("Mistaken", (type(formulation),), {"recover": Formulation.recover})()
    error, line = error_of(lambda: verify(without)), line_of("# PRIMAL", source)
    assert error.what == f"In Mistaken ({file}, line {line}) the objective is not convex as written."


COMBINATIONS = {
    "of expressions": ("s.combination(cp.multiply(s.y, alpha))", "s.combination(alpha[:3])"),
    "of numbers": ("s.combination(s.y * dual.alpha)", "s.combination(dual.alpha[:3])"),
}


@pytest.mark.parametrize("kind", COMBINATIONS)
def test_a_combination_of_too_few_coefficients(tmp_path, kind):
    right, wrong = COMBINATIONS[kind]
    formulation, file, source = mistaken(tmp_path, right, wrong)
    for call in (solve, verify):
        error = error_of(lambda call=call: call(formulation))
        place = f"{file}, line {line_of(wrong, source)}"
        assert error.what == f"The combination at {place} has coefficients of shape (3,) for 5 points."


# --- places in words ---


def test_a_file_is_named_relative_to_the_working_directory_where_that_is_shorter(tmp_path, monkeypatch):
    file = tmp_path / "machines" / "quantile.py"
    monkeypatch.chdir(tmp_path)
    assert str(Place(str(file), 23)) == f"{Path('machines', 'quantile.py')}, line 23"
    assert str(Place("quantile.py", 23)) == "quantile.py, line 23"
    assert str(Place("/q.py", 23)) == "/q.py, line 23"
    assert str(Place("<stdin>", 2)) == "<stdin>, line 2"


@pytest.mark.parametrize(
    "file",
    ["<ipython-input-3-0a1b2c>", "/tmp/ipykernel_123/456.py", r"C:\Users\me\Temp\ipykernel_123\456.py"],
)
def test_a_notebook_cell_has_no_file_name(file):
    assert str(Place(file, 5)) == "line 5 of the cell"


def test_an_installed_formulation_is_user_code(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "their_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(MACHINE.replace("@ alpha", "@ alpah"), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    [cls] = kopt.discover("their_package")
    line = line_of("@ alpah", MACHINE.replace("@ alpha", "@ alpah"))
    assert f"__init__.py, line {line} (`" in error_of(lambda: solve(cls())).what
