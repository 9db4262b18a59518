"""What the figures were measured with: processor, memory, versions. No names of hosts or people."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "kopt",
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "scikit-learn-intelex",
    "daal",
    "cvxpy",
    "clarabel",
    "piqp",
)
ABSENT = "not installed"


def machine() -> dict[str, object]:
    """Processor, cores, memory in GB and system."""
    return {
        "processor": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": os.cpu_count(),
        "memory_GB": round(_kilobytes("/proc/meminfo", "MemTotal") / 1e6, 1),
        "system": platform.system(),
    }


def versions() -> dict[str, str]:
    """Python and the packages that take part."""
    return {"python": platform.python_version(), **{name: installed(name) for name in PACKAGES}}


def installed(package: str) -> str:
    """The version of a package, or that there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ABSENT


def peak_memory() -> float:
    """The most memory that this process ever held, in GB.

    Not from getrusage: what it says of a new process includes the memory of the one that started it.
    """
    return _kilobytes("/proc/self/status", "VmHWM") * 1024 / 1e9


def _kilobytes(path: str, name: str) -> float:
    return float((_field(path, name) or "nan").split()[0])


def _field(path: str, name: str) -> str | None:
    """The value of the first line `name : value` of a file under /proc."""
    if not Path(path).exists():
        return None
    lines = (line.partition(":") for line in Path(path).read_text().splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), None)
