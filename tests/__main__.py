"""The gate: lint, format, types, tests. `python -m tests` runs all of it and stops at the first that fails."""

import subprocess
import sys

COMMANDS = [
    ["ruff", "check", "."],
    ["ruff", "format", "--check", "."],
    ["mypy"],
    ["pytest"],
]


def main() -> int:
    for command in COMMANDS:
        print("$", *command, flush=True)
        code = subprocess.run([sys.executable, "-m", *command], check=False).returncode
        if code:
            return code
    return 0


sys.exit(main())
