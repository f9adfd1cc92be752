"""Output of the DASD exerciser: a line an operation, its rate in whole KB/s. The form is ours.

sample 1 write 1 pass 524288 KB 172.95 s 3031 KB/s
sample 1 read 2 passes 1048576 KB 122.91 s 8531 KB/s
"""

from __future__ import annotations

import re
from pathlib import Path

from .lines import Figures, empty, lines

FORM = "sample N write|read P pass(es) K KB S s R KB/s"
_LINE = re.compile(
    r"sample (?P<sample>\d+) (?P<operation>read|write) (?P<passes>\d+) pass(?:es)? "
    r"(?P<kb>\d+) KB (?P<seconds>\d+(?:\.\d+)?) s (?P<kb_per_s>\d+) KB/s"
)


def read_exerciser(file: Path) -> Figures:
    """Every operation: sample, operation, passes, KB, seconds, KB per second.

    Raises:
        CpmonError: the file cannot be read, a line is no operation, or an operation is there twice.
    """
    rows: dict[tuple[int, str], dict[str, object]] = {}
    for line in lines(file):
        match = _LINE.fullmatch(line.text)
        if match is None:
            raise line.wrong("has a line that is no operation", FORM)
        key = int(match["sample"]), match["operation"]
        if key in rows:
            raise line.wrong("has an operation twice", f"one {key[1]} in sample {key[0]}")
        rows[key] = {
            "sample": key[0],
            "operation": key[1],
            "passes": int(match["passes"]),
            "kb": int(match["kb"]),
            "seconds": float(match["seconds"]),
            "kb_per_s": int(match["kb_per_s"]),
        }
    if not rows:
        raise empty(file, FORM)
    return list(rows.values())
