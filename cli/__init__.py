"""The command line: thin commands over the library."""

import os

# Columns live for a moment. In huge pages the kernel clears far more memory than is used, and does
# so again whenever the allocator of Arrow has given back what it needs a moment later: together a
# fifth of `cpmon reduce`. Less memory is taken, too.
os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "1000")  # milliseconds

# Nothing here multiplies matrices; a thread that waits for some spins for a tenth of a second.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from .main import main  # the allocator looks at it when Arrow is imported

__all__ = ["main"]
