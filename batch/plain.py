"""Texts of the site and of errors as they stand in mail and logs: one line of printable ASCII.

Anything else of them (schemas.printable) may keep its letters; mail and old log readers may not.
"""

from __future__ import annotations

import re
from pathlib import Path

from ..schemas.errors import CpmonError


def plain_line(text: str) -> str:
    """A text without line ends and repeated blanks."""
    return _ascii(" ".join(text.split()))


def plain_error(error: Exception) -> str:
    """An error as short as a summary needs it: what is wrong, what was found, what to do.

    The log has it with all its parts.
    """
    if not isinstance(error, CpmonError):
        return plain_line(str(error))
    found = f" ({error.found})" if error.found else ""
    return plain_line(f"{error.problem}{found}" + (f"; {error.remedy}" if error.remedy else ""))


def plain_path(path: Path | str) -> str:
    """A path with every blank it has; line ends and the like as escapes."""
    return _ascii(str(path))


def _ascii(text: str) -> str:
    """All but printable ASCII as escapes. What is plain already stays as it is."""
    return re.sub(r"[^ -~]", lambda match: ascii(match[0])[1:-1], text)
