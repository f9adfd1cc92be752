"""The published figures, from generated records by the plain reader and from companion files."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import pytest

from cpmon.generate import load_scenario, write_run
from tests.generate.figures import CPU, DEVICE, TOD_PER_S, Dump, printed, read

pytestmark = pytest.mark.generator

PUBLISHED = Path(__file__).parents[2] / "published"


def cells(file: str, tables: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Run -> row label -> value as printed."""
    found: dict[str, dict[str, str]] = {}
    with (PUBLISHED / file).open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["table"] in tables:
                found.setdefault(row["run_id"], {})[row["row_label"]] = row["value_as_printed"]
    return found


TIMER = cells("timer.csv", ("timer_t1", "timer_t2"))
LARGE = cells("large_storage.csv", ("large_storage_t1",))


def utilization(dump: Dump, cpus: set[int]) -> tuple[float, float]:
    """Total and emulation percent of some processors."""
    total = emulation = elapsed = 0
    for rows in dump.series(0, 2, CPU).values():
        first, last = rows[0], rows[-1]
        if first.u2(20) in cpus:
            elapsed += last.tod - first.tod
            total += last.u8(32) - first.u8(32) + abs(last.u8(40) - first.u8(40))
            emulation += first.u8(24) - last.u8(24)
    return 100 * total / elapsed, 100 * emulation / elapsed


def rate(dump: Dump, *places: tuple[int, int, int]) -> float:
    """Growth a second of counters of the processors, given as domain, record and offset."""
    return sum(sum(dump.growth(d, r, CPU, at)) for d, r, at in places) / dump.seconds


def companion(path: Path, *columns: str) -> list[float]:
    """Sums of some columns of a companion file."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [sum(float(row[column]) for row in rows) for column in columns]


def five_characters(percent: float) -> str:
    """The report's column for percent spin time."""
    return printed(percent, 3 if percent < 10 else 2)


def pages(rate_: float) -> str:
    """The report's column for expanded-storage paging: thousands from 100000 on."""
    return printed(rate_, 0) if rate_ < 100_000 else f"{printed(rate_ / 1000, 0)}k"


@pytest.mark.parametrize("run", TIMER)
def test_timer_run_prints_the_published_figures(run: str):
    dump, want = read("timer", run), TIMER[run]
    total, emul = (printed(v, 1) for v in utilization(dump, set(range(7))))
    master, master_emul = (printed(v, 1) for v in utilization(dump, {0}))
    spins, spin_us = rate(dump, (0, 2, 100)), sum(dump.growth(0, 2, CPU, 92, 8)) / 4096
    held = [sum(r.u4(at) for r in dump.of(4, 3)) / len(dump.of(4, 3)) for at in (68, 80, 104)]
    shown = [printed(v, 0) for v in held]
    got = {
        "Total Util/Proc": total,
        "Emul Util/Proc": emul,
        "CP Util/Proc": printed(float(total) - float(emul), 1),
        "Master Total Util/Proc": master,
        "Master Emul Util/Proc": master_emul,
        "Master CP Util/Proc": printed(float(master) - float(master_emul), 2),
        "Xstor Page Rate": pages(rate(dump, (0, 5, 24), (0, 5, 28), (0, 5, 32))),
        "DASD Page Rate": printed(rate(dump, (0, 1, 72), (0, 1, 76)), 0),
        "Spin Lock Rate": printed(spins, 0),
        "Spin Time/Request": printed(spin_us / (spins * dump.seconds), 3),
        "Pct Spin Time": five_characters(spin_us / 1e4 / dump.seconds / 7),
        "Resident Pages/User": shown[0],
        "Xstor Pages/User": shown[1],
        "DASD Pages/User": shown[2],
        "Total Pages/User": str(sum(int(v) for v in shown)),
    }
    assert got == {label: want[label] for label in got}


@pytest.mark.parametrize("run", TIMER)
@pytest.mark.parametrize("intervals", [3, 30])
def test_hardware_companion_prints_the_published_utilization_per_user(
    run: str, intervals: int, tmp_path: Path
):
    (file,) = write_run(load_scenario("timer"), run, tmp_path, intervals=intervals).companions
    seconds, busy, emulation = companion(file, "seconds", "busy_s", "emulation_s")
    users = 600 if "600" in run else 900
    total, emul = (100 * s / (seconds * 7) / users for s in (busy, emulation))
    labels = ("Total Util/User", "Emul Util/User", "CP Util/User")
    got = dict(zip(labels, (printed(v, 3) for v in (total, emul, total - emul)), strict=True))
    assert got == {label: TIMER[run][label] for label in labels}


@pytest.mark.parametrize("run", LARGE)
@pytest.mark.parametrize("intervals", [3, 5])
def test_large_storage_run_prints_the_published_figures(run: str, intervals: int, tmp_path: Path):
    dump = read("large-storage", run, intervals)
    (file,) = write_run(
        load_scenario("large-storage"), run, tmp_path, intervals=intervals
    ).companions
    seconds, transactions = companion(file, "seconds", "transactions")
    tx_rate = transactions / seconds
    total, _ = utilization(dump, set(range(8)))
    paging = {r.u2(26) for r in dump.of(3, 4) if r.u4(36)}
    busy = []
    for rows in dump.series(6, 3, DEVICE).values():
        if rows[0].u2(200) in paging:
            units = 0
            for before, now in itertools.pairwise(rows):
                units += sum((now.u4(at) - before.u4(at)) % 2**32 for at in (56, 60, 64))
            busy.append(units * 128 / 1e4 / ((rows[-1].tod - rows[0].tod) / TOD_PER_S))
    assert len(busy) == 16
    got = {
        "Tx/sec": printed(tx_rate, 2),
        "Total Util/Proc": printed(total, 1),
        "Total CPU/Tx": printed(total * 8 * 10 / tx_rate, 3),
        "2G Page Move Rate": printed(rate(dump, (0, 4, 44)), 1),
        "Avg % Page Vol Busy": printed(sum(busy) / len(busy), 1),
        "DASD Pages/Tx": printed(rate(dump, (0, 1, 72), (0, 1, 76)) / tx_rate, 3),
    }
    assert got == LARGE[run]
