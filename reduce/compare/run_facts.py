"""What is known of runs that are compared: facts, totals, and the intervals of the steady state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb
import numpy as np

from ...schemas import CpmonError
from ...schemas.lookup import unknown
from ..metrics import compared_metrics
from .estimate import Array

ATTRIBUTES = ("cp_level", "users", "processors")


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run: when and on what it was measured, and its columns of run_summary.

    `since` and `until` bound the steady state, UTC; `seconds` is its measured part.
    """

    run_id: str
    system: str
    since: datetime
    until: datetime
    intervals: int
    seconds: float | None
    attributes: Mapping[str, str]
    values: Mapping[str, float | None]


def base_and_runs(
    con: duckdb.DuckDBPyConnection, runs: Sequence[str], base: str | None
) -> tuple[str, ...]:
    """The base run, then the others.

    Args:
        base: None for the one that all of the runs name as theirs.

    Raises:
        CpmonError: a run is not known, named twice, or there is no one base run.
    """
    rows = con.execute("SELECT run_id, base_run_id FROM meta.run ORDER BY run_id").fetchall()
    known = {str(run): named for run, named in rows}
    if not runs:
        raise CpmonError("no run is named to compare", remedy="name one or more with --run")
    for run in filter(None, (base, *runs)):
        if run not in known:
            raise unknown("run", run, known)
    bases = {base} if base else {known[run] for run in runs if known[run]}
    if len(bases) != 1:
        raise CpmonError(
            "the runs do not name one base run",
            expected="one run to compare with",
            found=", ".join(sorted(map(str, bases))) or "none",
            remedy="name it with --base",
        )
    (chosen,) = bases
    wanted = (str(chosen), *runs)
    if chosen not in known:
        raise unknown("base run", str(chosen), known)
    if len(set(wanted)) < len(wanted):
        raise CpmonError(
            "a run would be compared with itself",
            found=f"base run {wanted[0]}, runs {', '.join(runs)}",
            remedy="name every run once, and another one with --base",
        )
    return wanted


def read_facts(con: duckdb.DuckDBPyConnection, wanted: Sequence[str]) -> dict[str, RunFacts]:
    """Run -> what is known of it; only those that have a row in run_summary."""
    marks = ", ".join("?" for _ in wanted)
    measures = [metric.name for metric in compared_metrics()]
    rows = con.execute(
        "SELECT r.run_id, r.system, r.steady_since, r.steady_until, s.intervals, s.seconds, "
        f"{', '.join(f'r.{name}' for name in ATTRIBUTES)}, "
        f"{', '.join(f's.{name}' for name in measures)} "
        f"FROM meta.run AS r JOIN run_summary AS s USING (run_id) WHERE r.run_id IN ({marks})",
        list(wanted),
    ).fetchall()
    return {str(row[0]): _fact(row, measures) for row in rows}


def _fact(row: Sequence[Any], measures: Sequence[str]) -> RunFacts:
    attributes, values = row[6 : 6 + len(ATTRIBUTES)], row[6 + len(ATTRIBUTES) :]
    run, system, since, until, intervals, seconds = row[:6]
    said = _texts(zip(ATTRIBUTES, attributes, strict=True))
    measured = dict(zip(measures, values, strict=True))
    return RunFacts(run, system, since, until, intervals, seconds, said, measured)


def _texts(pairs: Iterable[tuple[str, Any]]) -> dict[str, str]:
    return {key: "" if value is None else str(value) for key, value in pairs}


def read_samples(
    con: duckdb.DuckDBPyConnection, wanted: Sequence[str]
) -> dict[str, dict[str, Array]]:
    """Run -> column of _run_interval -> (intervals of its steady state,), NaN where NULL."""
    names = dict.fromkeys(n for m in compared_metrics() for n in (m.sampled, m.denominator) if n)
    casts = ", ".join(f"CAST({name} AS DOUBLE) AS {name}" for name in names)
    found = con.execute(
        f"SELECT run_id, {casts} FROM _run_interval WHERE is_steady "
        f"AND run_id IN ({', '.join('?' for _ in wanted)}) ORDER BY run_id, interval_end",
        list(wanted),
    ).fetchnumpy()
    values = {name: np.ma.filled(found[name], np.nan) for name in names}
    return {
        run: {name: column[found["run_id"] == run] for name, column in values.items()}
        for run in wanted
    }
