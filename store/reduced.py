"""Results of reductions that are kept: computed once, read by every report until data changes.

A kept result is one Parquet file whose name carries a stamp of all it was made from. With
another dump, run, layout or SQL the stamp changes, the file is no longer read, and the reduction
is computed live again: an outdated result is never shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from ..schemas.registry import fingerprint
from .parquet import write_table
from .store import Store

if TYPE_CHECKING:
    from .catalogue import View


def kept(store: Store, views: Sequence[View]) -> dict[str, Path]:
    """The up-to-date result file of each reduction that has one."""
    folder = store.root / "reduced"
    if not folder.exists():
        return {}
    stamp = _stamp(store, views)
    found = {view.name: _file(store, view.name, stamp) for view in views}
    return {name: file for name, file in found.items() if file.exists()}


def keep(
    store: Store, connection: duckdb.DuckDBPyConnection, views: Sequence[View], name: str
) -> int:
    """Compute a reduction and keep its result; returns its rows.

    Args:
        connection: to the store, with all `views`.
    """
    file = _file(store, name, _stamp(store, views))
    file.parent.mkdir(exist_ok=True)
    result: pa.Table = connection.sql(f'SELECT * FROM "{name}"').to_arrow_table()
    scratch = file.with_name(f".{file.name}")
    write_table(scratch, result)
    scratch.replace(file)
    for old in file.parent.glob(f"{name}-*.parquet"):
        if old != file:
            old.unlink(missing_ok=True)
    return len(result)


def _file(store: Store, name: str, stamp: str) -> Path:
    return store.root / "reduced" / f"{name}-{stamp}.parquet"


def _stamp(store: Store, views: Sequence[View]) -> str:
    """Changes with the dumps, the runs, the layouts and the SQL that a result rests on."""
    said = [fingerprint(), *(view.sql for view in views)]
    said += sorted(folder.name for folder in store.records.glob("system=*/date=*/dump=*"))
    said += [run.read_text(encoding="utf-8") for run in sorted(store.runs.glob("*.json"))]
    return hashlib.blake2b("\0".join(said).encode(), digest_size=8).hexdigest()
