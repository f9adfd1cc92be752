from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cpmon.config import Settings
from cpmon.core.errors import CpmonError
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Run, Store, connect, save_run
from cpmon.store.measured.runs import part_of_run
from cpmon.store.results.reduced import kept
from tests.dumps import dump, fields, interval
from tests.scenarios import CONFIG

DATA = dump(*(interval(s, CONFIG, fields("sytrsp", s, plsmvb2g=s)) for s in (60, 120, 180)))
RUN = """
run_id = "R1"
base_run_id = "R0"
since = 2001-12-18T10:01:30Z
[attributes]
cp_level = "4.2.0"
users = 600
[companions]
throughput = "t.csv"
hardware = "h.csv"
"""
THROUGHPUT = """interval_end,seconds,transactions
2001-12-18T10:02:00.000001Z,60.0,1200
2001-12-18T10:03:00Z,60,1300
"""
HARDWARE = "interval_end,seconds,busy_s,emulation_s\n2001-12-18T10:02:00Z,60,30.5,20.25\n"


@pytest.fixture
def dump_file(tmp_path: Path) -> Path:
    (tmp_path / "a.mon").write_bytes(DATA)
    (tmp_path / "a.run.toml").write_text(RUN)
    (tmp_path / "t.csv").write_text(THROUGHPUT)
    (tmp_path / "h.csv").write_text(HARDWARE)
    return tmp_path / "a.mon"


def ask(store: Store, sql: str) -> list[tuple[Any, ...]]:
    with connect(store, reductions()) as connection:
        return connection.sql(sql).fetchall()


def test_a_run_file_beside_a_dump_becomes_a_run_with_its_companions(store: Store, dump_file: Path):
    ingest(dump_file, store)

    assert ask(
        store,
        "SELECT run_id, system, since::VARCHAR, until::VARCHAR, base_run_id, cp_level, users, "
        "processors, attributes['users'] FROM meta.run",
    ) == [
        (
            "R1",
            "VMTEST",
            "2001-12-18 10:01:30",
            "2001-12-18 10:03:00",
            "R0",
            "4.2.0",
            600,
            None,
            "600",
        )
    ]
    assert ask(store, "SELECT run_id, epoch_us(interval_end) % 1000000, transactions "
                      "FROM meta.throughput ORDER BY ALL") == [
        ("R1", 0, 1300.0),
        ("R1", 1, 1200.0),
    ]  # fmt: skip
    assert ask(store, "SELECT busy_s, emulation_s FROM meta.hardware") == [(30.5, 20.25)]


def test_without_times_a_run_begins_at_the_first_interval_end(store: Store, dump_file: Path):
    dump_file.with_name("a.run.toml").write_text('run_id = "R1"')
    ingest(dump_file, store)

    times = ask(store, "SELECT since::VARCHAR, until::VARCHAR FROM meta.run")
    assert times == [("2001-12-18 10:01:00", "2001-12-18 10:03:00")]


def test_a_changed_run_file_is_taken_though_the_dump_landed_before(store: Store, dump_file: Path):
    first = ingest(dump_file, store)
    same = ingest(dump_file, store)
    dump_file.with_name("a.run.toml").write_text(RUN.replace("600", "601"))
    changed = ingest(dump_file, store)

    assert [r.already for r in (first, same, changed)] == [False, True, True]
    assert [r.run_changed for r in (first, same, changed)] == [True, False, True]
    assert ask(store, "SELECT users FROM meta.run") == [(601,)]


def test_a_steady_state_lands_and_is_the_whole_run_where_none_was_named(
    store: Store, dump_file: Path
):
    ask_steady = "SELECT steady_since::VARCHAR, steady_until::VARCHAR FROM meta.run"
    ingest(dump_file, store)
    assert ask(store, ask_steady) == [("2001-12-18 10:01:30", "2001-12-18 10:03:00")]

    times = "steady_since = 2001-12-18T10:02:00Z\nsteady_until = 2001-12-18T10:02:30Z\n[attributes]"
    dump_file.with_name("a.run.toml").write_text(RUN.replace("[attributes]", times))
    ingest(dump_file, store)
    assert ask(store, ask_steady) == [("2001-12-18 10:02:00", "2001-12-18 10:02:30")]


