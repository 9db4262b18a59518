"""The command line, called as a user would call it."""

import subprocess
import sys

import pytest

from kopt.cli import main


def test_without_arguments_it_certifies_an_example(capsys):
    assert main([]) == 0
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
    assert "certificate" in result.stdout
