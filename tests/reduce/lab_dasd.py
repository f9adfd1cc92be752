"""Rows of system LAB about disks, control units, space on disks and the minidisk cache.

As in `lab`, minute 0 is a first sample, minutes 1 and 2 end intervals of 60 and 30 seconds. Disks
400 and 401 share a control unit, 402 is varied on between the two intervals, 900 is no disk.
"""

from __future__ import annotations

from typing import Any

import duckdb

from tests.reduce.catalogue import insert, minute

IDLE = {"scmfptim": 0, "scmddtim": 0, "scmcntim": 0, "scmcqtim": 0, "rdevmcia": 0, "hfctio": 0}


def fill(con: duckdb.DuckDBPyConnection) -> None:
    """Add the rows."""
    _configuration(con)
    _disks(con)
    _space(con)
    _cache(con)


def sampled(
    con: duckdb.DuckDBPyConnection, table: str, gauges: dict[str, Any], *growths: dict[str, Any]
) -> None:
    """Insert the three samples: the gauges in each, the growths in the second and third."""
    for n, (seconds, growth) in enumerate(zip((None, 60.0, 30.0), ({}, *growths), strict=True)):
        key = {"system": "LAB", "dump": "a", "interval_end": minute(n), "seconds": seconds}
        insert(con, f"interval.{table}", {**key, **gauges, **growth})


def _configuration(con: duckdb.DuckDBPyConnection) -> None:
    """Disks have ids of four paths, of which the mask leaves three."""
    disk = {
        **{"system": "LAB", "rdevclas": 4, "rdevdvid": "3390", "calmodln": 9},
        **{"rdevcuid": "3990", "rdevcumn": 0xE9, "rdevlpm": 0b1101_0000},
        "rdevchps": 0x9A2A_3A4A_0000_0000,
    }
    network = {"rdevclas": 2, "rdevdvid": "3088", "calmodln": 0, "rdevchps": 0, "rdevlpm": 0}
    insert(
        con,
        "monitor.mtrdev",
        {**disk, "tod": minute(-0.1), "rdevdev": 0x400},
        {**disk, "tod": minute(-0.1), "rdevdev": 0x401},
        {**disk, "tod": minute(-0.1), "rdevdev": 0x900, **network},
    )
    insert(con, "monitor.iodvon", {**disk, "tod": minute(1.5), "rdevdev": 0x402, "rdevlpm": 0})
    for n in range(3):
        for subchannel in (7, 8):
            row = {"rdevsid": subchannel, "interval_end": minute(n), "ssid": 0x1F}
            insert(con, "monitor.iodcad", {"system": "LAB", **row})


def _disks(con: duckdb.DuckDBPyConnection) -> None:
    """400 does 600 and 900 I/Os, 401 1200 and none; times in units of 128 us."""
    first = {"scmfptim": 1_500, "scmddtim": 6_000, "scmcntim": 3_000, "scmcqtim": 750}
    second = {"scmfptim": 3_000, "scmddtim": 9_000, "scmcntim": 6_000, "scmcqtim": 1_500}
    sampled(
        con,
        "ioddev",
        {"rdevdev": 0x400, "rdevsid": 7, "rdevser": "USER01", "rdevlcnt": 3},
        {
            **{**first, "rdevmcia": 120, "hfrdevct": 30, "hfctio": 6},
            **{"rdevrdct": 400, "rdevwrct": 200},
            # Half of them were timed; the counts of 16 bits have wrapped.
            **{"scgssch": 600, "scgcount": 300, "scmssch": 88, "scmcount": 44},
        },
        {
            **{**second, "rdevmcia": 30, "hfrdevct": 15, "hfctio": 0},
            **{"scgssch": 900, "scgcount": 900},
        },
    )
    sampled(
        con,
        "ioddev",
        {"rdevdev": 0x401, "rdevsid": 8, "rdevser": "      "},
        {
            **{**second, "rdevmcia": 0, "hfrdevct": 0, "hfctio": 0},
            # The counts of 32 bits are not kept.
            **{"scgssch": 0, "scgcount": 0, "scmssch": 1200, "scmcount": 1200},
        },
        {**IDLE, "hfrdevct": 0, "scgssch": 0, "scgcount": 0},
    )
    for device in (0x402, 0x900):
        untimed = {**IDLE, "hfrdevct": 30, "scgssch": 300, "scgcount": 0}
        sampled(con, "ioddev", {"rdevdev": device, "rdevsid": 9}, untimed, untimed)


def _space(con: duckdb.DuckDBPyConnection) -> None:
    spool = {"rdevdev": 0x210, "calvser": "SPOL01", "calpage": 0, "calspool": 500}
    gauges = {"expcurqc": 2, "expdevst": 4_300, "expmload": 1_500, "cpvalocd": 250}
    moved = {"expctprd": 0, "expctpwr": 0, "expctsrd": 90, "expctswr": 30, "expctacp": 40}
    sampled(con, "stoasp", {**spool, **gauges}, moved, moved)
    slots = {"calslta1": 1500, "calslti1": 600, "calslta2": 400, "calslti2": 100}
    sampled(con, "sytasg", slots, {}, {})
    for entry, read, out in ((0, 40, 10), (3, 80, 20)):
        sampled(con, "stobpg_pgdbr_tbl", {"entry": entry}, {"pgdbr": read}, {"pgdbr": read})
        sampled(con, "stobpg_pgdbs_tbl", {"entry": entry}, {"pgdbs": out}, {"pgdbs": 2 * out})


def _cache(con: duckdb.DuckDBPyConnection) -> None:
    """The cache loses 60 pages in the second interval, in which its reads are not counted."""
    found = {"tcmrdct": 600, "hcpmdcia": 450, "tcmstlxs": 3}
    sampled(con, "sytxsg", {"tcmxidsz": 128}, found, {**found, "tcmrdct": None})
    con.execute(
        "UPDATE interval.sytrsg SET rsapgabl = 500000, rsaavail = 3000, rsacplok = 40,"
        " tcmmain = CASE WHEN seconds = 30 THEN 940 ELSE 1000 END,"
        " tcmmndl = CASE WHEN seconds > 0 THEN 240 END,"
        " tcmstlmn = CASE WHEN seconds > 0 THEN 12 END"
    )
    con.execute("UPDATE interval.sytrsp SET plsalemg = 6 WHERE seconds IS NOT NULL")
