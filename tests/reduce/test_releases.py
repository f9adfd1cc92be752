"""Reports of dumps of several releases, from bytes: what each has, and what it no longer has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from cpmon.ingest import ingest
from cpmon.reduce import ReportResult, reductions, report
from cpmon.schemas import layout
from cpmon.schemas.loader import COLUMNS
from cpmon.schemas.registry import reload, use
from cpmon.store import Store, connect
from tests.dumps import dump, fields, interval

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
