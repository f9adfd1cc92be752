"""What follow lands of some bytes, however they come, is what ingest lands of them."""

from __future__ import annotations

import errno
import gzip
import itertools
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cpmon.core.errors import BusyError, CpmonError
from cpmon.generate import dump_frames, parse_scenario
from cpmon.ingest import Code, Landed, following, ingest
from cpmon.ingest.container import arriving
from cpmon.ingest.container.arriving import SETTLE_S, Arrival, device_arrivals
from cpmon.ingest.container.source import Device
from cpmon.ingest.following import Follower, follow
from cpmon.store import Store, connect
from cpmon.store.check import collect_garbage, drop
from cpmon.store.format.compaction import compact, months
from tests.dumps import dump, fields, interval
from tests.ingest.container.test_monreader_device import Driver
from tests.scenarios import SCENARIOS, Scenario, capture
from tests.worlds.world import random_world

RELATIONS = ("useact", "sytprp", "ioddev")
"""Tables of which deltas are compared, where a dump has their records."""
Rows = dict[str, Any]


def sets(
    *ends: int, system: str = "VMTEST", named: bool = True, level: str = "05030000"
) -> list[bytes]:
    """An interval a minute with a counter that grows; the first one names the system."""
    return [
        interval(
            60 * end,
            fields("mtrsys", 60 * end, systmid=system, hcpcpeid=level)
            if named and end == ends[0]
            else b"",
            fields("mtrspr", 60 * end, interval=60) if named and end == ends[0] else b"",
            fields("useact", 60 * end, vmduser="ALICE", vmdttime=1000 * end**2),
        )
        for end in ends
    ]


def pieces(data: bytes, seed: int) -> Iterator[Arrival]:
    """Bytes as they come by a seed, with pauses."""
    rng, at = random.Random(seed), 0
    while at < len(data):
        size = rng.choice([37, 4096, 5000, 40_000])
        yield data[at : at + size]
        at += size
        if rng.random() < 0.4:
            yield None


def live(*chunks: bytes) -> Iterator[Arrival]:
    """Chunks with a pause behind each."""
    for chunk in chunks:
        yield chunk
        yield None


def land(store: Store, arrivals: Iterator[Arrival], **options: Any) -> list[Landed]:
    with Follower(store, "a.mon", **options) as follower:
        return [*follower.follow(arrivals), *follower.finish()]


def ingested(folder: Path, data: bytes, **options: Any) -> Store:
    store = Store(folder / "ingested", create=True)
    (folder / "a.mon").write_bytes(data)
    ingest(folder / "a.mon", store, accept_damage=True, **options)
    return store


def tables(store: Store) -> dict[str, list[dict[str, Any]]]:
    """The rows of all files of a store, by table, in the order of the dump; findings summed up."""
    found: dict[str, list[pa.Table]] = {}
    for landed in store.dumps():
        for table in landed.tables:
            rows = pq.ParquetFile(store.root / landed.folder / f"{table}.parquet").read()
            found.setdefault(table, []).append(rows)
    rows = {
        name: [row for part in parts for row in part.to_pylist()] for name, parts in found.items()
    }
    findings: dict[str, int] = {}
    for row in rows.pop("finding", []):
        findings[row["code"]] = findings.get(row["code"], 0) + row["count"]
    for name, some in rows.items():
        key = "record_offset" if "record_offset" in some[0] else "interval_end_us"
        rows[name] = sorted(some, key=lambda row: (row[key], row.get("entry") or 0))
    return {**rows, "finding": [findings]}


