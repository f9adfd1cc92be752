"""Reports of dumps of several releases, from bytes: what each has, and what it no longer has."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import ReportResult, report
from cpmon.reduce.rules.rule import Purpose, load_rules
from cpmon.reduce.rules.validation import count
from cpmon.schemas import layout
from cpmon.schemas.loader import COLUMNS
from cpmon.schemas.registry import reload, use
from cpmon.store import Store, connect
from cpmon.store.sql.scope import Scope
from tests.dumps import dump, fields, interval, record, tod

TIMER = 0x7FFF_FFFF_0000_0000
SECOND = 4_096_000_000


def land(folder: Path, level: str, *samples: list[bytes]) -> duckdb.DuckDBPyConnection:
    """A catalogue over a dump of a CP level, `samples` taken every 60 seconds."""
    config = fields("mtrsys", systmid="VMTEST", hcpcpeid=level)
    first, *others = (interval(60 * n, *rows) for n, rows in enumerate(samples, 1))
    file = folder / "d.mon"
    file.write_bytes(dump(interval(0, config), first, *others))
    store = Store(folder / "store", create=True)
    ingest(file, store)
    return connect(store, reductions())


def processor(second: float, **counters: int) -> bytes:
    """SYTPRP of processor 0, which ran half of the time under SIE since second 0."""
    run = {"pfxprbtm": TIMER - round(30 * second) * SECOND, "pfxtmsys": TIMER}
    busy = {"pfxutime": round(30 * second) * SECOND, "pfxtotwt": round(30 * second) * SECOND}
    return fields("sytprp", second, **run, **busy, **counters)


def test_a_disk_that_is_active_alone_is_busy(tmp_path: Path) -> None:
    counts = ("scgssch", "scgcount", "scmfptim", "scmddtim", "scmcntim", "scmdatim")
    con = land(
        tmp_path,
        "05030000",
        [processor(60), fields("ioddev", 60, rdevdev=0x400, rdevser="USER01")],
        [
            processor(120),
            fields(
                "ioddev",
                120,
                rdevdev=0x400,
                rdevser="USER01",
                **dict(zip(counts, (600, 300, 1500, 6000, 3000, 750), strict=True)),
            ),
        ],
    )
    # 1500 + 6000 + 3000 + 750 units of 0.128 ms by 300 timed I/Os are 4.8 ms, of 600 I/Os 2.88 s.
    (line,) = report(con, "DASD_BY_ACTIVITY").table.to_pylist()
    assert line["service_ms"] == pytest.approx(4.8)
    assert line["busy_util"] == pytest.approx(2.88 / 60)


@pytest.fixture
def page_of_7_3(tmp_path: Path) -> Iterator[None]:
    """SYTPRP with the counters that stand behind those of 5.3.0 at an invented place."""
    own = tmp_path / "own" / "d00_system"
    own.mkdir(parents=True)
    names = ("plsfppfsuccess", "pfxfstpx", "pfxfstxc", "pfxfstsg", "pfxfst44", "plswrucp")
    shipped = Path(__file__).parents[2] / "schemas" / "d00_system" / "sytprp.csv"
    rows = [
        f"{108 + 4 * n},4,,unsigned,{name},,,counter,count,7.3.0,,published,"
        for n, name in enumerate(names)
    ]
    text = shipped.read_text()
    assert text.startswith(",".join(COLUMNS))
    (own / "sytprp.csv").write_text(text + "\n".join(rows) + "\n")
    use(tmp_path / "own")
    yield
    use(None)
    reload()


@pytest.mark.usefixtures("page_of_7_3", "shipped_again")
def test_an_imported_page_gives_the_entries_into_sie_and_the_fast_path(tmp_path: Path) -> None:
    fast = {"pfxruncp": 600, "calfstph": 900, "pfxfstpx": 60, "pfxfst44": 300, "plswrucp": 120}
    con = land(tmp_path, "07030000", [processor(60)], [processor(120, **fast)])
    (line,) = report(con, "PROCESSORS_BY_TIME").table.to_pylist()
    assert line["sie_rate"] == (600 + 60 + 300 + 120) / 60
    assert rates(report(con, "DIAGNOSE_RATES")) == {"44 fast": 5.0}


def test_without_the_page_the_sie_rate_is_of_one_counter_and_says_so(tmp_path: Path) -> None:
    assert "pfxfst44" not in {field.name for field in layout("sytprp").columns}
    fast = {"pfxruncp": 600, "calfstph": 900}
    con = land(tmp_path, "07030000", [processor(60)], [processor(120, **fast)])
    found = report(con, "PROCESSORS_BY_TIME")
    assert found.table.to_pylist()[0]["sie_rate"] == 10
    assert any("what records lack is left out" in note for note in found.notes)
    assert rates(report(con, "DIAGNOSE_RATES")) == {"44 fast": 15.0}


def rates(found: ReportResult) -> dict[str, Any]:
    return {line["code"]: line["diagnose_rate"] for line in found.table.to_pylist()}


def partition(second: float, *processors: int) -> bytes:
    """SYTCUP of some logical processors of partition PROD, each dispatched for 70 % of the time."""
    head = {"lcupname": "PROD", "lcuppnum": 1, "lcupcpct": len(processors), "calcpuof": 64}
    busy = round(0.7e6 * second)
    entries = b"".join(
        struct.pack(">HHBxQQ16s2x", cpu, 100, 0, busy, busy, "CP".ljust(16).encode("cp037"))
        for cpu in processors
    )
    row = fields("sytcup", second, **head, calcpuln=40, lcutctod=tod(second), length=64)
    return record(0, 16, row[20:] + entries, second)


def test_processors_of_a_partition_that_two_records_have_are_not_valid(tmp_path: Path) -> None:
    """tests/generate/test_smt.py has the partition that further records continue."""
    samples = [[processor(s), partition(s, 0, 1), partition(s, 0, 1)] for s in (60, 120)]
    con = land(tmp_path, "07030000", *samples)
    landed = Store(tmp_path / "store").tables()
    rules = {rule.id: rule for rule in load_rules(Purpose.VALIDATION, landed=landed)}
    (found,) = count(con, [rules["sytcup_cpu.unique"]], Scope(), landed)
    assert found.bad


def test_what_cp_no_longer_has_is_blank_with_its_reason(tmp_path: Path) -> None:
    def users(second: float) -> list[bytes]:
        pages = {"vmdctpvr": 100, "calctpgs": 200, "calcppgr": 10 * round(second)}
        cache = {"hcpmdcia": 5 * round(second), "tcmrdct": 10 * round(second)}
        return [
            processor(second),
            fields("useact", second, vmduser="ANNA", **pages),
            fields("sytxsg", second, **cache),
            fields("sytrsg", second, tcmmain=1000),
        ]

    con = land(tmp_path, "07030000", users(60), users(120))
    cache = report(con, "MINIDISK_CACHE_BY_TIME")
    (line,) = cache.table.to_pylist()
    assert (line["avoided_rate"], line["read_rate"], line["real_pages"]) == (5, 10, 1000)
    assert (line["xstor_ideal_pages"], line["xstor_steal_rate"]) == (None, None)
    gone = "not known after CP 6.3.0, the last level that records it."
    assert f"Xstor ideal, Xstor steals: {gone}" in cache.notes
    paging = report(con, "USER_PAGING")
    (line,) = paging.table.to_pylist()
    assert (line["page_read_rate"], line["dasd_pages"]) == (10, 200)
    for name in ("xstor_in_rate", "xstor_out_rate", "migration_rate", "xstor_pages"):
        assert line[name] is None, name
    assert f"Xstor in, Xstor out, Migr rate, Xstor: {gone}" in paging.notes
    summary = report(con, "SYSTEM_SUMMARY2_BY_TIME")
    assert f"Xstor pages/ user: {gone}" in summary.notes


@pytest.mark.parametrize("level", ["06030000", "06040000"])
def test_the_last_level_with_expanded_storage_has_it(tmp_path: Path, level: str) -> None:
    users = [[processor(s), fields("useact", s, vmduser="ANNA", vmdctxbk=7)] for s in (60, 120)]
    con = land(tmp_path, level, *users)
    (line,) = report(con, "USER_PAGING").table.to_pylist()
    assert line["xstor_pages"] == (7 if level < "0604" else None)


@pytest.mark.parametrize("level", ["06030000", "06040000"])
def test_srm_xstore_ends_with_expanded_storage(tmp_path: Path, level: str) -> None:
    rows = [[processor(s), fields("mtrsch", s), fields("sclsrm", s)] for s in (60, 120)]
    con = land(tmp_path, level, *rows)
    settings = report(con, "SYSTEM_CONFIG").table.to_pylist()
    (value,) = {s["setting_value"] for s in settings if s["label"] == "SRM XSTORE"}
    events = {line["event_text"] for line in report(con, "EVENTS").table.to_pylist()}
    (text,) = {event for event in events if event.startswith("IABIAS")}
    assert (value, text.endswith(", XSTORE 0")) == (
        ("0 %", True) if level < "0604" else (None, False)
    )


def test_expanded_storage_of_a_dump_without_a_level(tmp_path: Path) -> None:
    def users(second: float) -> list[bytes]:
        return [
            processor(second),
            fields("useact", second, vmduser="ANNA", vmdctxbk=0, calcpxrd=round(second)),
            fields("sytxsg", second),
        ]

    (tmp_path / "unknown").mkdir()
    con = land(tmp_path / "unknown", " " * 8, users(60), users(120))
    found = report(con, "USER_PAGING")
    (line,) = found.table.to_pylist()
    assert (line["xstor_pages"], line["xstor_in_rate"]) == (None, None)
    reason = "after CP 6.3.0, which a dump that names no level may be of"
    assert any(note.startswith("Xstor in,") and reason in note for note in found.notes)
    (line,) = report(con, "MINIDISK_CACHE_BY_TIME").table.to_pylist()
    assert line["xstor_ideal_pages"] is None
    # None after 6.3.0 writes SYTXSP: what it says holds, and changes nothing of other records.
    (tmp_path / "some").mkdir()
    rows = [[*users(s), fields("sytxsp", s, plspgin=60 * round(s))] for s in (60, 120)]
    con = land(tmp_path / "some", " " * 8, *rows)
    (line,) = report(con, "USER_PAGING").table.to_pylist()
    assert (line["xstor_pages"], line["xstor_in_rate"]) == (None, None)
    assert con.sql("SELECT plspgin FROM monitor.sytxsp ORDER BY 1").fetchall() == [(3600,), (7200,)]


@pytest.mark.parametrize(
    ("level", "said"),
    [
        ("04030000", "before CP 5.3.0, the first level that records it"),
        ("07030000", "without a delta of SYTLCK"),
        ("        ", "without a delta of SYTLCK, or before CP 5.3.0"),
    ],
)
def test_a_reason_names_no_level_that_the_dump_is_not_of(
    tmp_path: Path, level: str, said: str
) -> None:
    locks = [[processor(s), fields("sytscg", s)] for s in (60, 120)]
    con = land(tmp_path, level, *locks)
    notes = report(con, "SPIN_LOCKS").notes
    assert any(note.endswith(f"Shared busy: not known {said}.") for note in notes), notes
    is_old = any(note.startswith("Before CP 5.3.0 only") for note in notes)
    assert is_old == (level != "07030000")


@pytest.mark.parametrize(
    ("level", "said"),
    [
        ("04020000", "Steals are frames stolen for the free-storage extend condition"),
        ("05040000", "which of them it is between is not known"),
        ("06040000", "Steals are frames that the scan of the frame table took"),
    ],
)
def test_steals_are_labelled_by_release(tmp_path: Path, level: str, said: str) -> None:
    rows = [[processor(s), fields("sytrsp", s, plsstlfr=round(s))] for s in (60, 120)]
    notes = report(land(tmp_path, level, *rows), "PAGING_BY_TIME").notes
    (note,) = (note for note in notes if "Steals are" in note)
    assert said in note


def test_states_are_of_the_samples_taken_of_a_user(tmp_path: Path) -> None:
    # Of 100 samples 40 found ANNA in the dispatch list, 20 of them running, and 60 dormant, 5 of
    # these for a service machine. That HFQUCT says 100 as well makes it no other sample.
    states = {"hfquct": 100, "hfstct": 100, "hfdisp3": 40, "hfcpurn": 20, "hfiowt": 10}
    states |= {"hfdorm": 60, "hfdsvm": 5, "hfioact": 3, "hfpgact": 2, "hfllist": 1}
    con = land(
        tmp_path,
        "05030000",
        [processor(60), fields("useint", 60, vmduser="ANNA")],
        [processor(120), fields("useint", 120, vmduser="ANNA", **states)],
    )
    found = report(con, "USER_STATES")
    (line,) = found.table.to_pylist()
    want = {"samples": 100, "active_share": 0.4, "running_share": 0.2, "io_wait_share": 0.1}
    want |= {"dormant_share": 0.6, "dormant_svm_share": 0.05, "io_active_share": 0.03}
    want |= {"page_active_share": 0.02, "limit_list_share": 0.01}
    assert {name: line[name] for name in want} == want
    assert any("calls HFQUCT and HFSTCT high-frequency samples alike" in n for n in found.notes)
