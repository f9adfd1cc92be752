"""Reductions come out the same whatever repeats, in any order of rows, and day by day."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from cpmon.config import Settings
from cpmon.generate import load_scenario, write_run
from cpmon.generate.damage.kinds import are_controls
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.connection import Connection
from tests.dumps import END, FRAME, control, dump, fields, interval

DAY = 86_400
ADDRESS = 0x40000
SECOND = 4_096_000_000
"""TOD units."""

Results = dict[str, list[str]]


def results(store: Store, *, live: bool) -> Results:
    """The rows of every reduction by time, to nine digits: sums of floats depend on their order."""
    found = {}
    with Connection(store, reductions(), live=live) as connection:
        for view in reductions():
            if view.is_private or "run" in view.name:
                continue
            rows = connection.sql(f"SELECT * FROM {view.name}").fetchall()
            short = ([f"{c:.9g}" if isinstance(c, float) else c for c in row] for row in rows)
            found[view.name] = sorted(map(repr, short))
    return found


def doubled(data: bytes) -> bytes:
    """A dump with every frame of samples twice, but for the last of a set, which ends it."""
    whole = np.frombuffer(data, np.uint8).reshape(-1, FRAME)[:-1]
    places = [*np.flatnonzero(are_controls(whole)), len(whole)]
    parts = []
    for place, following in itertools.pairwise(places):
        entries = np.frombuffer(whole[place, 40:64].tobytes(), ">u4")
        first, last = entries[4:6] if entries[4] else entries[1:3]
        count = int(last - first + 1) // FRAME
        body = [frame.tobytes() for frame in whole[place + 1 : following]]
        events, sampled = body[: len(body) - count], body[len(body) - count :]
        again = [frame for frame in sampled[:-1] for _ in range(2)] + sampled[-1:]
        sizes = (len(events) * FRAME, len(again) * FRAME)
        middle = ADDRESS + sizes[0]
        described = control(("E", ADDRESS, middle - 1), ("S", middle, middle + sizes[1] - 1))
        parts += [described, *events, *again]
    return b"".join([*parts, END])


@pytest.mark.long
def test_frames_that_repeat_change_nothing_in_any_order_of_rows(tmp_path: Path):
    clean = write_run(load_scenario("small-lab"), "LAB", tmp_path, intervals=3, compression=None)
    twice = tmp_path / "twice.mon"
    twice.write_bytes(doubled(clean.dump.read_bytes()))
    once, store = (Store(tmp_path / name, create=True) for name in ("once", "repeated"))
    ingest(clean.dump, once)
    ingest(twice, store)
    ((records,), (repeats,)) = (
        connect(of).execute("SELECT count(*) FROM monitor.prcdia").fetchall()[0]
        for of in (once, store)
    )
    assert repeats > records
    expected = results(once, live=True)
    assert results(store, live=True) == expected

    dice = random.Random(1)
    for file in store.records.glob("*/*/*/*/*.parquet"):
        table = pq.ParquetFile(file).read()
        pq.write_table(table.take(dice.sample(range(len(table)), len(table))), file)
    assert results(store, live=True) == expected


def day(number: int, mode: int, ziips: int, code: int) -> bytes:
    """The dump of a day: two intervals behind its configuration."""
    at = number * DAY
    config = [
        fields("mtrsys", at, systmid="VM", lpnumber=mode, hcpcpeid="050200"),
        fields("mtrspr", at, interval=3600),
        fields("mtrusr", at, vmduser="USER", vmdrelsh=100 * mode),
    ]
    sets = []
    for hour in (0, 1, 2):
        end = at + hour * 3600
        worked = (number * 24 + hour) * 1800 * SECOND
        processors = [
            fields("sytprp", end, pfxcpuad=cpu, pfxcputy=5 * (cpu > 0), pfxutime=worked)
            for cpu in range(1 + ziips)
        ]
        user = fields("useact", end, vmduser="USER", vmdttime=worked)
        codes = [0] * 193
        codes[1], codes[code] = (number + 1) * hour, code
        parts = fields("prcdia", end)[:24] + b"".join(n.to_bytes(4, "big") for n in (0, *codes))
        uses = (len(parts)).to_bytes(2, "big") + parts[2:]
        sets.append(interval(end, *(config if not hour else []), *processors, user, uses))
    return dump(*sets)


@pytest.mark.slow
def test_days_reduced_one_by_one_are_as_the_live_view_has_them(store: Store, tmp_path: Path):
    days = [(1, 0, 1), (1, 0, 1), (2, 1, 5), (1, 0, 9)]
    file = tmp_path / "day.mon"
    for number, said in enumerate(days):
        file.write_bytes(day(number, *said))
        ingest(file, store)
        reduce(store, (), Settings())
    kept, live = results(store, live=False), results(store, live=True)
    assert {name for name in live if kept[name] != live[name]} == set()
    rows = connect(store, reductions()).sql(
        "SELECT setting_value, date_diff('day', TIMESTAMP '2001-12-18', holds_from)"
        " FROM system_config WHERE label = 'Partition number' GROUP BY ALL ORDER BY 2"
    )
    assert rows.fetchall() == [("1", 0), ("2", 2), ("1", 3)]
    ziips = "label = 'Processors online, zIIP'"
    rows = connect(store, reductions()).sql(
        f"SELECT DISTINCT setting_value, holds_from FROM system_config WHERE {ziips} ORDER BY 2"
    )
    assert [value for value, _ in rows.fetchall()] == ["1", "0"]
