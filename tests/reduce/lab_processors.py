"""Rows of system LAB about partitions, locks and DIAGNOSEs.

As in `lab`, minute 0 is a first sample, minutes 1 and 2 end intervals of 60 and 30 seconds. The
machine has four physical processors. Partition LAB, of two logical processors, is the system's
own; TEST has one that is dedicated. LAB tells of each lock from minute 1 on, as CP 5.3.0 does.
"""

from __future__ import annotations

import duckdb

from tests.reduce.catalogue import TOD_SECOND, insert, minute

SECOND = 1_000_000
CLOCK = 13_000_000_000 * TOD_SECOND // 4


def fill(con: duckdb.DuckDBPyConnection) -> None:
    """Add the rows."""
    ends = 0.0
    for n, seconds in enumerate((None, 60.0, 30.0)):
        ends += seconds or 0
        key = {"system": "LAB", "dump": "a", "interval_end": minute(n), "seconds": seconds}
        clock = CLOCK + round(ends * TOD_SECOND)
        _partitions(con, key, clock)
        _locks(con, key)
        _diagnoses(con, key, n)


def _partitions(con: duckdb.DuckDBPyConnection, key: dict[str, object], clock: int) -> None:
    """LAB is dispatched for 1/2 and 3/4 of the time, 1/60 of it overhead; TEST all the time."""
    first = key["seconds"] is None
    told = {name: key[name] for name in ("system", "dump", "interval_end")}
    insert(con, "monitor.sytcug", {**told, "lparname": "LAB", "lcutpcct": 4, "lcutnpar": 2})
    insert(con, "interval.sytcum", {**key, "lcutctod": clock})
    whole = round(SECOND * float(str(key["seconds"] or 0)))
    for cpu in range(4):
        insert(
            con,
            "interval.sytcum_cpu",
            {**key, "entry": cpu, "lcumcpu": cpu, "lcumgtm": None if first else whole // 100},
        )
    partitions = (
        ("LAB", 1, ((0.5, 1 / 60), (0.75, 1 / 60)), 200, 0x20),
        ("TEST", 2, ((1.0, 0.0),), 0, 0x80),
    )
    for name, number, processors, weight, flags in partitions:
        partition = {**key, "lcupname": name, "lcuppnum": number}
        insert(con, "interval.sytcup", {**partition, "lcutctod": clock})
        for cpu, (active, overhead) in enumerate(processors):
            row = {
                "entry": cpu,
                "lcucpuid": cpu,
                "lcucwght": weight,
                "lcucflgs": flags,
                "lcucactm": None if first else round(active * whole),
                "lcuclptm": None if first else round((active - overhead) * whole),
            }
            insert(con, "interval.sytcup_cpu", {**partition, **row})


def _locks(con: duckdb.DuckDBPyConnection, key: dict[str, object]) -> None:
    """Every interval that is measured has the same spins on two locks."""
    if key["seconds"] is None:
        return
    told = {name: value for name, value in key.items() if name != "dump"}
    for entry, (lock, counts) in enumerate(
        {"SRMSLOCK": (600, 0.6, 300, 0.15), "RSAAVLLK": (30, 0.003, 0, 0.0)}.items()
    ):
        exclusive, exclusive_s, shared, shared_s = counts
        spent = {
            "calxscnt": exclusive,
            "calxtime": round(exclusive_s * TOD_SECOND),
            "calsscnt": shared,
            "calstime": round(shared_s * TOD_SECOND),
        }
        insert(con, "interval.sytlck_lock", {**told, "entry": entry, "callckid": lock, **spent})


def _diagnoses(con: duckdb.DuckDBPyConnection, key: dict[str, object], n: int) -> None:
    """Codes 08 and 44 are used, 0C never. On processor 1 the counter of 44 wraps at minute 2."""
    counters = {
        (0, "08"): (1000, 1120, 1140),
        (1, "08"): (500, 560, 560),
        (0, "0C"): (0, 0, 0),
        (1, "0C"): (0, 0, 0),
        (0, "44"): (10, 70, 100),
        (1, "44"): (4_294_967_200, 4_294_967_290, 24),
    }
    told = {name: key[name] for name in ("system", "dump", "interval_end")}
    for cpu in (0, 1):
        insert(con, "interval.prcdia", {**key, "pfxcpuad": cpu})
    for (cpu, code), counts in counters.items():
        row = {"pfxcpuad": cpu, "entry": int(code, 16) // 4, "code": code}
        insert(con, "monitor.prcdia_diagnose", {**told, **row, "diagnoses": counts[n]})
