"""The command line: thin commands on top of the library."""

import os
import sys

# Columns are short-lived. With huge pages the kernel clears far more memory than is used, and again
# whenever Arrow's allocator returns memory that it needs a moment later: together a fifth of the
# time of `cpmon reduce`. It also takes less memory.
os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "1000")  # milliseconds

# cpmon multiplies no matrices, and an OpenBLAS thread that waits for others spins for 0.1 s.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

try:
    from .. import core  # noqa: F401 - fails on a system on which nothing else of cpmon runs
except ImportError as error:
    if error.name != "fcntl":
        raise
    sys.exit(str(error))

from .main import main  # last: the allocator reads its options when Arrow is imported

__all__ = ["main"]
