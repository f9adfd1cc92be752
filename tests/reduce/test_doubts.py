"""What reports print where sessions, devices and processors begin anew, and counters wrap or slip.

Dumps are written byte by byte, with a first sample at second 0 and intervals of 60 seconds; the
numbers that reports must print of them are worked out beside each.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import ReportResult, report
from cpmon.schemas.owners import COUNTDOWN_START
from cpmon.store import Store, connect
from tests.dumps import BEGIN_S, dump, fields, interval, tod
from tests.generate.plain_reader import Record, records
from tests.reduce.altered import whole
from tests.values import Place, places

SECOND = 4_096_000_000
"""TOD units."""
IPL = 0xB6E0000000000000
NOTE = "Blank, left out of sums, or a lower bound: "


def config(ipl: int = IPL, length: int = 60) -> bytes:
    return fields("mtrsys", systmid="VMTEST", systodst=ipl) + fields("mtrspr", interval=length)


class Landed:
    """A store in which each dump is of a system of its own: its catalogue is made only once."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._store = folder, Store(folder / "store", create=True)
        self._numbers = itertools.count()

    def report(self, name: str, data: bytes, **options: Any) -> ReportResult:
        """A report of a dump."""
        system = f"HAND{next(self._numbers)}"
        file = self._folder / f"{system}.mon"
        file.write_bytes(data)
        ingest(file, self._store, system=system)
        with connect(self._store, reductions()) as con:
            return report(con, name, system=system, **options)


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Landed:
    return Landed(tmp_path_factory.mktemp("doubts"))


def printed(landed: Landed, name: str, *intervals: bytes, **options: Any) -> ReportResult:
    """A report of a dump of some intervals."""
    return landed.report(name, dump(*intervals), **options)


def column(result: ReportResult, name: str) -> list[Any]:
    """The values of a column, line by line, as printed to six digits."""
    values = result.table.column(name).to_pylist()
    return [round(v, 6) if isinstance(v, float) else v for v in values]


def doubts(result: ReportResult) -> list[str]:
    """What the note on doubts names."""
    (note,) = [note for note in result.notes if note.startswith(NOTE)] or [f"{NOTE}."]
    return [text for text in note.removeprefix(NOTE).removesuffix(".").split(", ") if text]


# Users


def user(second: float, cpu_s: float, *, vcpu: int = 0, ios: int = 0, **more: Any) -> bytes:
    """USEACT: so many seconds of processor time since logon, and so many I/Os to DASD."""
    return fields(
        "useact",
        second,
        vmduser="ALICE",
        vmdcpuad=vcpu,
        vmdttime=round(cpu_s * SECOND),
        vmdvtime=round(cpu_s * SECOND / 2),
        vmdvdsct=ios,
        **more,
    )


def logged_off(second: float, cpu_s: float, since: float) -> bytes:
    return fields(
        "uselof",
        second,
        vmduser="ALICE",
        vmdttime=round(cpu_s * SECOND),
        vmdvtime=round(cpu_s * SECOND / 2),
        caltodon=tod(since),
    )


def logged_on(second: float) -> bytes:
    return fields("uselon", second, vmduser="ALICE", caltodon=tod(second))


@pytest.mark.parametrize("old", [3, 30])
def test_a_user_who_logs_off_and_on_has_what_both_sessions_used(landed: Landed, old: int):
    """The old session used 0.5 s until its logoff, the new one 5 s since its logon.

    That 5 s are more than 3 s does not make them 2 s of one session.
    """
    result = printed(
        landed,
        "USER_RESOURCE_UTIL",
        interval(0, config(), user(0, old)),
        interval(60, logged_off(20, old + 0.5, -900), logged_on(30), user(60, 5, ios=7)),
        interval(120, user(120, 8, ios=9)),
        objects={"user": "ALICE"},
    )
    assert column(result, "cpu_s") == [5.5, 3]
    assert column(result, "virtual_s") == [2.75, 1.5]
    assert result.total["cpu_s"] == pytest.approx(8.5)
    assert doubts(result) == ["USEACT began anew (1)"]


