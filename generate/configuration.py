"""The configuration records: what the system looked like when monitoring started."""

from __future__ import annotations

import numpy as np

from .counters import Values, ebcdic
from .device_records import is_cp_volume
from .model import Model
from .user_records import MODES

MASTER = 0x40
"""MTRPRP_CALFLAGS of the master processor. Inferred: no page that was seen tells the bit."""

SAMPLED = 0x80 | 0x40 | 0x10 | 0x08 | 0x04 | 0x02
"""Domains sampled: system, monitor, storage, user, processor, I/O."""

EVENTS = 0x08 | 0x04
"""Domains with events: user, processor."""

HIGH_FREQUENCY = 0x08 | 0x04 | 0x02


def event_profile(model: Model) -> Values:
    """MTREPR: what events are recorded."""
    return {"edomains": EVENTS, "config": 68}


def configuration(model: Model) -> list[tuple[str, int, Values]]:
    """Layout name, rows and values of each configuration record, in CP's order."""
    return [
        ("mtrsys", 1, _mtrsys(model)),
        ("mtrprp", model.measurement.processors, _mtrprp(model)),
        ("mtrmem", 1, _mtrmem(model)),
        ("mtrpag", int(is_cp_volume(model).sum()), _mtrpag(model)),
        ("mtrspr", 1, _mtrspr(model)),
        ("mtrusr", model.measurement.users, _mtrusr(model)),
    ]


def _mtrsys(model: Model) -> Values:
    scenario, run = model.measurement.scenario, model.measurement.run
    machine = scenario.machine
    lpar = machine.mode == "lpar"
    # Version, release and modification, two digits each, and a service level (inferred).
    level = "".join(f"{int(part):02d}" for part in run.cp_level.split("."))
    return {
        "hcpcpeid": ebcdic(level + "00", 8),
        "systodst": model.ipl_tod,
        "systerm": 0,
        "sysdate": ebcdic(run.start.strftime("%m/%d/%y"), 8),
        "systmid": ebcdic(scenario.system, 8),
        "sysckvol": ebcdic("VMRES1", 6),
        "syswmvol": ebcdic("VMRES1", 6),
        "sysmtype": ebcdic(machine.type, 4),
        "sysmmodl": ebcdic(machine.model, 16),
        "sysmseqc": ebcdic(machine.serial.rjust(16, "0"), 16),
        "sysmpom": ebcdic("02", 4),
        "lpnumber": machine.partition_number if lpar else 0,
        "cpucount": machine.processors,
        "cpucfgct": machine.processors,
        "lparname": ebcdic(machine.partition if lpar else "", 8),
        "cpudedct": machine.processors if lpar else 0,
    }


def _mtrprp(model: Model) -> Values:
    machine = model.measurement.scenario.machine
    flags = np.zeros(machine.processors, dtype=np.int64)
    flags[0] = MASTER
    return {
        "pfxcpuad": np.arange(machine.processors),
        "pfxidmdl": np.void(_packed(machine.type, 2)),
        "pfxidser": np.void(_packed(machine.serial, 3)),
        "calflags": flags,
    }


def _packed(digits: str, width: int) -> bytes:
    """Digits, two a byte, filled with zeros on the left; nothing else is a digit."""
    kept = "".join(c for c in digits if c in "0123456789abcdefABCDEF")
    return bytes.fromhex(kept[-2 * width :].rjust(2 * width, "0"))


def _mtrmem(model: Model) -> Values:
    sizes = model.levels.sizes
    total = model.measurement.scenario.storage.central_mib << 20
    return {
        "rsastore": min(total, 1 << 31),
        "systors": min(total, 1 << 31),
        "rsapgabl": sizes.pageable,
        "rsanonpg": sizes.nonpageable,
        "sysgtors": total,
        "rsagstor": total,
    }


def _mtrpag(model: Model) -> Values:
    volumes, cp = model.volumes, is_cp_volume(model)
    serials = np.array(volumes.serials, dtype="U6")[cp]
    kinds = np.where(volumes.is_page[cp] == 1, "PAGE", "SPOL")
    return {
        "cpvolser": ebcdic(serials, 6),
        "rdcpcyl": volumes.pages_per_cylinder[cp],
        "caltype": ebcdic(kinds, 4),
        "calcylno": volumes.cylinders[cp],
        "rdevsid": np.flatnonzero(cp),
        "rdevdev": volumes.devices[cp],
    }


def _mtrspr(model: Model) -> Values:
    monitor = model.measurement.scenario.monitor
    return {
        "interval": monitor.interval_s,
        "hfrate": round(monitor.high_frequency_s * 100),
        "sdomains": SAMPLED,
        "hdomains": HIGH_FREQUENCY,
        "config": monitor.segment_mib * 256 // 2,
    }


def _mtrusr(model: Model) -> Values:
    groups, users = model.measurement.groups, model.users
    size = users.each([g.storage_mib << 20 for g in groups])
    return {
        "vmduser": ebcdic(users.names, 8),
        "vmdcpuct": 1,
        "calmode": users.each([MODES[g.architecture] for g in groups]),
        "vmdrelsh": users.each([g.share for g in groups]),
        "vmdssize": size,
        "caltodon": np.uint64(model.ipl_tod) + users.logon.astype(np.uint64),
        "ascdefsz": size - 1,
        "calcpct": 1,
    }
