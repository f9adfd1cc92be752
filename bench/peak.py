"""One `cpmon ingest` in a process of its own: `python -m bench.peak DUMP STORE`.

The last line of its output is JSON: exit status, seconds, and the peak of resident memory. The
process reads the peak itself, since what a parent sees of a child includes its own size at the
fork.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path


def peak_bytes() -> int:
    """The most memory that this process ever had resident (Linux: VmHWM)."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main() -> None:
    """Ingest, then tell."""
    import cpmon.ingest
    import cpmon.store  # noqa: F401 - the start of the interpreter is not what is timed
    from cpmon.cli.main import run

    started = time.perf_counter()
    status = run(["ingest", sys.argv[1], "--store", sys.argv[2]])
    seconds = time.perf_counter() - started
    print(json.dumps({"status": int(status), "seconds": seconds, "peak_bytes": peak_bytes()}))


if __name__ == "__main__":
    main()
