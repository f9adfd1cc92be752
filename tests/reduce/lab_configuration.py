"""Configuration records of system LAB, written when monitoring started, before minute 0."""

from __future__ import annotations

import duckdb

from tests.reduce.catalogue import insert, minute
from tests.reduce.lab_events import SRM

SYSTEM = {
    **{"systmid": "LAB", "sysmtype": "2094", "sysmmodl": "716", "sysmseqc": "00000000000C1A2B"},
    **{"lparname": "LAB", "lpnumber": 1, "cpuchar": 0x60, "cpucfgct": 2, "cpustnby": 1},
    **{"hcpcpeid": "05020001", "systodst_at": minute(-60), "syszone": 3600},
    **{"sysckvol": "VMRES1", "syswmvol": "VMRES2"},
}


def fill(con: duckdb.DuckDBPyConnection) -> None:
    """Add the rows, behind those of processors and storage that `lab` has."""
    began = {"system": "LAB", "tod": minute(-0.1)}
    insert(con, "monitor.mtrsys", {**began, **SYSTEM})
    insert(con, "monitor.mtrxsg", {**began, "sysxtsiz": 256 * 512, "xstotalb": 256 * 512})
    domains = {"sdomsys": True, "sdommon": True, "sdomusr": True, "sdomapl": False}
    insert(con, "monitor.mtrspr", {**began, "interval": 60, "hfrate": 150, **domains})
    insert(con, "monitor.mtrepr", {**began, "edommon": True, "edomio": True, "edomsch": False})
    insert(con, "monitor.mtrsch", {**began, **SRM})
    identity = {"pfxidmdl": "2094", "pfxidser": "0C1A2B"}
    for name, value in identity.items():
        con.execute(f"UPDATE monitor.mtrprp SET {name} = ?", [value])
    for cpu, kind in ((0, 0), (1, 3)):
        con.execute("UPDATE interval.sytprp SET pfxcputy = ? WHERE pfxcpuad = ?", [kind, cpu])
