"""Layouts of a site with any cell changed: refused with the file, or a dump lands by them."""

from __future__ import annotations

import csv
import io
import struct
from pathlib import Path

import numpy as np
import pytest

from cpmon.core.errors import CpmonError, LayoutError
from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.render.render import render_parts
from cpmon.schemas import layouts
from cpmon.schemas.loader import COLUMNS, RECORD_COLUMNS
from cpmon.schemas.registry import reload, use
from cpmon.store import Store, connect
from cpmon.store.answers import ask
from tests.dumps import dump, interval, record

pytestmark = pytest.mark.usefixtures("shipped_again")

FIELDS = """\
20,2,,unsigned,id,,,key,,,,published,
22,1,,bits,flags,,,flag,,,,published,
22,1,,bit,up,flags,80,flag,,,,published,
23,1,,reserved,*,,,,,,,published,
24,4,,unsigned,many,,,counter,count,,,published,
28,8,,char,label,,,text,,,,published,
"""
RECORDS = "12,1,xmplrc,sample,thing,id,,An example,published\n"
CELLS = (
    *("", " ", "0", "1", "-1", "20", "65535", "9999999999", "9" * 5_000, "1e9", "0x10", "²", "4.0"),
    *("id", "many", "ID", "system", "tod_us", "select", "a b", "é", "1a", "a" * 5_000, "*", "_"),
    *(
        'a"; DROP VIEW meta.dump; --',
        "a'); COPY (SELECT 1) TO 'made",
        "../../made",
        "/made",
        "a\0b",
    ),
    *("{a}", "%s", "=1+1", "a\nb", 'a"b', "\ufeffa", "\u202ea", "monitor.sytrsp", "{many}"),
    *("unsigned", "signed", "char", "bits", "bit", "group", "tod", "packed", "reserved", "float"),
    *("key", "counter", "gauge", "text", "flag", "sample", "event", "config", "count", "bytes"),
)


def _changed(text: str, random: np.random.Generator) -> str:
    """A table of which some cells, or whole lines, are others."""
    rows = [*csv.reader(text.splitlines())]
    for _ in range(random.integers(1, 4)):
        row = int(random.integers(0, len(rows)))
        match random.integers(0, 8):
            case 0:
                rows.insert(row, [*rows[random.integers(0, len(rows))]])
            case 1 if len(rows) > 1:
                del rows[row]
            case 2:
                rows[row] = rows[row][: random.integers(0, len(rows[row]) + 1)]
            case _ if rows[row]:
                rows[row][random.integers(0, len(rows[row]))] = str(random.choice(CELLS))
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    return written.getvalue()


def _refusal(folder: Path, name: str) -> CpmonError | None:
    """Why no dump lands by the layouts of a folder; else all that landed is printed."""
    reload()
    try:
        names = {each.name for each in layouts() if (each.domain, each.record) == (12, 1)}
        store = Store(folder / name, create=True)
        body = struct.pack(">HBxI8s", 7, 0x80, 100, b"\xc1" * 8)
        records = [record(12, 1, body, 60 * n) for n in (1, 2)]
        (folder / "dump.mon").write_bytes(dump(*map(interval, (60, 120), records)))
        ingest(folder / "dump.mon", store)
        with connect(store, reductions()) as connection:
            for relation in (f"{of}.{name}" for of in ("monitor", "interval") for name in names):
                assert b"".join(render_parts(ask(connection, f"FROM {relation}"), "csv"))
    except CpmonError as error:
        return error
    return None


@pytest.mark.parametrize("times", [12, pytest.param(300, marks=pytest.mark.long)])
def test_a_changed_layout_is_refused_with_its_file_or_a_dump_lands(tmp_path: Path, times: int):
    random, taken = np.random.default_rng(20261129), 0
    (tmp_path / "d12").mkdir()
    use(tmp_path)
    for number in range(times):
        of_fields, of_records = (",".join(COLUMNS) + "\n" + FIELDS, RECORDS)
        if number:
            of_fields = _changed(of_fields, random) if number % 3 else of_fields
            of_records = of_records if number % 3 else _changed(of_records, random)
        (tmp_path / "d12" / "xmplrc.csv").write_text(of_fields, "utf-8")
        header = ",".join(RECORD_COLUMNS) + "\n"
        (tmp_path / "records.csv").write_text(header + of_records, "utf-8")
        refusal = _refusal(tmp_path, f"store{number}")
        assert refusal is None or number, refusal
        if isinstance(refusal, LayoutError):
            assert (refusal.place or "").startswith(str(tmp_path)), refusal
        taken += refusal is None
    assert times / 20 <= taken < times * 0.95
