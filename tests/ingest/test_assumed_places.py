"""A dump with a field where its scenario assumes it: read there and marked; no other dump is."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from cpmon.cli.main import Status, run
from cpmon.core.errors import CpmonError
from cpmon.generate import load_scenario, parse_scenario, write_run
from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.reduce.reports.report_text import render_report
from cpmon.schemas import layout
from cpmon.schemas.loader import COLUMNS, read, to_csv
from cpmon.schemas.registry import home, use
from cpmon.store import Store, connect
from cpmon.store.format.compaction import compact, months
from cpmon.store.sql.database import database
from cpmon.store.sql.relations import files_of, is_drifted, parquet
from tests.generate.scenario.test_scenario import SMALL

PLACE = {"record": "useact", "field": "vmdctpvg", "offset": 92, "length": 4}
ASSUMED = "[[assumed]]\n" + "".join(f"{key} = {value!r}\n" for key, value in PLACE.items())
ABOVE = "SELECT sum(vmdctpvg), count(*) FROM monitor.useact WHERE system = ?"


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Short runs of the published scenario, each with its run file."""
    folder = tmp_path_factory.mktemp("assumed")
    for name in ("APN510", "VSE510", "APN520", "VSE520"):
        write_run(load_scenario("cp-regression"), name, folder, intervals=2)
    return folder


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A dump of a system of which nothing is assumed."""
    return write_run(parse_scenario(SMALL, "small.toml"), "A", tmp_path, intervals=2).dump


def alone(dump: Path, folder: Path) -> Path:
    """A copy of a dump without its run file."""
    folder.mkdir()
    return Path(shutil.copy(dump, folder))


def answer(con: duckdb.DuckDBPyConnection, sql: str, *values: object) -> list[tuple[object, ...]]:
    return con.execute(sql, list(values)).fetchall()


def test_only_the_dump_that_assumes_a_place_is_read_there(store: Store, dumps: Path, lab: Path):
    ingest(lab, store)
    with connect(store, ()) as con:
        assert answer(con, ABOVE, "LAB") == [(None, 9)]
    landed = ingest(dumps / "APN510.mon", store)
    with connect(store, ()) as con:
        assert answer(con, ABOVE, "LAB") == [(None, 9)]
        ((pages, rows),) = answer(con, ABOVE, "REGRESS")
        assert (pages, rows) == (pytest.approx(3 * 215_000, rel=0.01), 3 * 12)
        same = "SELECT count(*) FROM interval.useact WHERE vmdctpvg > 0"
        assert answer(con, same) == [(rows,)]
        place = {**PLACE, "source": "scenario cp-regression"}
        listed = "SELECT dump, assumed FROM meta.dump ORDER BY assumed IS NULL"
        assert answer(con, listed)[0] == (landed.dump, [place])
        assert answer(con, listed)[1][1] is None


@pytest.mark.slow
def test_wherever_the_field_is_shown_it_says_that_its_place_may_be_assumed(
    store: Store, dumps: Path, lab: Path
):
    ingest(lab, store)
    ingest(dumps / "APN510.mon", store)
    with connect(store, reductions()) as con:
        said = answer(
            con,
            "SELECT comment FROM duckdb_columns() WHERE column_name = 'vmdctpvg'"
            " AND table_name = 'useact'",
        )
        assert len(said) == 2
        assert all("place assumed by the scenario of the dump" in str(text) for (text,) in said)
        row = "SELECT \"offset\", provenance FROM meta.dictionary WHERE table_name = 'useact' AND"
        ((offset, provenance),) = answer(con, f"{row} name = 'vmdctpvg'")
        assert offset is None
        assert "assumed by the scenario of a dump" in str(provenance)
        note = "Resid >2G: from USEACT_VMDCTPVG at 92, a place that is assumed by scenario"
        shown = report(con, "USER_PAGING", system="REGRESS")
        assert sum(text.startswith(note) for text in shown.notes) == 1
        assert "assumed" in render_report(shown, "text").decode()
        assert not any("assumed" in note for note in report(con, "USER_PAGING", system="LAB").notes)
        others = report(con, "SYSTEM_SUMMARY2_BY_TIME", system="REGRESS")
        assert not any("assumed" in note for note in others.notes)


def test_without_its_run_file_a_dump_is_read_as_a_real_one(
    store: Store, dumps: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    bare = alone(dumps / "APN510.mon", tmp_path / "bare")
    ingest(bare, store)
    with connect(store, ()) as con:
        assert answer(con, ABOVE, "REGRESS") == [(None, 36)]
    again = ["ingest", str(dumps / "APN510.mon"), "--store", str(store.root)]
    assert run(again) == Status.WARNINGS
    assert "USEACT_VMDCTPVG is not read where the run file says" in capfd.readouterr().err
    other = ["ingest", str(dumps / "APN510.mon"), "--store", str(tmp_path / "other")]
    assert run(other) == Status.DONE
    assert "assumed by scenario cp-regression" in capfd.readouterr().out


@pytest.mark.slow
def test_a_merged_month_holds_both_kinds(store: Store, dumps: Path, tmp_path: Path):
    assumed = ingest(dumps / "APN510.mon", store).dump
    plain = ingest(alone(dumps / "VSE510.mon", tmp_path / "bare"), store).dump
    october = [
        ingest(alone(dumps / f"{name}.mon", tmp_path / name), store).dump
        for name in ("APN520", "VSE520")
    ]
    november = SMALL.replace('"LAB"', '"REGRESS"').replace("2003-03-03", "2005-11-03")
    ingest(write_run(parse_scenario(november, "late.toml"), "A", tmp_path, intervals=1).dump, store)
    assert compact(store, months(store)).months == 2
    counts = "SELECT dump, count(vmdctpvg), count(*) FROM {} GROUP BY dump"
    with connect(store, ()) as con:
        found = {dump: n for dump, *n in answer(con, counts.format("monitor.useact"))}
    assert [found[name] for name in (assumed, plain, *october)] == [
        [36, 36],
        [0, 3],
        [0, 36],
        [0, 3],
    ]
    known = {dump.dump: dump for dump in store.dumps()}
    with database(store) as con:
        for some in ([plain], [plain, october[0]], october, [assumed], [assumed, *october]):
            files = files_of(store, "useact", [known[name] for name in some])
            rows = parquet(store, "useact", files, is_drifted(store.dumps()))
            assert {name: n for name, *n in answer(con, counts.format(rows))} == {
                name: found[name] for name in some
            }


MISTAKES = {
    "another field stands there": ("offset = 92", "offset = 68", "is not reserved"),
    "behind the record": ("offset = 92", "offset = 400", "is not reserved"),
    "longer than what is reserved": ("length = 4", "length = 8", "is not reserved"),
    "a field that has its place": ("'vmdctpvg'", "'vmdctpvr'", "no field to assume"),
    "a counter": ("'vmdctpvg'", "'vmdttime_mt1'", "no field to assume"),
    "no record": ("'useact'", "'useaxt'", "no field to assume"),
    "no bytes": ("length = 4", "length = 0", "assumed[0].length"),
}


@pytest.mark.parametrize(("old", "new", "problem"), MISTAKES.values(), ids=MISTAKES)
def test_a_place_that_cannot_be_assumed_is_refused(
    store: Store, lab: Path, old: str, new: str, problem: str
):
    wrong = ASSUMED.replace(old, new)
    with pytest.raises(CpmonError, match="assumed") as refused:
        parse_scenario(f"{SMALL}\n{wrong}", "small.toml")
    assert problem in str(refused.value)
    assert "small.toml: assumed[0]" in (refused.value.place or "")
    beside = lab.with_name("A.run.toml")
    beside.write_text(f"{beside.read_text()}\n{wrong}")
    with pytest.raises(CpmonError) as refused:
        ingest(lab, store)
    assert problem in str(refused.value)
    assert str(beside) in (refused.value.place or "")
    assert not store.dumps()


@pytest.mark.usefixtures("shipped_again")
def test_where_a_page_places_the_field_nothing_is_assumed(store: Store, tmp_path: Path):
    shipped = read(home())
    rows = [*shipped.fields["useact"], dict.fromkeys(COLUMNS, "")]
    rows[-1] |= {"offset": "196", "length": "4", "type": "unsigned", "name": "vmdctpvg"}
    rows[-1] |= {"role": "gauge", "unit": "pages", "provenance": "published"}
    (tmp_path / "own" / "d04_user").mkdir(parents=True)
    (tmp_path / "own" / "d04_user" / "useact.csv").write_text(to_csv(rows, COLUMNS))
    use(tmp_path / "own")
    assert layout("useact").field("vmdctpvg").offset == 196
    written = write_run(load_scenario("cp-regression"), "APT9280", tmp_path, intervals=2)
    assert "assumed" not in written.run_file.read_text()
    assert not ingest(written.dump, store).about.get("assumed")
    with connect(store, ()) as con:
        ((pages, rows_),) = answer(con, ABOVE, "REGRESS")
    assert (pages, rows_) == (pytest.approx(3 * 377_825, rel=0.05), 36)
