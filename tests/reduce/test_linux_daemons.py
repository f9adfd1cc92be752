"""File systems and processes of Linux guests, from the bytes of their records to the reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cpmon.cli.main import Status, run
from cpmon.generate import dump_frames, load_scenario
from cpmon.ingest import Code, ingest
from cpmon.ingest.landing import Landed
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from tests.dumps import dump, fields, interval
from tests.linux_daemons import application, file_system, process, product, summary

CONFIG = fields("mtrsys", systmid="VMTEST", hcpcpeid="05030000")


def land(store: Store, *samples: list[bytes]) -> Landed:
    """Samples a minute apart, the first at 60 s."""
    file = store.root.parent / "linux.mon"
    first, *others = samples
    intervals = [interval(60, CONFIG, *first)]
    intervals += [interval(60 * n, *records) for n, records in enumerate(others, 2)]
    file.write_bytes(dump(*intervals))
    return ingest(file, store)


def rows(store: Store, sql: str) -> list[Any]:
    with connect(store, reductions()) as connection:
        return connection.execute(sql).fetchall()


def is_valid(store: Store) -> bool:
    return run(["validate", "--store", str(store.root), "-o", str(store.root.parent / "v")]) in (
        Status.DONE,
        Status.WARNINGS,
    )


def test_file_systems_are_told_apart_by_mount_and_not_by_buffer(store: Store):
    landed = land(
        store,
        [
            file_system("/dev/dasda1", "/", at=60, level=0),
            file_system("/dev/dasdb1", "/srv/größe", at=60, level=2, free=100, available=100),
            file_system("/dev/dasda1", "/", at=60, userid="LINUX02", free=900, available=800),
        ],
        [
            file_system("/dev/dasdb1", "/srv/größe", at=120, level=0, free=50, available=50),
            file_system("/dev/dasda1", "/", at=120, level=2),
            file_system("/dev/dasda1", "/", at=120, userid="LINUX02", free=900, available=800),
        ],
    )

    assert not landed.findings.counts
    assert is_valid(store)
    found = rows(
        store,
        "SELECT userid, mount_point, mounted_device, file_system_type, used_mib, available_mib,"
        " used_share, full_share, inode_share FROM linux_file_systems_by_time"
        " WHERE seconds IS NOT NULL ORDER BY 1, 2",
    )
    assert found == [
        ("LINUX01", "/", "/dev/dasda1", "ext4", 750, 200, 0.75, 750 / 950, 0.25),
        ("LINUX01", "/srv/größe", "/dev/dasdb1", "ext4", 950, 50, 0.95, 0.95, 0.25),
        ("LINUX02", "/", "/dev/dasda1", "ext4", 100, 800, 0.1, 100 / 900, 0.25),
    ]


def test_a_file_system_that_is_mounted_in_place_of_another_is_another(store: Store):
    land(
        store,
        [file_system("/dev/dasda1", "/data", at=60)],
        [file_system("/dev/dasdc1", "/data", at=120, free=990, available=990)],
    )

    found = rows(
        store,
        "SELECT mounted_device, used_mib FROM linux_file_systems_by_time ORDER BY interval_end",
    )
    assert found == [("/dev/dasda1", 750), ("/dev/dasdc1", 10)]


def test_a_name_that_is_no_utf8_is_spelt_out(store: Store):
    land(store, [file_system("/dev/dasda1", b"/gr\xf6\xdfe", at=60)])

    assert rows(store, "SELECT fs_dir FROM monitor.aplsdt_fs") == [("/gr\\xf6\\xdfe",)]


def test_the_age_of_a_block_is_told(store: Store):
    land(store, [], [file_system("/dev/dasda1", "/", at=120, taken=75)])

    found = rows(store, "SELECT block_age_s FROM linux_file_systems_by_time")
    assert found == [(45,)]


@pytest.mark.parametrize("short", [8, 72, 80, 90, 105])
def test_a_block_that_is_cut_short_has_what_is_there(store: Store, short: int):
    """From the last figures up to the header of the block."""
    whole = file_system("/dev/dasda1", "/", at=60)
    body = int.from_bytes(whole[60:62], "big")
    cut = bytearray(whole[: 64 + body - short])
    cut[:2] = len(cut).to_bytes(2, "big")
    cut[22:24] = (len(cut) - 52).to_bytes(2, "big")

    landed = land(store, [bytes(cut)])

    assert landed.findings.counts == {Code.GROUP_CUT: 1}
    ((name, blocks),) = rows(store, "SELECT fs_name, fs_blocks FROM monitor.aplsdt_fs")
    assert (name, blocks) == (None if short > 81 else "/dev/dasda1", 1000 if short == 8 else None)


def test_processor_time_of_a_process_is_over_its_own_clock(store: Store):
    """50 s of processor time between blocks 100 s apart, sampled every 60 s."""
    land(
        store,
        [process(17, "httpd", 1000, at=60, level=0, faults=3)],
        [process(17, "httpd", 1000, at=120, level=4, faults=3, taken=60)],
        [process(17, "httpd", 6000, at=180, level=2, faults=53, taken=160)],
    )

    found = rows(
        store,
        "SELECT process_cpu_util, major_fault_rate, process_seconds, process_resident_mib"
        " FROM linux_processes_by_time ORDER BY interval_end",
    )
    assert found == [(None, None, None, 2), (None, None, None, 2), (0.5, 0.5, 100, 2)]


def test_a_process_with_threads_may_use_several_processors(store: Store):
    land(store, *([process(17, "java", 15_000 * n, at=60 * n)] for n in (1, 2)))

    found = rows(
        store, "SELECT process_cpu_util FROM linux_processes_by_time WHERE cpu_ticks IS NOT NULL"
    )
    assert found == [(2.5,)]


@pytest.mark.parametrize(
    "successor",
    [
        process(17, "httpd", 200, at=120),
        process(17, "sshd", 1500, at=120),
        process(17, "httpd", 1500, at=120, parent=4),
    ],
    ids=["with less time", "another command", "another parent"],
)
def test_a_process_id_that_is_used_again_is_another_process(store: Store, successor: bytes):
    land(store, [process(17, "httpd", 1000, at=60)], [successor])

    found = rows(store, "SELECT cpu_ticks FROM linux_processes_by_time ORDER BY interval_end")
    assert found == [(None,), (None,)]


def test_processes_of_several_guests_with_one_id_are_apart(store: Store):
    land(
        store,
        *(
            [
                process(17, "httpd", 100 * n, at=60 * n, userid="LINUX01"),
                process(17, "httpd", 700 * n, at=60 * n, userid="LINUX02"),
            ]
            for n in (1, 2)
        ),
    )

    found = rows(
        store,
        "SELECT userid, cpu_ticks FROM linux_processes_by_time"
        " WHERE cpu_ticks IS NOT NULL ORDER BY 1",
    )
    assert found == [("LINUX01", 100), ("LINUX02", 700)]


def test_a_process_that_stands_in_two_buffers_of_one_sample_is_no_copy(store: Store):
    """CP sampled while mon_procd was filling its buffers anew."""
    both = [process(17, "httpd", 900, at=60, level=0), process(17, "httpd", 800, at=60, level=2)]
    landed = land(store, both)

    assert not landed.findings.counts
    assert is_valid(store)
    assert rows(store, "SELECT count(*) FROM linux_processes_by_time") == [(1,)]


def test_the_summary_tells_what_a_guest_with_mon_procd_alone_does(store: Store):
    land(store, [summary(at=60)], [summary(at=120, uptime=7260)])

    assert rows(store, "SELECT count(*) FROM linux_guests_by_time") == [(0,)]
    found = rows(
        store,
        "SELECT userid, logged_in, processes, processes_running, processes_zombie, load_1, load_15,"
        " processors, tasks_busy_share, tasks_iowait_share, tasks_steal_share, memory_mib,"
        " free_mib, swap_used_mib FROM linux_tasks_by_time WHERE seconds IS NOT NULL",
    )
    figures = (3, 120, 4, 5, 0.51, 12.05, 2, 0.6, 0.04, 0.01, 2048, 512, 256)
    assert found == [("LINUX01", *figures)]


@pytest.mark.parametrize(
    "ids",
    [
        [product(9, 0, level) for level in (0, 2, 4)],
        ["OTHER  ".encode("cp037") + bytes([0, n, 0, 0, 0, 0, 0, 0, 0]) for n in (1, 2)],
        [
            "OTHER  ".encode("cp037") + "NL".encode("cp037") + bytes([1, 0, n, 0, 0, 0, 0])
            for n in (1, 2)
        ],
        [b"MYAPPL1" + bytes(9), "MYAPPL1".encode("cp037") + bytes(9)],
    ],
    ids=["ASCII by level", "EBCDIC by function", "EBCDIC by version", "by encoding"],
)
def test_records_of_an_unknown_product_are_distinct(store: Store, ids: list[bytes]):
    landed = land(store, *([application(each, b"\1\2", 60 * n) for each in ids] for n in (1, 2)))

    assert not landed.findings.counts
    assert is_valid(store)
    assert rows(store, "SELECT count(*) FROM monitor.aplsdt_data") == [(2 * len(ids),)]


def test_a_record_that_stands_twice_is_a_copy(store: Store):
    twice = [file_system("/dev/dasda1", "/", at=60)] * 2
    land(store, twice)

    assert not is_valid(store)


def test_the_three_reports_print(store: Store, tmp_path: Path):
    land(
        store,
        *(
            [
                file_system("/dev/dasda1", "/", at=60 * n),
                process(17, "httpd", 600 * n, at=60 * n),
                summary(at=60 * n),
            ]
            for n in (1, 2)
        ),
    )
    for name, figure in (
        ("LINUX_FILE_SYSTEMS", "78.9"),
        ("LINUX_PROCESSES", "10.0"),
        ("LINUX_TASKS", "60.0"),
    ):
        out = tmp_path / f"{name}.txt"
        assert run(["report", name, "--store", str(store.root), "-o", str(out)]) == Status.DONE
        assert figure in out.read_text()


def test_the_scenario_prints_what_it_says(store: Store):
    """A file system of 20 GiB, 40 % used, grows by 10 MiB a minute; make uses 45 %."""
    file = store.root.parent / "LNXLAB.mon"
    file.write_bytes(b"".join(dump_frames(load_scenario("linux-guests"), "LNXLAB", intervals=3)))
    landed = ingest(file, store)

    assert Code.GROUP_CUT not in landed.findings.counts
    assert is_valid(store)
    mounted = rows(
        store,
        "SELECT userid, mount_point, mounted_device, file_system_type, used_mib, inode_share,"
        " block_age_s FROM linux_file_systems_by_time"
        " WHERE mount_point <> '/' AND userid = 'LXWEB002' AND seconds IS NOT NULL"
        " ORDER BY interval_end",
    )
    name = ("LXWEB002", "/srv/www/bücher", "/dev/mapper/data-www", "xfs")
    assert [row[:4] for row in mounted] == [name] * 3
    assert [row[4] for row in mounted] == [8202, 8212, 8222]
    assert [row[5] for row in mounted] == pytest.approx([0.1] * 3, abs=1e-4)
    assert [row[6] for row in mounted] == pytest.approx([15] * 3, abs=1.5)
    used = rows(
        store,
        "SELECT userid, pid, command, effective_user, process_cpu_util, major_fault_rate"
        " FROM linux_processes_by_time WHERE cpu_ticks > 0 AND pid > 1 ORDER BY ALL",
    )
    assert used == [
        *[("LXJOB001", 4711, "make", "builder", 0.45, 0)] * 3,
        *[("LXWEB001", 871, "httpd", "wwwrun", 0.25, 0.5)] * 3,
        *[("LXWEB002", 871, "httpd", "wwwrun", 0.25, 0.5)] * 3,
    ]
