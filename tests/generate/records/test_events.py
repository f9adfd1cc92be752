"""Event records of generated dumps: sessions, transactions, vary, MONITOR commands."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import pytest

from tests.generate.eventful import BACK_AT, GONE_AT, eventful, read_eventful
from tests.generate.figures import Dump
from tests.generate.plain_reader import FRAME, Record, sets

pytestmark = pytest.mark.generator

USER = slice(20, 30)
USELON, USELOF, USEACT, USETRE, USEATE, USEITE = ((4, n) for n in (1, 2, 3, 8, 9, 10))
PRCVON, PRCVOF, IODVON, IODVOF = (5, 1), (5, 2), (6, 1), (6, 2)
APLEDT, APLSDT = (10, 1), (10, 2)
LEAVING = {"LINUX003", *(f"CMS000{n}" for n in range(10, 20)), "SRV00001"}
ARRIVING = LEAVING - {"SRV00001"}


@pytest.fixture(scope="module")
def dump() -> Dump:
    return read_eventful()


def ends(dump: Dump) -> list[int]:
    return [r.tod for r in dump.of(1, 11)]


def within(dump: Dump, kind: tuple[int, int], interval: int) -> list[Record]:
    """The records of a type that are stamped in an interval."""
    since, until = ends(dump)[interval : interval + 2]
    return [r for r in dump.of(*kind) if since < r.tod <= until]


def of_user(records: list[Record]) -> dict[bytes, Record]:
    """The last record of each virtual processor."""
    return {r.data[USER]: r for r in records}


@pytest.mark.parametrize("interval", range(9))
def test_users_cpu_time_is_what_the_processors_charged_sessions_that_ended_included(
    dump: Dump, interval: int
):
    before, now = (of_user(dump.of(*USEACT, interval + n)) for n in (0, 1))
    now = {**of_user(within(dump, USELOF, interval)), **now}
    arrived = of_user(within(dump, USELON, interval))
    assert before.keys() <= now.keys() <= before.keys() | arrived.keys()
    used = [r.u8(36) - (before[who].u8(36) if who in before else 0) for who, r in now.items()]
    charged = 0
    processors = {r.u2(20): r for r in dump.of(0, 2, interval)}
    for record in dump.of(0, 2, interval + 1):
        if record.u2(20) in processors:
            charged += record.u8(32) - processors[record.u2(20)].u8(32)
    if processors.keys() == {r.u2(20) for r in dump.of(0, 2, interval + 1)}:
        assert sum(used) == charged
    assert min(used) >= 0


def test_who_logs_off_leaves_activity_interaction_and_totals_of_every_virtual_processor(
    dump: Dump,
):
    totals = within(dump, USELOF, GONE_AT)
    assert {r.text(20, 8) for r in totals} == LEAVING
    assert len(totals) == len(LEAVING) + 1, "a Linux guest has two virtual processors"
    last = of_user(dump.of(*USEACT, GONE_AT))
    for kind, cpu, pages in ((USELOF, 36, 68), (USEATE, 32, 64)):
        found = [r for r in within(dump, kind, GONE_AT) if r.tod in {t.tod for t in totals}]
        assert [r.data[USER] for r in found] == [r.data[USER] for r in totals]
        assert [r.u8(cpu) for r in found] == [r.u8(36) for r in totals]
        for record in found:
            earlier = last[record.data[USER]]
            assert record.u8(cpu) > earlier.u8(36)
            assert record.u8(cpu + 8) > earlier.u8(44)
            assert record.u4(pages) == earlier.u4(68)
    assert {r.data[USER] for r in within(dump, USEITE, GONE_AT)} >= {r.data[USER] for r in totals}
    assert not {r.text(20, 8) for r in dump.of(*USEACT, GONE_AT + 1)} & LEAVING


def test_records_of_a_logoff_are_written_in_the_order_in_which_it_goes(dump: Dump):
    tods = {r.tod for r in within(dump, USELOF, GONE_AT)}
    kinds = [(r.domain, r.number) for r in dump.records if r.tod in tods and r.domain == 4]
    assert kinds == [USEATE, USEITE, USELOF] * len(tods)


def test_who_logs_on_is_described_and_begins_at_zero(dump: Dump):
    found = within(dump, USELON, BACK_AT)
    assert {r.text(20, 8) for r in found} == ARRIVING
    (linux, second) = [r for r in found if r.text(20, 8) == "LINUX003"]
    assert (linux.u2(28), second.u2(28)) == (0, 1)
    assert (linux.data[40], linux.u4(32), linux.u4(44)) == (0x44, 300, 512 << 20)
    assert linux.u8(88) == (512 << 20) - 1
    assert ends(dump)[BACK_AT] < linux.u8(68) <= linux.tod < ends(dump)[BACK_AT + 1]
    (row,) = [r for r in dump.of(*USEACT, BACK_AT + 1) if r.data[USER] == linux.data[USER]]
    assert 0 < row.u8(36) <= row.tod - linux.tod


def test_a_session_tells_when_it_began(dump: Dump):
    (logon,) = [r.u8(68) for r in dump.of(1, 15, 0) if r.text(20, 8) == "LINUX003"]
    left = [r for r in dump.of(*USELOF) if r.text(20, 8) == "LINUX003"]
    assert {r.u8(248) for r in left} == {logon}
    assert {r.u8(240) for r in dump.of(*USEATE) if r.tod in {r.tod for r in left}} == {logon}


def test_the_blocks_of_a_guest_that_leaves_are_repeated(dump: Dump):
    last = [r for r in dump.of(*APLSDT, GONE_AT) if r.text(24, 8) == "LINUX003"]
    ended = within(dump, APLEDT, GONE_AT)
    assert len(ended) == len(last) == 3
    assert sorted(r.data[20:] for r in ended) == sorted(r.data[20:] for r in last)
    assert max(r.tod for r in ended) < min(r.tod for r in within(dump, USELOF, GONE_AT))


@pytest.mark.parametrize("interval", range(9))
def test_every_transaction_that_is_counted_has_ended_some_time(dump: Dump, interval: int):
    found = within(dump, USETRE, interval)
    before, now = (dump.of(0, 8, interval + n)[0] for n in (0, 1))
    counted = sum(now.u4(at) - before.u4(at) for at in (36, 48, 60, 72, 84))
    assert len(found) == counted > 100
    assert {r.text(30, 2) for r in found} == {"YE", "NO"}
    assert {r.text(20, 8)[:3] for r in found} == {"CMS"}
    assert {(r.u2(28), r.data[56]) for r in found} == {(0, 0x80)}
    for record in found:
        dropped, suspended, begun = (record.u8(at) for at in (32, 40, 48))
        assert begun < suspended < dropped == record.tod


@pytest.mark.parametrize(("kind", "count", "time"), [("YE", 60, 52), ("NO", 72, 64)])
def test_response_times_of_transactions_add_up_to_those_counted(
    dump: Dump, kind: str, count: int, time: int
):
    for interval in range(9):
        found = [r for r in within(dump, USETRE, interval) if r.text(30, 2) == kind]
        before, now = (dump.of(0, 8, interval + n)[0] for n in (0, 1))
        assert len(found) == now.u4(count) - before.u4(count)
        told = sum(r.u8(40) - r.u8(48) for r in found)
        assert abs(told - (now.u8(time) - before.u8(time))) <= 1


def test_transactions_of_a_user_follow_each_other_and_use_cpu_between_two_samples(dump: Dump):
    for interval in range(9):
        before, now = (of_user(dump.of(*USEACT, interval + n)) for n in (0, 1))
        chains: dict[bytes, list[Record]] = defaultdict(list)
        for record in within(dump, USEATE, interval):
            chains[record.data[USER]].append(record)
        for who, chain in chains.items():
            totals = [before[who].u8(36), *(r.u8(32) for r in chain)]
            totals += [now[who].u8(36)] if who in now else []
            assert totals == sorted(totals)
            assert len({r.tod for r in chain[:-1]}) == len(chain) - 1


def test_each_transaction_has_its_activity_and_its_interaction(dump: Dump):
    left = {r.tod for r in dump.of(*USELOF)}
    ended = Counter((r.tod, r.data[USER]) for r in dump.of(*USETRE))
    for kind in (USEATE, USEITE):
        assert Counter((r.tod, r.data[USER]) for r in dump.of(*kind) if r.tod not in left) == ended


def test_processors_come_and_go(dump: Dump):
    (off,), (on,) = within(dump, PRCVOF, 2), within(dump, PRCVON, 4)
    assert len(dump.of(*PRCVOF)) == len(dump.of(*PRCVON)) == 1
    assert off.u2(20) == on.u2(20) == 3
    assert on.data[22:27].hex() == "2094" + "0a1b2c"
    assert [len(dump.of(0, 2, n)) for n in (2, 3, 4, 5)] == [4, 3, 3, 4]


def test_devices_come_and_go(dump: Dump):
    (off,), (on,) = within(dump, IODVOF, 3), within(dump, IODVON, 5)
    assert off.u2(24) == on.u2(26) == 0x0B04
    assert off.u4(20) == on.u4(28) == 7
    assert on.data[21:26].hex() == "04" + "3390" + "09" + "c0"
    assert on.data[32:40].hex() == "5a5b" + "00" * 6
    assert (on.data[40:43].hex(), on.text(46, 6)) == ("2107e8", "USR005")
    here = [{r.u2(200) for r in dump.of(6, 3, n)} for n in (3, 4, 5, 6)]
    assert [0x0B04 in devices for devices in here] == [True, False, False, True]


def test_monitor_commands_are_told_by_events_and_by_samples(dump: Dump):
    events = [(r.tod, r.text(24, r.u4(20))) for r in dump.of(1, 2)]
    assert [text for _, text in events] == ["MONITOR START", "MONITOR STOP", "MONITOR START"]
    samples = [(r.sample, r.u8(20), r.text(32, r.u4(28))) for r in dump.of(1, 10)]
    assert [(number, text) for number, _, text in samples] == [
        (0, "MONITOR START"),
        (8, "MONITOR STOP"),
        (8, "MONITOR START"),
        (9, "MONITOR SAMPLE INTERVAL 60 SEC"),
    ]
    assert [at for _, at, _ in samples[:3]] == [at for at, _ in events]
    assert ends(dump)[8] < samples[3][1] < ends(dump)[9]
    assert [r.sample for r in dump.of(1, 1)] == [-1, 7, 8], "event data comes before its sample"


def test_events_come_in_order_of_time_before_the_sample_that_ends_their_interval(dump: Dump):
    profiles = {(1, n) for n in (1, 2)}
    kinds = profiles | {USELON, USELOF, USETRE, USEATE, USEITE, PRCVON, PRCVOF, IODVON, IODVOF}
    events = [r for r in dump.records if (r.domain, r.number) in {*kinds, APLEDT}]
    assert [r.tod for r in events] == sorted(r.tod for r in events)
    limits = [0, *ends(dump)]
    assert all(limits[r.sample + 1] < r.tod < limits[r.sample + 2] for r in events)


def test_events_of_a_sample_that_was_lost_are_lost_too(dump: Dump):
    assert len(ends(dump)) == 11, "one of twelve samples did not reach the dump"
    assert not [r for r in dump.of(*USELOF) if r.text(20, 8) == "CMS00020"]
    assert "CMS00020" not in {r.text(20, 8) for r in dump.of(*USEACT, 10)}


def test_many_events_go_out_in_parts_before_the_sample():
    busy = (("transactions_per_s = 0.5", "transactions_per_s = 5"),)
    parts = list(sets(eventful(*busy)))
    before = [
        len(list(group)) for flag, group in itertools.groupby(p.flag for p in parts) if flag == 0xC5
    ]
    assert max(before) > 3
    of_events = [p for p in parts if p.flag == 0xC5]
    assert all(p.end < 0x01000000 + FRAME + (4 << 20) // 8 for p in of_events)
    assert len({p.control for p in of_events}) == len(of_events)
    found = read_eventful(*busy)
    rate = len(within(found, USETRE, 1)) / 30
    assert rate == pytest.approx(150, rel=0.2)


EVENTS = 'events = ["monitor", "user", "transaction", "processor", "io"]'
TOLD_BY = {
    "monitor": {(1, 2)},
    "user": {USELON, USELOF, USEATE, USEITE, APLEDT},
    "transaction": {USETRE, USEATE, USEITE},
    "processor": {PRCVON, PRCVOF},
    "io": {IODVON, IODVOF},
}


@pytest.mark.parametrize("domain", TOLD_BY)
def test_only_the_events_asked_for_are_written(domain: str):
    dump = read_eventful((EVENTS, f'events = ["{domain}"]'))
    every = set().union(*TOLD_BY.values())
    assert {(r.domain, r.number) for r in dump.records} & every == TOLD_BY[domain]
    assert len(dump.of(1, 1)) == 3


def test_sessions_are_told_where_users_are_not_sampled():
    only = ("interval_s = 30", 'interval_s = 30\ndomains = ["system"]')
    told, whole = read_eventful(only), read_eventful()
    assert not told.of(*USEACT) and not told.of(*APLSDT)
    for kind, counters in ((USELOF, slice(36, 200)), (USEATE, slice(32, 190))):
        for one, other in zip(told.of(*kind), whole.of(*kind), strict=True):
            assert (one.tod, one.data[counters]) == (other.tod, other.data[counters])
