"""Companions: figures of a run that do not come from the monitor, each from its own text form.

Throughput (t) is what the load generator counted, hardware instrumentation (h) what the machine
measured itself, QUERY TIME (qt) and INDICATE USER (i) what CP answered on a console; the exerciser,
thrasher and burner are workload programs that print what they did. The text forms stand in
`docs/companions.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...columns import COLUMNS
from .indicate_user import read_indicate_user
from .interval_csv import read_intervals
from .lines import Figures
from .query_time import read_query_time
from .tool_output import EXERCISER, SCORE

__all__ = ["COMPANIONS", "TABLES", "Companion", "Figures"]


@dataclass(frozen=True)
class Companion:
    """A kind of companion: how its text is read, and the table of `meta` that its rows are in."""

    table: str
    read: Callable[[Path], Figures]


COMPANIONS = {
    "throughput": Companion("throughput", partial(read_intervals, table="throughput")),
    "hardware": Companion("hardware", partial(read_intervals, table="hardware")),
    "query_time": Companion("query_time", read_query_time),
    "indicate_user": Companion("indicate_user", read_indicate_user),
    "exerciser": Companion("exerciser", EXERCISER.read),
    "thrasher": Companion("score", partial(SCORE.read, tool="thrasher")),
    "burner": Companion("score", partial(SCORE.read, tool="burner")),
}
"""Companions by the name they have in a run file."""

TABLES = {companion.table: COLUMNS[companion.table] for companion in COMPANIONS.values()}
"""Columns by table of schema `meta`. A run is stored with a list of rows for each."""
