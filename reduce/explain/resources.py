"""Weighs changes: which share of the whole of a resource changed, and how short that resource is.

A weight is 100 x share x shortage. The share is the change over the sum that it is a part of (the
processor time of all users, the I/O time of all devices, the page slots of all volumes), whichever
of baseline and span has the greater sum; so what begins at zero weighs no more than what it is. The
shortage is how much of the resource was in use, 0..1, at the busier of the two times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..statistics import Array
from .departure import Departures, Mask
from .series import Subject

UNKNOWN_SHORTAGE = 0.5
"""Of a resource about which the records of the system tell nothing."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A subject in span and baseline.

    Attributes:
        objects: (objects,) names, in order.
        departures: by metric. Values of objects that are new or gone are there, too.
        before, after: (objects,) share of the intervals of baseline and span with a row.
        stays: (objects,) whether the last interval of the span has a row.
        settings: setting -> (2, objects) in baseline and span; NaN where it varies or is unknown.
    """

    subject: Subject
    objects: tuple[str, ...]
    departures: Mapping[str, Departures]
    before: Array
    after: Array
    stays: Mask
    settings: Mapping[str, Array]

    def amounts(self, metric: str) -> Array:
        """(2, objects) amounts of a metric in baseline and span; NaN where they are not known."""
        found = self.departures[metric]
        shares = np.stack([self.before, self.after])
        # An object that is there for a part of the time used nothing in the rest.
        sides = np.where(shares > 0, np.stack([found.usual, found.value]) * shares, 0.0)
        if factor := self.subject.times.get(metric):
            sides = sides * self.amounts(factor)
        return sides


class Scales:
    """The wholes and shortages of the resources of a system, from what was compared of it."""

    def __init__(self, sides: Sequence[Compared]) -> None:
        self._by_name = {side.subject.name: side for side in sides}
        self.shortages = self._shortages()

    def weight(self, side: Compared, metric: str, change: float) -> float:
        """Weight, 0..100, of a change in the amount of a metric."""
        resource = side.subject.resources[metric]
        shortage = self.shortages.get(resource, UNKNOWN_SHORTAGE)
        return 100 * self.share(side, metric, change) * shortage

    def share(self, side: Compared, metric: str, change: float) -> float:
        """Share, 0..1, of a change in the whole that the amount of a metric is a part of."""
        sums = side.subject.whole.get(metric, ((side.subject.name, metric),))
        whole = sum(self._sum(*each) for each in sums)
        return min(abs(change) / whole, 1.0) if whole else 0.0

    def _sum(self, subject: str, metric: str) -> float:
        """The greater of the sums over all objects in baseline and span."""
        side = self._by_name.get(subject)
        if side is None:
            return 0.0
        return float(np.nansum(np.abs(side.amounts(metric)), axis=1).max())

    def _level(self, subject: str, metric: str) -> float | None:
        """The greatest value of a metric of any object, at the busier of both times."""
        side = self._by_name.get(subject)
        values = side.amounts(metric) if side else np.zeros(0)
        return None if np.isnan(values).all() else float(np.nanmax(values))

    def _shortages(self) -> dict[str, float]:
        """Resource -> share of it that is in use, 0..1; resources that are unknown are absent."""
        found: dict[str, float] = {}
        if side := self._by_name.get("processors_by_time"):
            known = [row[~np.isnan(row)] for row in side.amounts("wait_util")]
            if waits := [row.mean() for row in known if row.size]:
                found["processors"] = float(1 - min(waits) / 100)
        if (share := self._level("dasd_by_activity", "busy_util")) is not None:
            found |= dict.fromkeys(("disks", "cache"), share / 100)
        if (share := self._level("page_volumes", "used_share")) is not None:
            found["slots"] = share / 100
        found |= self._of_storage()
        if "processors" in found:
            found |= dict.fromkeys(("work", "machine", "master"), found["processors"])
            whole = self._sum("system_summary_by_time", "total_util")
            for resource, metric, subject in (
                ("cp", "cp_util", "system_summary_by_time"),
                ("locks", "pct_spin", "system_summary2_by_time"),
            ):
                part = self._sum(subject, metric) / whole if whole else 0.0
                found[resource] = found["processors"] * min(part, 1.0)
        return {name: min(max(share, 0.0), 1.0) for name, share in found.items()}

    def _of_storage(self) -> dict[str, float]:
        resident = self._sum("users_by_time", "resident_pages")
        free = sum(
            self._sum("paging_by_time", f"available_{place}_2g") for place in ("below", "above")
        )
        found = {"storage": resident / (resident + free)} if resident else {}
        disks, volumes = (self._by_name.get(name) for name in ("dasd_by_activity", "page_volumes"))
        if disks and volumes:
            is_paging = np.isin(disks.objects, volumes.objects)
            busy = disks.amounts("busy_util")[:, is_paging]
            if not np.isnan(busy).all():
                found["paging"] = float(np.nanmax(busy)) / 100
        return found
