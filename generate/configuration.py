"""The configuration records: what the system looked like when monitoring started."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .counters import Values, ebcdic
from .devices import device_identity
from .hardware import Machine
from .measurement import TOD_PER_US
from .model import Model, Sample
from .partition_records import characteristics, configured
from .scenario import Domain, EventDomain
from .user_records import MODES

MASTER = 0x40
"""MTRPRP_CALFLAGS of the master processor. Inferred: no page that was seen tells the bit."""

MASKS: dict[Domain | EventDomain | str, int] = {
    "system": 0x80,
    "monitor": 0x40,
    "storage": 0x10,
    "user": 0x08,
    "transaction": 0x08,
    "processor": 0x04,
    "io": 0x02,
    "appldata": 0x00,
}
"""Bits of the domains in the profiles' masks. Application data is in no mask that is known."""


SCHEDULER_SETTINGS: Values = {
    "srmbiasi": 90,
    "srmbiasd": 2,
    "srmtslic": 5_000 * TOD_PER_US,
    "srmtshot": 1_000 * TOD_PER_US,
    **{"srmp1ldg": 100, "srmp2ldg": 75, "srmp3ldg": 60},
    **{"srmp1wss": 125, "srmp2wss": 105, "srmp3wss": 95},
    "srmwssmp": 9999,
    **dict.fromkeys(("srml1dsp", "srml2dsp", "srml3dsp"), 32767),
}
"""MTRSCH: what QUERY SRM tells where nobody has changed anything (believed)."""


def event_profile(model: Model) -> Values:
    """MTREPR: what events are recorded."""
    return {"edomains": _mask(model.measurement.scenario.monitor.events), "config": 68}


def configuration(sample: Sample) -> list[tuple[str, int, Values]]:
    """Layout name, rows and values of each configuration record, in CP's order."""
    model = sample.model
    online = model.volumes.online(sample.interval)
    return [
        ("mtrsys", 1, _mtrsys(sample)),
        ("mtrprp", int(sample.times.online.sum()), _mtrprp(sample)),
        ("mtrdev", int(online.sum()), device_identity(model.volumes, np.flatnonzero(online))),
        ("mtrmem", 1, _mtrmem(model)),
        ("mtrpag", int(model.volumes.is_cp.sum()), _mtrpag(model)),
        ("mtrspr", 1, _mtrspr(sample)),
        ("mtrusr", int(sample.present.sum()), _mtrusr(sample)),
        ("mtrsch", 1, SCHEDULER_SETTINGS),
        ("mtrxsg", int(model.levels.sizes.expanded > 0), _mtrxsg(model)),
    ]


def _mask(domains: Iterable[str]) -> int:
    return int(np.bitwise_or.reduce([MASKS[domain] for domain in ("monitor", *domains)]))


def _mtrsys(sample: Sample) -> Values:
    model = sample.model
    scenario, run = model.measurement.scenario, model.measurement.run
    machine = run.machine
    # Version, release and modification, two digits each, and a service level (inferred).
    level = "".join(f"{int(part):02d}" for part in run.cp_level.split("."))
    return {
        "hcpcpeid": ebcdic(level + "00", 8),
        "systodst": model.ipl_tod(sample.number),
        "systerm": 0,
        "sysdate": ebcdic(run.start.strftime("%m/%d/%y"), 8),
        "systmid": ebcdic(scenario.system, 8),
        "sysckvol": ebcdic("VMRES1", 6),
        "syswmvol": ebcdic("VMRES1", 6),
        "sysmtype": ebcdic(machine.type, 4),
        "sysmmodl": ebcdic(machine.model, 16),
        "sysmseqc": ebcdic(machine.serial.rjust(16, "0"), 16),
        "sysmpom": ebcdic("02", 4),
        **characteristics(model),
        **configured(sample),
    }


def _mtrprp(sample: Sample) -> Values:
    addresses = np.flatnonzero(sample.times.online)
    flags = np.where(addresses == 0, MASTER, 0)
    identity = processor_identity(sample.model.measurement.machine)
    return {"pfxcpuad": addresses, "calflags": flags, **identity}


def processor_identity(machine: Machine) -> Values:
    """What every processor says of itself: machine type and serial number."""
    return {
        "pfxidmdl": np.void(_packed(machine.type, 2)),
        "pfxidser": np.void(_packed(machine.serial, 3)),
    }


def _packed(digits: str, width: int) -> bytes:
    """Digits, two a byte, filled with zeros on the left; nothing else is a digit."""
    kept = "".join(c for c in digits if c in "0123456789abcdefABCDEF")
    return bytes.fromhex(kept[-2 * width :].rjust(2 * width, "0"))


def _mtrmem(model: Model) -> Values:
    sizes = model.levels.sizes
    total = model.measurement.storage.central_mib << 20
    return {
        "rsastore": min(total, 1 << 31),
        "systors": min(total, 1 << 31),
        "rsapgabl": sizes.pageable,
        "rsanonpg": sizes.nonpageable,
        "sysgtors": total,
        "rsagstor": total,
    }


def _mtrxsg(model: Model) -> Values:
    blocks = model.levels.sizes.expanded
    return {"xstotalb": blocks, "sysxtsiz": blocks}


def _mtrpag(model: Model) -> Values:
    volumes, cp = model.volumes, model.volumes.is_cp
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


def _mtrspr(sample: Sample) -> Values:
    monitor = sample.model.measurement.scenario.monitor
    frequent = [domain for domain in monitor.domains if domain in ("user", "processor", "io")]
    return {
        "interval": sample.model.timeline.seconds[
            min(sample.number, sample.model.measurement.intervals - 1)
        ],
        "hfrate": round(monitor.high_frequency_s * 100),
        "sdomains": _mask(monitor.domains),
        "hdomains": _mask(frequent) & ~MASKS["monitor"],
        "config": monitor.segment_mib * 256 // 2,
    }


def _mtrusr(sample: Sample) -> Values:
    groups, users, here = sample.model.measurement.groups, sample.model.users, sample.present
    size = users.each([g.storage_mib << 20 for g in groups])[here]
    processors = users.each([g.virtual_processors for g in groups])[here]
    return {
        "vmduser": ebcdic(users.names[here], 8),
        "vmdcpuct": processors,
        "calmode": users.each([MODES[g.architecture] for g in groups])[here],
        "vmdrelsh": users.each([g.share for g in groups])[here],
        "vmdssize": size,
        "caltodon": sample.model.logon_tod(sample.number)[here],
        "ascdefsz": size - 1,
        "calcpct": processors,
    }
