"""Domain 1: the configuration when monitoring starts, and the MONITOR commands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..activity.sample import Sample
from ..model.measurement import TOD_PER_S, TOD_PER_US
from ..model.system import Model
from ..scenario.scenario import Domain, EventDomain
from .d00_scheduler import online_processors, own_partition
from .d04_user import directory
from .d05_processor import processor_identity
from .d06_io import device_identity
from .definition import EventBatch, Values

MASTER = 0x40
"""MTRPRP_CALFLAGS of the master processor. Inferred: no page that was seen names the bit."""

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
"""Bits of the domains in the profiles' masks. No known mask has a bit for application data."""

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
"""MTRSCH: the defaults that QUERY SRM shows (believed)."""


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
        "hcpcpeid": level + "00",
        "systodst": model.ipl_tod(sample.number),
        "systerm": 0,
        "sysdate": run.start.strftime("%m/%d/%y"),
        "systmid": scenario.system,
        "sysckvol": "VMRES1",
        "syswmvol": "VMRES1",
        "sysmtype": machine.type,
        "sysmmodl": machine.model,
        "sysmseqc": machine.serial.rjust(16, "0"),
        "sysmpom": "02",
        **own_partition(model),
        **online_processors(sample),
    }


def _mtrprp(sample: Sample) -> Values:
    addresses = np.flatnonzero(sample.times.online)
    identity = processor_identity(sample.model.measurement.machine)
    return {"pfxcpuad": addresses, "calflags": np.where(addresses == 0, MASTER, 0), **identity}


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
    return {
        "cpvolser": volumes.serials[cp],
        "rdcpcyl": volumes.pages_per_cylinder[cp],
        "caltype": np.where(volumes.is_page[cp], "PAGE", "SPOL"),
        "calcylno": volumes.cylinders[cp],
        "rdevsid": np.flatnonzero(cp),
        "rdevdev": volumes.devices[cp],
    }


def _mtrspr(sample: Sample) -> Values:
    model, monitor = sample.model, sample.model.measurement.scenario.monitor
    frequent = [domain for domain in monitor.domains if domain in ("user", "processor", "io")]
    following = min(sample.number, model.measurement.intervals - 1)
    return {
        "interval": model.timeline.seconds[following],
        "hfrate": round(monitor.high_frequency_s * 100),
        "sdomains": _mask(monitor.domains),
        "hdomains": _mask(frequent) & ~MASKS["monitor"],
        "config": monitor.segment_mib * 256 // 2,
    }


def _mtrusr(sample: Sample) -> Values:
    entry = directory(sample, np.flatnonzero(sample.present))
    processors = sample.model.users.processors[sample.present]
    own = ("vmduser", "calmode", "vmdrelsh", "vmdssize", "caltodon", "ascdefsz")
    return {"vmdcpuct": processors, "calcpct": processors, **{name: entry[name] for name in own}}


@dataclass(frozen=True, slots=True)
class Command:
    """A MONITOR command; one without EVENT or SAMPLE in it is about both."""

    tod: int
    text: str

    @property
    def values(self) -> Values:
        """The fields that MTRECM and MTRSCM share."""
        return {"calbyct": len(self.text), "calcmd": self.text}

    @property
    def sizes(self) -> dict[str, int]:
        """Length of the text, which ends the record."""
        return {"calcmd": len(self.text)}


def monitor_commands(model: Model, number: int, started: int) -> list[Command]:
    """The commands before a sample with which monitoring begins, in order of time.

    Args:
        started: TOD at which monitoring started.
    """
    if model.timeline.starts(number):
        return [Command(started, "MONITOR START")]
    interval = model.timeline.interval_of(number)
    commands = []
    for disturbance in model.measurement.disturbances:
        if disturbance.interval != interval:
            continue
        if disturbance.kind == "interval" and disturbance.interval_s is not None:
            text = f"MONITOR SAMPLE INTERVAL {disturbance.interval_s} SEC"
            commands.append(Command(model.change_tod(interval), text))
        elif disturbance.kind == "restart":
            commands.append(Command(started - TOD_PER_S, "MONITOR STOP"))
            commands.append(Command(started, "MONITOR START"))
    return sorted(commands, key=lambda command: command.tod)


def sample_commands(commands: Iterable[Command]) -> list[tuple[str, int, Values, dict[str, int]]]:
    """Layout name, rows, values and sizes of an MTRSCM for each command about samples."""
    return [
        ("mtrscm", 1, {"caltod": command.tod, **command.values}, command.sizes)
        for command in commands
        if not command.text.startswith("MONITOR EVENT")
    ]


def start_events(model: Model, tod: int, commands: Iterable[Command]) -> list[EventBatch]:
    """The events where monitoring starts: the commands (MTRECM) and the event profile (MTREPR)."""
    events = model.measurement.scenario.monitor.events
    recorded = [
        EventBatch(
            "mtrecm",
            np.array([command.tod], dtype=np.uint64),
            command.values,
            sizes=command.sizes,
        )
        for command in commands
        if "monitor" in events and not command.text.startswith("MONITOR SAMPLE")
    ]
    profile = {"edomains": _mask(events), "config": 68}
    return [*recorded, EventBatch("mtrepr", np.array([tod], dtype=np.uint64), profile)]
