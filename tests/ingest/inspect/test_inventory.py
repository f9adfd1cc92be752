"""What is inside a dump: counts, intervals, gaps and starts, told by the headers of records."""

from __future__ import annotations

import io

import numpy as np
import pytest

from cpmon.ingest import Code
from cpmon.ingest.container import windows
from cpmon.ingest.container.source import Source
from cpmon.ingest.inspect.inventory import Inventory, take_inventory
from tests.dumps import BEGIN_US, FRAME, dump, fields, frame, interval, record, samples
from tests.scenarios import CONFIG, SAMPLE

IPL = 0xB6BB2112BB20597C
HOUR = 3600


def listed(data: bytes) -> Inventory:
    return take_inventory(Source(io.BytesIO(data), "test.mon"))


def system(at: float, ipl: int = IPL, **values: object) -> bytes:
    return fields("mtrsys", at, systmid="VMTEST", systodst=ipl, **values)


def test_small_windows_change_nothing(monkeypatch: pytest.MonkeyPatch):
    one = samples(frame(SAMPLE), frame(SAMPLE), frame(SAMPLE))
    data = dump(interval(60, CONFIG, SAMPLE), one, interval(120, SAMPLE), interval(180), one)
    whole = listed(data)
    monkeypatch.setattr(windows, "CHUNK", FRAME)
    pieces = listed(data)
    assert pieces == whole
    assert len(whole.ends_us) == 2, "the interval without a sample is none"
    assert whole.findings.counts[Code.INTERVAL_OPEN] == 3
    (finding,) = [f for f in whole.findings.kept if f.code is Code.INTERVAL_OPEN]
    assert finding.offset == len(data) - FRAME - 3 * FRAME


def test_an_inventory_of_generated_runs_is_that_of_their_records():
    rng = np.random.default_rng(7)
    kinds = [(0, 4), (4, 3), (9, 42), (0, 16)]
    sizes = {kind: 40 + 4 * n for n, kind in enumerate(kinds)}
    picks = [kinds[n] for n in rng.integers(0, len(kinds), 400)]
    parts = [record(d, r, bytes(sizes[d, r] - 20), 60) for d, r in picks]
    sets = [interval(60 * n, *parts[40 * n : 40 * n + 40]) for n in range(10)]
    found = listed(dump(*sets))
    for kind in kinds:
        count = picks.count(kind)
        assert found.records[kind] == (count, count * sizes[kind])
    assert found.records[1, 11] == (10, 200)


def test_gaps_are_where_the_length_that_was_set_is_exceeded():
    data = dump(
        interval(60, CONFIG, fields("mtrspr", interval=60), SAMPLE),
        *(interval(at, SAMPLE) for at in (120, 300, 360)),
    )
    found = listed(data)
    assert found.interval_s == 60
    assert found.gaps == [(BEGIN_US + 120_000_000, BEGIN_US + 300_000_000)]


def test_a_reset_is_another_time_of_ipl_and_not_another_start_of_the_monitor():
    data = dump(
        interval(60, system(0), SAMPLE),
        interval(120, system(90), SAMPLE),
        interval(180, system(150, IPL + (1 << 40)), SAMPLE),
    )
    found = listed(data)
    assert len(found.starts) == 3
    assert [start.at_us for start in found.resets] == [BEGIN_US + 150_000_000]


@pytest.mark.parametrize(
    ("written", "expected"),
    [(HOUR, HOUR), ((1 << 32) - 5 * HOUR, -5 * HOUR), (0, 0), (90 * HOUR, None)],
)
def test_a_time_zone_may_be_west_of_utc_and_must_be_one(written: int, expected: int | None):
    assert (
        listed(dump(interval(60, system(0, syszone=written), SAMPLE))).configuration.zone_s
        == expected
    )


def test_a_dump_without_configuration_has_no_zone_and_no_starts():
    found = listed(dump(interval(60, SAMPLE), interval(120, SAMPLE)))
    assert (found.configuration.zone_s, found.starts, found.interval_s) == (None, [], 60)


def test_unknown_records_are_named_where_a_name_is_known():
    data = dump(interval(60, CONFIG, SAMPLE, record(1, 3, bytes(8)), record(9, 99)))
    rows = {(r["domain"], r["record"]): r for r in listed(data).table().to_pylist()}
    assert rows[9, 99]["layout"] == "unknown" and rows[9, 99]["name"] is None
    assert rows[1, 3]["name"] == "MTRSUS"
    assert rows[0, 4]["layout"] == "derived"
    assert rows[0, 4]["share"] == pytest.approx(len(SAMPLE) / len(data))


def test_rows_come_in_the_order_asked_for():
    data = dump(interval(60, CONFIG, SAMPLE, *[record(9, 99)] * 3, record(9, 98, bytes(500))))
    found = listed(data)

    def order(sort: str) -> list[tuple[int, int]]:
        return [(r["domain"], r["record"]) for r in found.table(sort).to_pylist()]

    assert order("type") == sorted(found.records)
    assert order("bytes")[0] == (9, 98)
    assert order("records")[0] == (9, 99)


def test_a_source_that_was_not_hashed_has_no_identity():
    source = Source(io.BytesIO(dump(interval(60, SAMPLE))), "test.mon")
    take_inventory(source)
    with pytest.raises(RuntimeError, match=r"test\.mon was read without being hashed"):
        _ = source.identity