@pytest.mark.parametrize("old", [3, 30])
def test_a_user_who_logs_on_again_has_at_least_what_the_new_session_used(landed: Landed, old: int):
    """Nobody recorded the logoff, and what the old session used until then."""
    result = printed(
        landed,
        "USER_RESOURCE_UTIL",
        interval(0, config(), user(0, old)),
        interval(60, logged_on(30), user(60, 5)),
        objects={"user": "ALICE"},
    )
    assert column(result, "cpu_s") == [5]
    assert doubts(result) == ["USEACT began anew (1)"]


def test_a_session_is_known_to_be_new_where_its_times_and_counts_fell(landed: Landed):
    """No event is recorded: 30 s and 900 I/Os become 5 s and 100, a lower bound."""
    result = printed(
        landed,
        "USER_RESOURCE_UTIL",
        interval(0, config(), user(0, 130, ios=100_000)),
        interval(60, user(60, 5, ios=120)),
        objects={"user": "ALICE"},
    )
    assert column(result, "cpu_s") == [5]
    assert column(result, "io_rate") == [2]
    assert doubts(result) == ["USEACT began anew (1)"]


@pytest.mark.parametrize("recorded", [True, False])
def test_a_virtual_processor_that_is_redefined_leaves_a_lower_bound(
    landed: Landed, *, recorded: bool
):
    """Processor 0 used 10 s, processor 1 used 2 s since it was defined again: 12 s, not 10 s."""
    events = fields("usedtc", 70, vmduser="ALICE", vmdcpuad=1)
    events += fields("usedfc", 80, vmduser="ALICE", vmdcpuad=1)
    result = printed(
        landed,
        "USER_RESOURCE_UTIL",
        interval(0, config(), user(0, 100), user(0, 190, vcpu=1)),
        interval(60, user(60, 110), user(60, 200, vcpu=1)),
        interval(120, events * recorded, user(120, 120), user(120, 2, vcpu=1)),
        objects={"user": "ALICE"},
    )
    assert column(result, "cpu_s") == [20, 12]
    assert doubts(result) == ["USEACT began anew (1)"]


def test_a_user_without_the_record_of_a_virtual_processor_has_no_time(landed: Landed):
    """That processor 0 used 10 s in the second interval is not what the user used."""
    result = printed(
        landed,
        "USER_RESOURCE_UTIL",
        interval(0, config(), user(0, 100), user(0, 190, vcpu=1)),
        interval(60, user(60, 110), user(60, 200, vcpu=1)),
        interval(120, user(120, 120)),
        objects={"user": "ALICE"},
    )
    assert column(result, "cpu_s") == [20, None]
    assert doubts(result) == ["USEACT is missing (1)"]


# Devices


def device(second: float, starts: int, narrow: int = 0, **more: Any) -> bytes:
    """IODDEV: so many I/Os, in 32 bits and in 16."""
    more = {"rdevsid": 7, "scgssch": starts, "scgcount": starts} | more
    return fields("ioddev", second, rdevdev=0x1234, scmssch=narrow, scmcount=narrow, **more)


def of_device(event: str, second: float) -> bytes:
    return fields(event, second, rdevdev=0x1234, rdevsid=7)


