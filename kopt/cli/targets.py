"""What a word on the command line stands for: a formulation by name, a file, a folder or a module."""

from __future__ import annotations

import importlib.util
import traceback
from collections.abc import Sequence
from pathlib import Path

from kopt.discovery import discover
from kopt.errors import InputError, KoptError
from kopt.formulation import Formulation
from kopt.locations import Place


def named(name: str) -> type[Formulation]:
    """An installed formulation."""
    found = _installed()
    if name not in found:
        raise InputError(f"There is no formulation named {name!r}.", f"Known are: {', '.join(sorted(found))}.")
    return found[name]


def resolved(targets: Sequence[str]) -> list[type[Formulation]]:
    """The formulations that the targets stand for, each once; all installed ones where there is no target."""
    found = [cls for target in targets for cls in _resolve(target)] if targets else discover()
    return list(dict.fromkeys(found))


def _installed() -> dict[str, type[Formulation]]:
    return {formulation.__name__: formulation for formulation in discover()}


def _resolve(target: str) -> list[type[Formulation]]:
    is_path = target.endswith(".py") or "/" in target or Path(target).exists()
    if is_path and not _is_package(target):
        return _read(Path(target), target)
    installed = _installed()
    if target in installed:
        return [installed[target]]
    if not _importable(target):
        raise InputError(
            f"There is no formulation, file or module named {target!r}.",
            f"Give a path, a module, or one of: {', '.join(sorted(installed))}.",
        )
    return _read(target, target)


def _is_package(target: str) -> bool:
    """Whether a folder here is a package that can be imported by its name, which lets it import its own modules."""
    if not target.isidentifier() or not _importable(target):
        return False
    spec = importlib.util.find_spec(target)
    places = (spec.submodule_search_locations if spec else None) or []
    return str(Path(target).resolve()) in places


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _read(source: str | Path, target: str) -> list[type[Formulation]]:
    try:
        found = discover(source)
    except KoptError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{target} cannot be read: {_told(error, source)}.", "Mend it, then try again.") from error
    if not found:
        raise InputError(f"There is no formulation in {target}.", "Define a subclass of kopt.Formulation there.")
    return found


def _told(error: BaseException, source: str | Path) -> str:
    """The error, with the last line of the user's own that led to it."""
    if isinstance(error, SyntaxError):
        return f"{error.msg} ({Place(str(error.filename), error.lineno or 0)})"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "<frozen" not in frame.filename]
    own = [frame for frame in frames if Path(frame.filename).resolve().is_relative_to(Path(source).resolve())]
    last = (own or frames)[-1]
    return f"{type(error).__name__}: {error} ({Place(last.filename, last.lineno or 0)})"
