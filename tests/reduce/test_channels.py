"""CHANNELS: rows worked out by hand, and a generated dump whose figures the model has."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from cpmon.generate import dump_frames, load_scenario
from cpmon.generate.activity.usage import path_samples
from cpmon.generate.model.measurement import Measurement
from cpmon.generate.model.system import Model, Sample
from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.store import Store, connect
from tests.reduce.catalogue import both, insert, minute

INTERVALS = 4


@pytest.fixture
def con(empty: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Path 1A is busy in 15 of 60 samples, then in 30 of 30; path 2B never."""
    insert(empty, "monitor.mtrprp", {"system": "LAB", "tod": minute(0), "pfxidmdl": "2064"})
    for n, seconds, samples, busy in ((0, None, None, None), (1, 60, 60, 15), (2, 30, 30, 30)):
        key = {"system": "LAB", "dump": "d", "interval_end": minute(n), "seconds": seconds}
        insert(empty, "meta.interval", {k: key[k] for k in ("system", "interval_end", "seconds")})
        both(empty, "sytcpc", {**key, "hfcount": samples})
        for path, found in ((0x1A, busy), (0x2B, n and 0)):
            both(empty, "sytcpc_hfchbusy", {**key, "entry": path, "hfchbusy": found})
    return empty


@pytest.mark.slow
def test_busy_is_of_the_samples_of_the_interval(con: duckdb.DuckDBPyConnection):
    rows = con.execute(
        "SELECT channel, seconds, samples, busy_samples, busy_share FROM channels_by_time"
        " ORDER BY interval_end"
    ).fetchall()
    assert rows == [
        ("1A", None, None, None, None),
        ("1A", 60, 60, 15, 0.25),
        ("1A", 30, 30, 30, 1.0),
    ]


def busy(con: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    return con.execute("SELECT busy_samples FROM channels_by_time ORDER BY interval_end").fetchall()


@pytest.mark.parametrize("machine", ["2084", "2094", "3906", "9999", None])
def test_samples_of_a_later_machine_or_of_an_unknown_one_are_not_printed(
    con: duckdb.DuckDBPyConnection, machine: str | None
):
    con.execute("UPDATE monitor.mtrprp SET pfxidmdl = ?", [machine])
    assert busy(con) == [(None,), (None,), (None,)]
    con.execute("DELETE FROM monitor.mtrprp")
    assert busy(con) == [(None,), (None,), (None,)]


def test_from_a_new_machine_on_samples_are_not_printed(con: duckdb.DuckDBPyConnection):
    moved = {"system": "LAB", "tod": minute(1.5), "pfxcpuad": 0, "pfxidmdl": "2084"}
    insert(con, "monitor.mtrprp", moved)
    assert busy(con) == [(None,), (15,), (None,)]


def test_over_the_span_samples_are_added_up(con: duckdb.DuckDBPyConnection):
    (line,) = report(con, "FCX161", system="LAB").table.to_pylist()
    assert line == {"channel": "1A", "seconds": 90, "samples": 90, "busy_share": 0.5}


def test_a_path_that_was_first_used_on_a_later_day_has_no_row_before(
    con: duckdb.DuckDBPyConnection,
):
    later = {"system": "LAB", "dump": "d", "interval_end": minute(24 * 60)}
    both(con, "sytcpc_hfchbusy", {**later, "entry": 0x2B, "hfchbusy": 7})
    rows = con.execute(
        "SELECT channel FROM channels_by_time WHERE interval_end < ?", [minute(10)]
    ).fetchall()
    assert {channel for (channel,) in rows} == {"1A"}


def test_paths_of_a_generated_system_are_as_busy_as_its_model(tmp_path: Path):
    scenario = load_scenario("small-lab")
    dump = tmp_path / "LAB.mon"
    dump.write_bytes(b"".join(dump_frames(scenario, "LAB", intervals=INTERVALS)))
    store = Store(tmp_path / "store", create=True)
    ingest(dump, store)
    model = Model(Measurement(scenario, "LAB", INTERVALS, None))
    samples = [Sample(model, number) for number in range(1, INTERVALS + 1)]
    busy = sum(path_samples(sample)[0] for sample in samples)
    taken = sum(sample.high_frequency_samples for sample in samples)
    want = {f"{path:02X}": found / taken for path, found in enumerate(busy) if found}
    lines = report(connect(store, reductions()), "CHANNELS").table.to_pylist()
    assert {line["channel"]: line["busy_share"] for line in lines} == pytest.approx(want)
    assert len(want) == 4
