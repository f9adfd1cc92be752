"""Domain 5: dispatching, DIAGNOSEs, instructions, I/O processors; processors that are varied."""

from __future__ import annotations

import numpy as np

from ..activity.dispatching import dispatch_times, io_starts, processor_activity, service_counts
from ..activity.sample import Sample
from ..activity.volume_work import volume_work
from ..model.system import Model
from ..numeric import F64, I64, floor_int, partition
from ..scenario.hardware import Machine
from .definition import (
    EventBatch,
    Values,
    consecutive_tods,
    cpu_addresses,
    processor_record,
    sample_record,
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

_BUSY_SHARES = {"cscmdcb": 0.012, "cscmdsb": 0.001, "cscmdub": 0.004, "cscmddb": 0.002}
"""Share of the starts that meet a busy path, switch, control unit or device."""

_VALID = ("bc", "ic", "sc", "pi", "cb", "sb", "ub", "db")
"""Ends of the names of PRCIOP's fields for the width of its counts."""


def _prcprp(sample: Sample) -> Values:
    model, count = sample.model, sample.high_frequency_samples
    dispatches = processor_activity(sample).dispatches
    idle = 1.0 - sample.times.busy / int(model.timeline.tod[sample.interval])
    waiting = int(model.lists.cpu_wait[sample.number])
    on_master = np.zeros(model.measurement.processors, dtype=np.int64)
    on_master[0] = dispatches[0] // 4
    stolen = _stolen(dispatches, sample.times.cp)
    width = stolen.shape[1]
    table = np.zeros((width, _PROCESSORS), dtype=np.int64)
    table[:, :width] = stolen
    return {
        "dsvmaxus": 1 + waiting // width,
        "pfxdspcs": dispatches,
        "plsdspcm": on_master,
        "hfcount": count,
        "hfuserz": np.floor(count * idle),
        "hfuserc": waiting * count // width,
        "stlct.stlct": table,
        "stlnu.stlnu": table[:, :_HALFWORDS],
    }


def _stolen(dispatches: I64, weights: F64) -> I64:
    """(processors, processors) how often each took work from which other one."""
    sources = np.where(np.eye(len(dispatches)) > 0, 0.0, np.maximum(weights, 1.0))
    totals = floor_int(dispatches * _STOLEN) * (len(dispatches) > 1)
    return partition(totals, sources)


def _prcins(sample: Sample) -> Values:
    instructions = service_counts(sample).instructions
    return {"instruction.instructions": instructions, "plsctss": io_starts(sample)}


def _prcdia(sample: Sample) -> Values:
    diagnoses = service_counts(sample).diagnoses
    return {"diagnose.diagnoses": diagnoses, "plstotdi": diagnoses.sum(axis=1)}


def _io_processors(model: Model) -> int:
    return 1 + model.measurement.machine.physical_processors // 8


def _prciop_fixed(model: Model) -> Values:
    widths = {f"cscvbl{end}": 64 for end in _VALID}
    return {"csciopid": np.arange(_io_processors(model)), **widths}


def _prciop(sample: Sample) -> Values:
    count = _io_processors(sample.model)
    total = int(volume_work(sample).starts.sum()) + _other_starts(sample)
    starts = partition(total, 1.0 / np.arange(2, count + 2))
    looks = sample.seconds * _IO_SAMPLES_PER_S
    busy = np.minimum(np.floor(starts * _IO_US / 1e6 * _IO_SAMPLES_PER_S), looks).astype(np.int64)
    return {
        "cscmdbc": busy,
        "cscmdic": looks - busy,
        "cscmdsc": starts,
        "cscmdpi": starts,
        **{name: np.floor(starts * share) for name, share in _BUSY_SHARES.items()},
    }


def _other_starts(sample: Sample) -> int:
    """I/Os of the partitions beside this one: as many as they use the processors."""
    lpars = sample.model.partitions
    if not lpars.names:
        return 0
    used = dispatch_times(sample).effective
    others = int(used.sum()) - int(used[lpars.processors(lpars.own)].sum())
    return round(others / 1e6 * _OTHERS_IO_PER_S)


def processor_identity(machine: Machine) -> Values:
    """What identifies a processor: machine type and serial number."""
    return {
        "pfxidmdl": np.void(_packed(machine.type, 2)),
        "pfxidser": np.void(_packed(machine.serial, 3)),
    }


def _packed(digits: str, width: int) -> bytes:
    """Hexadecimal digits, two a byte, filled with zeros on the left; others are left out."""
    valid = "".join(c for c in digits if c in "0123456789abcdefABCDEF")
    return bytes.fromhex(valid[-2 * width :].rjust(2 * width, "0"))


def processor_events(sample: Sample) -> list[EventBatch]:
    """PRCVON and PRCVOF of the interval before a sample."""
    if not sample.varied:
        return []
    before, now = Sample(sample.model, sample.number - 1).times.online, sample.times.online
    on, off = np.flatnonzero(now & ~before), np.flatnonzero(before & ~now)
    tod = sample.model.change_tod(sample.interval)
    identity = processor_identity(sample.model.measurement.machine)
    return [
        EventBatch("prcvof", consecutive_tods(tod, len(off)), {"pfxcpuad": off}),
        EventBatch("prcvon", consecutive_tods(tod, len(on)), {"pfxcpuad": on, **identity}),
    ]


RECORDS = (
    processor_record("prcprp", _prcprp),
    sample_record("prciop", _prciop, rows=_io_processors, fixed=_prciop_fixed),
    processor_record("prcins", _prcins, fixed=cpu_addresses),
    processor_record("prcdia", _prcdia, fixed=cpu_addresses),
)
