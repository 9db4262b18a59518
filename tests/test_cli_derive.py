"""`kopt derive`, called as a user would call it."""

import io

import pytest

from kopt.cli import main
from kopt.cli.progress import Progress

YOUNG = '''
import cvxpy as cp
from kopt import Formulation, Program, Task, positive

print("this file runs")


class Young(Formulation):
    """A primal alone: squared slacks, no offset."""

    task = Task.CLASSIFICATION
    C: float = positive(default=1.0)

    def primal(self, s):
        w, xi = s.weight("w"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * s.costs @ cp.square(xi)),
            {"alpha": cp.multiply(s.y, w.values) >= 1 - xi},
        )
'''
MIXED = '''

class Mixed(Young):
    """A term of two variables."""

    def primal(self, s):
        w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + cp.square(b + xi[0])), {"alpha": w.values + b >= 1 - xi}
        )
'''


@pytest.fixture
def young(tmp_path):
    path = tmp_path / "young.py"
    path.write_text(YOUNG)
    return str(path)


@pytest.fixture
def mixed(tmp_path):
    path = tmp_path / "mixed.py"
    path.write_text(YOUNG + MIXED)
    return str(path)


def test_an_installed_formulation_is_derived(capsys):
    assert main(["derive", "Ridge"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Ridge: the dual, derived (exact by the referee)\n\nPrimal\n")
    assert "- 1/(4 ridge) sum_ij beta_i beta_j k(x_i, x_j)" in out


def test_a_primal_alone_in_a_file_is_derived_with_costs_if_asked(young, capsys):
    assert main(["derive", young]) == 0
    out = capsys.readouterr().out
    assert "C sum_i xi_i^2" in out
    assert "c_i" not in out
    assert main(["derive", young, "--costs"]) == 0
    assert "C sum_i c_i xi_i^2" in capsys.readouterr().out


def test_latex_is_printed_and_nothing_else(young, capsys):
    assert main(["derive", young, "--latex"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("% Young\n\\paragraph{Primal}\n")
    assert captured.out.count(r"\begin{aligned}") == captured.out.count(r"\paragraph")
    assert "this file runs" not in captured.out
    assert "this file runs" in captured.err


def test_several_targets_are_set_apart(capsys):
    assert main(["derive", "MinimumNormInterpolation", "FurthestPoint", "--latex"]) == 0
    first, second = capsys.readouterr().out.split("\n\n% ")
    assert first.startswith("% MinimumNormInterpolation\n")
    assert second.startswith("FurthestPoint\n")


def test_what_cannot_be_derived_is_refused_in_two_sentences_and_the_others_are_shown(mixed, capsys):
    assert main(["derive", mixed]) == 2
    captured = capsys.readouterr()
    assert "Young: the dual, derived" in captured.out
    assert "Mixed" not in captured.out
    [refusal] = [line for line in captured.err.splitlines() if "Mixed" in line]
    assert refusal.startswith("kopt: Mixed: No dual is derived: the term (b + xi[0])^2 mixes the variables b, xi. It ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["derive", "NoSuchMachine"], "no formulation, file or module named 'NoSuchMachine'"),
        (["derive", "Ridge", "absent.py"], "absent.py"),
    ],
)
def test_an_unknown_target_is_refused_before_anything_is_derived(arguments, words, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""


def test_a_target_is_needed(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["derive"])
    assert ended.value.code == 2
    assert "TARGET" in capsys.readouterr().err


def test_an_interruption_has_its_exit_code(monkeypatch, capsys):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("kopt.cli.derive.derive", interrupted)
    assert main(["derive", "Ridge"]) == 130


def test_what_is_under_way_is_shown_on_a_terminal_and_taken_away(monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr("kopt.cli.derive.Progress", lambda stream: Progress(terminal))
    assert main(["derive", "MinimumNormInterpolation"]) == 0
    assert "deriving 1/1 MinimumNormInterpolation ..." in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\033[K")


def test_the_help_says_what_it_does_and_that_files_are_run(capsys):
    with pytest.raises(SystemExit):
        main(["derive", "--help"])
    out = capsys.readouterr().out
    for part in ("--latex", "--costs", "runs it, as any import does", "exit code:"):
        assert part in out
    assert main([]) == 0
    assert "kopt derive machine.py" in capsys.readouterr().out
