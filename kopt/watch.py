"""How far a method has come: a record of its iterations, shown and told as they happen."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TextIO

#: Seconds before a line appears, and between two writings of it.
PATIENCE = 1.0
PAUSE = 0.1


@dataclass(frozen=True)
class Progress:
    """A moment of a run: the two values between which the optimum lies, as the method itself measures them.

    iteration         counted from 1
    seconds           since the run began
    primal, dual      the upper and the lower value; the certificate measures them again
    support_vectors   how many coefficients are not 0

    >>> print(Progress(iteration=7, seconds=1.25, primal=2.0, dual=1.999, support_vectors=40))
    iteration 7, relative gap 5.0e-04, 40 support vectors, 1.2 s
    """

    iteration: int
    seconds: float
    primal: float
    dual: float
    support_vectors: int

    @property
    def relative_gap(self) -> float:
        """(primal - dual) / |primal|."""
        gap = self.primal - self.dual
        if gap == float("inf"):
            return gap
        return gap / abs(self.primal) if self.primal else float("inf") if gap else 0.0

    def __str__(self) -> str:
        return f"{self.state}, {self.seconds:.1f} s"

    @property
    def state(self) -> str:
        """What is known at this moment, without the time."""
        gap = f"relative gap {self.relative_gap:.1e}"
        return f"iteration {self.iteration}, {gap}, {self.support_vectors} support vectors"


class Line:
    """`with Line(words):` shows on stderr what `words()` says, on one line that is written again and again.

    shown   None: where somebody watches, and once a second has passed; True: anywhere and at once; False: never

    The line ends with its last words when the block does, whatever ends it. A thread of its own writes it, so that
    it goes on while a method is silent for long.
    """

    def __init__(self, words: Callable[[], str], shown: bool | None = None) -> None:
        self._words = words
        self._shown = shown
        self._width = 0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._stream = sys.stderr
        if interactive(self._stream) if self._shown is None else self._shown:
            self._thread = threading.Thread(target=self._keep_writing, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._thread is None:
            return
        self._over.set()
        self._thread.join()
        if self._width or self._shown:
            self._write()
            self._stream.write("\n")
            self._stream.flush()

    def _keep_writing(self) -> None:
        wait = 0.0 if self._shown else PATIENCE
        while not self._over.wait(wait):
            self._write()
            wait = PAUSE

    def _write(self) -> None:
        """Write over what stands there, cut to the width of the terminal: a second line could not be taken back."""
        text = self._words()[: shutil.get_terminal_size().columns - 1]
        self._stream.write(f"\r{text:<{self._width}}")
        self._stream.flush()
        self._width = len(text)


def interactive(stream: TextIO | None) -> bool:
    """Whether somebody watches a stream: a terminal, or a notebook, whose streams say that they are none.

    >>> import io
    >>> interactive(io.StringIO())
    False
    """
    return stream is not None and (stream.isatty() or _in_notebook())


def _in_notebook() -> bool:
    """Whether IPython runs this as the kernel of a notebook; it is asked only where it has been imported already."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class Watch:
    """Records what a method reports, passes it on to a callback, and shows it while used as a context.

    progress   whether a line on stderr shows it: None where somebody watches and it takes longer than a second

    >>> watch = Watch(callback=print)
    >>> watch.report(primal=2.0, dual=1.0, support_vectors=3)  # doctest: +ELLIPSIS
    iteration 1, relative gap 5.0e-01, 3 support vectors, ... s
    """

    def __init__(self, callback: Callable[[Progress], object] | None = None, progress: bool | None = None) -> None:
        self.callback = callback
        self.history: list[Progress] = []
        self._method = ""
        self._before = 0
        self._start = time.perf_counter()
        self._line = Line(self._words, progress)

    def begin(self, method: str) -> None:
        """A method begins; those before it have failed."""
        self._method = method
        self._before = len(self.history)

    def report(self, primal: float, dual: float, support_vectors: int) -> None:
        """One more iteration is done."""
        moment = Progress(len(self.history) + 1, self._seconds, primal, dual, support_vectors)
        self.history.append(moment)
        if self.callback is not None:
            self.callback(moment)

    def __enter__(self) -> Self:
        self._line.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._line.__exit__(kind, error, traceback)

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._start

    def _words(self) -> str:
        """The method, its last iteration, and the time now."""
        state = [moment.state for moment in self.history[self._before :][-1:]]
        return ", ".join([*filter(None, [self._method]), *state, f"{self._seconds:.1f} s"])
