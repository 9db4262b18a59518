"""Places in the user's own code, for messages about it."""

from __future__ import annotations

import inspect
import linecache
import os
import re
import sys
import sysconfig
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType

from kopt.errors import DeclarationError, KoptError

_ENGINE = f"{Path(__file__).parent}{os.sep}"
_STANDARD_LIBRARY = f"{sysconfig.get_path('stdlib')}{os.sep}"
_INSTALLED = re.compile(r"[\\/](site|dist)-packages[\\/]")
_CELL = re.compile(r"^<ipython-input-|[\\/]ipykernel_\d+[\\/]")
_ABOUT_SHAPES = re.compile(r"shape|dimension|broadcast", re.IGNORECASE)
_LONGEST = 200


@dataclass(frozen=True)
class Place:
    """A line of a file or of a notebook cell.

    >>> print(Place("quantile.py", 23))
    quantile.py, line 23
    """

    file: str
    line: int

    def __str__(self) -> str:
        if _CELL.search(self.file):
            return f"line {self.line} of the cell"
        return f"{_short_path(self.file)}, line {self.line}"

    @property
    def source(self) -> str:
        """The text of the line; empty where it is not available."""
        linecache.checkcache(self.file)
        return linecache.getline(self.file, self.line).strip()


def calling_place() -> Place:
    """Where the engine was called: the first frame outside it."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_ENGINE):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno)


def method_with_place(formulation: object, method: str) -> str:
    """A method of a formulation in words: `Quantile.dual (quantile.py, line 23)`."""
    cls = _class_of(formulation)
    name = f"{cls.__name__}.{method}"
    code = getattr(inspect.unwrap(getattr(cls, method)), "__code__", None)
    return name if code is None else f"{name} ({Place(code.co_filename, code.co_firstlineno)})"


class FaultsOf:
    """`with FaultsOf(formulation, "dual"):` turns what a method of a formulation raises into a DeclarationError.

    The message says where in the user's code it was raised, and the traceback ends there; the original error stays in
    `__context__`. Errors of kopt pass as they are, and so does a lack of memory, which is nobody's mistake.
    """

    def __init__(self, formulation: object, method: str) -> None:
        self.formulation = formulation
        self.method = method

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not isinstance(error, Exception) or isinstance(error, KoptError | MemoryError):
            return
        entry = _innermost(traceback, self._packages)
        raise self._fault(error, entry).with_traceback(entry) from None

    @property
    def _packages(self) -> set[str]:
        """The packages of the formulation and of those from which it inherits: user code even where installed."""
        return {cls.__module__.partition(".")[0] for cls in _class_of(self.formulation).__mro__}

    def _fault(self, error: Exception, entry: TracebackType | None) -> DeclarationError:
        text, remedy = _words(error)
        if entry is None:
            subject = f"{method_with_place(self.formulation, self.method)} fails"
            return DeclarationError(f"{subject} with {text}.", f"Compare it with kopt.Formulation.{self.method}.")
        place = Place(entry.tb_frame.f_code.co_filename, entry.tb_lineno)
        subject = f"{_class_of(self.formulation).__name__}.{self.method} fails at {place}"
        source = _shortened(place.source)
        line = f" (`{source}`)" if source else ""
        return DeclarationError(f"{subject}{line} with {text}.", remedy)


def _class_of(formulation: object) -> type:
    return formulation if isinstance(formulation, type) else type(formulation)


class BriefTraceback:
    """`with BriefTraceback():` in a function that users call: no frames of the engine below it in a DeclarationError.

    Such an error is about a file of the user's, and a notebook shows ten lines of every frame.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, DeclarationError) and traceback is not None:
            traceback.tb_next = _without_engine(traceback.tb_next)


def _without_engine(traceback: TracebackType | None) -> TracebackType | None:
    if traceback is None:
        return None
    rest = _without_engine(traceback.tb_next)
    file = traceback.tb_frame.f_code.co_filename
    if file.startswith(_ENGINE) or (file.startswith(_STANDARD_LIBRARY) and not _INSTALLED.search(file)):
        return rest
    traceback.tb_next = rest
    return traceback


def _innermost(traceback: TracebackType | None, packages: set[str]) -> TracebackType | None:
    """The last entry of a traceback that lies in user code, alone."""
    found = None
    while traceback is not None:
        if _is_users(traceback.tb_frame, packages):
            found = TracebackType(None, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def _is_users(frame: FrameType, packages: set[str]) -> bool:
    file = frame.f_code.co_filename
    if file.startswith((_ENGINE, "<frozen ")):
        return False
    library = file.startswith(_STANDARD_LIBRARY) or _INSTALLED.search(file) is not None
    return not library or str(frame.f_globals.get("__name__")).partition(".")[0] in packages


def _words(error: Exception) -> tuple[str, str]:
    """What an error says, with its type and as part of a sentence; and what to do."""
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z])", " ".join(str(error).split()))
    remedy = "Correct that line."
    if sentences[-1].startswith("Known are"):
        remedy = sentences.pop()
    elif _ABOUT_SHAPES.search(str(error)):
        remedy = "Make the shapes agree: what has one entry per point is of shape (s.n,)."
    text = _shortened("; ".join(sentence.rstrip(".!?") for sentence in sentences))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__, remedy


def _short_path(file: str) -> str:
    """A path below the working directory without it."""
    with suppress(ValueError, OSError):  # another drive, or no working directory any more
        return str(Path(file).relative_to(Path.cwd()))
    return file


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