@pytest.mark.parametrize(
    ("events", "after"),
    [
        ([], 85),
        (["iodvof", "iodvon"], 85),
        (["iodvof", "iodvon"], 70_000),
        (["iodmof", "iodmon"], 70_000),
        (["iodsof", "iodson"], 70_000),
        (["iodddv", "iodvon"], 70_000),
    ],
)
def test_a_device_that_was_varied_or_is_measured_anew_has_no_rate(
    landed: Landed, events: Sequence[str], after: int
):
    """50,000 I/Os become 85: 4,294,917,381 since then are 71,581,956 a second, and impossible.

    Where an event tells it 70,000 are no 20,000 since then, either.
    """
    between = b"".join(of_device(event, 70 + n) for n, event in enumerate(events))
    result = printed(
        landed,
        "DASD_BY_ACTIVITY",
        interval(0, config(), device(0, 44_000)),
        interval(60, device(60, 50_000)),
        interval(120, between, device(120, after)),
        interval(180, device(180, after + 1_200)),
        objects={"device": 0x1234},
    )
    assert column(result, "ssch_rate") == [100, 20]  # the interval between has no line
    assert result.mean["ssch_rate"] == pytest.approx((6_000 + 1_200) / 120)
    assert doubts(result) == ["IODDEV began anew (1)"]


def test_a_counter_of_32_bits_wraps(landed: Landed):
    """From 4,294,967,000 to 2^32 are 296, and 204 more: 500 I/Os in 60 s."""
    result = printed(
        landed,
        "DASD_BY_ACTIVITY",
        interval(0, config(), device(0, 4_294_967_000)),
        interval(60, device(60, 204)),
        objects={"device": 0x1234},
    )
    assert column(result, "ssch_rate") == [pytest.approx(500 / 60, abs=1e-6)]
    assert doubts(result) == []


def test_a_busy_device_with_counters_of_16_bits_alone_is_noted(landed: Landed):
    """65,000 to 300 is 836 I/Os if it wrapped once; at 300,000 a second it may have more often."""
    result = printed(
        landed,
        "DASD_BY_ACTIVITY",
        interval(0, config(), device(0, 0, 65_000)),
        interval(60, device(60, 0, 300)),
        objects={"device": 0x1234},
    )
    assert column(result, "ssch_rate") == [round(836 / 60, 6)]
    assert "IODDEV.SCMSSCH may have wrapped more than once (1)" in doubts(result)


def test_a_device_with_counters_of_32_bits_as_well_is_not_noted(landed: Landed):
    """66,372 I/Os: 836 more than the 65,536 that 16 bits hold."""
    result = printed(
        landed,
        "DASD_BY_ACTIVITY",
        interval(0, config(), device(0, 1_000_000, 65_000)),
        interval(60, device(60, 1_066_372, 300)),
        objects={"device": 0x1234},
    )
    assert column(result, "ssch_rate") == [1106.2]
    assert doubts(result) == []


# Processors


def processor(second: float, busy_s: float, *, cpu: int = 0, **more: Any) -> bytes:
    """SYTPRP: so many seconds of user time since IPL, half of them in guests, the rest waiting."""
    values = {
        "pfxutime": round(busy_s * SECOND),
        "pfxprbtm": COUNTDOWN_START - round(busy_s * SECOND / 2),
        "pfxtmsys": COUNTDOWN_START,
        "pfxtotwt": round((10_000 + second - busy_s) * SECOND),
    }
    return fields("sytprp", second, pfxcpuad=cpu, **(values | more))


def both(second: float, first_s: float, second_s: float) -> bytes:
    return processor(second, first_s) + processor(second, second_s, cpu=1)


def test_the_system_has_no_busy_time_while_the_record_of_a_processor_is_missing(landed: Landed):
    """30 and 20 s of two times 60 are 41.7 %; processor 0 alone, busy for 27 s, is not 45 %."""
    result = printed(
        landed,
        "SYSTEM_SUMMARY_BY_TIME",
        interval(0, config(), both(0, 1_000, 2_000)),
        interval(60, both(60, 1_030, 2_020)),
        interval(120, processor(120, 1_057)),
        interval(180, both(180, 1_090, 2_060)),
        interval(240, both(240, 1_102, 2_084)),
    )
    # 12 and 24 s of 120 in the last interval; behind the gap of processor 1 nothing is known of it.
    assert column(result, "total_util") == [round(50 / 120, 6), None, None, 0.3]
    assert column(result, "emul_util") == [round(25 / 120, 6), None, None, 0.15]
    assert result.mean["total_util"] == pytest.approx(86 / 240)
    assert doubts(result) == ["SYTPRP is missing (1)", "SYTPRP was not sampled before (1)"]


