"""Machines that rank points; each file of this folder is exported here."""

from typing import TYPE_CHECKING, Any

from kopt.discovery import exported

globals().update(exported(__name__))
__all__ = sorted(exported(__name__))

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
