"""Who belongs to a sum, and what a row is a successor of: dumps with figures worked out by hand."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.dumps import fields, interval, tod
from tests.linux_daemons import application
from tests.reduce.test_doubts import Landed, column, config, doubts, printed
from tests.virtual_devices import adapter, disk


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Landed:
    return Landed(tmp_path_factory.mktemp("membership"))


def user(at: float, userid: str, **more: Any) -> bytes:
    return fields("useact", at, vmduser=userid, vmdctpvr=100, **more)


def defined(userid: str, mib: int) -> bytes:
    return fields("mtrusr", vmduser=userid, vmdssize=mib << 20, ascdefsz=(mib << 20) - 1)


def test_users_that_sytusr_counts_belong_to_every_sum(landed: Landed):
    """BOB is sampled at first; then he is not, while SYTUSR counts two, and later one."""
    counts = [2, 2, 2, 1, 1]
    sets = [
        interval(
            60 * n,
            *[config(), defined("ALICE", 64), defined("BOB", 32)] * (n == 0),
            fields("sytusr", 60 * n, sysusrs=count),
            user(60 * n, "ALICE"),
            *[user(60 * n, "BOB")] * (n < 2),
        )
        for n, count in enumerate(counts)
    ]
    result = printed(landed, "STORAGE_BY_TIME", *sets)
    assert column(result, "virtual_mib") == [96, None, 64, 64]
    assert column(result, "users") == [2, None, 1, 1]
    assert "users were not sampled (1)" in doubts(result)


def test_a_user_that_was_never_sampled_belongs_to_the_sum(landed: Landed):
    sets = [
        interval(
            60 * n,
            *[config(), defined("ALICE", 64)] * (n == 0),
            fields("sytusr", 60 * n, sysusrs=2),
            user(60 * n, "ALICE"),
        )
        for n in range(3)
    ]
    result = printed(landed, "STORAGE_BY_TIME", *sets)
    assert column(result, "virtual_mib") == [None, None]


def test_virtual_disks_and_adapters_end_with_the_session_of_their_owner(landed: Landed):
    events = [
        fields("uselof", 70, vmduser="LINUX1", caltodon=tod(-900)),
        fields("uselon", 80, vmduser="LINUX1", caltodon=tod(80)),
    ]
    sets = [
        interval(
            60 * n,
            *[config()] * (n == 0),
            *events * (n == 2),
            disk(60 * n, "LINUX1", 0x300, 2048, count),
            disk(60 * n, "LINUX2", 0x301, 2048, count),
            adapter(60 * n, "LINUX1", 1_000 * count, 0),
        )
        for n, count in enumerate([600, 1200, 9000, 9600])
    ]
    disks = printed(landed, "VIRTUAL_DISKS", *sets, objects={"user": "LINUX1"})
    assert column(disks, "io_rate") == [10, 10]
    adapters = printed(landed, "VIRTUAL_ADAPTERS", *sets[:3], objects={"user": "LINUX1"})
    assert column(adapters, "sent_byte_rate") == [10_000]


def exposure(at: float, written: int, *, slots: int = 1000) -> bytes:
    return fields(
        "stoasp", at, calvser="PAG001", rdevdev=0xA00, calpage=slots, cpvalocd=100,
        expctpwr=written, expctacp=written,
    )  # fmt: skip


def test_records_of_one_volume_in_a_sample_are_its_exposures(landed: Landed):
    """The first wrote 60 and 120 pages, the second 600 and 0; then there is one more."""
    counts = [(1000, 5000), (1060, 5600), (1180, 5600), (1240, 5600, 9000), (1300, 5660, 9060)]
    sets = [
        interval(60 * n, *[config()] * (n == 0), *[exposure(60 * n, count) for count in of_sample])
        for n, of_sample in enumerate(counts)
    ]
    result = printed(landed, "DASD_SYSTEM_AREAS_BY_TYPE", *sets, objects={"device": 0xA00})
    assert column(result, "page_write_rate") == [11, 2, 3]
    assert column(result, "used_share") == [0.1, 0.1, 0.1]


def test_a_record_that_repeats_in_a_sample_is_one_exposure(landed: Landed):
    """As in frames that were written twice: the same bytes, at the same time."""
    sets = [
        interval(60 * n, *[config()] * (n == 0), *[exposure(60 * n, 60 * n)] * (1 + n % 2))
        for n in range(3)
    ]
    result = printed(landed, "DASD_SYSTEM_AREAS_BY_TYPE", *sets, objects={"device": 0xA00})
    assert column(result, "page_write_rate") == [1, 1]


def block(at: float, stamp: float, number: int, body: bytes) -> bytes:
    return application(
        "LINUXKRNL".encode("cp037") + bytes([number]) + b"260100",
        struct.pack(">QII", tod(stamp), 8, 8) + body,
        at,
    )


def network(at: float, stamp: float, interfaces: int, received: int) -> bytes:
    return block(
        at, stamp, 3, struct.pack(">II", interfaces, 0) + struct.pack(">9Q", *[received] * 9)
    )


def test_a_sum_over_interfaces_has_the_set_of_them_as_its_owner(landed: Landed):
    numbers = [(2, 6000), (2, 66_000), (1, 186_000), (1, 246_000)]
    sets = [
        interval(60 * n, *[config()] * (n == 0), network(60 * n, 60 * n - 2, *of_sample))
        for n, of_sample in enumerate(numbers)
    ]
    result = printed(landed, "LINUX_GUESTS", *sets, objects={"user": "LINUX01"})
    assert column(result, "received_packet_rate") == [1000, 1000]


@pytest.mark.parametrize("step", [3600, 40, -40])
def test_nothing_is_computed_across_a_guest_clock_that_was_set(landed: Landed, step: int):
    stamps = [-2, 58, 118, 178 + step, 238 + step, 298 + step]
    sets = [
        interval(60 * n, *[config()] * (n == 0), network(60 * n, stamp, 1, 60_000 * n))
        for n, stamp in enumerate(stamps)
    ]
    result = printed(landed, "LINUX_GUESTS", *sets, objects={"user": "LINUX01"})
    assert column(result, "received_packet_rate") == [1000, 1000, 1000, 1000]
    assert doubts(result) == ["APLSDT_NET has a clock that was set (1)"]


def test_blocks_that_are_written_at_any_time_of_an_interval_keep_their_rates(landed: Landed):
    stamps = [-2, 30, 110, 125, 237]
    sets = [
        interval(60 * n, *[config()] * (n == 0), network(60 * n, stamp, 1, 1000 * (stamp + 2)))
        for n, stamp in enumerate(stamps)
    ]
    result = printed(landed, "LINUX_GUESTS", *sets, objects={"user": "LINUX01"})
    assert column(result, "received_packet_rate") == [1000] * 4


def test_storage_that_was_added_counts_from_then_on(landed: Landed):
    """4096 MiB as configured, 1024 more at second 70; some are removed at second 190."""
    events = {2: fields("stoadd", 70, calmemad=1024 << 20), 4: fields("storem", 190)}
    sets = [
        interval(
            60 * n,
            *[config(), fields("mtrmem", rsagstor=4096 << 20)] * (n == 0),
            *[events.get(n, b"")],
            fields("sytrsg", 60 * n),
        )
        for n in range(5)
    ]
    result = printed(landed, "STORAGE_BY_TIME", *sets)
    assert column(result, "real_mib") == [4096, 5120, 5120, None]
    assert "real storage is not known since SET STORAGE (1)" in doubts(result)


def test_storage_that_a_user_defines_anew_counts_from_then_on(landed: Landed):
    """No event tells of DEFINE STORAGE; records of the ends of transactions (USEATE) have it."""
    sizes = {2: 64, 3: 256, 4: 64}
    sets = [
        interval(
            60 * n,
            *[config(), defined("ALICE", 64), defined("BOB", 32)] * (n == 0),
            *[
                fields("useate", 60 * n - 20, vmduser="ALICE", vmdssize=mib << 20,
                       ascdefsz=(mib << 20) - 1)
                for mib in [sizes.get(n)] if mib
            ],
            fields("sytusr", 60 * n, sysusrs=2),
            user(60 * n, "ALICE"),
            user(60 * n, "BOB"),
        )
        for n in range(6)
    ]  # fmt: skip
    result = printed(landed, "STORAGE_BY_TIME", *sets)
    assert column(result, "virtual_mib") == [96, 96, 288, 96, 96]


def test_a_volume_that_moves_no_page_has_no_service_time(landed: Landed):
    """What the record has then is of an earlier interval."""
    sets = [
        interval(
            60 * n,
            *[config()] * (n == 0),
            fields("stoasp", 60 * n, rdevdev=0xA00, rdevsid=1, calvser="PAGE01", calpage=1000,
                   expctpwr=pages, expctacp=pages, expdevst=service, expmload=service),
        )
        for n, (pages, service) in enumerate([(0, 4000), (60, 4000), (120, 9000), (120, 9000)])
    ]  # fmt: skip
    result = printed(landed, "DASD_SYSTEM_AREAS_BY_TYPE", *sets, objects={"device": 0xA00})
    assert column(result, "service_ms") == [4, 9, None]
    assert column(result, "mload_ms") == [4, 9, None]
    assert column(result, "page_write_rate") == [1, 1, 0]


def device(at: float, starts: int) -> bytes:
    return fields("ioddev", at, rdevdev=0xB00, rdevsid=1, rdevser="VOL001", scgssch=starts,
                  scgcount=starts, scmssch=starts, scmcount=starts)  # fmt: skip


def test_a_device_that_is_not_measured_has_no_figures(landed: Landed):
    events = {2: fields("iodmof", 70, rdevdev=0xB00), 4: fields("iodmon", 200, rdevdev=0xB00)}
    sets = [
        interval(60 * n, *[config()] * (n == 0), *[events.get(n, b"")], device(60 * n, count))
        for n, count in enumerate([0, 60, 70, 70, 70, 130])
    ]
    result = printed(landed, "DASD_BY_ACTIVITY", *sets, objects={"device": 0xB00})
    assert column(result, "ssch_rate") == [1, 1]
    assert "IODDEV is not measured (1)" in doubts(result)


@pytest.mark.parametrize("moved", [0, 60])
def test_a_device_was_not_measured_before_an_event_that_it_is_now(landed: Landed, moved: int):
    """No event says that it was not: it is taken to have been measured where its counters moved."""
    sets = [
        interval(
            60 * n,
            *[config()] * (n == 0),
            *[fields("iodmon", 130, rdevdev=0xB00)] * (n == 3),
            device(60 * n, count),
        )
        for n, count in enumerate([10, 10 + moved, 10 + 2 * moved, 200, 260])
    ]
    result = printed(landed, "DASD_BY_ACTIVITY", *sets, objects={"device": 0xB00})
    assert column(result, "ssch_rate") == [1] * (3 if moved else 1)
    assert ("IODDEV is not measured (2)" in doubts(result)) == (not moved)


def test_a_device_whose_interrupts_go_on_while_its_i_os_stand_still_is_not_measured(
    landed: Landed,
):
    """No event tells it. One I/O may be under way at a sample, and end in the next interval."""
    sets = [
        interval(
            60 * n,
            *[config()] * (n == 0),
            fields("ioddev", 60 * n, rdevdev=0xB00, scgssch=starts, rdevctsi=interrupts),
        )
        for n, (starts, interrupts) in enumerate([(0, 0), (0, 60), (60, 119), (60, 120), (60, 300)])
    ]
    result = printed(landed, "DASD_BY_ACTIVITY", *sets, objects={"device": 0xB00})
    assert column(result, "ssch_rate") == [1, 0]
    assert "IODDEV is not measured (2)" in doubts(result)


def configured(at: float, name: str, number: int, **more: Any) -> bytes:
    """A disk as a configuration or event record tells it; without `more`, as one that is online."""
    told = {"rdevclas": 4, "rdevdvid": b"\x33\x90", "rdevcuid": b"\x39\x90", "rdevcumn": 0xE9}
    paths = {"rdevlpm": 0x80, "rdevchps": 0x1A << 56}
    return fields(name, at, **{**told, **paths, "rdevdev": number, "rdevsid": number} | more)


def test_disks_that_were_never_sampled_belong_to_their_control_unit(landed: Landed):
    """As after MONITOR SAMPLE ENABLE I/O DEVICE: 0B01 is there until it is varied off.

    Of 0B02, which is offline, no record tells the control unit.
    """
    offline = {"rdevcuid": bytes(2), "rdevcumn": 0, "rdevlpm": 0, "rdevchps": 0}
    sets = [
        interval(
            60 * n,
            *[
                config(),
                configured(0, "mtrdev", 0xB00),
                configured(0, "mtrdev", 0xB01),
                configured(0, "mtrdev", 0xB02, **offline),
            ]
            * (n == 0),
            *[fields("iodvof", 150, rdevdev=0xB01)] * (n == 3),
            device(60 * n, 60 * n),
        )
        for n in range(5)
    ]
    result = printed(landed, "DASD_BY_CONTROL_UNIT", *sets, by=timedelta(minutes=1))
    assert column(result, "ssch_rate") == [None, None, 1, 1]
    assert column(result, "devices") == [None, None, 1, 1]
    assert "disks were not sampled (3)" in doubts(result)


def test_a_processor_that_was_varied_is_known_in_the_next_interval(landed: Landed):
    """Its time counts anew, which is no slip, behind which a delta would be wrong."""
    waited = [1000, 1030, 10, 40, 70]
    sets = [
        interval(
            60 * n,
            *[config()] * (n == 0),
            *[fields("prcvof", 70, pfxcpuad=1), fields("prcvon", 80, pfxcpuad=1)] * (n == 2),
            fields("sytprp", 60 * n, pfxcpuad=1, pfxtotwt=seconds * 4_096_000_000),
        )
        for n, seconds in enumerate(waited)
    ]
    result = printed(landed, "PROCESSORS_BY_TIME", *sets, objects={"cpu": 1})
    assert column(result, "wait_util") == [0.5] * 3  # but for the second interval


def test_a_virtual_processor_that_passes_between_two_samples_is_part_of_its_user(landed: Landed):
    """Its work is in no record: what its user used is more than is known."""
    sets = [
        interval(
            60 * n,
            *[config()] * (n == 0),
            *[fields("usedfc", 70, vmduser="LINUX1", vmdcpuad=1)] * (n == 2),
            *[fields("usedtc", 110, vmduser="LINUX1", vmdcpuad=1)] * (n == 2),
            user(60 * n, "LINUX1", vmdttime=n * 6 * 4_096_000_000),
        )
        for n in range(4)
    ]
    result = printed(landed, "USER_RESOURCE_UTIL", *sets, by=timedelta(minutes=1))
    assert column(result, "cpu_s") == [6, None, 6]
    assert "USEACT ended (1)" in doubts(result)


def test_a_ratio_of_levels_weighs_time_as_the_levels_in_its_line(landed: Landed):
    """BOB is there in the last interval: 64 MiB for 60 and 75 s, 96 MiB for 45 s."""
    sets = [
        interval(
            at,
            *[config(), defined("ALICE", 64), defined("BOB", 32)] * (at == 0),
            *[fields("mtrmem", rsagstor=64 << 20)] * (at == 0),
            fields("sytrsg", at),
            user(at, "ALICE"),
            *[user(at, "BOB")] * (at > 135),
        )
        for at in (0, 60, 135, 180)
    ]
    result = printed(landed, "STORAGE_BY_TIME", *sets, by=timedelta(hours=1))
    mib = (64 * 135 + 96 * 45) / 180
    assert column(result, "virtual_mib") == [round(mib, 6)]
    assert column(result, "overcommit") == [round(mib / 64, 6)]


@pytest.mark.parametrize("is_absolute", [True, False])
def test_a_share_that_became_absolute_is_no_relative_one(landed: Landed, is_absolute: bool):
    shares = [{"vmdrelsh": 100}, {"vmdabssh": 0x8000}]
    first, second = shares if is_absolute else shares[::-1]
    sets = [
        interval(
            60 * n,
            *[config(), fields("mtrusr", vmduser="ALICE", **first)] * (n == 0),
            *[fields("sclshr", 70, vmduser="ALICE", **second)] * (n == 2),
            user(60 * n, "ALICE"),
        )
        for n in range(4)
    ]
    result = printed(landed, "USER_RESOURCE_UTIL", *sets)
    assert column(result, "relative_share") == [None if is_absolute else 100]
    assert column(result, "absolute_share") == [0.5 if is_absolute else None]


def test_the_exchange_of_a_volume_is_noted(landed: Landed):
    """The device and its counts go on; whose they are is told by the latest serial alone."""
    sets = [
        interval(
            60 * n,
            *[config()] * (n == 0),
            fields("ioddev", 60 * n, rdevdev=0xB00, rdevser=serial, scgssch=600 * n),
        )
        for n, serial in enumerate(["USR001", "USR001", "USR002", "USR002"])
    ]
    result = printed(landed, "DASD_BY_ACTIVITY", *sets)
    assert column(result, "ssch_rate") == [10]
    assert doubts(result) == ["IODDEV.RDEVSER changed (1)"]


def test_a_processor_that_was_varied_off_is_no_longer_known_to_be_the_master(landed: Landed):
    """It comes back, and another one may be the master by then."""
    sets = [
        interval(
            60 * n,
            *[config(), fields("mtrprp", pfxcpuad=0, calflags=0x40)] * (n == 0),
            *[fields("prcvof", 70, pfxcpuad=0), fields("prcvon", 80, pfxcpuad=0)] * (n == 2),
            fields("sytprp", 60 * n, pfxcpuad=0, pfxutime=n * 30 * 4_096_000_000),
        )
        for n in range(4)
    ]
    result = printed(landed, "SYSTEM_SUMMARY2_BY_TIME", *sets)
    assert column(result, "master_total_util") == [0.5, None, None]
    assert "the master processor is not known since VARY OFF (1)" in doubts(result)


def os_block(at: float, busy: dict[int, int], online: int | None = None) -> bytes:
    """Processors of a Linux guest, by number: ticks that they were busy; `online`: NR_CPUS."""
    head = struct.pack(">9I", len(busy) if online is None else online, 36, 52, 1, 50, 0, 0, 0, 0)
    entries = (
        struct.pack(">9I", ticks, 0, 0, round(at * 100) + 10_000 - ticks, 0, 0, 0, 0, number)
        for number, ticks in busy.items()
    )
    return block(at, at - 2, 2, head + b"".join(entries))


@pytest.mark.parametrize(
    ("numbers", "online", "util"),
    [
        pytest.param(lambda n: [0, 1, 2] if n < 2 else [0, 2], None, [0.3, None, 0.2, 0.2],
                     id="one goes offline and stays so"),
        pytest.param(lambda n: [0, 1] if n < 2 else [0, 1, 2], None, [0.2, None, 0.3, 0.3],
                     id="one comes online"),
        pytest.param(lambda n: [0, 1], 4, [None] * 4, id="two of four are in the record"),
        pytest.param(lambda n: [0, 1, 2] if n < 2 else [0, 1], 3, [0.3, None, None, None],
                     id="the record is cut from then on"),
    ],
)  # fmt: skip
def test_processors_that_a_guest_counts_belong_to_its_sum(
    landed: Landed, numbers: Callable[[int], list[int]], online: int | None, util: list[Any]
):
    sets = [
        interval(
            60 * n,
            *[config()] * (n == 0),
            os_block(60 * n, dict.fromkeys(numbers(n), 600 * n + 600), online),
        )
        for n in range(5)
    ]
    result = printed(landed, "LINUX_GUESTS", *sets, objects={"user": "LINUX01"})
    assert column(result, "cpu_util") == util
    (doubt,) = doubts(result)
    assert doubt.startswith("APLSDT_OS_CPU ")


def test_processors_that_sytcug_counts_belong_to_the_sums_of_the_system(landed: Landed):
    """Two are configured; the record of one is in no sample."""
    sets = [
        interval(
            60 * n,
            *[config()] * (n == 0),
            fields("sytcug", 60 * n, cpucfgct=2, lparname="OWN"),
            fields("sytprp", 60 * n, pfxcpuad=0, pfxutime=n * 30 * 4_096_000_000),
            fields("sytsyp", 60 * n, pfxcpuad=0, plspiopr=600 * n),
        )
        for n in range(3)
    ]
    result = printed(landed, "SYSTEM_SUMMARY_BY_TIME", *sets)
    assert column(result, "total_util") == [None, None]
    assert column(result, "dasd_page_rate") == [None, None]
    assert "SYTPRP is missing (2)" in doubts(result)
    result = printed(landed, "PROCESSORS_BY_TIME", *sets[:2])
    assert column(result, "cpu") == [0]
    assert column(result, "total_util") == [0.5]
