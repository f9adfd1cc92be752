"""Which days a landed dump holds intervals of, in the time zone of a site."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..store.lateness import INSIDE, LATE
from ..store.store import Store

AHEAD = timedelta(days=1)
"""An interval that ends later than this from now has a damaged time stamp."""


@dataclass(frozen=True, slots=True)
class Spanned:
    """The days of a dump's intervals, and the end of the last one, microseconds since 1970."""

    days: frozenset[date] = frozenset()
    last_us: int | None = None


def spanned(store: Store, dump: str, zone: ZoneInfo) -> Spanned:
    """What a landed dump spans."""
    folder = store.find(dump)
    file = folder / "interval.parquet" if folder else None
    if file is None or not file.exists():
        return Spanned()
    ends = pq.ParquetFile(file).read(["interval_end"]).column(0).drop_null()
    soon = (datetime.now(UTC) + AHEAD).replace(tzinfo=None)
    ends = ends.filter(pc.less(ends, pa.scalar(soon, ends.type)))
    if not len(ends):
        return Spanned()
    inside = pc.subtract(ends, pa.scalar(INSIDE))
    local = pc.local_timestamp(inside.cast(pa.timestamp("us", "UTC")).cast(_zoned(zone)))
    days = pc.unique(local.cast(pa.date32(), safe=False)).to_pylist()
    last: datetime = pc.max(ends).as_py()
    return Spanned(frozenset(days), int(last.replace(tzinfo=UTC).timestamp() * 1_000_000))


def bounds(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Between which the intervals end that count to a day; it may have 23 or 25 hours."""
    begin, end = (datetime.combine(d, time.min, zone) for d in (day, day + timedelta(days=1)))
    return begin.astimezone(UTC) + LATE, end.astimezone(UTC) + LATE


def _zoned(zone: ZoneInfo) -> pa.DataType:
    return pa.timestamp("us", zone.key)
