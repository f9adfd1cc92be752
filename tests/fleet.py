"""A store of two systems with several days each, a gap, and damage; quickly made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.copies import copy_dump
from cpmon.core.grace_period import INSIDE
from cpmon.generate import damaged, load_scenario, parse_damage, write_run
from cpmon.ingest import ingest
from cpmon.store import Store
from cpmon.store.results.entries import METADATA, Entry

SYSTEMS = {"PRODA": (1, 2), "PRODB": (1, 3)}
"""Days behind the first that each system has as well."""
DAMAGE = ("zero-frames:60%:2", "repeat-frames:30%:1")
"""What is wrong with the dumps of the second system."""


def fleet(
    folder: Path, *, intervals: int = 4, systems: Mapping[str, Collection[int]] = SYSTEMS
) -> Store:
    """Make the store in a new folder; nothing of it is reduced."""
    store = Store(folder / "store", create=True)
    for number, (system, days) in enumerate(systems.items()):
        place = folder / system
        run = write_run(
            load_scenario("small-lab"), "LAB", place, intervals=intervals, compression=None
        )
        dump = run.dump
        if number:
            dump, data = place / "damaged.mon", run.dump.read_bytes()
            kinds = [parse_damage(kind) for kind in DAMAGE]
            dump.write_bytes(b"".join(damaged([data], kinds, 0, len(data))))
        landed = ingest(dump, store, system=system)
        copy_dump(Path(str(store.find(landed.dump))), (timedelta(days=day) for day in days))
    store.manifest.rebuild()
    return store


def pieces(store: Store) -> dict[str, bytes]:
    """The rows of all results of a store, of each day for itself whatever file has them."""
    folder, found = store.root / "reduced", {}
    for file in sorted(folder.rglob("*.parquet")):
        table = pq.ParquetFile(file).read()
        entry = msgspec.json.decode(table.schema.metadata[METADATA.encode()], type=Entry)
        for piece in entry.pieces():
            ends = pc.subtract(table["interval_end"], pa.scalar(INSIDE))
            rows = table.filter(pc.equal(ends.cast(pa.date32()), pa.scalar(piece.day)))
            name = ".".join(filter(None, [f"{piece.day}-{piece.version}", piece.shifts]))
            found[str(file.parent.relative_to(folder) / f"{name}.parquet")] = _bytes(rows)
        if not entry.days:
            found[file.name] = _bytes(table)
    return found


def _bytes(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema.remove_metadata()) as stream:
        stream.write_table(rows.replace_schema_metadata(None).combine_chunks())
    return sink.getvalue().to_pybytes()
