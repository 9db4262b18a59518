"""The README's code runs, and its commands are the ones that the gate runs."""

import re
from pathlib import Path

from kopt.cli import main
from tests.benchmarks.document import read
from tests.benchmarks.report import markdown
from tests.benchmarks.solvers import FIGURES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_python_blocks_run_in_order(capsys):
    namespace = {"__name__": "readme"}
    code = blocks("python")
    assert len(code) >= 4
    for block in code:
        exec(compile(block, "README.md", "exec"), namespace)
    printed = capsys.readouterr().out
    assert "holds to 1e-06" in printed


def test_the_verdict_is_the_one_that_is_printed(capsys):
    """All but the seconds, which are the machine's."""
    exec(compile(blocks("python")[0], "README.md", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out.rstrip()
    assert without_seconds(printed) == without_seconds(blocks("text")[0].rstrip())


def without_seconds(text):
    return re.sub(r"[\d.]+ s\)", "s)", text)


def test_the_continuous_integration_runs_the_readmes_test_command():
    command = next(block.strip() for block in blocks("sh") if "-m tests\n" in block)
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


def test_the_modules_of_the_other_commands_exist():
    modules = {name for block in blocks("sh") for name in re.findall(r"-m (tests[\w.]*)", block)}
    for name in modules - {"tests"}:
        assert ROOT.joinpath(*name.split(".")).with_suffix(".py").exists(), name


def test_the_table_of_formulations_is_what_is_printed(capsys):
    assert main(["list", "--markdown"]) == 0
    [shown] = re.findall(r"<!-- library -->\n(.*?)<!-- end of library -->", README, flags=re.DOTALL)
    assert shown == capsys.readouterr().out


def test_the_table_of_the_benchmark_is_that_of_its_figures():
    [shown] = re.findall(r"<!-- benchmark -->\n(.*?)<!-- end of benchmark -->", README, flags=re.DOTALL)
    assert shown.rstrip("\n") == markdown(read(FIGURES))
