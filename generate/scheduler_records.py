"""Records about the scheduler: its lists, what is found in them, shares, its locks."""

from __future__ import annotations

import numpy as np

from ..schemas import release_key
from .counters import Values
from .locks import SCHEDULER, TIMER
from .measurement import TOD_PER_US
from .model import Model, Sample
from .noise import I64, partition
from .record_type import (
    PROCESSOR_TYPES,
    Filled,
    SampleRecord,
    nothing,
    one,
    online,
    processors,
    typed_processors,
)
from .transaction_classes import QUICK

TYPED_SINCE = "5.3.0"
"""The first release that schedules by type of processor."""

_TYPE_NAMES = {"CP": "cp", "ZAAP": "zap", "IFL": "ifl", "ZIIP": "zip"}
"""How the names of SYTUWT's fields by type end; there are none for others."""

_SLICE_US = 1_500_000
"""Time in the dispatch list of class 1 until a user is one of class 2, on an idle system."""


def _sytscg_fixed(model: Model) -> Values:
    frames = model.levels.sizes
    return {"srmtotst": frames.pageable + frames.above, "srme2etf": 8, "srme3etf": 48}


def _sytscg(sample: Sample) -> Filled:
    held, in_list = sample.held, sample.held.in_list
    classes = _classes(sample)
    counts = np.bincount(classes, minlength=3)
    sets = np.bincount(classes, weights=held.working_set[in_list], minlength=3).astype(np.int64)
    loading = min(int(sample.model.lists.page_wait[sample.number]), int(counts[2]))
    locks = sample.locks.of_lock(SCHEDULER), sample.locks.of_lock(TIMER)
    return Filled(
        {
            "srmcdisp": counts.sum(),
            "srmcdldg": loading,
            **{f"srmc{n}dsp": counts[n - 1] for n in (1, 2, 3)},
            "srmc3elg": held.held_back.sum(),
            "srmc3dld": loading,
            "srme1ets": _SLICE_US * TOD_PER_US,
            "srmreldl": _shares(sample),
            "srmwssdl": sets.sum(),
            **{f"srmwssd{n}": sets[n - 1] for n in (1, 2, 3)},
        },
        {
            "calslkct": locks[0][0],
            "calslktm": locks[0][1],
            "caltlkct": locks[1][0],
            "caltlktm": locks[1][1],
        },
    )


def _classes(sample: Sample) -> I64:
    """(users in the dispatch list,) class of each, 0 to 2: the busier, the longer they stay."""
    in_list = sample.held.in_list
    count = int(in_list.sum())
    found = np.full(count, 2, dtype=np.int64)
    if count <= int(sample.model.lists.logged_on[sample.number]) // 2:
        order = np.argsort(sample.model.users.demand[in_list], kind="stable")
        found[order[: count * 6 // 10]] = 0
        found[order[count * 6 // 10 : count * 9 // 10]] = 1
    return found


def _shares(sample: Sample) -> int:
    """Sum of the relative shares of users in the dispatch list."""
    return int(sample.model.users.share[sample.held.in_list].sum())


def _sytuwt(sample: Sample) -> Filled:
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
    by_type = {name + kind: states[of] for name, of in typed.items()} if kind else {}
    return Filled(
        {
            **states,
            "calqdisp": lists.dispatched[n],
            "srmcelig": sample.held.held_back.sum(),
            **by_type,
        }
    )


def _sytscp(sample: Sample) -> Filled:
    ended = sample.transaction_classes
    quick = int(ended.trivial[QUICK] + ended.nontrivial[QUICK])
    return Filled(
        flows={
            "plseqkad": partition(quick, sample.times.cp),
            "plsdspcn": sample.activity.dispatches,
        }
    )


def _typed(model: Model) -> int:
    return int(release_key(model.measurement.run.cp_level) >= release_key(TYPED_SINCE))


def _sytspt_fixed(model: Model) -> Values:
    return {"caltype": PROCESSOR_TYPES[model.measurement.machine.processor_type]}


def _sytspt(sample: Sample) -> Filled:
    return Filled({"srxreldl": _shares(sample)})


SYTSCG = SampleRecord("sytscg", one, _sytscg_fixed, _sytscg)
SYTUWT = SampleRecord("sytuwt", one, nothing, _sytuwt)
SYTSCP = SampleRecord("sytscp", processors, typed_processors, _sytscp, present=online)
SYTSPT = SampleRecord("sytspt", _typed, _sytspt_fixed, _sytspt)
