"""A dump checked in passes: what ingest finds, then the values; every finding once, and located."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from importlib.resources import files

import pytest

from cpmon.cli.dump.diagnosis import check_dump
from cpmon.ingest import Code
from cpmon.ingest.container.source import Source
from cpmon.ingest.findings import Pass
from cpmon.ingest.landing import Checked
from cpmon.schemas import layout
from cpmon.schemas.owners import Parts, parts_of
from cpmon.schemas.registry import tables
from tests.dumps import FRAME, control, dump, fields, frame, interval, interval_end, samples

NARROW = next(f for f in layout("ioddev").columns if f.is_cumulative and f.length == 2)
SPAN = fields("mtrspr", interval=60)
IPL = 0xB6BB2112BB20597C
CONFIG = fields("mtrsys", systmid="VMTEST", systodst=IPL) + SPAN
TOP = (1 << 32) - 1


def check(data: bytes) -> Checked:
    return check_dump(Source(io.BytesIO(data), "test.mon"))


def told(checked: Checked) -> dict[Code, int]:
    return dict(checked.findings.counts)


def detail(checked: Checked, code: Code) -> str:
    (finding,) = [f for f in checked.findings.kept if f.code is code]
    return finding.detail


def cpu(at: float, number: int = 1, **counters: int) -> bytes:
    return fields("sytrsp", at, pfxcpuad=number, **counters)


def minutes(*sets: Iterable[bytes]) -> bytes:
    """A set each minute, the first with the configuration."""
    first, *others = [b"".join(records) for records in sets]
    return dump(
        interval(60, CONFIG, first),
        *(interval(60 * n, records) for n, records in enumerate(others, start=2)),
    )


def test_counters_that_grow_or_wrap_are_no_finding():
    data = minutes(
        [cpu(60, 1, plsstlfr=5, plsprqdf=TOP - 3)],
        [cpu(120, 1, plsstlfr=5, plsprqdf=7)],
        [cpu(180, 1, plsstlfr=9, plsprqdf=8)],
    )
    assert told(check(data)) == {}


OLD = 3_000_000_000
"""Of a counter of 32 bits: more than it can have come to since the sample before."""


def test_a_counter_that_falls_alone_is_named_with_its_owner_and_place():
    data = minutes(
        [cpu(60, 1, plsalemp=OLD, plsprqdf=5, plsnocmp=5), cpu(60, 2)],
        [cpu(120, 1, plsalemp=OLD - 9, plsprqdf=6, plsnocmp=6), cpu(120, 2)],
        [cpu(180, 1, plsalemp=OLD - 90, plsprqdf=7, plsnocmp=7), cpu(180, 2)],
    )
    checked = check(data)
    assert told(checked) == {Code.COUNTER_FELL: 2}
    assert detail(checked, Code.COUNTER_FELL) == "SYTRSP.PLSALEMP fell: pfxcpuad=1"
    (finding,) = checked.findings.kept
    assert (finding.offset, finding.effect) == (3 * FRAME, "no delta of this counter")


def test_a_counter_that_rises_further_than_is_possible_is_named():
    data = minutes([cpu(60, 1, plsalemp=5)], [cpu(120, 1, plsalemp=OLD)])
    assert detail(check(data), Code.COUNTER_FELL) == "SYTRSP.PLSALEMP is not possible: pfxcpuad=1"


def user(at: float, time_s: float, reads: int = 0, name: str = "LINUX01") -> bytes:
    return fields("useact", at, vmduser=name, vmdttime=round(time_s * 4096e6), calcppgr=reads)


def test_an_owner_whose_counters_fall_together_has_started_again():
    data = minutes([user(60, 9, 50)], [user(120, 1, 2)], [user(180, 4, 60)])
    checked = check(data)
    assert told(checked) == {Code.OWNER_RESTARTED: 1}
    assert detail(checked, Code.OWNER_RESTARTED) == (
        "USEACT began anew: vmduser=LINUX01, vmdcpuad=0"
    )
    (finding,) = checked.findings.kept
    assert finding.effect == "the delta is what the new one has used since it began"


def test_an_owner_with_larger_values_has_started_again_if_an_event_says_so():
    def minute(at: float, time_s: float, *events: bytes) -> bytes:
        return b"".join(map(event_set, events)) + interval(at, user(at, time_s))

    def day(*events: bytes) -> bytes:
        return dump(interval(60, CONFIG, user(60, 20)), minute(120, 30, *events))

    off, on = (fields(name, 90 + n, vmduser="LINUX01") for n, name in enumerate(LOGOFF_LOGON))
    assert told(check(day())) == {}
    assert told(check(day(off, on))) == {Code.OWNER_RESTARTED: 1}


LOGOFF_LOGON = ("uselof", "uselon")


def event_set(event: bytes) -> bytes:
    start = 0x80000
    return control(("E", start, start + len(event) - 1)) + frame(event)


def test_an_owner_without_a_sample_is_named_where_no_event_says_that_it_left():
    off = fields("uselof", 90, vmduser="LINUX02")
    first = interval(60, CONFIG, user(60, 1), user(60, 1, name="LINUX02"))
    later = interval(120, user(120, 2))
    back = interval(180, user(180, 3), user(180, 3, name="LINUX02"))
    missing = check(dump(first, later))
    assert told(missing) == {Code.SAMPLE_MISSING: 1}
    assert detail(missing, Code.SAMPLE_MISSING) == (
        "USEACT is missing: vmduser=LINUX02, vmdcpuad=0"
    )
    (finding,) = missing.findings.kept
    assert finding.offset == FRAME + len(CONFIG) + len(user(60, 1))
    assert told(check(dump(first, event_set(off), later))) == {}
    again = {f.detail.partition(":")[0] for f in check(dump(first, later, back)).findings.kept}
    assert again == {"USEACT is missing", "USEACT was not sampled before"}


def test_an_owner_that_left_and_came_with_events_is_no_finding():
    off, on = (fields(name, 90 + 60 * n, vmduser="B") for n, name in enumerate(LOGOFF_LOGON))
    data = dump(
        interval(60, CONFIG, user(60, 1), user(60, 1, name="B")),
        event_set(off) + interval(120, user(120, 2)),
        event_set(on) + interval(180, user(180, 3), user(180, 0.5, name="B")),
    )
    assert told(check(data)) == {}


def test_a_counter_of_few_bits_that_may_have_wrapped_twice_is_a_lower_bound():
    def device(at: float, wide: int) -> bytes:
        return fields("ioddev", at, rdevdev=0x100, **{NARROW.name: wide})

    small, large = (check(minutes([device(60, 5)], [device(120, n)])) for n in (40, 40_000))
    assert told(small) == {}
    assert told(large) == {Code.WRAPPED_TWICE: 1}
    assert large.findings.kept[0].effect == "the delta is a lower bound"


def test_counters_may_fall_behind_a_restart_of_cp():
    before = fields("mtrsys", systmid="VMTEST", systodst=IPL)
    again, after = (
        fields("mtrsys", 100, systmid="VMTEST", systodst=ipl) for ipl in (IPL, IPL + (90 << 32))
    )
    first = cpu(60, 1, plsalemp=OLD, plsprqdf=5)
    second = cpu(120, 1, plsalemp=OLD - 9, plsprqdf=6)
    same, restarted = (
        dump(interval(60, before, SPAN, first), interval(120, config, second))
        for config in (again, after)
    )
    assert told(check(same)) == {Code.COUNTER_FELL: 1}
    assert told(check(restarted)) == {}


def test_a_countdown_runs_backwards_when_it_grows():
    def processor(at: float, left: int) -> bytes:
        return fields("sytprp", at, pfxprbtm=left, pfxutime=int(at) << 20)

    falling = minutes([processor(60, 9 << 40)], [processor(120, (9 << 40) - 5)])
    growing = minutes([processor(60, 9 << 40)], [processor(120, (9 << 40) + 5)])
    assert told(check(falling)) == {}
    assert "SYTPRP.PFXPRBTM fell" in detail(check(growing), Code.COUNTER_FELL)


def test_a_frame_that_repeats_within_a_sample_is_no_finding_of_deltas():
    first, second = cpu(60, 1, plsalemp=OLD), cpu(120, 1, plsalemp=OLD + 5)
    assert told(check(minutes([first], [second, second]))) == {}


def test_sets_out_of_order_and_sets_that_come_twice_are_found():
    one, two = (interval(60 * n, cpu(60 * n)) for n in (1, 2))
    start = interval(0, CONFIG, cpu(0))
    swapped, twice = check(dump(start, two, one)), check(dump(start, one, one))
    assert told(swapped) == {Code.TOD_BACK: 1, Code.INTERVAL_GAP: 1}
    assert told(twice) == {Code.TOD_BACK: 1}
    assert detail(twice, Code.TOD_BACK) == (
        "interval ends 2001-12-18 10:01:00.000000 UTC after 2001-12-18 10:01:00.000000 UTC"
    )


def test_a_frame_of_samples_behind_its_interval_end_is_out_of_order():
    first, last = frame(cpu(59, 1)), frame(cpu(59, 2), interval_end(60))
    later = samples(frame(cpu(119, 1), interval_end(120)))
    checked = check(dump(interval(0, CONFIG), samples(last, first), later))
    assert told(checked) == {Code.TOD_DISORDER: 1, Code.SAMPLE_MISSING: 2}
    assert checked.findings.first(Code.TOD_DISORDER).offset == 4 * FRAME


def test_records_of_a_set_out_of_order_are_worth_a_word():
    data = dump(interval(60, CONFIG, cpu(50, 1), cpu(40, 2), cpu(45, 3)))
    checked = check(data)
    assert told(checked) == {Code.TOD_DISORDER: 1}
    assert checked.findings.kept[0].offset == FRAME + len(CONFIG) + len(cpu(50))


def test_samples_and_events_are_not_held_against_each_other():
    event = fields("mtrepr", 30)
    start = 0x80000
    head = control(("E", start, start + len(event) - 1))
    data = dump(interval(60, CONFIG, cpu(60)), head + frame(event), interval(120, cpu(120)))
    assert told(check(data)) == {}


def test_missing_intervals_are_found_by_the_length_that_was_set():
    data = dump(interval(60, CONFIG, cpu(60)), interval(240, cpu(240)), interval(300, cpu(300)))
    checked = check(data)
    assert told(checked) == {Code.INTERVAL_GAP: 1}
    assert detail(checked, Code.INTERVAL_GAP) == (
        "expected 60 s, found 180 s before 2001-12-18 10:04:00.000000 UTC"
    )


BOUNDS = [(table, part) for table, of in tables().items() for part in parts_of(of, "values")]


@pytest.mark.parametrize(("table", "part"), BOUNDS, ids=[f"{t}.{p.parts[0]}" for t, p in BOUNDS])
def test_parts_that_are_more_than_their_whole_are_found(table: str, part: Parts):
    whole = 2_000_000_000 if part.spare > 1 else 20_000

    def row(first: float) -> bytes:
        values = dict.fromkeys([*part.parts, *part.whole], 0)
        return fields(table, 60, **values | {part.parts[0]: int(first), part.whole[0]: whole})

    assert told(check(minutes([row(whole * 1.005)]))) == {}
    broken = check(minutes([row(whole * 1.05)]))
    assert told(broken) == {Code.SUM_OPEN: 1}
    left, right = (" + ".join(names) for names in (part.parts, part.whole))
    assert detail(broken, Code.SUM_OPEN) == f"{table}: {left} {whole * 21 // 20} > {right} {whole}"
    assert broken.findings.kept[0].offset == FRAME + len(CONFIG)


@pytest.mark.parametrize(("busy_s", "found"), [(60, 0), (61.5, 1)])
def test_a_processor_is_not_busy_longer_than_time_passes(busy_s: float, found: int):
    def processor(at: float, busy: float) -> bytes:
        units = round(busy * 4096e6)
        return fields("sytprp", at, pfxutime=units, pfxprbtm=1 << 60, pfxtmsys=1 << 60)

    data = minutes([processor(60, 5)], [processor(120, 5 + busy_s)])
    details = [finding.detail for finding in check(data).findings.kept]
    assert details.count("SYTPRP.PFXUTIME is not possible: pfxcpuad=0") == found


def test_more_users_than_are_logged_on_are_found():
    def minute(at: float, users: int, known: int) -> list[bytes]:
        rows = [fields("useact", at, vmduser=f"U{n}", vmdcpuad=0) for n in range(users)]
        second = fields("useact", at, vmduser="U0", vmdcpuad=1)
        return [fields("sytusr", at, sysusrs=known), *rows, second]

    assert told(check(minutes(minute(60, 5, 5)))) == {}
    broken = check(minutes(minute(60, 9, 5)))
    assert told(broken) == {Code.SUM_OPEN: 1}
    assert "users-counted: all users: found 9, at most 6" in detail(broken, Code.SUM_OPEN)


def test_more_resident_pages_than_storage_are_found():
    storage = fields("mtrmem", rsagstor=100 * 4096)
    users = [fields("useact", 60, vmduser=f"U{n}", vmdctpvr=60) for n in range(2)]
    logged_on = fields("sytusr", 60, sysusrs=2)
    broken = check(dump(interval(60, CONFIG, storage, logged_on, *users)))
    assert "found 120, at most 101" in detail(broken, Code.SUM_OPEN)


def test_a_whole_that_the_record_does_not_have_is_not_asked_for():
    short = fields("sytusr", 60, length=24, sysusrs=1)
    assert told(check(minutes([short]))) == {}


def test_values_that_are_parts_of_others_are_fields_that_are_there():
    assert len(BOUNDS) == 10
    for table, part in BOUNDS:
        assert all(layout(table).field(name) for name in [*part.parts, *part.whole])


def test_every_pass_tells_what_it_looked_at():
    data = minutes([cpu(60)], [cpu(120)])
    checked = check(data)
    assert checked.looked_at == {
        Pass.FILE: len(data), Pass.CONTROL: 2, Pass.HEADERS: 6, Pass.VALUES: 8
    }  # fmt: skip
    document = checked.document()
    assert [p["pass"] for p in document["passes"]] == list(Pass)
    assert sum(document["bytes"].values()) == 2 * len(data)


def test_every_code_belongs_to_a_pass():
    assert {code.found_in for code in Code} == set(Pass)


def test_every_row_of_the_catalogue_is_a_code():
    rows = csv.DictReader((files("cpmon.ingest") / "findings.csv").read_text().splitlines())
    assert [row["code"] for row in rows] == [code.name for code in Code]


def test_findings_do_not_depend_on_where_windows_end(monkeypatch: pytest.MonkeyPatch):
    from cpmon.ingest.container import windows

    data = minutes(
        *([cpu(60 * n, 1, plsalemp=OLD - n, plsprqdf=n, plsnocmp=n)] for n in range(1, 9))
    )
    whole = check(data)
    monkeypatch.setattr(windows, "CHUNK", 2 * FRAME)
    pieces = check(data)
    assert told(whole) == {Code.COUNTER_FELL: 7}
    assert whole.document() == pieces.document()


def test_a_dump_without_end_is_checked_too():
    data = samples(frame(CONFIG, cpu(60), interval_end(60)))
    assert told(check(data)) == {Code.END_MISSING: 1}
