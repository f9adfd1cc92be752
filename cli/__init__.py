"""The command line: thin commands over the library."""

import os

# Columns live for a moment. In huge pages, which numpy asks for where nobody says otherwise, the
# kernel clears far more memory than is used: a twentieth of `cpmon reduce`.
os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")

from .main import main  # numpy looks at it when it is imported

__all__ = ["main"]
