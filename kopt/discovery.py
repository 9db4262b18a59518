"""Formulations, and what belongs to them, are found, not registered: by entry point, by module, or by path."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from kopt.errors import InputError
from kopt.formulation import Formulation

T = TypeVar("T")


def discover(source: str | Path | None = None) -> list[type[Formulation]]:
    """The formulations of a module, a file or a folder; of every installed package where no source is given.

    A package offers its formulations by an entry point in the group `kopt.formulations` that names a module. Reading
    a file runs it, as any import does.

    >>> "SoftMargin" in [formulation.__name__ for formulation in discover()]
    True
    """
    if source is None:
        return offered_classes("kopt.formulations", Formulation)
    if isinstance(source, Path) or source.endswith(".py") or "/" in source:
        modules = list(_from_path(Path(source)))
    else:
        modules = [_named(source)]
    return _sorted(cls for module in modules for cls in own(module, Formulation))


def own(package: ModuleType, kind: type[T]) -> list[type[T]]:
    """The classes of a kind in a module or package."""
    return _sorted(cls for module in _walk(package) for cls in _defined(module, kind))


def offered(group: str) -> list[ModuleType]:
    """The modules that installed packages offer by entry points in a group, with all that is below them."""
    return [module for entry in entry_points(group=group) for module in _walk(entry.load())]


def offered_classes(group: str, kind: type[T]) -> list[type[T]]:
    """The classes of a kind in the modules that are offered in a group."""
    return _sorted(cls for module in offered(group) for cls in _defined(module, kind))


def exported(package: str) -> dict[str, type[Formulation]]:
    """The formulations in the modules of a package, by class name; for the package's own `__init__`."""
    return {cls.__name__: cls for module in _submodules(sys.modules[package]) for cls in _defined(module, Formulation)}


def _named(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise  # something that the module itself imports
        raise InputError(f"There is no module named {name!r}.", "Install it, or give the path of a file.") from None


def _walk(module: ModuleType) -> Iterator[ModuleType]:
    yield module
    for submodule in _submodules(module):
        yield from _walk(submodule)


def _submodules(module: ModuleType) -> Iterator[ModuleType]:
    for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
        yield importlib.import_module(f"{module.__name__}.{info.name}")


def _defined(module: ModuleType, kind: type[T]) -> Iterator[type[T]]:
    for item in vars(module).values():
        if inspect.isclass(item) and issubclass(item, kind) and item.__module__ == module.__name__:
            yield item


def _sorted(classes: Iterable[type[T]]) -> list[type[T]]:
    """Each class once, by the name of its module and its own."""
    found = {f"{cls.__module__}.{cls.__qualname__}": cls for cls in classes}
    return [found[name] for name in sorted(found)]


def _readable(folder: Path) -> list[Path]:
    """The Python files of a folder, without hidden folders, installed packages, tests and programs."""
    files = []
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).parts
        hidden = any(part.startswith(".") or part == "site-packages" for part in parts)
        if not hidden and not file.stem.startswith(("__", "test_", "conftest")):
            files.append(file)
    return files


def _from_path(path: Path) -> Iterator[ModuleType]:
    if not path.exists():
        raise InputError(f"There is no file or folder {path}.", "Check the path.")
    for file in _readable(path) if path.is_dir() else [path]:
        name = f"kopt_found_{abs(hash(str(file.resolve())))}_{file.stem}"
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        yield module
