"""Dumps of several releases in one store: each field by the release that wrote it, all columns."""

from __future__ import annotations

import io
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from bench.copies import pieces
from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.reductions.reductions import reductions
from cpmon.schemas import layout
from cpmon.schemas.registry import reload, shipped, site_archive
from cpmon.store import Store, connect
from tests.dumps import dump, fields, interval, record
from tests.fleet import rebuilt
from tests.pages import Line, draft, grown, import_pages

pytestmark = pytest.mark.usefixtures("shipped_again")


def config(level: str, at: float, callevel: int = 0) -> bytes:
    """MTRSYS of a CP level; of a system where bits of CALLEVEL are known, with them."""
    known = {"callevel": callevel} if "callevel" in layout("mtrsys").dtype.names else {}
    return fields("mtrsys", at, systmid="VMTEST", hcpcpeid=level, **known)


def processor(at: float, tail: bytes, runci: int = 0) -> bytes:
    """SYTPRP up to the processor's type, then `tail` from byte 105 on."""
    head = fields("sytprp", at, pfxcpuad=3, pfxrunci=runci, length=105)
    return record(0, 2, head[20:] + tail, at)


def land(store: Store, file: Path, level: str, begin: float, *tails: bytes, **more: Any) -> None:
    """A dump with a sample a minute, the first one with the configuration."""
    times = [begin + 60 * n for n in range(len(tails))]
    samples = [
        processor(at, tail, more.get("runci", 0)) for at, tail in zip(times, tails, strict=True)
    ]
    first = config(level, begin, more.get("callevel", 0))
    sets = [
        interval(at, *[first] * (at == begin), row) for at, row in zip(times, samples, strict=True)
    ]
    file.write_bytes(dump(*sets))
    ingest(file, store)


def count(number: int) -> bytes:
    return number.to_bytes(4, "big")


def test_three_releases_in_one_store(store: Store, tmp_path: Path) -> None:
    # 5.3: 108 bytes, what stands in 105 to 107 is of no account. It lands before there are pages.
    land(store, tmp_path / "53", "05030000", 0, b"\x55\x55\x55", b"\x55\x55\x55")
    older = grown(
        "sytprp",
        "6.4.0",
        Line(108, "Unsigned", 4, "PLSWRUCP"),
        Line(112, "Character", 240, "*"),
    )
    newer = grown(
        "sytprp",
        "7.3.0",
        Line(108, "Unsigned", 4, "*", "Previously this field was PLSWRUCP."),
        Line(112, "Unsigned", 4, "PFXFST44"),
        Line(116, "Character", 236, "*"),
    )
    at = next(n for n, line in enumerate(newer.lines) if line.offset == 105)
    newer.lines[at : at + 1] = [
        Line(105, "Bitstring", 1, "SYTPRP_PFXMODE", "How it runs."),
        Line(106, "Unsigned", 2, "*"),
    ]
    import_pages(tmp_path / "own", older, newer)
    # 6.4 counts at 108. In 7.3 bytes 105 and 112 have a name, and 108 has none any more.
    rest = b"\x55" * 236
    tails = [b"\x55" * 3 + count(n) + b"\x55" * 4 + rest for n in (100, 160)]
    land(store, tmp_path / "64", "06040000", 3600, *tails)
    tails = [b"\xa0\x55\x55" + count(9) + count(n) + rest for n in (500, 800)]
    land(store, tmp_path / "73", "07030000", 7200, *tails)
    # A 5.3 dump of after the import is read as the one before it.
    land(store, tmp_path / "54", "05030000", 9000, b"\x55\x55\x55")
    with connect(store, reductions()) as con:
        columns = "pfxcpuad, pfxmode, plswrucp, pfxfst44, octet_length(tail)"
        rows = con.sql(f"SELECT {columns} FROM monitor.sytprp ORDER BY tod").fetchall()
        assert rows == [
            *[(3, None, None, None, None)] * 2,
            (3, None, 100, None, None),
            (3, None, 160, None, None),
            (3, 0xA0, None, 500, None),
            (3, 0xA0, None, 800, None),
            (3, None, None, None, None),
        ]
        growth = "seconds, plswrucp, pfxfst44"
        rows = con.sql(f"SELECT {growth} FROM interval.sytprp ORDER BY tod").fetchall()
        none = (None, None, None)
        assert rows == [
            none,
            (60.0, None, None),
            none,
            (60.0, 60, None),
            none,
            (60.0, None, 300),
            none,
        ]
        levels = con.sql("SELECT DISTINCT release FROM meta.dump ORDER BY 1").fetchall()
        assert levels == [("5.3.0",), ("6.4.0",), ("7.3.0",)]


