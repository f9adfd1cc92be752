"""Small catalogues in memory for the tests of reductions, tables and queries.

Tables have the columns that the layouts declare and those of schema meta the ones of a store, so
that a reduction which names a field that is nowhere else fails here. Rows are given literally; a
column that is not given is NULL.
"""

from __future__ import annotations

import atexit
import itertools
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import duckdb
import pytest

from cpmon.reduce.reductions.reductions import reductions
from cpmon.schemas import Field, Layout, layout
from cpmon.schemas.arrow import outer_keys
from cpmon.schemas.field import WIDEST, Type
from cpmon.schemas.unplaced import unplaced
from cpmon.store import Store, connect
from cpmon.store.measured.companions import TABLES
from cpmon.store.sql.landed_views import macros

START = datetime(2001, 11, 13, 10, 0)  # noqa: DTZ001  (the catalogue has UTC without zone)
TOD_SECOND = 4_096_000_000
"""TOD units in a second."""

READ = {name for reduction in reductions() for name in reduction.reads if "." in name} | {
    "interval.prciop",
    "interval.stoshr",
}
"""What reductions read, and shipped queries beside them."""
META = tuple(
    sorted(
        {f"meta.{name}" for name in ("interval", "run", "dump", "finding", "reduced", *TABLES)}
        | {name for name in READ if name.startswith("meta.")}
    )
)
WINDOW = ("since", "until")
COMMON = "system VARCHAR, dump VARCHAR, tod TIMESTAMP, tod_us BIGINT, interval_end TIMESTAMP"
OFFSET = "record_offset BIGINT DEFAULT 0"


def minute(n: float) -> datetime:
    """So many minutes after the start."""
    return START + timedelta(minutes=n)


def empty_catalogue() -> duckdb.DuckDBPyConnection:
    """The tables that reductions read, without a row, and the reductions over them."""
    return copied(_empty_catalogue)


def copied(make: Callable[[], duckdb.DuckDBPyConnection]) -> duckdb.DuckDBPyConnection:
    """What `make` makes, as a database of one's own: copied, that takes a tenth of the time."""
    con = duckdb.connect()
    con.execute(f"ATTACH '{_saved(make)}' AS _file (READ_ONLY)")
    con.execute("COPY FROM DATABASE _file TO memory; DETACH _file")
    return con


@cache
def _saved(make: Callable[[], duckdb.DuckDBPyConnection]) -> Path:
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with make() as con:
        con.execute(f"ATTACH '{folder}/made.duckdb' AS _file")
        con.execute("COPY FROM DATABASE memory TO _file; DETACH _file")
    return folder / "made.duckdb"


def _empty_catalogue() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    statements = [f"CREATE SCHEMA {schema}" for schema in ("monitor", "interval", "meta")]
    statements += [f"CREATE TABLE {name} ({columns})" for name, columns in _meta().items()]
    records = sorted({name.partition(".")[2] for name in READ - set(META)})
    for schema, record in itertools.product(("monitor", "interval"), records):
        name = f"{schema}.{record}"
        found = layout(record)
        fields = [
            typed
            for f in (*outer_keys(found), *found.columns)
            for typed in _columns(found, f, schema)
        ]
        fields += [f"{counter.name} BIGINT" for counter in unplaced(found)]
        if found.parent:
            fields += ["entry INTEGER", "code VARCHAR"]
        judged = (
            ["seconds DOUBLE", "cause VARCHAR", "doubts VARCHAR"] if schema == "interval" else []
        )
        statements.append(f"CREATE TABLE {name} ({', '.join([COMMON, OFFSET, *judged, *fields])})")
    con.execute("; ".join(statements))
    con.execute(macros())
    con.execute("\n".join(reduction.sql for reduction in reductions()))
    return con


