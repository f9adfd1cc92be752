"""CP's formal spin locks: which of them processors spin on, how often and for how long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .machine import Times
from .noise import F64, I64, partition

SCHEDULER, TIMER = "SRMSLOCK", "HCPTRQLK"

_LOCKS: dict[str, tuple[float, float]] = {
    SCHEDULER: (0.62, 1.0),
    TIMER: (0.10, 0.8),
    "SRMALOCK": (0.02, 0.7),
    "HCPPGDPL": (0.012, 0.9),
    "HCPPGDSL": (0.002, 0.9),
    "HCPPGDTL": (0.0002, 0.5),
    "HCPPGDAL": (0.0002, 0.5),
    "RSAAVLLK": (0.06, 0.6),
    "RSACALLK": (0.004, 0.6),
    "SYSDATLK": (0.0003, 0.4),
    "DCTLLOK": (0.0005, 0.8),
    "FSDVMLK": (0.055, 0.5),
    "NSUIMGLK": (0.001, 0.8),
    "HCPPGDML": (0.004, 0.6),
    "NSUNLSLK": (0.0001, 0.5),
    "RSANOQLK": (0.0008, 0.5),
    "RCCSFQL": (0.03, 0.4),
    "HCPRCCMA": (0.003, 0.7),
    "RSASXQLK": (0.012, 0.6),
    "HCPRCCSL": (0.002, 0.6),
    "RSA2GLCK": (0.03, 0.6),
    "HCPTMFLK": (0.002, 0.4),
    "BUTDLKEY": (0.001, 0.5),
    "RSA2GCLK": (0.012, 0.6),
    "RSAAVCLK": (0.018, 0.6),
    "SRMATDLK": (0.0099, 0.3),
}
"""Names in the order of MRSYTLCK (5.3.0), share of the spins, and length of one spin."""

NAMES = tuple(_LOCKS)
_SHARES, _LENGTHS = np.array(list(_LOCKS.values())).T
_SHARED = np.where([name == SCHEDULER for name in NAMES], 0.3, 0.0)
"""Share of the spins that are for shared use: only the scheduler's lock can be had so."""


@dataclass(frozen=True, slots=True)
class Locks:
    """Spins on every lock in one interval, and the time spent in them, TOD units: (locks,) each."""

    exclusive: I64
    exclusive_time: I64
    shared: I64
    shared_time: I64

    @classmethod
    def of(cls, times: Times) -> Locks:
        """The spins of all processors, by lock: not one more or less, nor a unit of time."""
        spins = partition(int(times.spins.sum()), _SHARES)
        shared = np.floor(spins * _SHARED).astype(np.int64)
        kinds = np.stack([spins - shared, shared])
        weights: F64 = kinds * _LENGTHS
        spent = partition(int(times.spin_time.sum()), weights.reshape(-1)).reshape(kinds.shape)
        return cls(kinds[0], spent[0], kinds[1], spent[1])

    def of_lock(self, name: str) -> tuple[int, int]:
        """Spins on one lock, and their time."""
        place = NAMES.index(name)
        return (
            int(self.exclusive[place] + self.shared[place]),
            int(self.exclusive_time[place] + self.shared_time[place]),
        )
