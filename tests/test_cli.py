"""The command line, called as a user would call it."""

import io
import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest

import kopt
from kopt.cli import main
from kopt.cli.progress import Progress
from kopt.referee.verdict import Judgement, Verdict

MACHINES = '''
import cvxpy as cp
from formulations.classification import SoftMargin
from kopt import Program

print("this file runs")


class Doubled(SoftMargin):
    """The quadratic term lacks its factor 1/2."""

    def dual(self, s):
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, alpha))
        return Program(
            cp.Maximize(cp.sum(alpha) - w.norm_squared),
            {"b": s.y @ alpha == 0, "xi": alpha <= self.C * s.costs},
            domain=[alpha >= 0],
            multipliers={"mu": self.C * s.costs - alpha},
        )


class Same(SoftMargin):
    """Another name, the same machine."""
'''

PRIMAL_ALONE = """
import cvxpy as cp
from kopt import Formulation, Program, Task


class Young(Formulation):
    task = Task.CLASSIFICATION

    def primal(self, s):
        w, xi = s.weight("w"), cp.Variable(s.n, name="xi")
        return Program(cp.Minimize(0.5 * w.norm_squared + cp.sum(xi)), {"alpha": w.values >= 1 - xi, "mu": xi >= 0})


class Younger(Young):
    def dual(self, s):
        return None
"""

FAILING = """
import cvxpy as cp
from formulations.classification import SoftMargin
from kopt import Program


class Nameless(SoftMargin):
    def dual(self, s):
        return Program(cp.Maximize(-cp.sum(cp.Variable(s.n, name="beta"))), {})
"""

EXACT = Verdict("SoftMargin", Judgement.EXACT, 8, 312, 1e-14, None, (), (), 0.9)


@pytest.fixture
def machines(tmp_path):
    path = tmp_path / "machines.py"
    path.write_text(MACHINES)
    return str(path)


def written(folder, text):
    path = folder / "machine.py"
    path.write_text(text)
    return str(path)


