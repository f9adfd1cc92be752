"""DataFusion, the second engine of the portable subset, over rows in memory.

It holds sums column by column, DuckDB all sums of a group in a row: where half a million groups
have nineteen figures each, it needs a third of the time. It reads no files here and knows no store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .stored_rows import as_in_views, is_narrow

if TYPE_CHECKING:
    from datafusion import SessionContext

BATCH = 8192
"""Rows that it takes at once, as from files of its own: more do not fit the processor's cache."""
TIME = "interval_end"


def context(sources: Mapping[str, pa.Table]) -> SessionContext:
    """An engine that reads some rows.

    Args:
        sources: by the name of their relation, with or without schema.
    """
    from datafusion import SessionConfig, SessionContext

    # A second partition would send each row to the one that its group is in, which takes longer
    # than it saves; other threads have other reductions to do.
    found = SessionContext(SessionConfig().with_target_partitions(1))
    for schema in sorted({name.partition(".")[0] for name in sources if "." in name}):
        found.sql(f"CREATE SCHEMA {schema}")
    for relation, rows in sources.items():
        empty = pa.RecordBatch.from_pylist([], schema=rows.schema)
        narrow = any(map(is_narrow, rows.schema.types))
        registered = f"{relation}_as_landed" if narrow else relation
        found.register_record_batches(registered, [rows.to_batches(BATCH) or [empty]])
        if narrow:
            found.sql(f"CREATE VIEW {relation} AS SELECT {as_in_views(rows)} FROM {registered}")
    return found


def selected(query: str, sources: Mapping[str, pa.Table], at_once: int | None = None) -> pa.Table:
    """The rows of a query in the portable subset, with the types that DuckDB would give them.

    Args:
        at_once: so many rows of the longest source, or a few more, are read at once, and what is
            in between needs less room: memory that is used for the first time is slow. Only for a
            query whose rows are each of one interval, and of what is of no interval.
    """
    parts = [sources] if at_once is None else _by_intervals(sources, at_once)
    return pa.concat_tables([_selected(query, part) for part in parts])


def _selected(query: str, sources: Mapping[str, pa.Table]) -> pa.Table:
    rows = context(sources).sql(query).to_arrow_table()
    return rows.cast(pa.schema([(column.name, _plain(column.type)) for column in rows.schema]))


def _by_intervals(
    sources: Mapping[str, pa.Table], at_once: int
) -> Iterator[Mapping[str, pa.Table]]:
    """The sources with the rows of some intervals, and of the next; whole if not in their order."""
    timed = {name: _ends(rows) for name, rows in sources.items() if TIME in rows.column_names}
    longest = max(timed.values(), key=len, default=np.empty(0, np.int64))
    if not all(map(_is_in_order, timed.values())):
        yield sources
        return
    edges = np.unique(longest[at_once::at_once])
    edges = edges[edges > longest[:1]]
    places = {name: [0, *np.searchsorted(e, edges), len(e)] for name, e in timed.items()}
    for part in range(len(edges) + 1):
        yield {
            **sources,
            **{n: sources[n].slice(at[part], at[part + 1] - at[part]) for n, at in places.items()},
        }


def _ends(rows: pa.Table) -> npt.NDArray[np.int64]:
    """(rows,) ends of their intervals, microseconds since 1970."""
    ends: npt.NDArray[np.int64] = (
        rows.column(TIME).cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    )
    return ends


def _is_in_order(ends: npt.NDArray[np.int64]) -> bool:
    return bool((ends[1:] >= ends[:-1]).all())


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.string()
    return pa.timestamp("us") if pa.types.is_timestamp(kind) else kind
