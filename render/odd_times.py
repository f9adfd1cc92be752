"""Times that DuckDB has and Python has not: infinity, and years before 1 or after 9999."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

_EPOCH = date(1970, 1, 1).toordinal()
_FIRST, _BEHIND = date.min.toordinal() - _EPOCH, date.max.toordinal() + 1 - _EPOCH
"""The first day of the year 1 and the first behind 9999, in days since 1970."""
_DAY = {unit: 86_400 * 1000**n for n, unit in enumerate(("s", "ms", "us", "ns"))}
_INFINITY = 2**63 - 1


def known_times(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dates or timestamps, NULL where a datetime cannot have the value."""
    return pc.if_else(_odd(times), pa.scalar(None, times.type), times)


def has_odd_times(values: pa.ChunkedArray) -> bool:
    """Whether a datetime cannot have some date or timestamp of a column, at any depth."""
    return any(pc.any(_odd(times)).as_py() for times in _times_in(values))


def _times_in(values: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    """Yields the dates and timestamps in a column, also in its lists, structs and maps."""
    kind = values.type
    if pa.types.is_timestamp(kind) or pa.types.is_date32(kind):
        yield values
    elif pa.types.is_map(kind):
        for part, of_map in ((kind.key_type, "keys"), (kind.item_type, "items")):
            chunks = [getattr(chunk, of_map) for chunk in values.chunks]
            yield from _times_in(pa.chunked_array(chunks, part))
    elif pa.types.is_struct(kind):
        for number in range(kind.num_fields):
            yield from _times_in(pc.struct_field(values, [number]))
    elif pa.types.is_nested(kind):
        yield from _times_in(pc.list_flatten(values))


def _odd(times: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = times.type
    plain = times.cast(pa.int32()) if pa.types.is_date32(kind) else times
    ticks, day = plain.cast(pa.int64()), _DAY[kind.unit] if pa.types.is_timestamp(kind) else 1
    least, most = max(_FIRST * day, 1 - _INFINITY), min(_BEHIND * day, _INFINITY) - 1
    return pc.or_(pc.less(ticks, least), pc.greater(ticks, most))
