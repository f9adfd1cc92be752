"""Companions: figures of a run that do not come from the monitor, each in its own text format.

Throughput (t) is counted by the load generator, hardware instrumentation (h) is measured by the
machine, QUERY TIME (qt) and INDICATE USER (i) are responses of CP on a console; samples are what
workload programs and others measured several times. `docs/companions.md` describes the formats.
"""

from __future__ import annotations

import csv
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ...core.errors import CpmonError
from ..columns import COLUMNS

Figures = list[dict[str, Any]]
_Response = TypeVar("_Response")

_EFFECT = "the run and its companions are not stored"
_ECHO = re.compile(r"(#?CP\s+)?(Q(UERY)?\s+T(IME)?|IND(ICATE)?\s+USER(\s+\S+)?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a file; `number` counts from 1."""

    file: Path
    number: int
    text: str

    def wrong(self, problem: str, expected: str, found: str | None = None) -> CpmonError:
        """Error about this line; shows its text unless `found` is given."""
        return CpmonError(
            f"companion {self.file.name} {problem}",
            place=f"{self.file}, line {self.number}",
            expected=expected,
            found=self.text if found is None else found,
            effect=_EFFECT,
        )


def _lines(file: Path) -> Iterator[_Line]:
    """Yields the lines of a UTF-8 file that hold figures.

    Skips blank lines, operator comments (they begin with *; CP ignores them too) and echoed
    commands (QUERY TIME, INDICATE USER, in any case or abbreviation).
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CpmonError(
            f"companion {file.name} cannot be read: {error}", place=str(file), effect=_EFFECT
        ) from None
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("*") and not _ECHO.fullmatch(stripped):
            yield _Line(file, number, stripped)


def _empty(file: Path, expected: str) -> CpmonError:
    """Error about a file without figures."""
    return CpmonError(
        f"companion {file.name} has no figures",
        place=str(file),
        expected=expected,
        found="none",
        effect=_EFFECT,
    )


def _pairs(
    responses: Sequence[_Response], last: _Line, user: str = ""
) -> Iterator[tuple[int, _Response, _Response]]:
    """Yields the number of each sample, from 1, and the responses at its begin and end.

    Args:
        last: the line of the last response.
        user: the user of the responses, for messages.

    Raises:
        CpmonError: the last response has no partner.
    """
    if len(responses) % 2:
        raise last.wrong(
            "has a response without a partner",
            "two responses for each sample, at its begin and end",
            f"{len(responses)} responses{user and f' for {user}'}",
        )
    yield from zip(range(1, len(responses)), responses[::2], responses[1::2], strict=False)


_TIME_IS = "TIME IS hh:mm:ss zone weekday mm/dd/yy"
_CONNECT = "CONNECT= hh:mm:ss VIRTCPU= mmm:ss.hs TOTCPU= mmm:ss.hs"
_DATES = {8: "%m/%d/%y", 10: "%m/%d/%Y"}
"""Date formats of CP by length; a date with - is ISO 8601."""

_TIME_IS_LINE = re.compile(r"TIME IS (\d\d:\d\d:\d\d) (\S+) \S+ (\S+)", re.IGNORECASE)
_CPU_TIME = r"\s*(\d+):([0-5]\d)\.(\d\d)"
_CONNECT_LINE = re.compile(
    rf"CONNECT=\s*\d+:[0-5]\d:[0-5]\d\s+VIRTCPU={_CPU_TIME}\s+TOTCPU={_CPU_TIME}", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _TimeResponse:
    """A response: its time and zone, and processor times since logon in 0.01 s."""

    line: _Line
    when: datetime
    zone: str
    virtual_cs: int
    total_cs: int


def _read_query_time(file: Path) -> Figures:
    """Duration, virtual and CP time of each sample: delta between a pair of responses.

    CONNECT is hh:mm:ss, VIRTCPU and TOTCPU are mmm:ss.hs (hundredths), all since logon.

    Raises:
        CpmonError: the file cannot be read, a line is not a response, one has no partner, or a time
            decreased within a pair.
    """
    responses = list(_time_responses(file))
    if not responses:
        raise _empty(file, f"pairs of responses: {_TIME_IS}, {_CONNECT}")
    return [_time_sample(*sample) for sample in _pairs(responses, responses[-1].line)]


def _time_responses(file: Path) -> Iterator[_TimeResponse]:
    first_line: tuple[_Line, datetime, str] | None = None
    for line in _lines(file):
        if first_line is None:
            first_line = (line, *_clock(line))
            continue
        match = _CONNECT_LINE.fullmatch(line.text)
        if match is None:
            raise line.wrong("has a line that is not a QUERY TIME response", _CONNECT)
        parts = [int(part) for part in match.groups()]
        virtual, total = (m * 6000 + s * 100 + cs for m, s, cs in (parts[:3], parts[3:]))
        yield _TimeResponse(*first_line, virtual, total)
        first_line = None
    if first_line is not None:
        raise first_line[0].wrong("ends in the middle of a response", _CONNECT, "end of file")


def _clock(line: _Line) -> tuple[datetime, str]:
    """Date and time as printed, not converted to UTC, and the name of the zone."""
    match = _TIME_IS_LINE.fullmatch(line.text)
    if match is None:
        raise line.wrong("has a line that is not a QUERY TIME response", _TIME_IS)
    time, zone, day = match.groups()
    pattern = "%Y-%m-%d" if "-" in day else _DATES.get(len(day), _DATES[8])
    try:
        return datetime.strptime(f"{day} {time}", f"{pattern} %H:%M:%S").replace(tzinfo=UTC), zone
    except ValueError:
        raise line.wrong("has an invalid time", _TIME_IS) from None


def _time_sample(number: int, begin: _TimeResponse, end: _TimeResponse) -> dict[str, object]:
    if begin.zone != end.zone:
        raise end.line.wrong("changes the time zone within a sample", begin.zone, end.zone)
    seconds = round((end.when - begin.when).total_seconds())
    virtual = end.virtual_cs - begin.virtual_cs
    cp = end.total_cs - begin.total_cs - virtual
    if min(seconds, virtual, cp) < 0:
        raise end.line.wrong(
            "has a time that decreases",
            f"no time smaller than in line {begin.line.number}",
            f"sample {number}: {seconds} s, VIRTCPU {virtual / 100:+.2f} s, CP {cp / 100:+.2f} s",
        )
    return {
        "sample": number,
        "began": _text(begin.when),
        "ended": _text(end.when),
        "seconds": seconds,
        "virtual_cs": virtual,
        "total_cs": virtual + cp,
        "cp_cs": cp,
    }


def _text(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(sep=" ")


_INDICATE_USER = "USERID=..., then RES=, WS=, READS=, WRITES= and an IO= for each virtual processor"
_COUNTERS = {"virtual_ios": "IO", "page_reads": "READS", "page_writes": "WRITES"}
_LEVELS = {"resident_pages": "RES", "working_set_pages": "WS"}

_PAIR = re.compile(r"\b([A-Z]+)=\s*(\S*)")


@dataclass(slots=True)
class _UserResponse:
    """A response: the user and all values of each keyword, in order."""

    line: _Line
    userid: str
    values: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def total(self, keyword: str) -> int:
        """Sum of a keyword's values; an error if there is none."""
        values = self.values.get(keyword, [])
        if not values or not all(v.isascii() and v.isdigit() for v in values):
            described = f"{keyword}={' '.join(values)}" if values else f"no {keyword}="
            raise self.line.wrong("has a response that lacks a number", _INDICATE_USER, described)
        return sum(int(value) for value in values)


def _read_indicate_user(file: Path) -> Figures:
    """I/Os and paging of a user in each sample, and its pages at the sample's end.

    The first and second response of a user are sample 1, the third and fourth sample 2.

    Raises:
        CpmonError: the file cannot be read, a line is not a response, one has no partner or lacks
            a keyword, or a counter decreased within a pair.
    """
    by_user: defaultdict[str, list[_UserResponse]] = defaultdict(list)
    for response in _user_responses(file):
        by_user[response.userid].append(response)
    if not by_user:
        raise _empty(file, f"pairs of responses: {_INDICATE_USER}")
    return [row for responses in by_user.values() for row in _user_samples(responses)]


def _user_responses(file: Path) -> Iterator[_UserResponse]:
    current: _UserResponse | None = None
    for line in _lines(file):
        pairs = _PAIR.findall(line.text)
        if pairs and pairs[0] == ("USERID", pairs[0][1]) and pairs[0][1]:
            if current is not None:
                yield current
            current = _UserResponse(line, pairs[0][1])
        if current is None or not pairs:
            raise line.wrong("has a line that is not an INDICATE USER response", _INDICATE_USER)
        for keyword, value in pairs:
            current.values[keyword].append(value)
    if current is not None:
        yield current


def _user_samples(responses: list[_UserResponse]) -> Iterator[dict[str, object]]:
    last = responses[-1]
    for number, begin, end in _pairs(responses, last.line, last.userid):
        deltas = {c: end.total(k) - begin.total(k) for c, k in _COUNTERS.items()}
        fallen = [_COUNTERS[column] for column, value in deltas.items() if value < 0]
        if fallen:
            raise end.line.wrong(
                "has a counter that decreases",
                f"no counter smaller than in the response at line {begin.line.number}",
                f"{fallen[0]}={end.total(fallen[0])} after {begin.total(fallen[0])}",
            )
        levels = {column: end.total(keyword) for column, keyword in _LEVELS.items()}
        yield {"sample": number, "userid": end.userid, **deltas, **levels}


def _read_intervals(file: Path, table: str) -> Figures:
    """Reads a CSV log of a load generator or of the hardware instrumentation.

    Args:
        table: a table whose columns, without `run_id`, are those of the file.

    Raises:
        CpmonError: the file cannot be read, or lacks a column or a value.
    """
    columns = [column for column in COLUMNS[table] if column not in ("run_id", "interval_end")]
    syntax = f"a CSV with the columns interval_end, {', '.join(columns)}; times in ISO 8601 UTC"
    rows = [*_lines(file)]
    if not rows:
        raise _empty(file, syntax)
    names = _cells(rows[0])
    if not {"interval_end", *columns} <= {*names}:
        raise rows[0].wrong("lacks columns", syntax)
    return [_figures(line, names, columns, syntax) for line in rows[1:]]


def _figures(
    line: _Line, names: list[str], columns: Sequence[str], syntax: str
) -> dict[str, object]:
    cells = dict(zip(names, _cells(line), strict=False))  # a missing cell is reported below
    try:
        end = datetime.fromisoformat(cells["interval_end"])
        figures = {column: float(cells[column]) for column in columns}
    except (KeyError, ValueError):
        raise line.wrong("has a line that is not an interval", syntax) from None
    if not all(map(math.isfinite, figures.values())):
        raise line.wrong("has a figure that is not a number", syntax)
    at = end.replace(tzinfo=UTC) if end.tzinfo is None else end.astimezone(UTC)
    return {"interval_end": f"{at:%Y-%m-%d %H:%M:%S.%f}", **figures}


def _cells(line: _Line) -> list[str]:
    return next(csv.reader([line.text]))


def _read_samples(file: Path) -> Figures:
    """Reads a CSV of samples: the name of a measure, the number of the sample, and its value.

    Raises:
        CpmonError: the file cannot be read, lacks a column or a value, or has a sample twice.
    """
    syntax = "a CSV with the columns measure, sample, value; samples count from 1"
    rows = [*_lines(file)]
    if len(rows) < 2:
        raise _empty(file, syntax)
    names = _cells(rows[0])
    if not {"measure", "sample", "value"} <= {*names}:
        raise rows[0].wrong("lacks columns", syntax)
    figures: dict[tuple[str, int], dict[str, object]] = {}
    for line in rows[1:]:
        cells = dict(zip(names, _cells(line), strict=False))
        try:
            measure, sample = cells["measure"], int(cells["sample"])
            value = float(cells["value"])
        except (KeyError, ValueError):
            raise line.wrong("has a line that is not a sample", syntax) from None
        if not measure or sample < 1 or not math.isfinite(value):
            raise line.wrong("has a line that is not a sample", syntax)
        if (measure, sample) in figures:
            raise line.wrong("has a sample twice", f"one {measure} of sample {sample}")
        figures[measure, sample] = {"measure": measure, "sample": sample, "value": value}
    return [*figures.values()]


@dataclass(frozen=True)
class Companion:
    """A kind of companion: its table in `meta`, and the function that reads its file."""

    table: str
    read: Callable[[Path], Figures]


COMPANIONS = {
    "throughput": Companion("throughput", partial(_read_intervals, table="throughput")),
    "hardware": Companion("hardware", partial(_read_intervals, table="hardware")),
    "query_time": Companion("query_time", _read_query_time),
    "indicate_user": Companion("indicate_user", _read_indicate_user),
    "samples": Companion("run_sample", _read_samples),
}
"""Companions by their key in a run file."""

DERIVED = {
    "query_time": ("duration_s", "virtual_cpu_cs", "cp_cpu_cs", "total_cpu_cs"),
    "indicate_user": ("virtual_ios", *_LEVELS, "page_reads", "page_writes"),
    "run_sample": ("read_s", "write_s"),
}
"""Table -> measures that `run_samples` has from it, which samples must not repeat."""

TABLES = {companion.table: COLUMNS[companion.table] for companion in COMPANIONS.values()}
"""Table of schema `meta` -> its columns. A run file in the store has a list of rows for each."""
