"""Months of hourly samples of one processor, busy by a trend and a weekly season that are known."""

from __future__ import annotations

import shutil
from collections.abc import Container
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.store import Store
from tests.dumps import BEGIN_S, dump, fields, interval

HOUR, WEEK = 3600, 168
TOD_SECOND = 4_096_000_000
START, GROWTH, NOISE = 0.3, 0.012, 0.03
"""Share of the first week, what each week adds, and deviation of an hour."""
PAGES = 100
"""Resident pages of a user."""


def season(hour: np.ndarray) -> np.ndarray:
    """What an hour of the week, from Monday 00:00 UTC, adds: office hours, quiet weekends."""
    at_work = (hour % 24 >= 8) & (hour % 24 < 18) & (hour < 120)
    return np.where(at_work, 0.2, 0.0) - np.where(hour >= 120, 0.05, 0.0)


def shares(weeks: int, seed: int = 1) -> np.ndarray:
    """The busy share of every hour after the begin of dumps of tests."""
    n = np.arange(weeks * WEEK)
    week_hour = (n + BEGIN_S // HOUR + 72) % WEEK
    noise = np.random.default_rng(seed).normal(0, NOISE, len(n))
    return np.clip(START + GROWTH * n / WEEK + season(week_hour) + noise, 0, 1)


def months(busy: np.ndarray, missing: Container[int] = (), ipl: int = -1, users: int = 0) -> bytes:
    """A dump with a sample an hour.

    Args:
        busy: (hours,) share of each hour. missing: samples that are not there.
        ipl: the sample before which counters begin anew. users: so many have records too.
    """
    worked = np.concatenate([[0], np.cumsum(busy * HOUR * TOD_SECOND)]).round().astype(int)
    parts = []
    for n, clock in enumerate(worked.tolist()):
        if n in missing:
            continue
        at = n * HOUR
        records = [fields("sytprp", at, pfxcpuad=0, pfxutime=clock - worked[ipl] * (0 <= ipl <= n))]
        names = (f"U{number}" for number in range(users))
        used = clock // max(users, 1)  # all of what the processor has worked
        records += [
            fields("useact", at, vmduser=name, vmdttime=used, vmdctpvr=PAGES) for name in names
        ]
        if n == 0:
            records[:0] = [
                fields("mtrsys", at, systmid="VMTEST"),
                fields("mtrspr", at, interval=HOUR),
            ]
        parts.append(interval(at, *records))
    return dump(*parts)


def store_of_months(folder: Path, data: bytes) -> Store:
    """A store with the reduced hours of a dump, in `perf` of a folder."""
    return Store(Path(shutil.copytree(_reduced(data).name, folder, dirs_exist_ok=True)) / "perf")


@cache
def _reduced(data: bytes) -> TemporaryDirectory[str]:
    """A folder with the store and the dump: to reduce a hundred days takes most of such a test."""
    made = TemporaryDirectory(prefix="cpmon-months-")
    file = Path(made.name) / "months.mon"
    file.write_bytes(data)
    store = Store(Path(made.name) / "perf", create=True)
    ingest(file, store)
    reduce(store, ["processors_by_time", "system_summary_by_time"], Settings())
    return made
