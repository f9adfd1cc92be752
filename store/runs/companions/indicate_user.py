"""CP INDICATE USER responses on a console log, one before and one behind each sample.

    USERID=LINUX001 MACH=ESA STOR=128M VIRT=V XSTORE=NONE
    IPLSYS=DEV 0201 DEVNUM=00014
    PAGES: RES=00032411 WS=00032011 LOCK=00000028 RESVD=00000000
    NPREF=00000000 PREF=00000000 READS=00000012 WRITES=00000000
    CPU 00: CTIME=01:12 VTIME=000:05 TTIME=000:07 IO=033012
            RDR=000000 PRT=000000 PCH=000000

A response begins at USERID= and is read by its keywords: columns and lines differ by release.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .lines import Figures, Line, empty, lines, samples

FORM = "USERID=..., then RES=, WS=, READS=, WRITES= and an IO= for each virtual processor"
COUNTERS = {"virtual_ios": "IO", "page_reads": "READS", "page_writes": "WRITES"}
LEVELS = {"resident_pages": "RES", "working_set_pages": "WS"}

_PAIR = re.compile(r"\b([A-Z]+)=\s*(\S*)")


@dataclass(slots=True)
class Response:
    """An answer: the user and every value of each keyword, in order."""

    line: Line
    userid: str
    values: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def total(self, keyword: str) -> int:
        """The sum of a keyword's values, of which there must be one at least."""
        values = self.values.get(keyword, [])
        if not values or not all(v.isascii() and v.isdigit() for v in values):
            described = f"{keyword}={' '.join(values)}" if values else f"no {keyword}="
            raise self.line.wrong("has a response that lacks a number", FORM, described)
        return sum(int(value) for value in values)


def read_indicate_user(file: Path) -> Figures:
    """I/Os and paging of a user in each sample, and its pages at the sample's end.

    The first and second response of a user are sample 1, the third and fourth sample 2.

    Raises:
        CpmonError: the file cannot be read, a line is no response, one has no partner, lacks a
            keyword, or a counter fell between the two.
    """
    by_user: defaultdict[str, list[Response]] = defaultdict(list)
    for response in _responses(file):
        by_user[response.userid].append(response)
    if not by_user:
        raise empty(file, f"pairs of responses: {FORM}")
    return [row for responses in by_user.values() for row in _samples(responses)]


def _responses(file: Path) -> Iterator[Response]:
    current: Response | None = None
    for line in lines(file):
        pairs = _PAIR.findall(line.text)
        if pairs and pairs[0] == ("USERID", pairs[0][1]) and pairs[0][1]:
            if current is not None:
                yield current
            current = Response(line, pairs[0][1])
        if current is None or not pairs:
            raise line.wrong("has a line that is no INDICATE USER response", FORM)
        for keyword, value in pairs:
            current.values[keyword].append(value)
    if current is not None:
        yield current


def _samples(responses: list[Response]) -> Iterator[dict[str, object]]:
    last = responses[-1]
    for number, before, behind in samples(responses, last.line, last.userid):
        deltas = {c: behind.total(k) - before.total(k) for c, k in COUNTERS.items()}
        fallen = [COUNTERS[column] for column, value in deltas.items() if value < 0]
        if fallen:
            raise behind.line.wrong(
                "has a counter that fell",
                f"nothing less than in the response at line {before.line.number}",
                f"{fallen[0]}={behind.total(fallen[0])} behind {before.total(fallen[0])}",
            )
        levels = {column: behind.total(keyword) for column, keyword in LEVELS.items()}
        yield {"sample": number, "userid": behind.userid, **deltas, **levels}