def test_what_a_processor_did_until_it_was_varied_off_is_not_known(landed: Landed):
    """Until then it ran too; then the system is processor 0: 30 of 60 s."""
    result = printed(
        landed,
        "SYSTEM_SUMMARY_BY_TIME",
        interval(0, config(), both(0, 1_000, 2_000)),
        interval(60, both(60, 1_030, 2_020)),
        interval(120, fields("prcvof", 80, pfxcpuad=1), processor(120, 1_057)),
        interval(180, processor(180, 1_087)),
        interval(240, fields("prcvon", 200, pfxcpuad=1), both(240, 1_117, 7)),
        interval(300, both(300, 1_147, 19)),
    )
    assert column(result, "total_util") == [round(50 / 120, 6), None, 0.5, None, 0.35]
    assert doubts(result) == ["SYTPRP began (1)", "SYTPRP ended (1)"]


def test_a_processor_stays_missing_until_it_is_sampled_again(landed: Landed):
    result = printed(
        landed,
        "SYSTEM_SUMMARY_BY_TIME",
        interval(0, config(), both(0, 1_000, 2_000)),
        interval(60, processor(60, 1_030)),
        interval(120, processor(120, 1_060)),
        interval(180, both(180, 1_090, 2_060)),
        interval(240, both(240, 1_120, 2_080)),
    )
    assert column(result, "total_util") == [None, None, None, round(50 / 120, 6)]


def test_a_processor_that_was_varied_off_and_on_between_two_samples_began_anew(landed: Landed):
    events = fields("prcvof", 80, pfxcpuad=1) + fields("prcvon", 90, pfxcpuad=1)
    result = printed(
        landed,
        "SYSTEM_SUMMARY_BY_TIME",
        interval(0, config(), both(0, 10, 4)),
        interval(60, both(60, 40, 10)),
        interval(120, events, both(120, 70, 25)),
    )
    # 25 s since it was varied on are no 15 s since the sample before.
    assert column(result, "total_util") == [round(36 / 120, 6), None]
    assert doubts(result) == ["SYTPRP began anew (1)"]


def test_nothing_is_computed_across_an_ipl(landed: Landed):
    """CP was loaded at second 90; 45 s of processor 0 since then are less than before."""
    result = printed(
        landed,
        "SYSTEM_SUMMARY_BY_TIME",
        interval(0, config(), both(0, 10, 20)),
        interval(60, both(60, 40, 26)),
        interval(120, config(tod(90)), both(120, 45, 30)),
        interval(180, both(180, 60, 39)),
    )
    assert column(result, "total_util") == [0.3, 0.2]
    assert any("2 intervals left out" in note for note in result.notes)


def test_a_wait_that_slips_is_blank_and_so_is_the_next_one(landed: Landed):
    """PFXTOTWT fell by 2 s while the processor was busy: all else of the row stays."""
    wait = [10_000, 10_030, 10_028, 10_058, 10_088]
    intervals = [
        processor(60 * n, 100 + 30 * n, pfxtotwt=round(s * SECOND)) for n, s in enumerate(wait)
    ]
    result = printed(
        landed,
        "PROCESSORS_BY_TIME",
        interval(0, config(), intervals[0]),
        *(interval(60 * n, row) for n, row in enumerate(intervals[1:], 1)),
        objects={"cpu": 0},
    )
    assert column(result, "wait_util") == [0.5, None, None, 0.5]
    assert column(result, "total_util") == [0.5, 0.5, 0.5, 0.5]
    assert doubts(result) == ["SYTPRP.PFXTOTWT fell (1)", "SYTPRP.PFXTOTWT is not possible (1)"]


