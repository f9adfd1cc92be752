"""CP QUERY TIME responses on a console log, one before and one behind each sample.

    TIME IS 10:02:11 EST FRIDAY 08/17/01
    CONNECT= 01:12:09 VIRTCPU= 000:05.11 TOTCPU= 000:07.45

CONNECT is hh:mm:ss, VIRTCPU and TOTCPU are mmm:ss.hs (hundredths), all since logon.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from .lines import Figures, Line, empty, lines, samples

TIME_IS = "TIME IS hh:mm:ss zone weekday mm/dd/yy"
CONNECT = "CONNECT= hh:mm:ss VIRTCPU= mmm:ss.hs TOTCPU= mmm:ss.hs"
DATES = {8: "%m/%d/%y", 10: "%m/%d/%Y"}
"""How CP prints dates, by length; with - in it a date is ISO."""

_TIME_IS = re.compile(r"TIME IS (\d\d:\d\d:\d\d) (\S+) \S+ (\S+)", re.IGNORECASE)
_CPU = r"\s*(\d+):([0-5]\d)\.(\d\d)"
_CONNECT = re.compile(
    rf"CONNECT=\s*\d+:[0-5]\d:[0-5]\d\s+VIRTCPU={_CPU}\s+TOTCPU={_CPU}", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Response:
    """An answer: when it was given, by which clock, and processor time since logon in 0.01 s."""

    line: Line
    when: datetime
    zone: str
    virtual_cs: int
    total_cs: int


def read_query_time(file: Path) -> Figures:
    """Duration, virtual and CP time of each sample: delta between a response and its partner.

    Raises:
        CpmonError: the file cannot be read, a line is no response, one has no partner, or time
            went back between the two.
    """
    responses = list(_responses(file))
    if not responses:
        raise empty(file, f"pairs of responses: {TIME_IS}, {CONNECT}")
    return [_sample(*sample) for sample in samples(responses, responses[-1].line)]


def _responses(file: Path) -> Iterator[Response]:
    opened: tuple[Line, datetime, str] | None = None
    for line in lines(file):
        if opened is None:
            opened = (line, *_clock(line))
            continue
        match = _CONNECT.fullmatch(line.text)
        if match is None:
            raise line.wrong("has a line that is no QUERY TIME response", CONNECT)
        parts = [int(part) for part in match.groups()]
        virtual, total = (m * 6000 + s * 100 + cs for m, s, cs in (parts[:3], parts[3:]))
        yield Response(*opened, virtual, total)
        opened = None
    if opened is not None:
        raise opened[0].wrong("ends in the middle of a response", CONNECT, "end of file")


def _clock(line: Line) -> tuple[datetime, str]:
    """The time of day and its zone; the zone is kept as a name, the time as it stands."""
    match = _TIME_IS.fullmatch(line.text)
    if match is None:
        raise line.wrong("has a line that is no QUERY TIME response", TIME_IS)
    time, zone, day = match.groups()
    pattern = "%Y-%m-%d" if "-" in day else DATES.get(len(day), DATES[8])
    try:
        return datetime.strptime(f"{day} {time}", f"{pattern} %H:%M:%S").replace(tzinfo=UTC), zone
    except ValueError:
        raise line.wrong("has a time that is none", TIME_IS) from None


def _sample(number: int, before: Response, behind: Response) -> dict[str, object]:
    if before.zone != behind.zone:
        raise behind.line.wrong("changes the clock within a sample", before.zone, behind.zone)
    seconds = round((behind.when - before.when).total_seconds())
    virtual = behind.virtual_cs - before.virtual_cs
    cp = behind.total_cs - before.total_cs - virtual
    if min(seconds, virtual, cp) < 0:
        raise behind.line.wrong(
            "has a time that went back",
            f"nothing less than in line {before.line.number}",
            f"sample {number}: {seconds} s, VIRTCPU {virtual / 100:+.2f} s, CP {cp / 100:+.2f} s",
        )
    return {
        "sample": number,
        "began": _text(before.when),
        "ended": _text(behind.when),
        "seconds": seconds,
        "virtual_cs": virtual,
        "total_cs": virtual + cp,
        "cp_cs": cp,
    }


def _text(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(sep=" ")
