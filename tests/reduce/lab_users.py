"""Rows of system LAB about users, their states, classes, logoffs, and a Linux guest.

As in `lab`, minute 0 is a first sample, minutes 1 and 2 end intervals of 60 and 30 seconds. ANNA
has two virtual processors, BERT one. DORA logs off 15 s behind minute 1, EMIL is there for the 15 s
from half a minute behind it. LINUX1 tells of itself.
"""

from __future__ import annotations

from typing import Any

import duckdb

from tests.reduce.catalogue import TOD_SECOND, insert, minute

IOS = ("vmdvdsct", "vmdvusct", "vmdvtsct", "vmdvcsct", "vmdvosct")
PAGES = ("calcppgr", "calcppgw", "calcpxrd", "calcpxwt", "calcpmig", "calcppst")
BUSY = dict(zip((*IOS, *PAGES), (600, 60, 30, 120, 90, 240, 60, 180, 120, 36, 6), strict=True))
NOTHING = dict.fromkeys(BUSY, 0)
EPOCH_US = 2_208_988_800_000_000
"""Microseconds from 1900, where TOD clocks begin, to 1970."""


def times(total: float, virtual: float) -> dict[str, int]:
    """Processor time, seconds."""
    return {"vmdttime": round(total * TOD_SECOND), "vmdvtime": round(virtual * TOD_SECOND)}


def fill(con: duckdb.DuckDBPyConnection) -> None:
    """Add the rows."""
    _activity(con)
    _logoffs(con)
    _settings(con)
    _states(con)
    _linux(con)
    classes = {"ANNA": "STAFF", "BERT": "STAFF"}
    for userid in ("ANNA", "BERT", "DORA", "EMIL", "LINUX1"):
        row = {"userid": userid, "class": classes.get(userid, "OTHER")}
        insert(con, "meta.user_class", row)


def _activity(con: duckdb.DuckDBPyConnection) -> None:
    """Counters of the users whose levels `lab` has."""
    grown: dict[tuple[str, int, int], dict[str, int]] = {
        ("ANNA", 0, 1): times(30, 24) | BUSY,
        ("ANNA", 1, 1): times(12, 11) | NOTHING,
        ("ANNA", 0, 2): times(3, 3) | NOTHING | {"vmdvdsct": 30, "calcppgr": 90},
        ("ANNA", 1, 2): times(0, 0) | NOTHING,
        ("BERT", 0, 1): times(6, 3) | NOTHING,
        ("BERT", 0, 2): times(0, 0) | NOTHING,
    }
    for (userid, cpu, n), counters in grown.items():
        held = {"vmdwsspr": 80 if userid == "ANNA" else 20, "vmdctpvl": 7}
        told = counters | (dict.fromkeys(held, 0) if cpu else held)
        sets = ", ".join(f"{name} = {value}" for name, value in told.items())
        con.execute(
            f"UPDATE interval.useact SET {sets}"
            " WHERE vmduser = ? AND vmdcpuad = ? AND interval_end = ?",
            [userid, cpu, minute(n)],
        )


def _logoffs(con: duckdb.DuckDBPyConnection) -> None:
    """DORA's counters were sampled before; one of them wraps. EMIL was in no sample."""
    dora = {"system": "LAB", "dump": "a", "vmduser": "DORA", "vmdcpuad": 0}
    sampled = NOTHING | {"vmdvdsct": 4_294_967_290, "calcppgr": 10}
    row = {"interval_end": minute(0), "tod_us": 0}
    insert(con, "monitor.useact", dora | row | times(100, 80) | sampled)
    ended = NOTHING | {"vmdvdsct": 20, "calcppgr": 25}
    insert(con, "monitor.uselof", dora | _clock(-600, 15) | times(103, 82) | ended)
    emil = {"system": "LAB", "dump": "a", "vmduser": "EMIL", "vmdcpuad": 0}
    insert(con, "monitor.uselof", emil | _clock(90, 105) | times(1.5, 1) | NOTHING)


def _clock(logon: int, logoff: int) -> dict[str, Any]:
    """When a session began and ended, in seconds behind minute 0."""
    return {
        "tod": minute(logoff / 60),
        "tod_us": logoff * 1_000_000,
        "caltodon": (EPOCH_US + logon * 1_000_000) * 4096,
        "caltodon_at": minute(logon / 60),
    }


