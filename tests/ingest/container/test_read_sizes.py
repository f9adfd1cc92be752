"""What a dump gives does not depend on how many bytes are read at a time."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np
import pytest

from cpmon.ingest.container import monreader, windows
from cpmon.ingest.container.monwrite import LOOKAHEAD, Framer
from cpmon.ingest.container.source import Container
from cpmon.ingest.findings import Findings
from cpmon.schemas import layouts, release_key
from tests.dumps import (
    FRAME,
    control,
    fields,
    frame,
    frame_end,
    interval,
    interval_end,
    record,
    samples,
)
from tests.ingest.reading import check, inventory, read, reads_of, source
from tests.scenarios import CONFIG, LATER, capture, captured
from tools.fuzz_mutations import bend
from tools.fuzz_readers import container_of
from tools.fuzz_seeds import Seed, seeds

SIZES = (4096, 5000, 8192, 30_000, 65_536)
"""Bytes read at a time."""
MANY = int(os.environ.get("READ_SIZES_DUMPS", "50"))
"""Damaged dumps that the slow test reads in all sizes; READ_SIZES_DUMPS=1000 reads more."""

kept = functools.cache(seeds)


def same_in_all_sizes(data: bytes, container: Container = Container.AUTO) -> None:
    """Read a dump whole and in pieces; a check asks the rows that a read finds."""
    for reader in (read, counted):
        whole = reader(data, container, None)
        for size in SIZES:
            assert reader(data, container, size) == whole, size


def counted(data: bytes, container: Container, chunk: int | None) -> dict[Any, Any]:
    found = inventory(data, container, chunk)
    findings = found.findings.table().to_pylist()
    return {**found.records, "ends": found.ends_us, "findings": findings}


@pytest.mark.parametrize("seed", kept(), ids=lambda s: s.name)
def test_good_dumps_are_read_alike(seed: Seed):
    same_in_all_sizes(seed.data)


@pytest.mark.parametrize("seed", kept()[2:4], ids=lambda s: s.name)
def test_good_dumps_are_checked_alike(seed: Seed):
    whole = check(seed.data, Container.AUTO)
    assert check(seed.data, Container.AUTO, SIZES[0]) == whole


def damaged(number: int) -> None:
    every = kept()
    small = [seed for seed in every if not seed.name.startswith("generated")]
    chosen = every if number % 50 == 0 else small
    bent = bend(chosen[number % len(chosen)], np.random.default_rng([18, number]))
    container = container_of(bent)
    if len(bent.data) and container is not Container.AUTO:
        same_in_all_sizes(bent.data.tobytes(), container)


@pytest.mark.parametrize("first", range(0, 20, 10))
def test_damaged_dumps_are_read_alike(first: int):
    for number in range(first, first + 10):
        damaged(number)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 1000 + MANY, 50))
def test_many_damaged_dumps_are_read_alike(first: int):
    for number in range(first, first + 50):
        damaged(number)


@pytest.mark.parametrize("size", [13 * FRAME, 16 * FRAME, 17 * FRAME + 5])
def test_a_set_behind_a_short_one_is_found_wherever_a_read_ends(size: int):
    """Eight bytes of an event set are missing, and the next set reaches over the end of a read."""
    event = captured(("E", 0x80000, fields("mtrepr", 1, config=1)))
    large = capture(samples(*[frame(LATER, frame_end(120))] * 15, frame(LATER, interval_end(120))))
    data = capture(interval(60, CONFIG, LATER)) + event * 9 + event[:-8] + large + large

    reading = read(data, Container.MONREADER, size)

    assert len(reading.tables["sytrsp"]) == 33
    assert reading.bytes["quarantined"] < len(event)
    same_in_all_sizes(data)


def test_an_interval_without_end_is_cut_at_the_same_record(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(windows, "LIMIT", 6 * FRAME)
    row = fields("sytrsp", 60, pfxcpuad=1)
    frames = [frame(row, row, frame_end())] * 20
    data = interval(60, CONFIG, row) + samples(*frames, frame(row, interval_end(120)))

    reading = read(data)

    opened = [row for row in reading.findings if row["code"] == "INTERVAL_OPEN"]
    assert [row["count"] for row in opened] == [18, 18, 18]
    for size in SIZES:
        assert read(data, chunk=size) == reading


def event_set(second: int) -> bytes:
    row = frame(fields("mtrepr", second, config=1), frame_end(second))
    return control(("E", 0x80000, 0x80000 + FRAME - 1)) + row


BEHIND_OPEN = {
    "events": b"".join(event_set(n) for n in range(61, 81)),
    "zeros": bytes(40 * FRAME),
    "noise": b"\x91" * (40 * FRAME + 100),
    "zeros and events": bytes(7 * FRAME) + event_set(61) * 9 + bytes(11 * FRAME),
}


@pytest.mark.parametrize("behind", BEHIND_OPEN.values(), ids=BEHIND_OPEN)
@pytest.mark.parametrize("closed", [True, False])
def test_what_follows_samples_without_an_end_is_held_up_to_the_limit_only(
    behind: bytes, closed: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(windows, "LIMIT", 6 * FRAME)
    row = fields("sytrsp", 60, pfxcpuad=1)
    end = interval(120, row) * 3 if closed else b""
    data = interval(60, CONFIG, row) + samples(frame(row, frame_end())) + behind + end

    same_in_all_sizes(data)

    opened = [row["count"] for row in read(data).findings if row["code"] == "INTERVAL_OPEN"]
    assert opened == [2]
    assert largest_window(data, FRAME) <= 6 * FRAME + LOOKAHEAD + 3 * FRAME


def largest_window(data: bytes, chunk: int) -> int:
    """The most bytes that are held of a dump that is read `chunk` bytes at a time."""
    with reads_of(chunk):
        framer = Framer(Findings())
        return max(len(w.data) for w in windows.windows(source(data, Container.MONWRITE), framer))


def test_a_set_longer_than_what_is_held_is_read_alike(monkeypatch: pytest.MonkeyPatch):
    """Its frames do not begin with it, and records reach over the end of every read."""
    monkeypatch.setattr(monreader, "SET_LIMIT", 3 * FRAME)
    first = (fields("mtrepr", 1, config=1) + frame_end(1)).ljust(96, b"\0")
    frames = [frame(*[fields("mtrepr", n, config=n)] * 100, frame_end(n)) for n in range(2, 30)]
    long = captured(("E", 0x80000 + 4000, b"".join([first, *frames])))
    data = capture(interval(60, CONFIG, LATER)) + long + capture(interval(120, LATER))

    same_in_all_sizes(data, Container.MONREADER)

    assert len(read(data, Container.MONREADER).tables["mtrepr"]) == 2801


def test_each_interval_is_read_by_the_release_that_was_named_up_to_it():
    """The first frames are event data, so that an interval does not begin with its control record.

    Which fields there are depends on the release.
    """
    replaced = next(layout for layout in layouts() if layout.replacing)
    row = record(replaced.domain, replaced.record, b"\1" * (replaced.length - 20), 60)
    last = max(release_key(field.since) for field in replaced.fields if field.since)
    digits = "".join(f"{part:02}" for part in last) + "01"
    event = captured(("E", 0x80000, fields("mtrepr", 1, config=1)))
    parts = [
        capture(interval(60 * n, fields("mtrsys", systmid="VM", hcpcpeid=level), row)) + event
        + capture(interval(60 * n + 60, row)) * 9
        for n, level in ((1, "01010001"), (20, digits), (40, "01010001"))
    ]  # fmt: skip
    data = b"".join(parts)

    rows = read(data, Container.MONREADER).tables[replaced.name]

    assert len({tuple(v is None for v in row.values()) for row in rows}) == 2
    assert [rows[0], rows[9], rows[29]] != [rows[10], rows[19], rows[0]]
    same_in_all_sizes(data, Container.MONREADER)
