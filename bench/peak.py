"""One command of cpmon in a process of its own: `python -m bench.peak [--one-core] COMMAND ...`.

The last line of its output is JSON: exit status, seconds, and the peak of resident memory. The
process reads the peak itself, since what a parent sees of a child includes its own size at the
fork.
"""

from __future__ import annotations

import json
import os
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
    """Run the command, then tell."""
    words = sys.argv[1:]
    if words[0] == "--one-core":
        words = words[1:]
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    # The start of the interpreter is not what is timed, nor are imports of what lasts.
    from cpmon.cli.main import run

    if words[0] == "ingest":
        import cpmon.ingest
        import cpmon.store
    elif words[0] == "reduce":
        import cpmon.reduce.engine.reducing
    elif words[0] == "generate":
        import cpmon.generate  # noqa: F401
    started = time.perf_counter()
    status = run(words)
    seconds = time.perf_counter() - started
    print(json.dumps({"status": int(status), "seconds": seconds, "peak_bytes": peak_bytes()}))


if __name__ == "__main__":
    main()
