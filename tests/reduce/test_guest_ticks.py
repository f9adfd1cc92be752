"""Ticks of the processors of a Linux guest, which the kernel counts 100 times a second, or more."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.store import Store, connect
from tests.dumps import dump, fields, interval, tod
from tests.linux_daemons import application

KERNEL = "LINUXKRNL".encode("cp037") + b"\2" + "260100".encode("cp037")
USES = (0.20, 0.0, 0.05, 0.70, 0.0, 0.0, 0.02, 0.03)
"""Shares of the time: user, nice, system, idle, irq, softirq, iowait, steal."""


def block(at: float, *processors: tuple[float, ...]) -> bytes:
    """A block of the operating system: ticks of each use, of each processor."""
    head = struct.pack(">QII9I", tod(at), 8, 8, len(processors), 36, 52, 2, 180, 9, 9, 9, 1)
    ticks = [struct.pack(">9I", *map(round, of), cpu) for cpu, of in enumerate(processors)]
    return application(KERNEL, head + b"".join(ticks), at)


def landed(store: Store, tmp_path: Path, *samples: list[tuple[float, ...]]) -> Store:
    """A dump of a sample a minute."""
    config = [fields("mtrsys", systmid="VMTEST", hcpcpeid="05030000")]
    sets = [
        interval(60 * n, *(config if n == 1 else ()), block(60 * n, *processors))
        for n, processors in enumerate(samples, 1)
    ]
    file = tmp_path / "linux.mon"
    file.write_bytes(dump(*sets))
    ingest(file, store)
    return store


@pytest.mark.parametrize("a_second", [100, 250, 300, 1000])
def test_ticks_of_a_kernel_that_counts_faster_are_no_time(
    store: Store, tmp_path: Path, a_second: int
):
    samples = [[tuple(u * a_second * 60 * n for u in USES)] * 2 for n in range(20, 23)]
    with connect(landed(store, tmp_path, *samples), reductions()) as con:
        found = report(con, "LINUX_GUESTS")
    (line,) = found.table.to_pylist()
    assert line["load_1"] == pytest.approx(9 / 2048)
    shown = [line[name] for name in ("cpu_util", "user_util", "iowait_util", "steal_util")]
    if a_second == 100:
        assert shown == pytest.approx([0.5, 0.4, 0.04, 0.06])
    else:
        assert shown == [None] * 4
        assert any("PER_CPU_IDLE is not possible" in note for note in found.notes)


def test_a_processor_that_slept_is_charged_when_it_wakes(store: Store, tmp_path: Path):
    """Its idle time of an interval and a half comes at once: what else it did is right."""
    uses = [[u * 6000 * n for u in USES] for n in range(20, 23)]
    uses[1][3] -= 3000
    with connect(landed(store, tmp_path, *([tuple(u)] for u in uses)), reductions()) as con:
        found = con.execute("SELECT cpu_util FROM linux_guests_by_time ORDER BY interval_end")
        assert [share for (share,) in found.fetchall()] == [None, *[pytest.approx(0.25)] * 2]
