"""Days in a site's time zone: the days of a dump's intervals, and the bounds of a day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..core.grace_period import GRACE, INSIDE
from ..store.dumps.store import Store

MAX_AHEAD = timedelta(days=1)
"""An interval that ends later than now plus this has a damaged time stamp."""


@dataclass(frozen=True, slots=True)
class DumpDays:
    """The days of a dump's intervals, and the end of the last one, microseconds since 1970."""

    days: frozenset[date] = frozenset()
    last_us: int | None = None


def dump_days(store: Store, dump: str, zone: ZoneInfo) -> DumpDays:
    """The days that the intervals of a landed dump belong to."""
    landed = store.manifest.find(dump)
    if landed is None or "interval" not in landed.tables:
        return DumpDays()
    file = pa.BufferReader(store.files.read(f"{landed.folder}/interval.parquet"))
    own = [("dump", "=", dump)] if landed.is_merged else None
    ends = pq.read_table(file, columns=["interval_end"], filters=own).column(0).drop_null()
    limit = (datetime.now(UTC) + MAX_AHEAD).replace(tzinfo=None)
    ends = ends.filter(pc.less(ends, pa.scalar(limit, ends.type)))
    if not len(ends):
        return DumpDays()
    utc = pc.subtract(ends, pa.scalar(INSIDE)).cast(pa.timestamp("us", "UTC"))
    local = pc.local_timestamp(utc.cast(pa.timestamp("us", zone.key)))
    days = pc.unique(local.cast(pa.date32(), safe=False)).to_pylist()
    last: datetime = pc.max(ends).as_py()
    return DumpDays(frozenset(days), int(last.replace(tzinfo=UTC).timestamp() * 1_000_000))


def day_bounds(first: date, last: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """UTC bounds of the interval ends of some days; a day may have 23 or 25 hours."""
    midnights = (datetime.combine(d, time.min, zone) for d in (first, last + timedelta(days=1)))
    since, until = (midnight.astimezone(UTC) + GRACE for midnight in midnights)
    return since, until
