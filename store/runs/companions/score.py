"""Output of thrasher and burner: a line a period, with what was counted in it. The form is ours.

period 1 60 s score 39152366
"""

from __future__ import annotations

import re
from pathlib import Path

from .lines import Figures, empty, lines

FORM = "period N S s score K"
_LINE = re.compile(r"period (?P<period>\d+) (?P<seconds>\d+(?:\.\d+)?) s score (?P<score>\d+)")


def read_thrasher(file: Path) -> Figures:
    """The thrasher's periods: number, seconds, references to buffers.

    Raises:
        CpmonError: the file cannot be read, a line is no period, or a period is there twice.
    """
    return _read(file, "thrasher")


def read_burner(file: Path) -> Figures:
    """The burner's periods: number, seconds, increments of its counter.

    Raises:
        CpmonError: the file cannot be read, a line is no period, or a period is there twice.
    """
    return _read(file, "burner")


def _read(file: Path, tool: str) -> Figures:
    rows: dict[int, dict[str, object]] = {}
    for line in lines(file):
        match = _LINE.fullmatch(line.text)
        if match is None:
            raise line.wrong("has a line that is no period", FORM)
        period = int(match["period"])
        if period in rows:
            raise line.wrong("has a period twice", f"one period {period}")
        rows[period] = {
            "tool": tool,
            "period": period,
            "seconds": float(match["seconds"]),
            "score": int(match["score"]),
        }
    if not rows:
        raise empty(file, FORM)
    return list(rows.values())