@cache
def _meta() -> dict[str, str]:
    """The columns of the tables of META as a store has them."""
    with TemporaryDirectory() as folder, connect(Store(Path(folder) / "s", create=True)) as con:
        found = {name: con.sql(f"FROM {name}") for name in META}
        return {
            name: ", ".join(f"{c} {kind}" for c, kind in zip(r.columns, r.types, strict=True))
            for name, r in found.items()
        }


def _columns(found: Layout, field: Field, schema: str) -> Iterator[str]:
    """A field as a store's view shows it: with its named bits, and a TOD clock with its time."""
    yield f"{field.name} {_type(field)}"
    if field.type is Type.TOD and schema == "monitor":
        yield f"{field.name}_at TIMESTAMP"
    for bit in found.bits_of(field):
        yield f"{bit.name} {'BOOLEAN' if bit.is_boolean else 'BIGINT'}"


def _type(field: Field) -> str:
    if not field.is_number:
        return "VARCHAR"
    is_wide = field.length == WIDEST and field.limit is None
    return "UBIGINT" if is_wide and field.type is not Type.SIGNED else "BIGINT"


EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001


def insert(con: duckdb.DuckDBPyConnection, table: str, *rows: dict[str, Any]) -> None:
    """Add rows. `interval_end` stands for `tod`, and that for `tod_us`, in a row of records.

    As in a store, the steady state of a run that names none is the whole run.
    """
    for given in rows:
        row = dict(given)
        if "interval_end" in row and not table.startswith("meta."):
            row.setdefault("tod", row["interval_end"])
        if table.startswith("monitor.") and "tod" in row:
            row.setdefault("tod_us", (row["tod"] - EPOCH) // timedelta(microseconds=1))
        if table == "meta.run":
            row |= {f"steady_{key}": row.get(f"steady_{key}", row[key]) for key in WINDOW}
        marks = ", ".join("?" for _ in row)
        con.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def both(con: duckdb.DuckDBPyConnection, record: str, row: dict[str, Any]) -> None:
    """Add a record as landed and as growth."""
    insert(con, f"monitor.{record}", {k: v for k, v in row.items() if k != "seconds"})
    insert(con, f"interval.{record}", row)


def close(got: Mapping[str, Any], want: Mapping[str, Any], rel: float = 1e-9) -> None:
    """Check a row: numbers nearly, all else exactly; without doubts unless they are named."""
    got = {"doubts": None, **got}
    want = {"doubts": None, **want}
    assert got.keys() == want.keys()
    for name, value in want.items():
        if isinstance(value, int | float):
            assert got[name] == pytest.approx(value, rel=rel), name
        else:
            assert got[name] == value, name


def lab() -> duckdb.DuckDBPyConnection:
    """System LAB: two processors, two users, two page volumes; a first sample, two intervals.

    Minute 0 is the first sample (no deltas), minutes 1 and 2 end measured intervals of 60 and 30
    seconds of CPU time each: unequal lengths, so that a mean of means shows. Run R1 is minutes 1
    and 2. Rows that only some reports need come from `fill` of the modules lab_*.py.
    """
    return copied(_lab)


def _lab() -> duckdb.DuckDBPyConnection:
    con = empty_catalogue()
    for n, seconds in enumerate((None, 60.0, 30.0)):
        insert(
            con,
            "meta.interval",
            {
                "system": "LAB",
                "dump": "a",
                "interval_end": minute(n),
                "previous_end": minute(n - 1) if n else None,
                "seconds": seconds,
            },
        )
    span = {"first_tod": minute(-0.1), "last_tod": minute(2)}
    insert(con, "meta.dump", {"system": "LAB", "dump": "a", "release": "4.3.0", **span})
    insert(
        con,
        "monitor.mtrprp",
        {"system": "LAB", "tod": minute(-0.1), "pfxcpuad": 0, "calflags": 0x00},
        {"system": "LAB", "tod": minute(-0.1), "pfxcpuad": 1, "calflags": 0xC0},
    )
    insert(
        con,
        "monitor.mtrmem",
        {"system": "LAB", "tod": minute(-0.1), "rsagstor": (524_288 + 1000) * 4096},
    )
    _processors(con)
    _levels(con)
    _volumes(con)
    insert(
        con,
        "meta.run",
        {
            "run_id": "R1",
            "system": "LAB",
            "since": minute(0),
            "until": minute(2),
            "base_run_id": "R1",
            "cp_level": "4.3.0",
            "users": 2,
            "processors": 2,
        },
    )
    insert(
        con,
        "meta.throughput",
        {"run_id": "R1", "interval_end": minute(1), "seconds": 60.0, "transactions": 600},
        {"run_id": "R1", "interval_end": minute(2), "seconds": 30.0, "transactions": 750},
    )
    insert(
        con,
        "meta.hardware",
        {
            "run_id": "R1",
            "interval_end": minute(1),
            "seconds": 60.0,
            "busy_s": 90.0,
            "emulation_s": 30.0,
        },
        {
            "run_id": "R1",
            "interval_end": minute(2),
            "seconds": 30.0,
            "busy_s": 27.0,
            "emulation_s": 6.0,
        },
    )
    _samples(con)
    for file in sorted(Path(__file__).parent.glob("lab_*.py")):
        import_module(f"tests.reduce.{file.stem}").fill(con)
    return con


def _samples(con: duckdb.DuckDBPyConnection) -> None:
    """Two samples of run R1: 10 and 12 s, CP time 0.30 and 0.50 s; both users did the I/Os."""
    for n, (seconds, virtual, cp) in enumerate(((10, 200, 30), (12, 210, 50)), start=1):
        key = {"run_id": "R1", "sample": n}
        times = {"seconds": seconds, "virtual_cs": virtual, "cp_cs": cp, "total_cs": virtual + cp}
        insert(con, "meta.query_time", {**key, "began": minute(n), "ended": minute(n + 1), **times})
        pages = {"resident_pages": 100 * n, "working_set_pages": 90, "page_reads": n}
        for userid in ("ANNA", "BERT"):
            row = {**key, "userid": userid, "virtual_ios": 50 * n, "page_writes": 0, **pages}
            insert(con, "meta.indicate_user", row)
        measured = {"read_kb": 4000 * n, "read_kb_per_s": 800, "thrasher_score": 7 * n}
        measured |= {"write_kb": 4000 * n, "write_kb_per_s": 400, "burner_score": 7 * n}
        for measure, value in measured.items():
            insert(con, "meta.run_sample", {**key, "measure": measure, "value": value})


def _processors(con: duckdb.DuckDBPyConnection) -> None:
    """Seconds per interval and processor: (user, system, emulation, wait, spin), spins."""
    times = {
        (1, 0): ((30, 6, 12, 24, 0.6), 60_000),
        (1, 1): ((48, 6, 30, 6, 1.2), 30_000),
        (2, 0): ((3, 0, 1.5, 27, 0.0), 0),
        (2, 1): ((12, 3, 6, 15, 0.3), 30_000),
    }
    for cpu in (0, 1):
        for table in ("sytprp", "sytsyp", "sytxsp", "sytrsp"):
            first = {"system": "LAB", "interval_end": minute(0), "pfxcpuad": cpu}
            insert(con, f"interval.{table}", first)
    for (n, cpu), ((user, system, emulation, wait, spin), spins) in times.items():
        key = {
            "system": "LAB",
            "interval_end": minute(n),
            "pfxcpuad": cpu,
            "seconds": 60.0 if n == 1 else 30.0,
        }
        tod = {
            "pfxutime": user,
            "pfxtmsys": system,
            "pfxprbtm": emulation,
            "pfxtotwt": wait,
            "pfxspint": spin,
        }
        units = {name: round(seconds * TOD_SECOND) for name, seconds in tod.items()}
        insert(
            con,
            "interval.sytprp",
            {
                **{**key, **units, "pfxspinc": spins},
                **{"pfxruncp": 6000 * (cpu + 1), "calfstph": 900 * n},
            },
        )
        insert(
            con,
            "interval.sytsyp",
            {
                **key,
                **{"plspiopr": 300, "plspiopw": 60, "plspiosr": 6, "plspiosw": 3},
                **{"plsctss": 240, "plsctrs": 60, "plsdiagt": 90, "plsdguct": 30},
            },
        )
        moved = {"pfxpgin": 600, "plspgin": 60, "plspgout": 540, "plspgmrx": 21}
        insert(con, "interval.sytxsp", {**key, **moved})
        for entry, code, diagnoses in ((3, "0C", 5000), (17, "44", 450 * n)):
            said = {"entry": entry, "code": code, "diagnoses": diagnoses}
            insert(con, "interval.prcdia_diagnose", {**key, **said})
        insert(con, "interval.sytrsp", {**key, "plsmvb2g": 33, "plsstlfr": 66, "plsalemp": 3})


def _levels(con: duckdb.DuckDBPyConnection) -> None:
    for n, seconds in enumerate((None, 60.0, 30.0)):
        key = {"system": "LAB", "interval_end": minute(n), "seconds": seconds}
        delta = None if seconds is None else 1
        counts = ("calmptct", "calmpnct", "caluptct", "calupnct", "calqdnct")
        times = ("calmptrv", "calmpntr", "caluptrv", "calupntr", "calqdntr")
        insert(
            con,
            "interval.sytusr",
            {
                **key,
                "sysusrs": 10 + n,
                "srmcdorm": 4,
                **dict.fromkeys(counts, delta and 6 * delta),
                **dict.fromkeys(times, delta and 3 * TOD_SECOND),
            },
        )
        insert(
            con,
            "interval.sytscg",
            {
                **key,
                **{"srmc1dsp": 1, "srmc2dsp": 2, "srmc3dsp": n},
                **{"srmc1elg": 0, "srmc2elg": 0, "srmc3elg": n},
            },
        )
        frames = {"rsa2gavl": 300 + 10 * n, "rsacplkg": 20, "tcmmnabv": 70}
        frames |= {"rsafsa2g": 7, "rsafsyua": 3}
        insert(con, "interval.sytrsg", {**key, **frames})
        pages = {"vmdctpvr": 100 + 10 * n, "vmdctxbk": 40, "calctpgs": 200}
        held = [
            {**key, "vmduser": "ANNA", "vmdcpuad": 0, **pages},
            {**key, "vmduser": "ANNA", "vmdcpuad": 1, **dict.fromkeys(pages, 0)},
            {
                **key,
                "vmduser": "BERT",
                "vmdcpuad": 0,
                **{"vmdctpvr": 300, "vmdctxbk": 60, "calctpgs": 100},
            },
        ]
        for row in held:
            both(con, "useact", row)


def _volumes(con: duckdb.DuckDBPyConnection) -> None:
    """Devices 0x200 and 0x201 hold page slots, 0x300 does not; times in units of 128 us."""
    for n, seconds in enumerate((None, 60.0, 30.0)):
        for device, calpage, busy in ((0x200, 500, 0.5), (0x201, 500, 0.2), (0x300, 0, 0.9)):
            key = {"system": "LAB", "interval_end": minute(n), "rdevdev": device}
            units = None if seconds is None else round(busy * seconds / 128e-6)
            insert(
                con,
                "interval.stoasp",
                {
                    **key,
                    "seconds": seconds,
                    "calvser": f"VOL{device:03X}",
                    "calpage": calpage,
                    "cpvalocd": 250,
                    "expctprd": units and 600,
                    "expctpwr": units and 300,
                },
            )
            insert(
                con,
                "interval.ioddev",
                {
                    **key,
                    "seconds": seconds,
                    "scmfptim": units and units - 2 * (units // 4),
                    "scmddtim": units and units // 4,
                    "scmcntim": units and units // 4,
                    "scgssch": units and 1000,
                    "scgcount": units and 1000,
                },
            )
