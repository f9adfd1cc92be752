"""Records about logical partitions: the machine, each partition, the physical processors."""

from __future__ import annotations

from .counters import Values, ebcdic
from .measurement import TOD_PER_S
from .model import Model, Sample
from .partitions import MOST_PARTITIONS, collected_tod
from .record_type import Filled, SampleRecord

DEDICATED, CAPPED = 0x80, 0x20
"""LCUCFLGS of logical processors. Inferred: no page that was seen tells the bits."""

_PHYSICAL = 0x80
_MACHINE_UP_HOURS = 700
"""The machine was started so long before the system that is measured; its counters go on."""


def characteristics(model: Model) -> Values:
    """What SYTCUG and MTRSYS both say of this system's partition; nothing in basic mode."""
    lpars, machine = model.partitions, model.measurement.machine
    if not lpars.names:
        return {"lpnumber": 0, "lparname": ebcdic("", 8)}
    alone = machine.dedicated
    granted = lpars.limit(lpars.own)
    if not alone:
        others = sum(w for w, d in zip(lpars.weights, lpars.dedicated, strict=True) if not d)
        granted = min(granted, lpars.shared * machine.weight / others)
    return {
        "lpnumber": machine.partition_number,
        "lparname": ebcdic(machine.partition, 8),
        "cpuchar": (0x80 if alone else 0x40) | 0x20 * (machine.capped and not alone),
        "cpudedct": machine.processors if alone else 0,
        "cpushard": 0 if alone else machine.processors,
        "lparcaf": round(1000 * granted / lpars.physical),
    }


def configured(sample: Sample) -> Values:
    """How many logical processors of this system are online, and how many could be."""
    online = int(sample.times.online.sum())
    every = sample.model.measurement.processors
    return {"cpucount": every, "cpucfgct": online, "cpustnby": every - online}


def _in_lpar_mode(model: Model) -> int:
    return int(bool(model.partitions.names))


def _since_power_on(model: Model, sample: int) -> float:
    """Intervals during which the machine's own counters have grown."""
    interval = model.timeline.interval_of(sample)
    return model.ages(sample) + _MACHINE_UP_HOURS * 3600 * TOD_PER_S / int(
        model.timeline.tod[interval]
    )


def _sytcug_fixed(model: Model) -> Values:
    return {
        **characteristics(model),
        "lcutnpar": len(model.partitions.names),
        "lcutflag": _PHYSICAL,
        "lcutpcct": model.partitions.physical,
    }


def _sytcug(sample: Sample) -> Filled:
    return Filled(configured(sample))


def _sytcup(place: int) -> SampleRecord:
    """The record of the partition at that place in the order of numbers, where there is one."""

    def fixed(model: Model) -> Values:
        lpars = model.partitions
        alone, kind = lpars.dedicated[place], model.measurement.machine.processor_type
        flags = DEDICATED if alone else CAPPED * lpars.capped[place]
        return {
            "lcupname": ebcdic(lpars.names[place], 8),
            "lcuppnum": lpars.numbers[place],
            "cpu.lcucpuid": range(lpars.counts[place]),
            "cpu.lcucwght": 0 if alone else lpars.weights[place],
            "cpu.lcucflgs": flags,
            "cpu.lcxcptyp": ebcdic(kind, 16),
        }

    def filled(sample: Sample) -> Filled:
        lpars, times = sample.model.partitions, sample.dispatched
        first = lpars.first(place)
        mine = slice(first, first + lpars.counts[place])
        return Filled(
            {"lcutctod": collected_tod(sample.model, sample.number)},
            {
                "cpu.lcucactm": times.active[None, mine],
                "cpu.lcuclptm": times.effective[None, mine],
            },
        )

    return SampleRecord(
        "sytcup",
        lambda model: int(place < len(model.partitions.names)),
        fixed,
        filled,
        ages=_since_power_on,
        entries=lambda model: {"cpu": model.partitions.counts[place]},
    )


def _sytcum_fixed(model: Model) -> Values:
    physical, kind = model.partitions.physical, model.measurement.machine.processor_type
    return {"cpu.lcumcpu": range(physical), "cpu.lcuptype": ebcdic(kind, 16)}


def _sytcum(sample: Sample) -> Filled:
    return Filled(
        {"lcutctod": collected_tod(sample.model, sample.number)},
        {"cpu.lcumgtm": sample.dispatched.management[None, :]},
    )


SYTCUG = SampleRecord("sytcug", _in_lpar_mode, _sytcug_fixed, _sytcug)
SYTCUPS = tuple(map(_sytcup, range(MOST_PARTITIONS)))
"""One for each partition: they differ in the number of their processors."""

SYTCUM = SampleRecord(
    "sytcum",
    _in_lpar_mode,
    _sytcum_fixed,
    _sytcum,
    ages=_since_power_on,
    entries=lambda model: {"cpu": model.partitions.physical},
)
