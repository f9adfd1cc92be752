"""What the figures were measured on: processor, cores, memory, versions."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import construct
import duckdb
import numpy as np
import pyarrow as pa

MEGA = 1_000_000
"""MB are 10**6 bytes throughout."""


def machine() -> dict[str, str]:
    """Facts by name, in the order in which they are printed."""
    compiler = find_compiler()
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count() or 1),
        "load": f"{os.getloadavg()[0]:.1f} (a minute's average, when the run began)",
        "memory": f"{_memory_bytes() / 1e9:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": str(np.__version__),
        "pyarrow": str(pa.__version__),
        "duckdb": str(duckdb.__version__),
        "construct": str(construct.__version__),
        "compiler": _first_line([compiler, "--version"]) if compiler else "none",
    }


def find_compiler() -> str | None:
    """A C compiler on the path, or None."""
    return next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _first_line(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).partition("\n")[0]
