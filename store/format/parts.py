"""Dumps that land in parts: of a source that never ends, each interval is a part.

A part has the name of its dump, a dot and a number: `3f1c9a....000017`. For readers the parts of a
dump are one dump, whose rows have offsets in the whole. `combine` puts parts of a day together, so
that a day is not a thousand folders; the combined one has the name of its first part.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..files.disk import write_durably, writing
from .compaction import GROUP_BYTES, completed, opened
from .landed_dump import ABOUT, LandedDump, dump_folder, line
from .staging import TableWriter
from .store import Store

STREAM = "stream"
"""Key of the line of a part: where it ends in its source, and what its follower goes on with."""
_SUMS = ("bytes", "rows", "findings")


def part_name(whole: str, number: int) -> str:
    """The name of a part, by the identity of its dump and its number; names sort by number."""
    return f"{whole}.{number:09}"


def parts_of(store: Store, whole: str) -> list[LandedDump]:
    """The parts of a dump that have landed, in order."""
    return sorted(
        (dump for dump in store.dumps() if dump.is_part and dump.whole == whole),
        key=lambda dump: dump.dump,
    )


def followed(store: Store) -> list[dict[str, Any]]:
    """What is known of the last part of each dump that was followed into a store."""
    last: dict[str, LandedDump] = {}
    for dump in store.dumps():
        if dump.is_part:
            last[dump.whole] = max(dump, last.get(dump.whole, dump), key=lambda part: part.dump)
    return [about for about in store.abouts(last.values()) if STREAM in about]


def wholes(abouts: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What is known of dumps, with those that are parts of one as one."""
    by_whole: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for about in abouts:
        by_whole[str(about["dump"]).partition(".")[0]].append(about)
    return [
        some[0] if some[0]["dump"] == whole else {**combined(some), "dump": whole}
        for whole, some in by_whole.items()
    ]


def combined(abouts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What is known of parts of one dump, as of one part with the name of the first of them."""
    parts = sorted(abouts, key=lambda about: str(about["dump"]))
    with_ends = [part for part in parts if part["first_end"]]
    first = min(with_ends, key=lambda part: part["first_end"], default=parts[0])
    about = {
        **parts[-1],
        "dump": parts[0]["dump"],
        "landed_on": parts[0]["landed_on"],
        "identity": _united(part["identity"] for part in parts),
        "first_tod": min((p["first_tod"] for p in parts if p["first_tod"]), default=None),
        "last_tod": max((p["last_tod"] for p in parts if p["last_tod"]), default=None),
        "intervals": sum(part["intervals"] for part in parts),
        "tables": sorted({table for part in parts for table in part["tables"]}),
        "days": sorted({day for part in parts for day in part["days"]}),
        "nominal": all(part["nominal"] for part in parts),
        **{key: first[key] for key in ("first_end", "first_nominal", "first_interval_end")},
    }
    for key in _SUMS:
        counts = Counter[str]()
        for part in parts:
            counts.update(part[key])
        about[key] = dict(counts)
    return about


def _united(identities: Iterable[Mapping[str, list[str]]]) -> dict[str, list[str]]:
    """All values of each key, in the order in which they came."""
    values: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for identity in identities:
        for key, some in identity.items():
            values[key] |= dict.fromkeys(some)
    return {key: [*some] for key, some in values.items()}


def combine(store: Store, parts: Sequence[LandedDump]) -> bool:
    """Puts parts of one dump and day together; readers see the same rows before and after.

    Returns:
        False if one of them has changed meanwhile; then nothing changes.

    Raises:
        StoreError: the disk or the network refuses a file; then nothing changes.
        UnreadableError: a file of a part is damaged.
    """
    abouts = store.abouts(parts)
    if len(abouts) < len(parts):
        return False
    about = combined(abouts)
    folder = dump_folder(about["system"], about["landed_on"], about["dump"])
    about["folder"] = f"{folder}/{secrets.token_hex(6)}"
    with store.files.scratch() as scratch:
        with writing(store.root):
            for table in about["tables"]:
                _write(store, table, parts, scratch / f"{table}.parquet")
            write_durably(scratch / ABOUT, line(about))
        names = [file.name for file in sorted(scratch.iterdir())]
        store.files.publish({f"{about['folder']}/{name}": scratch / name for name in names})
    is_combined = store.manifest.put(parts, [about])
    if is_combined:  # what tells of the parts beside their tables would bring them back
        store.files.delete(f"{part.folder}/{ABOUT}" for part in parts)
    else:
        store.files.delete_folders([about["folder"]])
    return is_combined


def _write(store: Store, table: str, parts: Sequence[LandedDump], path: Path) -> None:
    """Writes the rows of a table of all parts, in order; a row group at a time is held."""
    names = [f"{part.folder}/{table}.parquet" for part in parts if table in part.tables]
    schemas = []
    for name in names:
        with opened(store.files, name) as file:
            schemas.append(file.schema_arrow)
    schema = pa.unify_schemas(schemas, promote_options="permissive")
    writer = TableWriter(path, schema, GROUP_BYTES)
    try:
        for name in names:
            with opened(store.files, name) as file:
                for group in range(file.num_row_groups):
                    writer.write(completed(file.read_row_group(group), schema))
        writer.close()
    except BaseException:
        writer.abandon()
        raise
