"""Dumps written by a site's own layouts: what they describe comes back, value for value."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cpmon.cli.main import Status, run
from cpmon.generate import dump_frames, parse_scenario
from cpmon.generate.encode.encoder import Encoding, filled
from cpmon.ingest import ingest
from cpmon.schemas import layout
from cpmon.schemas.loader import COLUMNS, LENGTH_COLUMNS, RECORD_COLUMNS, Row, read, to_csv
from cpmon.schemas.registry import home, reload, use
from cpmon.store import Store, connect
from tests.generate.plain_reader import Record, records
from tests.generate.scenario.test_scenario import SMALL
from tests.schemas.test_merge import random_rows

pytestmark = pytest.mark.usefixtures("shipped_again")

LATER = SMALL.replace('"4.3.0"', '"7.3.0"').replace("processors = 2", "processors = 3")
GROWN = {"sytprp": 352, "mtrspr": 48, "uselon": 180, "useact": 508}
"""Records of the model that pages of 7.3 describe further, and their lengths before."""
PLAIN = {"prcrcd": (5, 17), "mtrtop": (1, 26), "prcpup": (5, 16)}
"""Records of which shipped layouts have nothing but the header."""
INTERVALS = 2


class Own:
    """The files of a site's folder, told in short: shipped rows are among them."""

    def __init__(self) -> None:
        self.records: list[Row] = []
        self.lengths: list[Row] = []
        self.fields: dict[str, list[Row]] = {}

    def __repr__(self) -> str:
        return f"Own({[(row['dsect'], row['length']) for row in self.lengths]})"


@st.composite
def folders(draw: st.DrawFn) -> Own:
    """Layouts of a site: records of its own of each kind, grown ones, and undescribed ones."""
    own, shipped = Own(), read(home())
    for number, kind in enumerate(("sample", "event", "config"), 1):
        name = f"xmp{kind[:3]}"
        own.records.append(
            {"domain": "12", "record": str(number), "dsect": name, "kind": kind, "grain": "system"}
            | dict.fromkeys(("keys", "until"), "")
            | {"title": f"Invented, {kind}", "provenance": "published"}
        )
        _add(draw, own, name, 20, [])
    for name in PLAIN:
        _add(draw, own, name, 20, [])
    for name in GROWN:
        before = shipped.fields[name]
        _add(draw, own, name, layout(name).length, before)
    return own


def _add(draw: st.DrawFn, own: Own, name: str, start: int, before: list[Row]) -> None:
    """Fields behind those of a record; with counters, which start the page cannot say."""
    rows, files = draw(random_rows(start, arrays=True))
    for row in rows:
        if before:
            row["since"] = "7.3.0"
        if row["type"] == "unsigned" and row["length"] in ("4", "8") and draw(st.booleans()):
            row |= {"role": "counter", "unit": "count"}
    own.fields[name] = [*before, *rows]
    for file, entry in files.items():
        own.fields[file.replace("xmplrc", name)] = entry
    length = max(_end(row) for row in rows)
    own.lengths.append(
        {"dsect": name, "release": "7.3.0", "length": str(max(length, GROWN.get(name, 0)))}
    )


def _end(row: Row) -> int:
    return int(row["offset"]) + int(row["length"]) * int(row["count"] or 1)


def write(own: Own, folder: Path) -> None:
    (folder / "d12").mkdir(parents=True)
    (folder / "records.csv").write_text(to_csv(own.records, RECORD_COLUMNS), encoding="utf-8")
    (folder / "lengths.csv").write_text(to_csv(own.lengths, LENGTH_COLUMNS), encoding="utf-8")
    for name, rows in own.fields.items():
        (folder / "d12" / f"{name}.csv").write_text(to_csv(rows, COLUMNS), encoding="utf-8")


def cell(data: bytes, row: Row, at: int = 0) -> Any:
    """The value of a field, read by its row and nothing else."""
    raw = data[at + int(row["offset"]) :][: int(row["length"])]
    if row["type"] == "char":
        return raw.decode("cp037").rstrip()
    if row["type"] == "bits" and len(raw) not in (1, 2, 4, 8):
        return raw
    return int.from_bytes(raw, signed=row["type"] == "signed")


def values(found: list[Record], rows: list[Row]) -> dict[str, list[Any]]:
    """The fields of records; second readings, bits and what CP gave up are left out."""
    plain = [r for r in rows if r["type"] not in ("group", "reserved", "bit")]
    plain = [r for r in plain if not r["of"] and not r["until"]]
    return {row["name"]: [cell(r.data, row) for r in found] for row in plain}


def entries(found: list[Record], group: Row, rows: list[Row]) -> dict[str, list[Any]]:
    places = [
        (record.data, int(group["offset"]) + n * int(group["length"]))
        for record in found
        for n in range(int(group["count"]))
    ]
    plain = [r for r in rows if r["type"] not in ("reserved", "bit") and not r["of"]]
    return {row["name"]: [cell(data, row, at) for data, at in places] for row in plain}


def landed(con: duckdb.DuckDBPyConnection, table: str, names: list[str]) -> dict[str, list[Any]]:
    columns = [row[0] for row in con.sql(f"DESCRIBE monitor.{table}").fetchall()]
    order = ", ".join(c for c in ("record_offset", "entry") if c in columns)
    chosen = ", ".join(f'"{name}"' for name in names)
    found = con.sql(f"SELECT {chosen} FROM monitor.{table} ORDER BY {order}").fetchall()
    return dict(zip(names, map(list, zip(*found, strict=True)), strict=True))


