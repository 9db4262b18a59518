"""How far a long command has come."""

from __future__ import annotations

from typing import TextIO


class Progress:
    """A line on a terminal that is written again and again; silent where the stream is none."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()

    def show(self, text: str) -> None:
        """Say what is under way."""
        self._write(f"\r\033[K{text}")

    def clear(self) -> None:
        """Leave an empty line."""
        self._write("\r\033[K")

    def _write(self, text: str) -> None:
        if self._live:
            self._stream.write(text)
            self._stream.flush()