@pytest.mark.parametrize("until", [None, timedelta(seconds=120)], ids=["whole", "span"])
def test_a_wait_that_is_added_when_it_ends_leaves_the_interval_before_unknown(
    landed: Landed, until: timedelta | None
):
    """It waited for 30 s in each; those of the second are added in the third, behind the span."""
    wait, used = [10_000, 10_030, 10_030, 10_090, 10_120], 200 if until else 100
    intervals = [
        processor(60 * n, used + 30 * n, pfxtotwt=round(s * SECOND)) for n, s in enumerate(wait)
    ]
    result = printed(
        landed,
        "PROCESSORS_BY_TIME",
        interval(0, config(), intervals[0]),
        *(interval(60 * n, row) for n, row in enumerate(intervals[1:], 1)),
        objects={"cpu": 0},
        until=until and datetime.fromtimestamp(BEGIN_S, UTC) + until,
    )
    shown = 2 if until else 4
    assert column(result, "wait_util") == [0.5, None, None, 0.5][:shown]
    assert column(result, "suspended_util") == [0.0, None, None, 0.0][:shown]
    assert column(result, "total_util") == [0.5, 0.5, 0.5, 0.5][:shown]
    assert doubts(result) == [f"SYTPRP.PFXTOTWT is not possible ({1 if until else 2})"]


@pytest.mark.parametrize(("step", "word"), [(-40, "fell"), (+500, "is not possible")])
def test_guest_time_that_slips_is_blank(landed: Landed, step: int, word: str):
    """PFXPRBTM runs down: 15 s an interval, but for one in which it goes back or too far."""
    guest = [500, 515, 515 + step, 530 + step, 545 + step]
    intervals = [
        processor(60 * n, 2_000 + 30 * n, pfxprbtm=COUNTDOWN_START - s * SECOND)
        for n, s in enumerate(guest)
    ]
    result = printed(
        landed,
        "SYSTEM_SUMMARY_BY_TIME",
        interval(0, config(), intervals[0]),
        *(interval(60 * n, row) for n, row in enumerate(intervals[1:], 1)),
    )
    after = None if step < 0 else 0.25
    assert column(result, "emul_util") == [0.25, None, after, 0.25]
    assert column(result, "cp_util") == [0.25, None, after, 0.25]
    assert column(result, "total_util") == [0.5, 0.5, 0.5, 0.5]
    assert doubts(result)[0].startswith(f"SYTPRP.PFXPRBTM {word}")


# Counts


def counts(second: float, starts: int, **more: Any) -> bytes:
    """SYTSYP and SYTPRP of the only processor."""
    return processor(second, 10) + fields("sytsyp", second, pfxcpuad=0, plsctss=starts, **more)


def test_a_jump_that_no_system_can_reach_is_blank(landed: Landed):
    """2^31 I/Os in 60 s would be 35 million a second."""
    result = printed(
        landed,
        "SYSTEM_SUMMARY_BY_TIME",
        interval(0, config(), counts(0, 1_000)),
        interval(60, counts(60, 4_000)),
        interval(120, counts(120, 4_000 + 2**31)),
        interval(180, counts(180, 4_600 + 2**31)),
    )
    assert column(result, "ssch_rate") == [50, None, 10]
    assert result.mean["ssch_rate"] == pytest.approx(3_600 / 120)
    assert doubts(result) == ["SYTSYP.PLSCTSS is not possible (1)"]


def test_a_count_that_may_have_wrapped_twice_in_a_long_interval_is_noted(landed: Landed):
    """500 I/Os in half an hour, in which 10 million a second come to more than 2^32."""
    result = printed(
        landed,
        "SYSTEM_SUMMARY_BY_TIME",
        interval(0, config(length=1800), counts(0, 4_294_967_000)),
        interval(1800, counts(1800, 204)),
    )
    assert column(result, "ssch_rate") == [round(500 / 1800, 6)]
    assert doubts(result) == ["SYTSYP.PLSCTSS may have wrapped more than once (1)"]


# Guests that run Linux