def test_without_arguments_it_shows_the_main_commands(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    for command in ("kopt referee machine.py", "kopt example SoftMargin", "kopt list"):
        assert command in out


def test_an_example_is_solved_and_certified(capsys):
    assert main(["example"]) == 0
    out = capsys.readouterr().out
    assert "holds to 1e-06" in out
    assert "points by alpha" in out


def test_list_names_every_formulation_with_its_task(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("SoftMargin ") and "classification" in line for line in lines)
    assert any(line.startswith("Ridge ") and "regression" in line for line in lines)


@pytest.mark.parametrize("arguments", [["example", "Ridge", "--side", "primal"], ["example", "Hypersphere"]])
def test_examples_of_other_tasks(arguments, capsys):
    assert main(arguments) == 0


def test_an_unknown_formulation_is_refused_in_two_sentences(capsys):
    assert main(["example", "Foo"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("kopt: There is no formulation named 'Foo'. Known are: ")


def test_an_infeasible_example_says_why(capsys):
    """The moons overlap in the plane, but not in the feature space of a Gaussian: this one solves."""
    assert main(["example", "HardMargin"]) == 0


def test_the_installed_command_runs():
    result = subprocess.run([sys.executable, "-m", "kopt"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "kopt referee" in result.stdout


def test_a_right_dual_is_exact(capsys):
    assert main(["referee", "SoftMargin", "--instances", "3"]) == 0
    captured = capsys.readouterr()
    header, row, _, tally = captured.out.splitlines()
    assert header.split() == [
        "formulation",
        "verdict",
        "instances",
        "points",
        "discrepancy",
        "seconds",
        "first",
        "fault",
    ]
    assert row.split()[:3] == ["SoftMargin", "exact", "3"]
    assert tally == "1 formulation: 1 exact"
    assert captured.err == ""


def test_a_wrong_dual_is_shown_with_its_fault_and_a_right_one_in_the_same_file_is_not(machines, capsys):
    assert main(["referee", machines, "--instances", "3"]) == 1
    out = capsys.readouterr().out
    table, *texts = out.split("\n\n")
    rows = {line.split()[0]: line for line in table.splitlines()}
    assert "WRONG" in rows["Doubled"]
    assert "wrong coefficient" in rows["Doubled"]
    assert "exact" in rows["Same"]
    assert "1 WRONG, 1 exact" in texts[0]
    assert texts[1].startswith("Doubled: WRONG (3 instances, ")
    for part in ("what: ", "why: ", "fix: ", "1/2", "counter-example", "claimed value", "minimum of the Lagrangian"):
        assert part in texts[1]
    assert len(texts) == 2


def test_json_is_one_strict_document(machines, capsys):
    def no_constant(name):
        raise AssertionError(f"{name} is not JSON")

    assert main(["referee", machines, "--instances", "2", "--json"]) == 1
    captured = capsys.readouterr()
    assert "this file runs" in captured.err
    wrong, exact = json.loads(captured.out, parse_constant=no_constant)
    assert (wrong["name"], wrong["judgement"]) == ("Doubled", "wrong")
    assert wrong["file"] == machines
    assert wrong["faults"][0]["kind"] == "wrong coefficient"
    assert wrong["faults"][0]["example"]["point"]["alpha"]
    assert (exact["name"], exact["judgement"]) == ("Same", "exact")


def test_a_formulation_without_a_dual_is_listed_and_not_condemned(tmp_path, capsys):
    path = written(tmp_path, PRIMAL_ALONE)
    assert main(["referee", path]) == 0
    out = capsys.readouterr().out
    assert "Young        no dual declared" in out
    assert "Younger      no dual declared" in out
    assert main(["referee", path, "--json"]) == 0
    assert [entry["judgement"] for entry in json.loads(capsys.readouterr().out)] == ["no dual declared"] * 2


def test_a_declaration_that_fails_counts_as_wrong_and_the_others_go_on(tmp_path, capsys):
    path = written(tmp_path, FAILING)
    assert main(["referee", path, "SoftMargin", "--instances", "2"]) == 1
    out = capsys.readouterr().out
    assert re.search("Nameless +FAILED +In Nameless the primal constraint 'alpha'", out)
    assert "1 FAILED, 1 exact" in out
    assert "Nameless: FAILED\n├─ In Nameless" in out
    assert f"{path}, line 9" in out
    assert main(["referee", path, "--json"]) == 1
    entry = json.loads(capsys.readouterr().out)[0]
    assert entry["judgement"] == "failed"
    assert "no multiplier" in entry["error"]


def test_a_folder_and_a_module_are_targets(machines, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("kopt.cli.referee.referee", lambda cls, **_: replace(EXACT, name=cls.__name__))
    assert main(["referee", str(tmp_path), "formulations.regression"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines() if " exact " in line]
    assert names == ["Doubled", "Same", *(cls.__name__ for cls in kopt.discover("formulations.regression"))]
    assert "Ridge" in names


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["Foo"], "kopt: There is no formulation, file or module named 'Foo'. Give a path, a module, or one of: "),
        (["nowhere.py"], "kopt: There is no file or folder nowhere.py. Check the path."),
        (["json"], "kopt: There is no formulation in json. Define a subclass of kopt.Formulation there."),
        (["SoftMargin", "--instances", "0"], "kopt: --instances is 0. Give a whole number of at least 1."),
        (["SoftMargin", "--seed", "-1"], "kopt: --seed is -1. Give a whole number of at least 0."),
    ],
)
def test_what_cannot_be_refereed_is_refused_in_two_sentences(arguments, words, capsys):
    assert main(["referee", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(words)
    assert captured.out == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import kopt\n\nkopt.Formulatoin\n", "AttributeError: module 'kopt' has no attribute 'Formulatoin'"),
        ("import kopt\n\nclass A(:\n", "invalid syntax"),
        ("import sys\n\nsys.exit('bye')\n", "SystemExit: bye"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_line(text, words, tmp_path, capsys):
    path = written(tmp_path, text)
    assert main(["referee", path]) == 2
    assert (
        capsys.readouterr().err == f"kopt: {path} cannot be read: {words} ({path}, line 3). Mend it, then try again.\n"
    )


def test_undecided_has_an_exit_code_of_its_own(capsys, monkeypatch):
    undecided = replace(EXACT, judgement=Judgement.UNDECIDED, notes=("The solvers did not converge.",))
    monkeypatch.setattr("kopt.cli.referee.referee", lambda cls, **_: undecided)
    assert main(["referee", "SoftMargin"]) == 3
    assert "note: The solvers did not converge." in capsys.readouterr().out


@pytest.mark.parametrize("json_too", [False, True])
def test_an_interruption_keeps_what_was_finished(json_too, capsys, monkeypatch):
    def interrupted(cls, **_):
        if cls.__name__ == "Ridge":
            raise KeyboardInterrupt
        return replace(EXACT, name=cls.__name__)

    monkeypatch.setattr("kopt.cli.referee.referee", interrupted)
    assert main(["referee", "SoftMargin", "Ridge", "HardMargin", *(["--json"] if json_too else [])]) == 130
    captured = capsys.readouterr()
    assert captured.err == "kopt: interrupted, 2 of 3 formulations not judged\n"
    if json_too:
        assert [entry["name"] for entry in json.loads(captured.out)] == ["SoftMargin"]
    else:
        assert "SoftMargin   exact" in captured.out


def test_progress_is_written_in_place_on_a_terminal_and_nowhere_else():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, written in ((Terminal(), "\r\033[Krefereeing\r\033[K"), (io.StringIO(), "")):
        progress = Progress(stream)
        progress.show("refereeing")
        progress.clear()
        assert stream.getvalue() == written


def test_the_help_says_that_files_are_run(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["referee", "--help"])
    assert ended.value.code == 0
    assert "runs it, as any import does" in capsys.readouterr().out
