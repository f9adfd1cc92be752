"""Domain 0: the scheduler and the logical partitions."""

from __future__ import annotations

import numpy as np

from ...schemas import release_key
from ..activity.dispatching import (
    SCHEDULER_LOCK,
    TIMER_LOCK,
    collected_tod,
    dispatch_times,
    lock_spins,
    processor_activity,
)
from ..activity.sample import Sample
from ..activity.transactions import QUICK, ended_transactions
from ..activity.usage import holdings
from ..model.measurement import TOD_PER_S, TOD_PER_US
from ..model.partitions import MOST_PARTITIONS
from ..model.system import Model
from ..numeric import I64, partition
from .definition import PROCESSOR_TYPES, SampleRecord, Values, processor_record, sample_record

TYPED_SINCE = "5.3.0"
"""The first release that schedules by type of processor."""

DEDICATED, CAPPED = 0x80, 0x20
"""LCUCFLGS of logical processors. Inferred: no page that was seen names the bits."""

_TYPE_NAMES = {"CP": "cp", "ZAAP": "zap", "IFL": "ifl", "ZIIP": "zip"}
"""How the names of SYTUWT's fields by type end; there are none for others."""

_SLICE_US = 1_500_000
"""Time in the dispatch list of class 1 until a user is one of class 2, on an idle system."""

_PHYSICAL = 0x80
_MACHINE_UP_HOURS = 700
"""The machine was started so long before the system that is measured; its counters go on."""


def _sytscg_fixed(model: Model) -> Values:
    sizes = model.levels.sizes
    return {"srmtotst": sizes.pageable + sizes.above, "srme2etf": 8, "srme3etf": 48}


def _sytscg(sample: Sample) -> Values:
    held, classes = holdings(sample), _classes(sample)
    counts = np.bincount(classes, minlength=3)
    working_sets = held.working_set[held.in_list]
    pages = np.bincount(classes, weights=working_sets, minlength=3).astype(np.int64)
    loading = min(int(sample.model.lists.page_wait[sample.number]), int(counts[2]))
    scheduler, timer = (lock_spins(sample).of_lock(name) for name in (SCHEDULER_LOCK, TIMER_LOCK))
    return {
        "srmcdisp": counts.sum(),
        "srmcdldg": loading,
        **{f"srmc{n}dsp": counts[n - 1] for n in (1, 2, 3)},
        "srmc3elg": held.eligible_only.sum(),
        "srmc3dld": loading,
        "srme1ets": _SLICE_US * TOD_PER_US,
        "srmreldl": _shares(sample),
        "srmwssdl": pages.sum(),
        **{f"srmwssd{n}": pages[n - 1] for n in (1, 2, 3)},
        "calslkct": scheduler[0],
        "calslktm": scheduler[1],
        "caltlkct": timer[0],
        "caltlktm": timer[1],
    }


