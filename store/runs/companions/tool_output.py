"""Output of workload programs: a line an operation, or a period. The text forms are ours.

The exerciser prints its rate in whole KB/s, thrasher and burner what they counted in a period:

    sample 1 write 1 pass 524288 KB 172.95 s 3031 KB/s
    sample 1 read 2 passes 1048576 KB 122.91 s 8531 KB/s

    period 1 60 s score 39152366
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ...columns import COLUMNS
from .lines import Figures, empty, lines

_TYPES = {"VARCHAR": str, "BIGINT": int, "DOUBLE": float}


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A kind of output.

    Attributes:
        table: of its figures.
        noun: what a line is, with its article.
        syntax: how a line is written, for messages.
        line: its pattern; the groups are columns of the table.
        key: a format of these columns; no two lines have the same.
    """

    table: str
    noun: str
    syntax: str
    line: re.Pattern[str]
    key: str

    def read(self, file: Path, **constant: str) -> Figures:
        """The figures of each line, behind columns that are the same in all.

        Raises:
            CpmonError: the file cannot be read, a line is written otherwise, or one is there twice.
        """
        rows: dict[str, dict[str, object]] = {}
        for line in lines(file):
            match = self.line.fullmatch(line.text)
            if match is None:
                raise line.wrong(f"has a line that is no {self.noun.split()[1]}", self.syntax)
            types = {column: _TYPES[kind] for column, (kind, _) in COLUMNS[self.table].items()}
            figures = {column: types[column](cell) for column, cell in match.groupdict().items()}
            key = self.key.format_map(figures)
            if key in rows:
                raise line.wrong(f"has {self.noun} twice", f"one {key}")
            rows[key] = {**constant, **figures}
        if not rows:
            raise empty(file, self.syntax)
        return list(rows.values())


EXERCISER = ToolOutput(
    "exerciser",
    "an operation",
    "sample N write|read P pass(es) K KB S s R KB/s",
    re.compile(
        r"sample (?P<sample>\d+) (?P<operation>read|write) (?P<passes>\d+) pass(?:es)? "
        r"(?P<kb>\d+) KB (?P<seconds>\d+(?:\.\d+)?) s (?P<kb_per_s>\d+) KB/s"
    ),
    "{operation} in sample {sample}",
)
SCORE = ToolOutput(
    "score",
    "a period",
    "period N S s score K",
    re.compile(r"period (?P<period>\d+) (?P<seconds>\d+(?:\.\d+)?) s score (?P<score>\d+)"),
    "period {period}",
)
