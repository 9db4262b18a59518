"""Progress: what a method reports is kept, told to a callback, and shown on one line where somebody watches."""

import io
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace

import nbformat
import pytest
from nbclient import NotebookClient

import kopt
from kopt.examples import example
from kopt.solvers import Problem, RawAnswer, Solver, Watch
from kopt.solvers.choice import available
from kopt.solvers.dense import Dense
from kopt.solvers.solver import INTERRUPTED
from kopt.task import Task
from kopt.watch import Line, Progress, interactive
from tests.instances import BY_NAME
from tests.tolerances import CERTIFIED

SAMPLE = example(Task.CLASSIFICATION, n=30)
SOFT_MARGIN = BY_NAME["SoftMargin"](C=1.0)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def screen(written: str) -> list[str]:
    """The lines that a terminal shows: after a carriage return what follows is written over what stands there."""
    lines = []
    for line in written.split("\n"):
        shown = ""
        for part in line.split("\r"):
            shown = part + shown[len(part) :]
        lines.append(shown.rstrip())
    return lines


@pytest.fixture
def terminal(monkeypatch):
    """A terminal as stderr of the module: pytest puts its own sys.stderr in place after the fixtures."""
    stream = Terminal()
    monkeypatch.setattr("kopt.watch.sys", SimpleNamespace(stderr=stream, modules=sys.modules))
    return stream


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("kopt.watch.PATIENCE", 0.02)
    monkeypatch.setattr("kopt.watch.PAUSE", 0.02)


def written_twice(stream: Terminal) -> None:
    """Wait until the line has been written twice more: the second time surely with the words of now."""
    before, patience = stream.getvalue().count("\r"), time.perf_counter() + 20
    while stream.getvalue().count("\r") < before + 2:
        assert time.perf_counter() < patience
        time.sleep(0.005)


@dataclass
class Reporting(Solver):
    """The dense solver, reporting three iterations before it begins.

    after   called after each of them
    then    raised after the last
    """

    name: str = "REPORTING"
    after: Callable[[], object] = lambda: None
    then: BaseException | None = None

    def accepts(self, problem):
        return None

    def solve(self, problem):
        try:
            for gap in (1e-1, 1e-3, 1e-7):
                problem.watch.report(primal=2.0, dual=2.0 - 2.0 * gap, support_vectors=12)
                self.after()
            if self.then is not None:
                raise self.then
        except KeyboardInterrupt:
            return RawAnswer(INTERRUPTED, Dense().solve(problem).values)
        return Dense().solve(problem)


@pytest.fixture
def with_solver(monkeypatch):
    def add(*solvers):
        methods = {**available(), **{solver.name: solver for solver in solvers}}
        monkeypatch.setattr("kopt.solvers.choice.available", lambda: methods)

    return add


def test_what_is_reported_is_kept_and_told_in_order(with_solver):
    with_solver(Reporting())
    told = []
    solution = kopt.solve(SOFT_MARGIN, SAMPLE, method="REPORTING", callback=told.append)
    assert solution.history == tuple(told)
    assert [moment.iteration for moment in told] == [1, 2, 3]
    assert [moment.relative_gap for moment in told] == pytest.approx([1e-1, 1e-3, 1e-7])
    assert all(before.seconds <= after.seconds for before, after in pairwise(told))


@pytest.mark.parametrize(
    ("primal", "dual", "gap"), [(-2.0, -2.2, 0.1), (0.0, 0.0, 0.0), (0.0, -1.0, float("inf")), (4.0, 3.0, 0.25)]
)
def test_the_gap_is_relative_to_the_primal_value(primal, dual, gap):
    assert Progress(1, 0.0, primal, dual, 0).relative_gap == pytest.approx(gap)


def test_a_terminal_shows_one_line_and_keeps_its_last_words(terminal, impatient, with_solver):
    with_solver(Reporting(after=lambda: written_twice(terminal)))
    kopt.solve(SOFT_MARGIN, SAMPLE, method="REPORTING")
    assert terminal.getvalue().count("\n") == 1
    assert "\rREPORTING, iteration 1, relative gap 1.0e-01, 12 support vectors, " in terminal.getvalue()
    line, after = screen(terminal.getvalue())
    assert line.startswith("REPORTING, iteration 3, relative gap 1.0e-07, 12 support vectors, ")
    assert line.endswith(" s")
    assert after == ""


@pytest.mark.parametrize("method", ["CLARABEL", "DENSE"])
def test_a_silent_method_is_named_with_the_time(capsys, method):
    kopt.solve(SOFT_MARGIN, SAMPLE, method=method, progress=True)
    line, after = screen(capsys.readouterr().err)
    assert line.startswith(f"{method}, ")
    assert "iteration" not in line
    assert line.endswith(" s")
    assert after == ""


def test_what_takes_less_than_a_second_shows_nothing(terminal):
    with Watch() as watch:
        watch.report(2.0, 1.0, 3)
        time.sleep(0.2)
    assert terminal.getvalue() == ""


