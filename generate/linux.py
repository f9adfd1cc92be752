"""Linux guests that tell about themselves: what the kernel counts, beside what CP does.

The APPLDATA blocks of a guest (see `appldata_records.py`) are consistent with CP's records: its
processors were busy for the virtual time that CP gave it, its memory is its virtual storage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .clock import U64
from .demand import Demand
from .measurement import TOD_PER_S, Measurement
from .noise import F64, I64, bell
from .states import shared_out
from .timeline import Timeline
from .users import Users

if TYPE_CHECKING:
    from .model import Sample

Figures = dict[str, Any]

JIFFY = TOD_PER_S // 100
"""In TOD units: what processor times are counted in."""

BLOCK_EVERY = 10 * TOD_PER_S
"""A guest writes its blocks anew every so often."""

_BUSY = ("user", "nice", "system", "irq", "softirq")
_BUSY_SHARES = np.array([0.72, 0.01, 0.2, 0.02, 0.05])
_LOAD_UNITS = 2048
_LOAD_MINUTES = (1, 5, 15)

_KIB_PER_DISK_IO = 16
_DISK_READ_SHARE = 0.6
_READS_PER_FAULT = 12
_PAGES_PER_CPU_S, _FAULTS_PER_CPU_S = 6000, 2500
_PACKETS = np.array([5, 4])
_PACKET_BYTES = np.array([420.0, 610.0])
"""Received and sent, for a network I/O."""

_NOBODY = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64)

_SWAP_CHURN_PER_S = 0.002


@dataclass(frozen=True, slots=True)
class Linux:
    """The guests of a run that write APPLDATA blocks.

    Attributes:
        owner: (guests,) index of the user.
        processors: (guests,) virtual processors.
        memory, swap, wanted: (guests,) KiB that the kernel has, can swap, and would like to have.
        modes: (5, guests) shares of the busy time: user, nice, system, irq, softirq.
        cached, packet: (guests,) share of the used memory that caches files; size of packets, as a
            factor.
        alike: by number of virtual processors: (chosen,) places of the guests that have so many,
            and (chosen, processors) indices of these.
        threads: (guests,) when it is quiet.
        lag: (guests,) TOD units from the time a block is written to the sample.
        averages: (3, intervals, groups) load averaged over 1, 5, 15 minutes, in relation to now.
    """

    owner: I64
    processors: I64
    alike: Mapping[int, tuple[I64, I64]]
    memory: I64
    swap: I64
    wanted: I64
    modes: F64
    cached: F64
    packet: F64
    threads: I64
    lag: I64
    averages: F64

    @classmethod
    def of(
        cls, measurement: Measurement, timeline: Timeline, demand: Demand, users: Users
    ) -> Linux:
        """The guests whose groups have `appldata`."""
        groups, rng = users.groups, measurement.rng("linux")
        owner = np.flatnonzero(users.each([g.appldata for g in groups]))
        kib = users.each([g.storage_mib << 10 for g in groups])[owner]
        n = len(owner)
        modes = _BUSY_SHARES[:, None] * (1.0 + 0.15 * bell(rng, (len(_BUSY), n)))
        processors = users.each([g.virtual_processors for g in groups])[owner]
        alike = {}
        for count in np.unique(processors).tolist():
            chosen = np.flatnonzero(processors == count)
            alike[count] = (chosen, users.base[owner[chosen], None] + np.arange(count))
        return cls(
            owner=owner,
            processors=processors,
            alike=alike,
            # The kernel itself and its page tables are not part of what it counts.
            memory=np.maximum(kib - kib // 64 - 4096, kib // 2),
            swap=kib // 2,
            wanted=users.each([int(g.working_set_mib * 1024) for g in groups])[owner],
            modes=modes / modes.sum(axis=0),
            cached=0.25 + 0.3 * rng.random(n),
            packet=0.6 + 0.8 * rng.random(n),
            threads=55 + np.floor(60 * rng.random(n)).astype(np.int64),
            lag=np.floor((0.1 + 0.9 * rng.random(n)) * TOD_PER_S).astype(np.int64),
            averages=_averages(demand.load, timeline.seconds),
        )

    def blocks(self, sample: Sample) -> tuple[U64, I64]:
        """When each guest wrote, TOD, and how often it had by then."""
        tod = np.uint64(sample.model.clock.end(sample.number)) - self.lag.astype(np.uint64)
        logon = sample.model.logon_tod(sample.number)[self.owner]
        since = tod.astype(np.int64) - logon.astype(np.int64)
        return tod, np.maximum(since // BLOCK_EVERY, 1)

    def memory_levels(self, sample: Sample) -> Figures:
        """Memory of each guest, KiB: pages that CP holds for it are those that it has touched."""
        held, mine = sample.held, self.owner
        pages = (held.resident_below + held.resident_above + held.expanded + held.slots)[mine]
        used = np.minimum(4 * pages, self.memory * 31 // 32)
        return {
            "totalram": self.memory,
            "freeram": self.memory - used,
            "bufferram": used // 24,
            "cached": np.floor(used * self.cached).astype(np.int64),
            "totalswap": self.swap,
            "freeswap": self.swap - self._swapped(),
        }

    def memory_flows(self, sample: Sample) -> Figures:
        """What moved between memory and disks, and the pages that were asked for."""
        mine, k = self.owner, sample.interval
        ios = sample.used.disk_ios[mine]
        reads = np.floor(ios * _DISK_READ_SHARE).astype(np.int64)
        seconds = int(sample.model.timeline.seconds[k])
        swapping = self._swapped() // 4 * _SWAP_CHURN_PER_S * seconds * sample.active[mine]
        swapped = np.floor(swapping).astype(np.int64)
        cpu = self._cpu(sample)[mine]
        read, written = reads * _KIB_PER_DISK_IO, (ios - reads) * _KIB_PER_DISK_IO
        return {
            "pgpgin": read + 4 * swapped,
            "pgpgout": written + 4 * swapped,
            "pswpin": swapped,
            "pswpout": swapped,
            "pgalloc": read // 4 + swapped + np.rint(cpu * _PAGES_PER_CPU_S).astype(np.int64),
            "pgfault": swapped + np.rint(cpu * _FAULTS_PER_CPU_S).astype(np.int64),
            "pgmajfault": swapped + reads // _READS_PER_FAULT,
        }

    def network(self, sample: Sample) -> Figures:
        """Packets and bytes that went through the guest's interfaces."""
        ios = sample.virtual_ios.network[self.owner]
        received, sent = ios * _PACKETS[:, None]
        sizes = _PACKET_BYTES[:, None] * self.packet
        bytes_in, bytes_out = np.rint(np.stack([received, sent]) * sizes).astype(np.int64)
        return {
            "rx_packets": received,
            "tx_packets": sent,
            "rx_bytes": bytes_in,
            "tx_bytes": bytes_out,
        }

    def having(self, processors: int) -> I64:
        """Places of the guests with so many virtual processors."""
        return self.alike.get(processors, _NOBODY)[0]

    def times(self, sample: Sample, chosen: I64, elapsed: I64) -> Figures:
        """Jiffies of each processor by use; what is neither busy nor waiting is idle.

        The guest's own clock is stolen from when CP does something for it or lets it wait.

        Args:
            chosen: places of guests, all with as many processors.
            elapsed: (chosen,) TOD units.

        Returns:
            (chosen, processors) each.
        """
        at = self._virtual_processors(chosen)
        states, span = sample.states, elapsed[:, None].astype(np.float64)
        names = (*_BUSY, "steal", "iowait", "idle")
        spent = np.empty((len(names), *at.shape))
        np.multiply(sample.used.virtual[at], self.modes[:, chosen, None], out=spent[: len(_BUSY)])
        spent[-3] = sample.used.cp[at] + states.cpu_wait[at] * span
        spent[-2] = states.io_wait[at] * span
        known = np.add.accumulate(spent[:-1])[-1]
        spent[-1] = np.maximum(span - known, 0.0)
        spent /= known + spent[-1]
        rng = sample.model.measurement.rng(
            f"{at.shape[1]} processors of linux in interval {sample.interval}"
        )
        jiffies = np.floor(elapsed / JIFFY + rng.random(len(chosen))).astype(np.int64)
        found = shared_out(rng, spent.reshape(len(spent), -1), np.repeat(jiffies, at.shape[1]))
        return dict(zip(names, found.reshape(spent.shape), strict=True))

    def queue(self, sample: Sample, chosen: I64) -> Figures:
        """Threads of each guest at the sample, and its load averages."""
        states, at = sample.states, self._virtual_processors(chosen)
        rng = sample.model.measurement.rng(
            f"{at.shape[1]} queues of linux at sample {sample.number}"
        )
        runnable = np.add.accumulate(states.running[at] + states.cpu_wait[at], axis=1)[:, -1]
        waiting = np.add.accumulate(states.io_wait[at], axis=1)[:, -1]
        by_chance = rng.random((3, len(chosen)))
        group = sample.model.users.roster.group[self.owner[chosen]]
        loads = (runnable + waiting) * self.averages[:, sample.interval, group]
        one, five, fifteen = np.rint(loads * _LOAD_UNITS).astype(np.int64)
        # The thread that collects the data runs while it does so.
        running = 1 + np.floor(runnable + by_chance[0]).astype(np.int64)
        return {
            "nr_running": running,
            "nr_threads": self.threads[chosen] + running + np.floor(6 * by_chance[1]),
            "nr_iowait": np.floor(waiting + by_chance[2]),
            "avenrun_1": one,
            "avenrun_5": five,
            "avenrun_15": fifteen,
        }

    def _virtual_processors(self, chosen: I64) -> I64:
        """(chosen, processors) index of each one's virtual processors."""
        return self.alike[int(self.processors[chosen[0]])][1] if len(chosen) else _NOBODY[1]

    def _swapped(self) -> I64:
        """(guests,) KiB in swap: what does not fit into memory."""
        found: I64 = np.clip(self.wanted - self.memory * 9 // 10, 0, self.swap * 9 // 10)
        return found

    def _cpu(self, sample: Sample) -> F64:
        """(users,) virtual CPU seconds."""
        users = sample.model.users
        virtual = sample.used.virtual
        return np.bincount(users.owner, weights=virtual, minlength=len(users.base)) / TOD_PER_S


def _averages(load: F64, seconds: I64) -> F64:
    """(3, intervals, groups) load averaged over the minutes before, in relation to that of now."""
    found = np.empty((len(_LOAD_MINUTES), *load.shape))
    for place, minutes in enumerate(_LOAD_MINUTES):
        kept = 60.0 * minutes / (60.0 * minutes + seconds)
        average: F64 = load[0]
        for k in range(len(load)):
            average = average * kept[k] + load[k] * (1.0 - kept[k])
            found[place, k] = average
    return found / np.maximum(load, 1e-9)
