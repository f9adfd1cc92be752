"""`explain` finds what was planted: the cause in the first lines, and no line where nothing is."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.generate import parse_scenario, write_run
from cpmon.ingest import ingest
from cpmon.reduce.explain import Explanation, Line, explain, render_explanation
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from tests.worlds.causes import KINDS, Cause, cause_world

FIRST, SEEDS = 3, 20
LEAST = 18
"""Worlds of SEEDS whose cause must stand in the FIRST lines."""
QUIET = 60
MOST_ALARMS = 3
"""Quiet worlds of QUIET that may have a line: one in twenty."""


def explained(cause: Cause, folder: Path) -> Explanation:
    """What is said of the span of a world."""
    store = Store(folder / "store", create=True)
    dump = write_run(parse_scenario(cause.text, "cause.toml"), "A", folder).dump
    ingest(dump, store)
    dump.unlink()
    with connect(store, reductions()) as con:
        return explain(con, since=cause.since, until=cause.until)


def is_found(cause: Cause, explanation: Explanation) -> bool:
    """Whether the first lines name the cause."""
    return any(
        name in text
        for line in explanation.lines[:FIRST]
        for text in _texts(line)
        for name in cause.objects
    )


def _texts(line: Line) -> list[str]:
    return [line.object, *(f"{each.noun} {each.object}" for each in line.contributors)]


def printed(explanation: Explanation) -> str:
    """The printed table, without its title and notes."""
    return render_explanation(explanation).decode().partition("\n\n")[2].partition("\n\n*")[0]


@pytest.mark.parametrize(
    "kind",
    ["guest added", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS)],
)
def test_a_cause_stands_in_the_first_lines(kind: str, tmp_path: Path):
    cause = cause_world(kind, 3)
    found = explained(cause, tmp_path)
    assert is_found(cause, found), printed(found)
    assert max(map(len, printed(found).splitlines())) <= 80
    assert found.worst and found.worst.value >= found.worst.mean


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_nine_of_ten_causes_stand_in_the_first_lines(kind: str, tmp_path: Path):
    missed = []
    for seed in range(SEEDS):
        cause = cause_world(kind, seed)
        found = explained(cause, tmp_path / str(seed))
        if not is_found(cause, found):
            missed.append(f"{seed}: {cause.objects}\n{printed(found)}")
    print(f"{kind}: {SEEDS - len(missed)} of {SEEDS}")
    assert len(missed) <= SEEDS - LEAST, "\n".join(missed)


@pytest.mark.long
def test_of_quiet_spans_one_in_twenty_has_a_line(tmp_path: Path):
    alarms = []
    for seed in range(QUIET):
        found = explained(cause_world("quiet", seed), tmp_path / str(seed))
        if found.lines:
            alarms.append(f"{seed}\n{printed(found)}")
    print(f"quiet: {len(alarms)} of {QUIET} with a line")
    assert len(alarms) <= MOST_ALARMS, "\n".join(alarms)
