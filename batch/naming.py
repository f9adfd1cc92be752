"""Names of files that are written for a day and a system: /srv/perf/{system}/%Y/%m/{date}.txt."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date
from pathlib import Path
from urllib.parse import quote

from ..schemas.errors import CpmonError
from ..schemas.lookup import unknown

CODES = {
    "Y": "year",
    "m": "month, 01 to 12",
    "d": "day of the month, 01 to 31",
    "j": "day of the year, 001 to 366",
    "G": "year of the ISO week",
    "V": "ISO week, 01 to 53",
    "u": "day of the week, 1 for Monday",
}
"""The codes of strftime that mean the same everywhere and tell days apart, never times."""

_MARK = re.compile(r"\{(\w*)\}|%(.?)")


def check_pattern(path: Path | None, place: str, marks: Collection[str]) -> None:
    """Check that a path has no mark but these, and no code but `CODES`.

    Raises:
        CpmonError: it has.
    """
    for match in _MARK.finditer(str(path or "")):
        mark, code = match.groups()
        if mark is not None and mark not in marks:
            raise unknown("mark", mark, marks, place=place)
        if code is not None and code not in (*CODES, "%"):
            raise CpmonError(
                f"%{code} cannot stand in a path",
                place=place,
                expected=", ".join(f"%{known} ({said})" for known, said in CODES.items()),
                found=str(path),
                effect="nothing was done",
                remedy="write %% for a percent sign",
            )


def tells_days_apart(path: Path) -> bool:
    """Whether each day has a file of its own."""
    return any(mark == "date" or (code or "%") != "%" for mark, code in _MARK.findall(str(path)))


def file_for(path: Path, day: date, system: str = "", name: str = "") -> Path:
    """The path for a day and a system, whose name cannot lead out of its folder."""
    marks = {"date": str(day), "system": _part(system), "name": _part(Path(name).stem)}

    def filled(match: re.Match[str]) -> str:
        mark, code = match.groups()
        if mark is not None:
            return marks[mark]
        return "%" if code == "%" else day.strftime(f"%{code}")

    return Path(_MARK.sub(filled, str(path)))


def _part(text: str) -> str:
    """A text as a part of a path."""
    escaped = quote(text, safe="@#$+ ")
    return escaped.replace(".", "%2E") if not escaped.strip(".") else escaped