@pytest.mark.slow
def test_a_part_of_a_run_has_its_times_and_the_figures_that_cover_it(store: Store, dump_file: Path):
    ingest(dump_file, store)
    reduce(store, ["run_summary"], Settings())
    since, until = (datetime(2001, 12, 18, 10, 2, second, tzinfo=UTC) for second in (1, 58))
    for bounds, seen in (
        ((None, None), ("10:01:30", "10:03:00", 2, 0, 2)),
        ((None, since), ("10:01:30", "10:02:01", 1, 0, 1)),
        ((since, None), ("10:02:01", "10:03:00", 1, 0, 1)),
        ((since, until), ("10:02:01", "10:02:58", 1, 0, 0)),
    ):
        with connect(store, reductions()) as connection:
            connection.measure([part_of_run(store, "R1", *bounds)])
            (row,) = connection.execute(
                "SELECT strftime(steady_since, '%H:%M:%S'), strftime(steady_until, '%H:%M:%S'),"
                " (SELECT count(*) FROM meta.throughput), (SELECT count(*) FROM meta.hardware),"
                " (SELECT intervals FROM run_summary) FROM meta.run"
            ).fetchall()
        assert row == seen
    with pytest.raises(CpmonError, match="has no steady state in the span"):
        part_of_run(store, "R1", datetime(2001, 12, 19, tzinfo=UTC), None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('run_id = "R1"\nsteady_since = 2001-12-18T09:00:00Z', "a steady state outside of its run"),
        ('run_id = "R1"\nsteady_until = 2001-12-18T10:30:00Z', "a steady state outside of its run"),
        ('run_id = "R1"\nsteady_since = "late"', "steady_since has a wrong value"),
        ("run_id = ", "cannot be read"),
        ('run = "R1"', "no key run"),
        ("[attributes]", "run_id is missing"),
        ('run_id = "R1"\nsince = "soon"', "since has a wrong value"),
        ('run_id = "R1"\nattributes = 5', "attributes has a wrong value"),
        ('run_id = "R1"\ncompanions = ["t.csv"]', "companions has a wrong value"),
        ('run_id = "R1"\n[companions]\ntpns = "t.csv"', "no key tpns"),
        ('run_id = "R1"\n[companions]\nthroughput = "no.csv"', "cannot be read"),
        ('run_id = "R1"\n[companions]\nhardware = "t.csv"', "lacks columns"),
    ],
)
def test_a_wrong_run_file_is_told_and_the_dump_lands(
    text: str, said: str, store: Store, dump_file: Path
):
    dump_file.with_name("a.run.toml").write_text(text)

    with pytest.raises(CpmonError, match=said) as caught:
        ingest(dump_file, store)
    assert str(dump_file.parent) in (caught.value.place or "")
    assert len(list(store.dumps())) == 1


def test_a_mistake_in_a_run_file_is_located_by_its_key(store: Store, dump_file: Path):
    file = dump_file.with_name("a.run.toml")
    file.write_text(RUN.replace("throughput =", "througput ="))

    with pytest.raises(CpmonError) as caught:
        ingest(dump_file, store)
    assert caught.value.place == f"{file}: companions.througput"
    assert caught.value.remedy == "did you mean throughput?"


def test_a_number_is_a_name_of_a_run(store: Store, dump_file: Path):
    dump_file.with_name("a.run.toml").write_text("run_id = 2600\nbase_run_id = 2599")
    ingest(dump_file, store)

    assert ask(store, "SELECT run_id, base_run_id FROM meta.run") == [("2600", "2599")]


@pytest.mark.parametrize("name", ["../../evil", "a/b", ".", "..", "it's", "x" * 60, "R 1"])
def test_any_text_is_a_safe_name_of_a_run(name: str, store: Store):
    moment = datetime(2001, 12, 18, tzinfo=UTC)
    save_run(store, Run(name, "VM'TEST", moment, moment))

    assert ask(store, "SELECT run_id, system FROM meta.run") == [(name, "VM'TEST")]
    assert [f.parent for f in store.root.rglob("*.json") if f.name != "store.json"] == [store.runs]


@pytest.mark.parametrize("name", ["../x", "VM TEST", "a=b", "100%", "O'HARA"])
def test_any_text_is_a_safe_name_of_a_system(name: str, store: Store, dump_file: Path):
    ingest(dump_file, store, system=name)

    assert ask(store, "SELECT DISTINCT system FROM monitor.sytrsp") == [(name,)]
    assert all(store.records in f.parents for f in store.root.rglob("sytrsp.parquet"))


@pytest.mark.slow
def test_a_kept_result_is_read_until_something_it_rests_on_changes(store: Store, dump_file: Path):
    ingest(dump_file, store)
    views = reductions()
    (done,) = reduce(store, ["run_summary"], Settings())

    assert done.rows == 1
    assert set(kept(store, views)) == {"run_summary"}
    assert ask(store, "SELECT run_id, intervals FROM run_summary") == [("R1", 2)]
    dump_file.with_name("a.run.toml").write_text(RUN.replace("R1", "R2"))
    ingest(dump_file, store)

    assert kept(store, views) == {}
    assert ask(store, "SELECT run_id FROM run_summary ORDER BY ALL") == [("R1",), ("R2",)]
