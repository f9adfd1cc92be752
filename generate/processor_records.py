"""Records of the processor domain: dispatching, DIAGNOSEs, instructions, I/O processors."""

from __future__ import annotations

import numpy as np

from .counters import Values
from .model import Model, Sample
from .noise import F64, I64, partition
from .record_type import (
    Filled,
    SampleRecord,
    cpu_addresses,
    online,
    processors,
    typed_processors,
)

_STOLEN = 0.03
"""Share of the dispatches for which a processor took the work from another one's queue."""

_PROCESSORS = 64
"""Those that PLSSTLCT has room for."""

_HALFWORDS = 31
"""Processors that PLSSTLNU, the table of earlier releases, has room for."""

_IO_SAMPLES_PER_S = 1000
_IO_US = 35.0
"""Time that an I/O processor spends on starting an I/O and on presenting its end."""

_OTHERS_IO_PER_S = 150
"""I/Os that another partition starts in a second of processor time."""

_MET_BUSY = {"cscmdcb": 0.012, "cscmdsb": 0.001, "cscmdub": 0.004, "cscmddb": 0.002}
"""Share of the starts that meet a busy path, switch, control unit or device."""


def _prcprp(sample: Sample) -> Filled:
    model, count = sample.model, sample.high_frequency_samples
    dispatches = sample.activity.dispatches
    idle = 1.0 - sample.times.busy / int(model.timeline.tod[sample.interval])
    waiting = int(model.lists.cpu_wait[sample.number])
    on_master = np.zeros(model.measurement.processors, dtype=np.int64)
    on_master[0] = dispatches[0] // 4
    stolen = _stolen(dispatches, sample.times.cp)
    width = stolen.shape[1]
    table = np.zeros((width, _PROCESSORS), dtype=np.int64)
    table[:, :width] = stolen
    return Filled(
        {"dsvmaxus": 1 + waiting // width},
        {
            "pfxdspcs": dispatches,
            "plsdspcm": on_master,
            "hfcount": count,
            "hfuserz": np.floor(count * idle),
            "hfuserc": waiting * count // width,
            "stlct.stlct": table,
            "stlnu.stlnu": table[:, :_HALFWORDS],
        },
    )


def _stolen(dispatches: I64, weights: F64) -> I64:
    """(processors, processors) how often each took work from which other one."""
    from_whom = np.where(np.eye(len(dispatches)) > 0, 0.0, np.maximum(weights, 1.0))
    wanted = np.floor(dispatches * _STOLEN).astype(np.int64) * (len(dispatches) > 1)
    return partition(wanted, from_whom)


def _prcins(sample: Sample) -> Filled:
    return Filled(
        flows={
            "instruction.instructions": sample.services.instructions,
            "plsctss": sample.io_starts,
        }
    )


def _prcdia(sample: Sample) -> Filled:
    diagnoses = sample.services.diagnoses
    return Filled(flows={"diagnose.diagnoses": diagnoses, "plstotdi": diagnoses.sum(axis=1)})


def _io_processors(model: Model) -> int:
    return 1 + model.measurement.machine.physical_processors // 8


def _prciop_fixed(model: Model) -> Values:
    counted = ("cscvblbc", "cscvblic", "cscvblsc", "cscvblpi")
    met = ("cscvblcb", "cscvblsb", "cscvblub", "cscvbldb")
    return {
        "csciopid": np.arange(_io_processors(model)),
        **dict.fromkeys((*counted, *met), 64),
    }


def _prciop(sample: Sample) -> Filled:
    model = sample.model
    count, seconds = _io_processors(model), int(model.timeline.seconds[sample.interval])
    every = int(sample.volumes.starts.sum()) + _other_starts(sample)
    starts = partition(every, 1.0 / np.arange(2, count + 2))
    looks = seconds * _IO_SAMPLES_PER_S
    busy = np.minimum(np.floor(starts * _IO_US / 1e6 * _IO_SAMPLES_PER_S), looks).astype(np.int64)
    met = {name: np.floor(starts * share) for name, share in _MET_BUSY.items()}
    return Filled(
        flows={
            "cscmdbc": busy,
            "cscmdic": looks - busy,
            "cscmdsc": starts,
            "cscmdpi": starts,
            **met,
        }
    )


def _other_starts(sample: Sample) -> int:
    """I/Os of the partitions beside this one: as many as they use the processors."""
    lpars = sample.model.partitions
    if not lpars.names:
        return 0
    mine = slice(lpars.first(lpars.own), lpars.first(lpars.own + 1))
    used = sample.dispatched.effective
    return round((int(used.sum()) - int(used[mine].sum())) / 1e6 * _OTHERS_IO_PER_S)


PRCPRP = SampleRecord("prcprp", processors, typed_processors, _prcprp, present=online)
PRCIOP = SampleRecord("prciop", _io_processors, _prciop_fixed, _prciop)
PRCINS = SampleRecord("prcins", processors, cpu_addresses, _prcins, present=online)
PRCDIA = SampleRecord("prcdia", processors, cpu_addresses, _prcdia, present=online)