def relations(store: Store) -> Rows:
    names = ["meta.interval", *(f"interval.{n}" for n in RELATIONS if n in store.tables())]
    with connect(store) as connection:
        rows: Rows = {
            name: connection.sql(f"SELECT * EXCLUDE (dump) FROM {name} ORDER BY ALL").fetchall()
            for name in names
        }
        about = "system, release, zone_s, first_tod, last_tod, intervals, bytes, findings"
        rows["meta.dump"] = connection.sql(f"SELECT {about} FROM meta.dump").fetchall()
        return rows


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(each, marks=() if number % 6 == 0 else pytest.mark.slow, id=each.name)
        for number, each in enumerate(SCENARIOS)
    ],
)
def test_rows_of_any_dump_are_those_of_ingest(scenario: Scenario, tmp_path: Path):
    container = "monreader" if scenario.name.endswith("captured") else "auto"
    try:
        whole = tables(ingested(tmp_path, scenario.data, container=container, system="A"))
    except CpmonError:
        pytest.skip("ingest refuses it")
    for seed in (1, 2):
        store = Store(tmp_path / f"followed{seed}", create=True)
        land(store, pieces(scenario.data, seed), system="A", container=container)
        assert tables(store) == whole


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_relations_over_parts_are_those_over_the_whole(
    seed: int, generated: bytes, store: Store, tmp_path: Path
):
    land(store, pieces(generated, seed))

    assert relations(store) == relations(ingested(tmp_path, generated))


def test_each_interval_lands_when_nothing_follows_it(store: Store):
    first, *others = sets(1, 2, 3)
    landed = land(store, live(dump(first)[: len(first)], *others))

    assert [each.about["intervals"] for each in landed[:3]] == [1, 1, 1]
    assert {each.dump.partition(".")[0] for each in landed} == {store.dumps()[0].whole}
    with connect(store) as connection:
        rows = connection.sql("SELECT vmdttime FROM interval.useact ORDER BY interval_end")
        assert rows.fetchall() == [(None,), (3000,), (5000,)]


@pytest.mark.parametrize("form", ["monwrite", "monreader"])
def test_who_follows_on_lands_nothing_twice(form: str, store: Store, tmp_path: Path):
    chunks = sets(1, 2, 3, 4)
    data = [capture(chunk) if form == "monreader" else chunk for chunk in chunks]
    for count in (1, 2, 1):
        with Follower(store, "a.mon") as follower:
            for number, _ in enumerate(follower.follow(live(*data)), 1):
                if number == count:
                    break
    land(store, live(*data))

    assert land(store, live(*data)) == []
    assert relations(store) == relations(ingested(tmp_path, b"".join(data)))