def _classes(sample: Sample) -> I64:
    """(users in the dispatch list,) class of each, 0 to 2: the busier, the longer they stay."""
    in_list = holdings(sample).in_list
    count = int(in_list.sum())
    classes = np.full(count, 2, dtype=np.int64)
    if count <= int(sample.model.lists.logged_on[sample.number]) // 2:
        order = np.argsort(sample.model.users.demand[in_list], kind="stable")
        classes[order[: count * 6 // 10]] = 0
        classes[order[count * 6 // 10 : count * 9 // 10]] = 1
    return classes


def _shares(sample: Sample) -> int:
    """Sum of the relative shares of users in the dispatch list."""
    return int(sample.model.users.share[holdings(sample).in_list].sum())


def _sytuwt(sample: Sample) -> Values:
    lists, n = sample.model.lists, sample.number
    states = {
        "caltidl": lists.idle[n],
        "calwtpag": lists.page_wait[n],
        "caliowt": lists.io_wait[n],
        "calsimwt": lists.simulation_wait[n],
        "calcfwt": lists.console_wait[n],
        "calcpuwt": lists.cpu_wait[n],
        "calcpurn": lists.running[n],
    }
    kind = _TYPE_NAMES.get(sample.model.measurement.machine.processor_type)
    typed = {"calcf": "calcfwt", "calsw": "calsimwt", "calcw": "calcpuwt", "calcr": "calcpurn"}
    return {
        **states,
        "calqdisp": lists.dispatched[n],
        "srmcelig": holdings(sample).eligible_only.sum(),
        **({name + kind: states[state] for name, state in typed.items()} if kind else {}),
    }


def _sytscp(sample: Sample) -> Values:
    ended = ended_transactions(sample)
    quick = int(ended.trivial[QUICK] + ended.nontrivial[QUICK])
    return {
        "plseqkad": partition(quick, sample.times.cp),
        "plsdspcn": processor_activity(sample).dispatches,
    }


def _sytspt_rows(model: Model) -> int:
    return int(release_key(model.measurement.run.cp_level) >= release_key(TYPED_SINCE))


def _sytspt_fixed(model: Model) -> Values:
    return {"caltype": PROCESSOR_TYPES[model.measurement.machine.processor_type]}


def own_partition(model: Model) -> Values:
    """This system's partition in SYTCUG and MTRSYS; nothing in basic mode."""
    lpars, machine = model.partitions, model.measurement.machine
    if not lpars.names:
        return {"lpnumber": 0, "lparname": ""}
    granted = lpars.limit(lpars.own)
    if not machine.dedicated:
        granted = min(granted, lpars.shared * machine.weight / lpars.shared_weight)
    capped = machine.capped and not machine.dedicated
    return {
        "lpnumber": machine.partition_number,
        "lparname": machine.partition,
        "cpuchar": (0x80 if machine.dedicated else 0x40) | 0x20 * capped,
        "cpudedct": machine.processors if machine.dedicated else 0,
        "cpushard": 0 if machine.dedicated else machine.processors,
        "lparcaf": round(1000 * granted / lpars.physical),
    }


def online_processors(sample: Sample) -> Values:
    """Logical processors of this system that are online, and those that could be."""
    online = int(sample.times.online.sum())
    defined = sample.model.measurement.processors
    return {"cpucount": defined, "cpucfgct": online, "cpustnby": defined - online}


def _in_lpar_mode(model: Model) -> int:
    return int(bool(model.partitions.names))


def _since_power_on(model: Model, sample: int) -> float:
    """Intervals during which the machine's own counters have grown."""
    span = int(model.timeline.tod[model.timeline.interval_of(sample)])
    return model.ages(sample) + _MACHINE_UP_HOURS * 3600 * TOD_PER_S / span


def _sytcug_fixed(model: Model) -> Values:
    return {
        **own_partition(model),
        "lcutnpar": len(model.partitions.names),
        "lcutflag": _PHYSICAL,
        "lcutpcct": model.partitions.physical,
    }


def _sytcup(place: int) -> SampleRecord:
    """The record of the partition at that place in the order of numbers, where there is one."""

    def fixed(model: Model) -> Values:
        lpars = model.partitions
        alone = lpars.dedicated[place]
        return {
            "lcupname": lpars.names[place],
            "lcuppnum": lpars.numbers[place],
            "cpu.lcucpuid": range(lpars.counts[place]),
            "cpu.lcucwght": 0 if alone else lpars.weights[place],
            "cpu.lcucflgs": DEDICATED if alone else CAPPED * lpars.capped[place],
            "cpu.lcxcptyp": model.measurement.machine.processor_type,
        }

    def values(sample: Sample) -> Values:
        times, processors = dispatch_times(sample), sample.model.partitions.processors(place)
        return {
            "lcutctod": collected_tod(sample.model, sample.number),
            "cpu.lcucactm": times.active[None, processors],
            "cpu.lcuclptm": times.effective[None, processors],
        }

    return sample_record(
        "sytcup",
        values,
        rows=lambda model: int(place < len(model.partitions.names)),
        fixed=fixed,
        ages=_since_power_on,
        entries=lambda model: {"cpu": model.partitions.counts[place]},
    )


def _sytcum_fixed(model: Model) -> Values:
    kind = model.measurement.machine.processor_type
    return {"cpu.lcumcpu": range(model.partitions.physical), "cpu.lcuptype": kind}


def _sytcum(sample: Sample) -> Values:
    return {
        "lcutctod": collected_tod(sample.model, sample.number),
        "cpu.lcumgtm": dispatch_times(sample).management[None, :],
    }


RECORDS = (
    sample_record("sytscg", _sytscg, fixed=_sytscg_fixed),
    sample_record("sytuwt", _sytuwt),
    processor_record("sytscp", _sytscp),
    sample_record(
        "sytspt",
        lambda sample: {"srxreldl": _shares(sample)},
        rows=_sytspt_rows,
        fixed=_sytspt_fixed,
    ),
    sample_record("sytcug", online_processors, rows=_in_lpar_mode, fixed=_sytcug_fixed),
    # One type for each partition: they differ in the number of their processors.
    *map(_sytcup, range(MOST_PARTITIONS)),
    sample_record(
        "sytcum",
        _sytcum,
        rows=_in_lpar_mode,
        fixed=_sytcum_fixed,
        ages=_since_power_on,
        entries=lambda model: {"cpu": model.partitions.physical},
    ),
)
