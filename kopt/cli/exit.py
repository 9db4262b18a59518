"""The exit codes of every command."""

from enum import IntEnum


class Exit(IntEnum):
    """What a shell learns."""

    GOOD = 0
    BAD = 1
    REFUSED = 2
    UNDECIDED = 3
    INTERRUPTED = 130
    BROKEN_PIPE = 141