LAB = whole("small-lab", "LAB", 4)
GUEST = "LXMAIL01"
BLOCK = 52
"""Where the block of a Linux guest begins in its record."""


def blocks() -> list[list[Record]]:
    """The records of the guest: by kind of block, one of each sample."""
    own = [r for r in records(LAB) if (r.domain, r.number) == (10, 2) and r.text(24, 8) == GUEST]
    return [[r for r in own if r.data[41] == kind] for kind in sorted({r.data[41] for r in own})]


def counters_of(kind: Sequence[Record]) -> list[list[Place]]:
    """The counters of a kind of block, each with its place in every sample."""
    every = [p for p in places(LAB) if p.field.is_cumulative]
    inside = [
        [p for p in every if record.offset <= p.offset < record.offset + len(record.data)]
        for record in kind
    ]
    return [list(same) for same in zip(*inside, strict=True)]


def value(place: Place) -> int:
    return int.from_bytes(LAB[place.offset : place.end])


def put(data: bytearray, place: Place, number: int) -> None:
    data[place.offset : place.end] = number.to_bytes(place.end - place.offset)


def of_guest(landed: Landed, data: bytes) -> ReportResult:
    return landed.report("LINUX_GUESTS", data, objects={"user": GUEST})


@pytest.fixture(scope="module")
def steady(landed: Landed) -> ReportResult:
    """What is printed of the guest as it is."""
    return of_guest(landed, LAB)


@pytest.mark.slow
def test_a_guest_that_was_booted_again_has_no_rates_across_it(landed: Landed, steady: ReportResult):
    """Its counters begin at 0 behind the second sample, and count on as they would have."""
    data = bytearray(LAB)
    for kind in blocks():
        for same in counters_of(kind):
            for place in same[2:]:
                put(data, place, value(place) - value(same[1]))
    booted = of_guest(landed, bytes(data))
    for name in ("cpu_util", "user_util", "fault_rate", "received_kib_rate"):
        first, _, *others = column(steady, name)
        assert column(booted, name) == [first, *others]
    tables = ("MEMORY", "NET", "OS_CPU")
    assert {f"APLSDT_{table} began anew (1)" for table in tables} <= set(doubts(booted))


def test_a_guest_that_wrote_no_new_block_has_a_rate_over_both_intervals(
    landed: Landed, steady: ReportResult
):
    """In the third sample CP finds the blocks of the second again."""
    data = bytearray(LAB)
    for kind in blocks():
        old, again = kind[1], kind[2]
        data[again.offset + BLOCK : again.offset + len(again.data)] = old.data[BLOCK:]
    stale = of_guest(landed, bytes(data))
    for name in ("cpu_util", "iowait_util"):
        first, second, third, *others = steady.table.column(name).to_pylist()
        both = (second + third) / 2  # of 60 s each, by the guest's clock
        assert stale.table.column(name).to_pylist() == pytest.approx(
            [first, both, *others], abs=1e-3
        )
    assert "APLSDT_OS_CPU is older than the interval (1)" in doubts(stale)


def test_io_wait_of_a_guest_that_slips_is_blank_and_the_rest_stays(
    landed: Landed, steady: ReportResult
):
    """Three ticks fewer in the third sample; behind it the counter may have come back."""
    data = bytearray(LAB)
    (os,) = (kind for kind in blocks() if kind[0].data[41] == 2)
    for same in counters_of(os):
        if same[0].field.name == "per_cpu_iowait":
            put(data, same[2], value(same[1]) - 3)
    slipped = of_guest(landed, bytes(data))
    first, _, _, *others = column(steady, "iowait_util")
    assert column(slipped, "iowait_util") == [first, None, None, *others]
    for name in ("cpu_util", "user_util", "system_util", "steal_util", "fault_rate"):
        assert column(slipped, name) == column(steady, name)
    assert any("PER_CPU_IOWAIT fell" in doubt for doubt in doubts(slipped))
