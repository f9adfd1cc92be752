"""Application data records: Linux's blocks as tables, other products' blocks as they are."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from cpmon.ingest import Code, ingest
from cpmon.store import Store, connect
from tests.dumps import dump, fields, interval, tod

CONFIG = fields("mtrsys", systmid="VMTEST", hcpcpeid="05030000")
AT = 52
KERNEL = "LINUXKRNL".encode("cp037")
RELEASES = "260100".encode("cp037")
MEMORY = [3, 5, 0, 7, 0, 512_000, 40_000, 0, 0, 9_000, 81_000, 128_000, 127_000, 6_500, 7_100, 12]


def product(block: int) -> bytes:
    return KERNEL + bytes([block]) + RELEASES


def application(said: bytes, block: bytes, at: float = 60) -> bytes:
    record = fields("aplsdt", at, caldatof=AT, caldatln=len(block), userid="LINUX01", mdgprod=said)
    record = bytearray(record[:AT].ljust(AT, b"\0") + block)
    record[:2] = len(record).to_bytes(2, "big")
    return bytes(record)


def sampled(record: bytes, at: float) -> bytes:
    """A record with the time of another sample."""
    return record[:8] + struct.pack(">Q", tod(at)) + record[16:]


def head(at: float = 59, counts: tuple[int, int] = (8, 8)) -> bytes:
    return struct.pack(">QII", tod(at), *counts)


def memory(*values: int, counts: tuple[int, int] = (8, 8)) -> bytes:
    return application(product(1), head(counts=counts) + struct.pack(f">{len(values)}Q", *values))


def system(size: int, *ticks: tuple[int, ...]) -> bytes:
    fixed = (len(ticks), size, 52, 2, 180, 2048, 1024, 512, 1)
    cpus = b"".join(struct.pack(f">{len(t)}I", *t).ljust(size, b"\0") for t in ticks)
    return application(product(2), head() + struct.pack(">9I", *fixed) + cpus)


def land(path: Path, store: Store, *records: bytes) -> Any:
    file = path / "linux.mon"
    file.write_bytes(dump(interval(60, CONFIG, *records)))
    return ingest(file, store)


def rows(store: Store, sql: str) -> list[Any]:
    return connect(store).execute(sql).fetchall()


def test_a_memory_block_is_a_table_with_the_guest_as_its_key(tmp_path: Path, store: Store):
    landed = land(tmp_path, store, memory(*MEMORY))

    assert not landed.findings.counts
    found = rows(
        store,
        "SELECT userid, product, timestamp_at, totalram, freeswap, pgmajfault "
        "FROM monitor.aplsdt_memory",
    )
    assert [(r[0], r[1], *r[3:]) for r in found] == [("LINUX01", "LINUXKR", 512_000, 127_000, 12)]
    assert found[0][2].isoformat() == "2001-12-18T10:00:59"


def test_an_older_kernel_writes_a_shorter_block(tmp_path: Path, store: Store):
    land(tmp_path, store, memory(*MEMORY[:-3]))

    assert rows(store, "SELECT freeswap, pgalloc, pgmajfault FROM monitor.aplsdt_memory") == [
        (127_000, None, None)
    ]


def test_a_system_block_has_a_row_for_each_processor(tmp_path: Path, store: Store):
    land(tmp_path, store, system(36, (10, 0, 5, 85, 1, 2, 3, 4, 0), (20, 1, 6, 73, 0, 0, 0, 9, 1)))

    assert rows(store, "SELECT nr_cpus, nr_threads, avenrun_1 / 2048 FROM monitor.aplsdt_os") == [
        (2, 180, 1.0)
    ]
    assert rows(
        store,
        "SELECT userid, entry, per_cpu_user, per_cpu_idle, per_cpu_steal, cpu_id "
        "FROM monitor.aplsdt_os_cpu",
    ) == [("LINUX01", 0, 10, 85, 4, 0), ("LINUX01", 1, 20, 73, 9, 1)]


def test_an_older_kernel_says_less_of_each_processor(tmp_path: Path, store: Store):
    land(tmp_path, store, system(16, (10, 0, 5, 85)))

    assert rows(
        store, "SELECT per_cpu_idle, per_cpu_irq, per_cpu_steal FROM monitor.aplsdt_os_cpu"
    ) == [(85, None, None)]


def test_a_network_block_is_a_table(tmp_path: Path, store: Store):
    block = head() + struct.pack(">II9Q", 2, 0, 100, 90, 64_000, 5_000, 1, 2, 3, 4, 5)
    land(tmp_path, store, application(product(3), block))

    assert rows(
        store, "SELECT nr_interfaces, rx_packets, tx_bytes, collisions FROM monitor.aplsdt_net"
    ) == [(2, 100, 5_000, 5)]


def test_a_block_that_was_being_written_is_a_finding_and_lands(tmp_path: Path, store: Store):
    landed = land(tmp_path, store, memory(*MEMORY, counts=(9, 8)))

    assert landed.findings.counts == {Code.BLOCK_TORN: 1}
    assert rows(
        store, "SELECT sync_count_1, sync_count_2, totalram FROM monitor.aplsdt_memory"
    ) == [(9, 8, 512_000)]


@pytest.mark.parametrize(
    ("said", "name"),
    [(b"LNXAPPL\1\0\0" + b"\0" * 6, "LNXAPPL"), ("PRODUCT".encode("cp037") + bytes(9), "PRODUCT")],
)
def test_a_block_of_another_product_stays_raw(tmp_path: Path, store: Store, said: bytes, name: str):
    landed = land(tmp_path, store, application(said, b"\1\2\3\4"))

    assert not landed.findings.counts
    assert rows(store, "SELECT product, data FROM monitor.aplsdt_data") == [(name, b"\1\2\3\4")]
    assert rows(store, "SELECT count(*) FROM monitor.aplsdt_memory") == [(0,)]


def test_counters_of_a_guest_are_growths_between_its_samples(tmp_path: Path, store: Store):
    first, second = (
        application(product(2), head(at=at) + system(16, ticks)[AT + 16 :])
        for at, ticks in ((59, (10, 0, 5, 85)), (119, (40, 0, 9, 120)))
    )
    file = tmp_path / "linux.mon"
    file.write_bytes(dump(interval(60, CONFIG, first), interval(120, sampled(second, 120))))
    ingest(file, store)

    found = rows(
        store, "SELECT per_cpu_user, per_cpu_idle FROM interval.aplsdt_os_cpu ORDER BY interval_end"
    )
    assert found == [(None, None), (30, 35)]


def deltas(path: Path, store: Store, *samples: list[bytes]) -> list[Any]:
    """Ticks in user mode by processor and sample, of samples a minute apart."""
    first, *others = samples
    intervals = [interval(60, CONFIG, *first)]
    intervals += [
        interval(60 * n, *(sampled(record, 60 * n) for record in records))
        for n, records in enumerate(others, 2)
    ]
    file = path / "linux.mon"
    file.write_bytes(dump(*intervals))
    ingest(file, store)
    return rows(
        store,
        "SELECT cpu_id, per_cpu_user FROM interval.aplsdt_os_cpu"
        " WHERE per_cpu_user IS NOT NULL ORDER BY interval_end, cpu_id",
    )


def cpus(second: int, *ticks: tuple[int, int]) -> list[bytes]:
    """An operating system block written at that second: (number, ticks in user mode) of each."""
    whole = system(36, *((user, 0, 0, 0, 0, 0, 0, 0, number) for number, user in ticks))
    at = AT + struct.calcsize(">QII")
    return [whole[:AT] + head(at=second) + whole[at:]]


def test_a_processor_is_the_same_wherever_its_entry_stands(tmp_path: Path, store: Store):
    """Processor 1 goes offline: the entry of processor 2, which has used more, moves up."""
    found = deltas(
        tmp_path,
        store,
        cpus(59, (0, 100), (1, 200), (2, 5000)),
        cpus(119, (0, 110), (1, 220), (2, 5030)),
        cpus(179, (0, 150), (2, 5090)),
        cpus(239, (2, 5100), (0, 151)),
    )
    assert found == [(0, 10), (1, 20), (2, 30), (0, 40), (2, 60), (0, 1), (2, 10)]


def test_entries_without_a_number_are_told_apart_by_place(tmp_path: Path, store: Store):
    """Kernels of 2.4 write entries of 16 bytes."""
    samples = [
        [application(product(2), head(at=at) + system(16, *ticks)[AT + 16 :])]
        for at, ticks in (
            (59, [(10, 0, 0, 0), (7000, 0, 0, 0)]),
            (119, [(40, 0, 0, 0), (7005, 0, 0, 0)]),
        )
    ]
    assert deltas(tmp_path, store, *samples) == [(0, 30), (1, 5)]


def test_a_torn_block_takes_part_in_no_delta_and_no_level(tmp_path: Path, store: Store):
    """The third sample of processors and memory was taken while the guest was writing."""

    def sample(n: int, counts: tuple[int, int]) -> list[bytes]:
        block = head(at=60 * n - 1, counts=counts)
        os = system(36, (100 * n, 0, 0, 0, 0, 0, 0, 0, 0))
        used = [n, *MEMORY[1:5], 1000 * n, *MEMORY[6:]]
        return [
            application(product(2), block + os[AT + 16 :]),
            application(product(1), block + struct.pack(f">{len(used)}Q", *used)),
        ]

    counts = [(8, 8), (9, 9), (10, 9), (11, 11), (12, 12)]
    found = deltas(tmp_path, store, *(sample(n, each) for n, each in enumerate(counts, 1)))

    assert found == [(0, 100), (0, 100)]
    levels = rows(
        store,
        "SELECT interval_end, totalram, pgpgin FROM interval.aplsdt_memory ORDER BY interval_end",
    )
    assert [row[1:] for row in levels] == [
        (1000, None),
        (2000, 1),
        (None, None),
        (4000, None),
        (5000, 1),
    ]