@pytest.mark.slow
def test_parts_of_a_day_are_put_together(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(following, "FAN", 3)
    chunks = sets(*range(1, 9))
    with Follower(store, "a.mon") as follower:
        landed = [*follower.follow(live(*chunks))]
        assert len(landed) == 8
        assert [len(dump.days) for dump in store.dumps()] == [1] * 4  # 3, 3, and two more
        assert relations(store) == relations(ingested(tmp_path, b"".join(chunks))) | {
            "meta.dump": relations(store)["meta.dump"]  # the end is not there yet
        }
        [*follower.finish()]

    assert len(store.dumps()) == 1
    assert relations(store) == relations(ingested(tmp_path, b"".join(chunks)))


def test_what_was_put_together_is_forgotten(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(following, "FAN", 3)
    with Follower(store, "a.mon") as follower:
        for number, _ in enumerate(follower.follow(live(*sets(*range(1, 8)))), 1):
            if number == 4:  # a day later
                collect_garbage(store, -60)

    newest = max((store.root / "manifest").rglob("dumps.*.jsonl"))
    dropped = json.loads(newest.read_text(encoding="utf-8").splitlines()[0])["dropped"]
    assert sorted(name[-1] for name in dropped) == ["4", "5"]  # 1 and 2 were put together with 0
    assert len([*(store.root / "records").rglob("dump.json")]) == 3


def test_parts_of_several_days_are_merged_by_month_and_dropped_as_one(store: Store, tmp_path: Path):
    chunks = sets(1, 2, 1441, 1442, 28801, 28802)
    land(store, live(*chunks))
    assert len(store.dumps()) == 3
    compact(store, months(store))

    assert relations(store) == relations(ingested(tmp_path, b"".join(chunks)))
    assert [dump.is_merged for dump in store.dumps()] == [True, True, False]
    assert land(store, live(*chunks)) == []
    assert len(drop(store, [store.dumps()[0].whole[:12]])) == 3
    assert store.dumps() == ()
    assert len(land(store, live(*chunks))) == 7


def test_a_clock_that_was_set_back_is_judged_as_in_the_whole(store: Store, tmp_path: Path):
    chunks = [*sets(1, 2, 3, 4, 5), *sets(3, 4, 5, 6, named=False)]
    land(store, live(*chunks))

    assert relations(store) == relations(ingested(tmp_path, b"".join(chunks)))


def test_another_release_in_the_stream_is_read_by_its_own_layouts(store: Store, tmp_path: Path):
    chunks = [*sets(1, 2, 3), *sets(4, 5, level="06010000")]
    land(store, live(*chunks))

    assert relations(store) == relations(ingested(tmp_path, b"".join(chunks)))


@pytest.mark.slow
def test_a_pipe_that_stalls_within_a_record_is_read_on(store: Store, tmp_path: Path):
    pipe, data = tmp_path / "pipe", b"".join(sets(1, 2, 3))
    os.mkfifo(pipe)
    cuts = [0, 4096 + 30, len(data) // 2 + 4111, len(data) - 4090, len(data)]

    def write() -> None:
        with pipe.open("wb") as open_pipe:
            for begin, end in itertools.pairwise(cuts):
                open_pipe.write(data[begin:end])
                open_pipe.flush()
                time.sleep(2 * SETTLE_S)

    writer = threading.Thread(target=write)
    writer.start()
    landed = [*follow(pipe, store, idle_s=3 * SETTLE_S)]
    writer.join()

    assert sum(each.about["intervals"] for each in landed) == 3
    assert not any(each.findings.counts.keys() - {Code.END_MISSING} for each in landed)
    assert relations(store) == relations(ingested(tmp_path, data))


def test_another_system_in_the_stream_is_another_dump(store: Store):
    chunks = [*sets(1, 2, system="ONE"), *sets(3, 4, system="TWO")]
    with Follower(store, "a.mon") as follower:
        for number, _ in enumerate(follower.follow(live(*chunks)), 1):
            if number == 3:
                break
    land(store, live(*chunks))

    with connect(store) as connection:
        rows = connection.sql("SELECT system, intervals FROM meta.dump ORDER BY ALL").fetchall()
        rates = connection.sql("SELECT vmdttime FROM interval.useact ORDER BY interval_end")
        assert rows == [("ONE", 2), ("TWO", 2)]
        assert rates.fetchall() == [(None,), (3000,), (None,), (7000,)]


def test_a_stream_that_begins_in_the_middle_has_the_name_of_before(store: Store):
    chunks = sets(1, 2, 3, 4)
    land(store, live(*chunks[:2]))
    land(store, live(b"".join(chunks)[2 * 8192 + 100 :]), fallback_system="VMTEST")

    with connect(store) as connection:
        rows = connection.sql("SELECT system, vmdttime FROM interval.useact ORDER BY interval_end")
        assert rows.fetchall() == [("VMTEST", None), ("VMTEST", 3000), ("VMTEST", None)]


def test_a_source_with_another_past_is_refused(store: Store):
    first, *others = sets(1, 2, 3)
    with Follower(store, "a.mon") as follower:
        assert len([*follower.follow(live(first, *others))]) == 3

    with pytest.raises(CpmonError) as refused:
        land(store, live(first, *sets(5, 6, 7, named=False)))

    assert refused.value.code == "follow-source-changed"


def test_what_is_compressed_is_refused(store: Store):
    with pytest.raises(CpmonError) as refused:
        land(store, live(gzip.compress(sets(1)[0])))

    assert refused.value.code == "follow-compressed"


def test_a_device_that_lost_data_is_followed_on(store: Store):
    first, second, third = map(capture, sets(1, 2, 4))
    driver = Driver(first, b"", errno.EOVERFLOW, None, second, errno.EIO, third, b"")
    with Follower(store, "monreader", container="monreader") as follower:
        coming = device_arrivals(Device(driver), follower.missed, idle_s=0.5)
        landed = [*follower.follow(coming)]

    assert [each.about["intervals"] for each in landed] == [1, 1]
    assert landed[1].findings.counts[Code.SETS_MISSED] == 2
    with connect(store) as connection:
        rows = connection.sql("SELECT vmdttime FROM interval.useact").fetchall()
        assert rows == [(None,), (None,)]  # no rate over what is missing


def test_a_file_that_grows_is_followed_to_its_end(store: Store, tmp_path: Path):
    file, (first, *others) = tmp_path / "grows.mon", sets(1, 2, 3)
    file.write_bytes(first)
    assert len([*follow(file, store, idle_s=0)]) == 1

    with file.open("ab") as growing:
        growing.write(dump(*others))
    assert sum(each.about["intervals"] for each in follow(file, store)) == 2

    assert len(store.dumps()) == 1
    assert [*follow(file, store)] == []


@pytest.mark.slow
def test_room_that_was_made_for_a_file_is_not_its_end(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(arriving, "ZEROS_S", 60.0)  # however busy the machine is
    file, data = tmp_path / "a.mon", dump(*sets(1, 2, 3))
    file.touch()
    os.truncate(file, len(data))

    def copy() -> None:
        cut = len(data) // 3 // 4096 * 4096
        for begin, end in ((0, cut), (2 * cut, len(data)), (cut, 2 * cut)):  # in another order
            with file.open("r+b") as copied:
                copied.seek(begin)
                copied.write(data[begin:end])
            time.sleep(2 * SETTLE_S)

    writer = threading.Thread(target=copy)
    writer.start()
    landed = [*follow(file, store)]
    writer.join()

    assert sum(each.about["intervals"] for each in landed) == 3
    assert not any(each.findings.counts for each in landed)
    assert relations(store) == relations(ingested(tmp_path, data))


def test_a_file_that_was_followed_to_its_end_is_not_landed_again(store: Store, tmp_path: Path):
    file = tmp_path / "a.mon"
    file.write_bytes(dump(*sets(1, 2, 3)))
    (last,) = follow(file, store)

    again = ingest(file, store)
    assert again.already and again.system == "VMTEST"
    assert [dump.dump for dump in store.dumps()] == [last.dump]


@pytest.mark.parametrize("way", ["renamed", "emptied"])
def test_a_file_that_is_replaced_is_followed_anew(way: str, store: Store, tmp_path: Path):
    file, chunks = tmp_path / "a.mon", sets(1, 2, 3, 4)
    file.write_bytes(b"".join(chunks[:3]))
    following_it = follow(file, store)
    landed = [next(following_it)]
    if way == "renamed":
        file.rename(tmp_path / "old.mon")
    file.write_bytes(dump(chunks[3]))
    landed += following_it

    assert sum(each.about["intervals"] for each in landed) == 4
    with connect(store) as connection:
        rows = connection.sql("SELECT system, vmdttime FROM interval.useact ORDER BY interval_end")
        assert rows.fetchall() == [("VMTEST", rate) for rate in (None, 3000, 5000, 7000)]


def test_who_follows_what_another_one_follows_is_told(store: Store):
    chunks = sets(1, 2, 3)
    with Follower(store, "a.mon") as one, Follower(store, "a.mon") as other:
        first = one.follow(live(*chunks))
        second = other.follow(live(*chunks))
        next(first)
        next(second)  # it goes on behind what has landed
        with pytest.raises(BusyError, match="another process follows"):
            assert not [*first]


def test_files_of_a_folder_are_followed_one_after_the_other(store: Store, tmp_path: Path):
    folder = tmp_path / "dumps"
    folder.mkdir()
    (folder / "1.mon").write_bytes(b"".join(sets(1, 2)))
    (folder / "2.mon").write_bytes(b"".join(sets(3, 4, named=False)))
    os.utime(folder / "1.mon", (1, 1))
    for _ in range(2):
        assert len([*follow(folder, store, ["*.mon"], idle_s=0)]) in (3, 0)

    with connect(store) as connection:
        rows = connection.sql("SELECT system, vmdttime FROM interval.useact ORDER BY interval_end")
        assert [rate for _, rate in rows.fetchall()] == [None, 3000, 5000, 7000]


def test_a_pipe_is_followed_until_it_is_closed_and_what_nobody_read_is_told(
    store: Store, tmp_path: Path
):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def followed(*chunks: bytes) -> list[Landed]:
        def write() -> None:
            with pipe.open("wb") as open_pipe:
                open_pipe.write(dump(*chunks))

        writer = threading.Thread(target=write)
        writer.start()
        landed = [*follow(pipe, store, idle_s=5)]
        writer.join()
        return landed

    assert sum(each.about["intervals"] for each in followed(*sets(1, 2))) == 2
    first = followed(*sets(5, 6, named=False))[0]
    assert first.system == "VMTEST"
    assert "10:02:00" in first.findings.first(Code.SETS_MISSED).detail


class Killed(BaseException):
    """In place of a kill; what it interrupts cleans up less than nothing."""


def die_before(step: int, patched: pytest.MonkeyPatch) -> None:
    """Die before a call, counted, of those that change what others see of the disk."""
    steps = itertools.count(1)

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **options: Any) -> Any:
            if next(steps) >= step:
                raise Killed
            return function(*args, **options)

        return wrapped

    for name in ("rename", "replace", "link", "unlink", "remove"):
        patched.setattr(os, name, counted(getattr(os, name)))


def _marks(step: int) -> tuple[pytest.MarkDecorator, ...]:
    """Of 200 kills two are quick to try, and every eighth is tried by CI."""
    if step % 100 == 9:
        return ()
    return (pytest.mark.slow if step % 8 == 1 else pytest.mark.long,)


@pytest.mark.parametrize("step", [pytest.param(n, marks=_marks(n)) for n in range(1, 201)])
def test_a_kill_at_any_step_loses_nothing_that_was_there_and_repeats_nothing(
    step: int, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(following, "FAN", 3)
    chunks = [*sets(1, 2, 3, 4), *sets(1441, 1442, named=False)]
    seen = 0
    with monkeypatch.context() as patched, suppress(Killed):
        die_before(step, patched)
        with Follower(store, "a.mon") as follower:
            for landed in follower.follow(live(*chunks)):
                seen += landed.about["intervals"]
            [*follower.finish()]
    with connect(Store(store.root)) as connection:
        ((count,),) = connection.sql("SELECT count(*) FROM meta.interval").fetchall()
        assert count >= seen

    land(Store(store.root), live(*chunks))

    assert relations(Store(store.root)) == relations(ingested(tmp_path, b"".join(chunks)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [5, 6, 7, 11])
def test_a_random_world_that_is_followed_with_breaks_is_the_one_that_was_ingested(
    seed: int, store: Store, tmp_path: Path
):
    scenario = parse_scenario(random_world(seed).text, "world.toml")
    chunks = [bytes(chunk) for chunk in dump_frames(scenario, scenario.runs[0].run_id)]
    whole = ingested(tmp_path, b"".join(chunks))
    for count in (2, 3):
        with Follower(store, "a.mon") as follower:
            for _ in itertools.islice(follower.follow(live(*chunks)), count):
                pass
    land(store, live(*chunks))

    for table in sorted(whole.tables() - {"finding"}):
        rows = "meta.interval" if table == "interval" else f"monitor.{table}"
        query = f"SELECT * EXCLUDE (dump) FROM {rows} ORDER BY ALL"
        with connect(whole) as one, connect(store) as other:
            assert one.sql(query).fetchall() == other.sql(query).fetchall()
    assert relations(store) == relations(whole)
