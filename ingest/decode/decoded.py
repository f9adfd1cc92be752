"""Holds and concatenates decoded records: columns, entries of groups, impossible values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from ...schemas.field import Field
from ...schemas.layout import Layout
from ..codec import I64


@dataclass(frozen=True)
class Decoded:
    """The records of one layout, column by column.

    `columns` and `tail` are in the order of the records given. `entries` has, for each group, the
    decoded entries and the record (0-based) that each one belongs to. `impossible` has what is NULL
    because no system can have that value. `cut` has the numbers of the records in which a text or
    part reaches behind the end.
    """

    layout: Layout
    columns: dict[str, pa.Array]
    tail: pa.Array
    entries: tuple[Entries, ...] = ()
    impossible: tuple[Impossible, ...] = ()
    cut: I64 = field(default_factory=lambda: np.empty(0, np.int64))

    def followed_by(self, other: Decoded, between: dict[str, pa.Array]) -> Decoded:
        """The same rows with columns behind their own: `between`, then those of `other`."""
        columns = {**self.columns, **between, **other.columns}
        return replace(self, columns=columns, impossible=self.impossible + other.impossible)


@dataclass(frozen=True)
class Entries:
    """The entries of one group in many records, one after another.

    `record`, `position`: (entries,) the record each belongs to and its place there, from 0.
    `cut`: numbers of the records that claim more entries than they have room for.
    """

    decoded: Decoded
    record: I64
    position: I64
    cut: I64


@dataclass(frozen=True)
class Impossible:
    """Values of a field that are beyond its limit, in many records.

    `record`: (values,) numbers of the records, ascending. `first`: the value in the first of them.
    """

    field: Field
    record: I64
    first: int


def merge(parts: list[Decoded], taken: I64) -> Decoded:
    """The rows `taken` of all parts laid end to end, with the entries of their groups."""

    def merged(chunks: list[pa.Array]) -> pa.Array:
        whole = pa.chunked_array(chunks).unify_dictionaries().combine_chunks()
        return whole.take(pa.array(taken))

    first = parts[0]
    columns = {name: merged([p.columns[name] for p in parts]) for name in first.columns}
    place = np.empty(len(taken), np.int64)
    place[taken] = np.arange(len(taken))
    places = np.split(place, np.cumsum([len(p.tail) for p in parts])[:-1])
    groups = zip(*(p.entries for p in parts), strict=True)
    entries = tuple(_merge_entries(group, places) for group in groups)
    impossible = tuple(_merge_impossible(parts, places))
    return Decoded(first.layout, columns, merged([p.tail for p in parts]), entries, impossible)


def _merge_impossible(parts: list[Decoded], places: list[I64]) -> Iterator[Impossible]:
    """The impossible values of several parts; `places`: where each part's records went."""
    fields: dict[Field, list[Impossible]] = {}
    for part, at in zip(parts, places, strict=True):
        for values in part.impossible:
            moved = Impossible(values.field, at[values.record], values.first)
            fields.setdefault(values.field, []).append(moved)
    for number, several in fields.items():
        record = np.sort(np.concatenate([values.record for values in several]))
        first = min(several, key=lambda values: int(values.record.min())).first
        yield Impossible(number, record, first)


def _merge_entries(parts: tuple[Entries, ...], places: list[I64]) -> Entries:
    """The entries of one group in several parts; `places`: where each part's records went."""
    record = np.concatenate([at[p.record] for p, at in zip(parts, places, strict=True)])
    position = np.concatenate([p.position for p in parts])
    cut = np.concatenate([at[p.cut] for p, at in zip(parts, places, strict=True)])
    order = np.lexsort((position, record))
    decoded = merge([p.decoded for p in parts], order)
    return Entries(decoded, record[order], position[order], np.sort(cut))