def test_a_bit_of_callevel_decides_between_two_readings(store: Store, tmp_path: Path) -> None:
    service = grown("mtrsys", "7.3.0", Line(184, "Bitstring", 4, "CALLEVEL", "Service."))
    import_pages(tmp_path / "own", service, draft(shipped(), "sytprp", "7.3.0"))
    file = next((tmp_path / "own").glob("*/sytprp.csv"))
    rows = file.read_text().splitlines()
    (at,) = (n for n, row in enumerate(rows) if ",pfxrunci," in row)
    cells = rows[at].split(",")
    cells[10] = "7.3.0-callevel.5"
    rows[at : at + 1] = [
        ",".join(cells),
        "76,4,,signed,pfxbalance,,,gauge,count,7.3.0+callevel.5,,published,",
    ]
    file.write_text("\n".join(rows) + "\n")
    reload()
    archive, _ = site_archive(tmp_path / "own")
    with zipfile.ZipFile(io.BytesIO(archive)) as members:
        assert b"7.3.0+callevel.5" in members.read("d00_system/sytprp.csv")
    minus = 0xFFFF_FFFE
    for n, (level, bits) in enumerate(
        [("07020000", 0x0400_0000), ("07030000", 0xFBFF_FFFF), ("07030000", 0x0400_0000),
         ("07040000", 0)]
    ):  # fmt: skip
        land(store, tmp_path / str(n), level, 3600 * n, b"\0\0\0", callevel=bits, runci=minus)
    # 7.3 cut before the bits: which it is of is not known, and both are read.
    cut = fields("mtrsys", 18_000, systmid="VMTEST", hcpcpeid="07030000", length=184)
    (tmp_path / "cut").write_bytes(dump(interval(18_000, cut, processor(18_000, b"\0\0\0", minus))))
    ingest(tmp_path / "cut", store)
    with connect(store, reductions()) as con:
        rows = con.sql("SELECT pfxrunci, pfxbalance FROM monitor.sytprp ORDER BY tod").fetchall()
        assert rows == [(minus, None), (minus, None), (None, -2), (None, -2), (minus, -2)]
        levels = con.sql("SELECT release FROM meta.dump ORDER BY first_tod").fetchall()
        assert [level for (level,) in levels] == ["7.2.0", "7.3.0", "7.3.0", "7.4.0", "7.3.0"]
    ingest(tmp_path / "cut", Store(tmp_path / "told", create=True), release="7.3.0+callevel.5")
    with connect(Store(tmp_path / "told"), reductions()) as con:
        assert con.sql("SELECT pfxrunci, pfxbalance FROM monitor.sytprp").fetchall() == [(None, -2)]
        assert con.sql("SELECT release FROM meta.dump").fetchall() == [("7.3.0",)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["users_by_time", "events"])
def test_a_dump_that_lands_again_as_of_another_release_is_reduced_again(
    store: Store, tmp_path: Path, name: str
):
    """Expanded storage ended with 6.3.0: what a later dump holds in its place is NULL."""

    def reduced(release: str, store: Store) -> dict[str, bytes]:
        ingest(tmp_path / "a.mon", store, release=release)
        assert reduce(store, [name], Settings())[0].days == 1
        return pieces(store)

    users = [fields("useact", at, vmduser="U1", calcpxrd=at << 4) for at in (60, 120)]
    change = fields("sclsrm", 60, srmbiasi=90, srmxpctg=25)
    (tmp_path / "a.mon").write_bytes(
        dump(interval(60, config("05030000", 60), change, users[0]), interval(120, users[1]))
    )
    before = reduced("6.4.0", store)
    shutil.rmtree(store.root / store.dumps()[0].folder)
    rebuilt(store)
    after = reduced("", store)
    assert sorted(after.values()) != sorted(before.values())
    assert after == reduced("", Store(tmp_path / "other", create=True))
