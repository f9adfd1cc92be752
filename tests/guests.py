"""Weeks of hourly samples of two processors and two guests, whose use is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.store import Store
from cpmon.store.measured.classes import save_classes
from tests.dumps import BEGIN_S, dump, fields, interval
from tests.months import HOUR, TOD_SECOND, WEEK

AWAY = range(100, 110)
"""Samples in which LNX1 is not logged on."""
GROWTH = 0.05
"""Processors by which BATCH uses more each week."""
_MIB = 1 << 20
_LOGON = {"vmdssize": 1024 * _MIB}
REDUCED = (
    *("processors_by_time", "system_summary_by_time", "aux_storage_by_time", "storage_by_time"),
    "users_by_time",
)


def at_work(n: np.ndarray) -> np.ndarray:
    """Whether hours after the begin are office hours."""
    hour = week_hour(n)
    inside: np.ndarray = (hour % 24 >= 8) & (hour % 24 < 18) & (hour < 120)
    return inside


def week_hour(n: np.ndarray) -> np.ndarray:
    """Hours of the week, from Monday 00:00 UTC, of hours after the begin."""
    hour: np.ndarray = (n + BEGIN_S // HOUR + 72) % WEEK
    return hour


def lnx1(n: np.ndarray) -> np.ndarray:
    """Processors that LNX1 uses while it is logged on, of two."""
    return np.where(at_work(n), 0.10, 0.02)


def batch(n: np.ndarray) -> np.ndarray:
    """Processors that BATCH uses. Nobody else does anything."""
    return np.where(at_work(n), 0.8, 0.3) + GROWTH * (n // WEEK)


def known(n: np.ndarray) -> np.ndarray:
    """Whether LNX1 is there at both ends of an hour."""
    return ~np.isin(n + 1, [*AWAY, AWAY.stop])


def _counter(per_hour: np.ndarray) -> list[int]:
    return np.concatenate([[0], np.cumsum(per_hour)]).round().astype(int).tolist()


def guests(hours: int) -> bytes:
    """A dump of two processors and two guests, of which LNX1 is away for a while.

    Each guest reads 5 pages a second of the 40 that are, holds 1,000 of 40,000 used and 100,000
    page slots, 500 pages of working set and 600 resident ones, and has 1 GiB of the 4 GiB.
    """
    n = np.arange(hours)
    used = np.where(known(n), lnx1(n), 0.0)
    works = {
        name: _counter(each * HOUR * TOD_SECOND)
        for name, each in (("LNX1", used), ("BATCH", batch(n)))
    }
    busy = _counter((used + batch(n)) / 2 * HOUR * TOD_SECOND)
    return dump(*(_sample(at, works, busy) for at in range(hours + 1)))


def _sample(n: int, works: dict[str, list[int]], busy: list[int]) -> bytes:
    at, records = n * HOUR, []
    if n == 0:
        records = [
            fields("mtrsys", at, systmid="VMTEST"),
            fields("mtrspr", at, interval=HOUR),
            fields("mtrmem", at, rsagstor=4096 * _MIB),
            *(fields("mtrusr", at, vmduser=name, **_LOGON) for name in works),
        ]
    if n == AWAY.start:
        records.append(fields("uselof", at - 60, vmduser="LNX1", vmdttime=works["LNX1"][n]))
    if n == AWAY.stop:
        records.append(fields("uselon", at - 60, vmduser="LNX1", **_LOGON))
    for cpu in range(2):
        records.append(fields("sytprp", at, pfxcpuad=cpu, pfxutime=busy[n]))
        records.append(fields("sytsyp", at, pfxcpuad=cpu, plspiopr=20 * at))
    records.append(fields("sytasg", at, calslta1=100_000, calslti1=40_000))
    records.append(fields("sytrsg", at))
    for name, ios in (("LNX1", 5), ("BATCH", 20)):
        if name == "LNX1" and n in AWAY:
            continue
        since = AWAY.stop if name == "LNX1" and n >= AWAY.stop else 0
        lasted, pages = (n - since) * HOUR, {"vmdwsspr": 500, "vmdctpvr": 600, "calctpgs": 1000}
        clock = works[name][n] - works[name][since]
        counts = {"vmdttime": clock, "calcppgr": 5 * lasted, "vmdvdsct": ios * lasted}
        records.append(fields("useact", at, vmduser=name, **pages, **counts))
    return interval(at, *records)


def store_of_guests(folder: Path, hours: int) -> Store:
    """A store, in `perf` of a folder, with the reduced hours of the guests; LNX1 is of LINUX."""
    file = folder / "guests.mon"
    file.write_bytes(guests(hours))
    store = Store(folder / "perf", create=True)
    ingest(file, store)
    save_classes(store, "LINUX LNX*\n", "classes.txt")
    reduce(store, REDUCED, Settings())
    return store