def test_what_takes_longer_is_written_ten_times_a_second(terminal):
    with Watch() as watch:
        until = time.perf_counter() + 1.45
        while time.perf_counter() < until:
            watch.report(2.0, 1.0, 3)
            time.sleep(1e-4)
    assert 2 <= terminal.getvalue().count("\r") <= 6
    assert len(watch.history) > 100


def test_a_log_file_stays_clean_and_no_thread_is_started(monkeypatch, impatient):
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    with Watch():
        time.sleep(0.1)
        assert not _writers()
    assert log.getvalue() == ""


def test_progress_can_be_forced_and_forbidden(monkeypatch, impatient):
    log, forbidden = io.StringIO(), Terminal()
    monkeypatch.setattr(sys, "stderr", log)
    kopt.solve(SOFT_MARGIN, SAMPLE, progress=True)
    monkeypatch.setattr(sys, "stderr", forbidden)
    with Watch(progress=False):
        time.sleep(0.1)
    assert log.getvalue().endswith(" s\n")
    assert forbidden.getvalue() == ""


def test_no_thread_is_left_behind(terminal, impatient):
    with Watch():
        written_twice(terminal)
        assert _writers()
    assert not _writers()


def _writers():
    return [thread for thread in threading.enumerate() if "_keep_writing" in thread.name]


def test_where_there_is_no_stream_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with Watch():
        pass
    assert not interactive(None)


def test_shorter_words_leave_nothing_of_longer_ones(terminal, impatient):
    words = ["a line that is long"]
    with Line(lambda: words[0]):
        written_twice(terminal)
        words[0] = "short"
        written_twice(terminal)
    assert "a line that is long" in terminal.getvalue()
    assert screen(terminal.getvalue()) == ["short", ""]


def test_a_line_is_cut_to_the_width_of_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "12")
    with Line(lambda: "0123456789abcdef", shown=True):
        pass
    assert screen(capsys.readouterr().err) == ["0123456789a", ""]


def test_an_exception_of_the_callback_propagates_and_the_line_is_ended(terminal, impatient, with_solver):
    with_solver(Reporting(after=lambda: written_twice(terminal)))
    error = RuntimeError("mine")

    def callback(moment):
        written_twice(terminal)
        if moment.iteration == 2:
            raise error

    with pytest.raises(RuntimeError) as caught:
        kopt.solve(SOFT_MARGIN, SAMPLE, method="REPORTING", callback=callback)
    assert caught.value is error
    assert screen(terminal.getvalue())[0].startswith("REPORTING, iteration 2")
    assert terminal.getvalue().endswith("\n")
    assert not _writers()


def test_an_interrupted_method_answers(terminal, impatient, with_solver):
    with_solver(Reporting(after=lambda: written_twice(terminal), then=KeyboardInterrupt()))
    solution = kopt.solve(SOFT_MARGIN, SAMPLE, method="REPORTING")
    assert solution.attempts[-1].status == INTERRUPTED
    assert solution.certificate.holds(CERTIFIED)
    assert terminal.getvalue().endswith("\n")


def test_an_interruption_that_no_method_catches_propagates(terminal, impatient, with_solver):
    class Uncaught(Reporting):
        def solve(self, problem):
            written_twice(terminal)
            raise KeyboardInterrupt

    with_solver(Uncaught(name="UNCAUGHT"))
    with pytest.raises(KeyboardInterrupt):
        kopt.solve(SOFT_MARGIN, SAMPLE, method="UNCAUGHT")
    assert screen(terminal.getvalue())[0].startswith("UNCAUGHT, 0.")
    assert terminal.getvalue().endswith("\n")


def test_iterations_of_a_method_that_failed_are_not_shown_for_the_next(capsys):
    with Watch(progress=True) as watch:
        watch.begin("FIRST")
        watch.report(2.0, 1.0, 3)
        watch.begin("SECOND")
    assert screen(capsys.readouterr().err)[0].startswith("SECOND, 0.")
    assert len(watch.history) == 1


def test_only_a_kernel_counts_as_a_notebook(monkeypatch):
    for shell, notebook in ((None, False), (SimpleNamespace(), False), (SimpleNamespace(kernel=object()), True)):
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        assert interactive(io.StringIO()) is notebook
    assert interactive(Terminal())


def test_ipython_is_not_imported_to_find_out(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not interactive(io.StringIO())
    assert "IPython" not in sys.modules


CELL = """
import time, kopt.watch
kopt.watch.PATIENCE = 0.05
with kopt.watch.Watch() as watch:
    watch.begin("METHOD")
    watch.report(2.0, 1.0, 3)
    time.sleep(0.4)
"""


# pyzmq and asyncio disagree about event loops on some platforms; no concern of the notebooks.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_a_notebook_shows_the_line():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    NotebookClient(notebook, timeout=120).execute()
    text = "".join(output["text"] for output in notebook.cells[0].outputs if output.get("name") == "stderr")
    assert "METHOD, iteration 1, relative gap 5.0e-01, 3 support vectors, " in text
    assert text.endswith(" s\n")


def test_a_problem_of_its_own_shows_nothing(terminal, impatient):
    Reporting(after=lambda: time.sleep(0.05)).solve(Problem(SOFT_MARGIN, SAMPLE))
    assert terminal.getvalue() == ""
