"""Events of system LAB: one record of each kind that is read, at times that tell them apart."""

from __future__ import annotations

import duckdb

from tests.reduce.catalogue import TOD_SECOND, insert, minute

SRM = {
    **{"srmbiasi": 90, "srmbiasd": 2, "srmtslic": 5 * TOD_SECOND // 1000},
    **{"srmp1ldg": 100, "srmp2ldg": 75, "srmp3ldg": 60, "srmxpctg": 0},
    **{"srmp1wss": 125, "srmp2wss": 105, "srmp3wss": 95, "srmwssmp": 9999},
    **{"srml1dsp": 30, "srml2dsp": 20, "srml3dsp": 10},
}
"""Scheduler settings as MTRSCH and SCLSRM have them."""

DEVICES = ("iodvof", "iodson", "iodsof", "iodatd", "iodats", "ioddtd", "iodmon", "iodmof", "iodddv")
OTHER_DEVICES = ("iodmdv", "iodton", "iodtof", "iodqdd")


def fill(con: duckdb.DuckDBPyConnection) -> None:
    """Add the rows, without sessions of users: those `lab` has already."""
    _system(con)
    _users(con)
    _things(con)
    for n, table in enumerate((*DEVICES, *OTHER_DEVICES)):
        insert(con, f"monitor.{table}", {**at(1.3 + n / 100), "rdevdev": 0x0A1F})
    for n, table in enumerate(("iodvon", "iodstc")):
        insert(
            con,
            f"monitor.{table}",
            {**at(1.5 + n / 100), "rdevdev": 0x0A1F, "rdevser": "WORK01"},
        )
    for n, table in enumerate(("prcvof", "prcvon", "prccfn", "prccff")):
        insert(con, f"monitor.{table}", {**at(1.6 + n / 100), "pfxcpuad": 0})


def at(n: float) -> dict[str, object]:
    """What every record has, so many minutes after the start."""
    return {"system": "LAB", "dump": "a", "tod": minute(n)}


def _system(con: duckdb.DuckDBPyConnection) -> None:
    insert(con, "monitor.mtrecm", {**at(0.5), "calcmd": "MONITOR START"})
    insert(con, "monitor.mtrscm", {**at(1), "caltod_at": minute(0.5), "calcmd": "MONITOR START"})
    insert(con, "monitor.sclsrm", {**at(0.62), **SRM})
    insert(con, "monitor.mtrccc", {**at(0.63), "cpucapab": 450})
    insert(con, "monitor.mtrmcc", {**at(0.64), "sysgstby": 1 << 30, "sysgstrs": 0})
    insert(con, "monitor.stoadd", {**at(0.65), "calmemad": 0})
    insert(con, "monitor.storst", at(0.66))


def _users(con: duckdb.DuckDBPyConnection) -> None:
    anna = {"vmduser": "ANNA"}
    insert(con, "monitor.usedfc", {**at(0.71), **anna, "vmdcpuad": 2})
    insert(con, "monitor.userdc", {**at(0.72), **anna, "vmdcpuad": 2, "newcpuad": 3})
    insert(con, "monitor.usedtc", {**at(0.73), **anna, "vmdcpuad": 3})
    insert(con, "monitor.usescp", {**at(0.74), **anna, "scptype": "LINUX", "callevel": "4.4"})
    insert(con, "monitor.sclshr", {**at(0.75), **anna, "vmdrelsh": 0, "vmdabssh": 0x4000})
    insert(con, "monitor.sclsqd", {**at(0.76), **anna, "vmdqdspu": True})
    insert(con, "monitor.scliop", {**at(0.77), **anna, "newrqlo": 1, "newrqhi": 9})
    insert(con, "monitor.sclsca", {**at(0.78), **anna, "vmdcpuaf": True, "vmdafsup": False})


def fill_suspension(con: duckdb.DuckDBPyConnection) -> None:
    """Add two suspensions of the recording of events; the second has not ended."""
    insert(con, "monitor.mtrsus", {**at(0.6), "lostrcct": 17})
    insert(con, "monitor.mtrsos", at(0.61))


def fill_sessions(con: duckdb.DuckDBPyConnection) -> None:
    """Add a session of a minute of a user with two virtual processors."""
    for cpu in (0, 1):
        who = {**at(0.7 + cpu / 1000), "vmduser": "ANNA", "vmdcpuad": cpu}
        size = {"ascdefsz": (256 << 20) - 1, "vmdssize": 256 << 20}
        insert(con, "monitor.uselon", {**who, **size, "vmdrelsh": 200, "vmdabssh": 0})
        who = {**at(1.7 + cpu / 1000), "vmduser": "ANNA", "vmdcpuad": cpu}
        used = {"vmdttime": 10 * TOD_SECOND, "vmdvtime": round(7.5 * TOD_SECOND)}
        insert(con, "monitor.uselof", {**who, **used, "caltodon_at": minute(0.7)})


def _things(con: duckdb.DuckDBPyConnection) -> None:
    for n, table in enumerate(("stoshs", "stoshl", "stoshd", "stoshp")):
        insert(con, f"monitor.{table}", {**at(1.1 + n / 100), "sdffn": "CMSPIPES"})
    for n, table in enumerate(("stoasc", "stoasd")):
        space = {"ascusrid": "BERT", "ascname": "DATA"}
        insert(con, f"monitor.{table}", {**at(1.15 + n / 100), **space})
    volume = {"cpvolser": "VOL300", "caltype": "PAGE", "rdevdev": 0x300}
    insert(con, "monitor.stoatc", {**at(1.17), **volume})
    insert(con, "monitor.iodqda", {**at(1.18), "rdevdev": 0xF000, "vmduser": "BERT"})
    for n, table in enumerate(("iodenb", "ioddsb")):
        insert(con, f"monitor.{table}", {**at(1.19 + n / 100), "rdevsid": 0x1B})
    insert(con, "monitor.ioddch", {**at(1.21), "calchpid": 0x1A})
    insert(con, "monitor.iodmde", {**at(1.22), "mdiouser": "BERT", "mdiovdev": 0x191})
    for n, table in enumerate(("iodvsf", "iodvsr")):
        switch = {"lanname": "VSW1", "lanrdd_rdev": 0xF000}
        insert(con, f"monitor.{table}", {**at(1.23 + n / 100), **switch})
    for n, table in enumerate(("vndlsu", "vndlsd")):
        insert(
            con, f"monitor.{table}", {**at(1.25 + n / 100), "lanname": "LAN1", "nicowner": "BERT"}
        )
    insert(con, "monitor.mtrcpd", {**at(1.27), "limpool": "POOL1", "command": 2})
    insert(con, "monitor.ssisch", {**at(1.28), "calsysnm": "LAB2"})
