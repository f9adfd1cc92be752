"""PRIVILEGED_OPERATIONS: rows by hand, and a generated dump whose counts the model has."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from cpmon.generate import dump_frames, load_scenario
from cpmon.generate.activity.dispatching import service_counts
from cpmon.generate.model.measurement import Measurement
from cpmon.generate.model.system import Model, Sample
from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.schemas.registry import layout
from cpmon.store import Store, connect
from tests.dumps import dump, fields, interval
from tests.reduce.catalogue import both, insert, minute

INTERVALS = 4
SVC, UNKNOWN, UNUSED = (2, "SVC"), (16, None), (7, "SIGP")


@pytest.fixture
def con(empty: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Two processors: SVC 60 and 120 times in a minute, then 30 and 0 in half a minute."""
    for n, seconds in enumerate((None, 60, 30)):
        key = {"system": "LAB", "dump": "d", "interval_end": minute(n), "seconds": seconds}
        insert(empty, "meta.interval", {k: key[k] for k in ("system", "interval_end", "seconds")})
        for cpu, (svc, other) in enumerate((((None, 60, 30), (None, 6, 3)), ((None, 120, 0),) * 2)):
            for (entry, code), counts in ((SVC, svc), (UNKNOWN, other), (UNUSED, (None, 0, 0))):
                row = {**key, "pfxcpuad": cpu, "entry": entry, "code": code}
                both(empty, "prcins_instruction", {**row, "instructions": counts[n]})
    return empty


def test_an_instruction_is_counted_on_all_processors(con: duckdb.DuckDBPyConnection):
    found = con.execute(
        "SELECT instruction, seconds, simulations, simulation_rate FROM instructions_by_time"
        " WHERE instruction = 'SVC' ORDER BY interval_end"
    ).fetchall()
    assert found == [("SVC", None, None, None), ("SVC", 60, 180, 3.0), ("SVC", 30, 30, 1.0)]


def test_over_the_span_the_most_frequent_is_first_and_unused_ones_are_left_out(
    con: duckdb.DuckDBPyConnection,
):
    lines = report(con, "PRIVOP", system="LAB").table.to_pylist()
    assert [(line["instruction"], line["simulations"]) for line in lines] == [
        ("SVC", 210),
        ("place 16", 129),
    ]
    assert lines[0]["simulation_rate"] == pytest.approx(210 / 90)


def test_without_the_counter_of_a_processor_nothing_is_said_of_all(con: duckdb.DuckDBPyConnection):
    con.execute(
        "UPDATE interval.prcins_instruction SET instructions = NULL"
        " WHERE pfxcpuad = 1 AND interval_end = ?",
        [minute(1)],
    )
    found = con.execute(
        "SELECT simulations FROM instructions_by_time"
        " WHERE instruction = 'SVC' AND interval_end = ?",
        [minute(1)],
    ).fetchall()
    assert found == [(None,)]


def test_an_instruction_that_was_first_used_on_a_later_day_has_no_row_before(
    con: duckdb.DuckDBPyConnection,
):
    later = {"system": "LAB", "dump": "d", "interval_end": minute(24 * 60), "pfxcpuad": 0}
    entry, code = UNUSED
    both(con, "prcins_instruction", {**later, "entry": entry, "code": code, "instructions": 7})
    found = con.execute(
        "SELECT DISTINCT instruction FROM instructions_by_time WHERE interval_end < ?", [minute(10)]
    ).fetchall()
    assert set(found) == {("SVC",), ("place 16",)}


def test_a_record_that_is_missing_and_a_counter_that_fell_leave_a_blank(tmp_path: Path):
    """Processor 1 has no record in the second minute, processor 0 counts anew in the fourth."""

    def record(at: int, cpu: int, svc: int) -> bytes:
        empty = fields("prcins", at, pfxcpuad=cpu)
        return empty[:32] + svc.to_bytes(4, "big") + empty[36:]

    sets = []
    for n, (first, second) in enumerate(((0, 0), (100, 10), (200, None), (300, 30), (5, 40))):
        told = [record(60 * n, 0, first)]
        told += [] if second is None else [record(60 * n, 1, second)]
        sets.append(interval(60 * n, *told))
    (tmp_path / "a.mon").write_bytes(dump(*sets))
    store = Store(tmp_path / "store", create=True)
    ingest(tmp_path / "a.mon", store)
    found = connect(store, reductions()).execute(
        "SELECT simulations FROM instructions_by_time ORDER BY interval_end"
    )
    assert found.fetchall() == [(None,), (110,), (None,), (None,), (None,)]


def test_a_generated_system_simulates_what_its_model_does(tmp_path: Path):
    scenario = load_scenario("small-lab")
    file = tmp_path / "LAB.mon"
    file.write_bytes(b"".join(dump_frames(scenario, "LAB", intervals=INTERVALS)))
    store = Store(tmp_path / "store", create=True)
    ingest(file, store)
    model = Model(Measurement(scenario, "LAB", INTERVALS, None))
    samples = [Sample(model, number) for number in range(1, INTERVALS + 1)]
    counts = np.sum([service_counts(sample)[1] for sample in samples], axis=(0, 1))
    codes = layout("prcins").groups[0].codes
    want = {codes[n] or f"place {n}": int(count) for n, count in enumerate(counts) if count}
    lines = report(connect(store, reductions()), "PRIVILEGED_OPERATIONS").table.to_pylist()
    assert {line["instruction"]: line["simulations"] for line in lines} == want
    assert len(want) > 20