def _settings(con: duckdb.DuckDBPyConnection) -> None:
    """ANNA: 32 MiB, share 100, 300 later. BERT, whose record is short: 64 MiB, half the system."""
    anna = {"system": "LAB", "vmduser": "ANNA", "vmdrelsh": 100, "vmdabssh": 0}
    size = {"vmdssize": 32 << 20, "ascdefsz": (32 << 20) - 1}
    for at in (-0.1, 0.5):  # the second says nothing new
        insert(con, "monitor.mtrusr", anna | size | {"tod": minute(at)})
    insert(con, "monitor.sclshr", anna | {"vmdrelsh": 300, "tod": minute(1.5)})
    half = {"vmdrelsh": 0, "vmdabssh": 0x8000, "vmdssize": 64 << 20, "tod": minute(-0.1)}
    insert(con, "monitor.uselon", {"system": "LAB", "vmduser": "BERT", **half})


def _states(con: duckdb.DuckDBPyConnection) -> None:
    """A sample a second finds each of ANNA's processors in a state."""
    names = ("hfquct", "hfcpurn", "hfcpuwt", "hfwtpag", "hfiowt", "hfsimwt", "hfcfwt", "hftsvm")
    names += ("hfesvm", "hfload", "hftidl", "hfothr", "hfdorm")
    found = {
        (0, 1): (50, 20, 5, 2, 4, 3, 1, 2, 1, 6, 4, 1, 10),
        (1, 1): (30, 10, 3, 0, 2, 1, 1, 2, 0, 2, 8, 1, 30),
        (0, 2): (0, *(0 for _ in names[2:]), 30),
        (1, 2): (20, 20, *(0 for _ in names[3:]), 10),
    }
    key = {"system": "LAB", "vmduser": "ANNA"}
    for cpu in (0, 1):
        insert(con, "interval.useint", {**key, "vmdcpuad": cpu, "interval_end": minute(0)})
    for (cpu, n), samples in found.items():
        eligible = {"hfelig0": 0, "hfelig1": 0, "hfelig2": 0, "hfelig3": 1 - cpu if n == 1 else 0}
        told = dict(zip(names, samples, strict=True)) | eligible
        told |= {
            "hfdisp0": 0,
            "hfdisp1": 0,
            "hfdisp2": 0,
            "hfdsvm": 2 * cpu,
            "hfioact": 3,
            "hfpgact": 2,
        }
        told["hfdisp3"] = told["hfquct"] - eligible["hfelig3"]
        told["hfstct"] = told["hfquct"] + told["hfdorm"]
        row = {"vmdcpuad": cpu, "interval_end": minute(n), "seconds": 60.0 if n == 1 else 30.0}
        insert(con, "interval.useint", key | row | told)


def _linux(con: duckdb.DuckDBPyConnection) -> None:
    """Two virtual processors, a third of the memory in use; processor time in 10 ms."""
    uses = ("user", "nice", "system", "irq", "softirq", "iowait", "steal", "idle")
    ticks = {1: (1200, 60, 600, 30, 30, 120, 300, 3660), 2: (600, 0, 300, 0, 0, 0, 0, 2100)}
    for n, seconds in enumerate((None, 60.0, 30.0)):
        key = {"system": "LAB", "interval_end": minute(n), "userid": "LINUX1", "entry": 0}
        timed = key | {"seconds": seconds}
        load = {"nr_cpus": 2, "nr_running": 3 + n, "nr_threads": 70, "nr_iowait": n}
        load |= {"avenrun_1": 2048 * n, "avenrun_5": 1024, "avenrun_15": 512}
        insert(con, "interval.aplsdt_os", timed | load)
        for cpu in (0, 1):
            spent = dict(zip((f"per_cpu_{use}" for use in uses), ticks.get(n, ()), strict=False))
            insert(con, "interval.aplsdt_os_cpu", timed | {"entry": cpu, "cpu_id": cpu} | spent)
        memory = {"totalram": 512_000, "freeram": 102_400, "bufferram": 51_200, "cached": 204_800}
        memory |= {"totalswap": 262_144, "freeswap": 262_144 - 1024 * n}
        moved = {"pswpin": 30, "pswpout": 60, "pgpgin": 600, "pgpgout": 1200}
        moved |= {"pgfault": 900, "pgmajfault": 15}
        insert(con, "interval.aplsdt_memory", timed | memory | (moved if seconds else {}))
        sent = {"rx_bytes": 61_440, "tx_bytes": 122_880, "rx_packets": 120, "tx_packets": 180}
        sent |= {"rx_errors": 1, "tx_errors": 2, "rx_dropped": 3, "tx_dropped": 24}
        insert(con, "interval.aplsdt_net", timed | (sent if seconds else {}))