def tables(own: Own, name: str) -> Iterator[tuple[str, Row, list[Row]]]:
    for group in own.fields[name]:
        file = f"{name}_{group['name']}"
        if group["type"] == "group" and file in own.fields:
            yield file, group, own.fields[file]


@pytest.mark.slow
@given(folders())
@settings(max_examples=8, phases=(Phase.generate,))
def test_what_layouts_describe_comes_back_value_for_value(own: Own) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(own, folder / "own")
        use(folder / "own")
        try:
            check(own, folder)
        finally:
            use(None)
            reload()


def check(own: Own, folder: Path) -> None:
    dump = b"".join(dump_frames(parse_scenario(LATER, "later.toml"), "A", intervals=INTERVALS))
    (folder / "d.mon").write_bytes(dump)
    store = Store(folder / "store", create=True)
    ingest(folder / "d.mon", store)
    written: dict[str, list[Record]] = {}
    for record in records(dump):
        written.setdefault(f"{record.domain}.{record.number}", []).append(record)
    with connect(store, ()) as con:
        for name in own.fields.keys() & {*GROWN, *PLAIN, "xmpsam", "xmpeve", "xmpcon"}:
            table = layout(name)
            found = written.get(f"{table.domain}.{table.record}", [])
            want = values(found, own.fields[name])
            holds = bool(want) or any(each for *_, each in tables(own, name))
            # Nobody logs on, and nothing is parked, in these intervals.
            assert bool(found) == (holds and name not in ("prcpup", "uselon")) or name in PLAIN
            if not found:
                continue
            if want:
                assert landed(con, name, list(want)) == want
            for file, group, rows in tables(own, name):
                each = entries(found, group, rows)
                if each:
                    assert landed(con, file, list(each)) == each
            intended(name, own, found)


def intended(name: str, own: Own, found: list[Record]) -> None:
    """Fields hold what they were given: levels in each sample, counters in each interval."""
    encoding = Encoding(layout(name), "7.3.0")
    added = [
        row
        for row in own.fields[name]
        if row["name"].startswith("f") and "x" in row["name"] and not row["of"]
        if row["type"] in ("unsigned", "signed", "char", "bits")
    ]
    is_event = name in ("xmpeve", "xmpcon", "mtrspr")
    rows = {"sytprp": 3, "prcrcd": 3, "useact": 3}.get(name, 1)
    assert len(found) == rows * (1 if name in ("xmpcon", "mtrspr") else len(found) // rows)
    for row in added:
        got = [cell(r.data, row) for r in found]
        sets = [got[at : at + rows] for at in range(0, len(got), rows)]
        for number, now in enumerate(sets):
            end = found[number * rows].tod
            at = 0 if is_event else number
            (value,) = filled(encoding, [row["name"]], rows, at, end).values()
            if row["type"] == "unsigned" and (row["role"] != "counter" or is_event):
                assert now == value.tolist(), row
            elif row["type"] == "char":
                assert now == [text.strip() for text in value.tolist()], row
        if row["role"] == "counter" and not is_event:
            bits = 8 * int(row["length"])
            for before, now in itertools.pairwise(sets):
                growth = [(b - a) % (1 << bits) for a, b in zip(before, now, strict=True)]
                (value,) = filled(encoding, [row["name"]], rows, 1, 0).values()
                assert growth == value.tolist(), row


def test_the_command_writes_by_the_layouts_that_the_variable_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        "20,2,,unsigned,pfxcpuad,,,key,,,,published,",
        "22,1,,bits,flags,,,flag,,,,published,",
        "23,1,,reserved,*,,,,,,,published,",
        "24,4,,unsigned,many,,,counter,count,,,published,",
        "28,8,,char,said,,,text,,,,published,",
    ]
    (tmp_path / "own" / "d05").mkdir(parents=True)
    page = tmp_path / "own" / "d05" / "prcrcd.csv"
    page.write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
    named = "5,17,prcrcd,sample,processor,pfxcpuad,,Real CPU data,published"
    lists = tmp_path / "own" / "records.csv"
    lists.write_text("\n".join([",".join(RECORD_COLUMNS), named]) + "\n")
    monkeypatch.setenv("CPMON_SCHEMAS", str(tmp_path / "own"))
    reload()
    (tmp_path / "later.toml").write_text(LATER, encoding="utf-8")
    scenario, store = str(tmp_path / "later.toml"), str(tmp_path / "store")
    assert run(["generate", scenario, "--intervals", "1", "-o", str(tmp_path)]) == Status.DONE
    run(["ingest", str(tmp_path / "A.mon"), "--store", store])
    with connect(Store(Path(store)), ()) as con:
        sql = "SELECT pfxcpuad, flags, many, trim(said) FROM monitor.prcrcd ORDER BY tod"
        found = con.sql(sql).fetchall()
    first, last = found[:3], found[3:]
    assert [row[0] for row in (*first, *last)] == [0, 1, 2, 0, 1, 2]
    assert all(row[3] for row in (*first, *last))
    assert all(b[2] > a[2] > 0 for a, b in zip(first, last, strict=True))
