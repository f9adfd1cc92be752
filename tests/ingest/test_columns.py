"""Columns against construct, for every layout: random records, cut records, longer records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpmon.ingest.columns import Decoded, decode, pieces
from cpmon.schemas import Group, Layout, layouts
from cpmon.schemas.structs import struct
from tests.layouts import INVENTED

ALL = (*layouts(), *INVENTED)
SEED = st.integers(0, 2**32 - 1)


def encode(layout: Layout, lengths: list[int], seed: int) -> tuple[np.ndarray, list[bytes]]:
    """Records of random bytes, with groups that mostly lie inside them; a gap before each."""
    rng = np.random.default_rng(seed)
    records = [random_record(layout, length, rng) for length in lengths]
    return np.frombuffer(b"".join(b"gap" + r for r in records), np.uint8), records


def random_record(layout: Layout, length: int, rng: np.random.Generator) -> bytes:
    raw = rng.integers(0, 256, length, np.uint8)
    raw[:2] = length >> 8, length & 255
    for group in layout.groups:
        for operand, limit in zip(operands(group), (layout.length + 20, 40, 6), strict=True):
            if isinstance(operand, str) and layout.field(operand).end <= length:
                field = layout.field(operand)
                value = int(rng.integers(0, limit)).to_bytes(field.length, "big")
                raw[field.offset : field.end] = np.frombuffer(value, np.uint8)
    return raw.tobytes()


def operands(group: Group) -> tuple[int | str, int | str, int | str]:
    return group.start, group.stride, group.count


def columns_of(layout: Layout, data: np.ndarray, records: list[bytes]) -> Decoded:
    lengths = np.array([len(r) for r in records], np.int64)
    return decode(layout, data, np.cumsum(lengths + 3) - lengths, lengths)


def rows(decoded: Decoded) -> list[dict[str, Any]]:
    columns = {**decoded.columns, "tail": decoded.tail}
    values = {name: column.to_pylist() for name, column in columns.items()}
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]


def parsed(layout: Layout, found: Any) -> dict[str, Any]:
    return {name: found[name] for name in [*(f.name for f in layout.columns), "tail"]}


def check(layout: Layout, lengths: list[int], seed: int) -> None:
    data, records = encode(layout, lengths, seed)
    decoded = columns_of(layout, data, records)
    said = [struct(layout).parse(r) for r in records]

    assert rows(decoded) == [parsed(layout, s) for s in said]
    for group, entries in zip(layout.groups, decoded.entries, strict=True):
        expected = [
            (number, position, parsed(group.entry, entry))
            for number, record in enumerate(said)
            for position, entry in enumerate(record[group.name])
        ]
        found = zip(
            entries.record.tolist(), entries.position.tolist(), rows(entries.decoded), strict=True
        )
        assert list(found) == expected


@pytest.mark.parametrize("layout", ALL, ids=str)
@given(seed=SEED)
def test_columns_equal_construct_on_random_records(layout: Layout, seed: int):
    check(layout, [layout.length] * 5, seed)


@pytest.mark.parametrize("layout", ALL, ids=str)
def test_columns_equal_construct_on_records_cut_at_every_field_boundary(layout: Layout):
    ends = sorted({20, *(f.end for f in layout.fields), *(f.offset for f in layout.fields)})
    check(layout, [end for end in ends if end >= 20], seed=len(ends))


@pytest.mark.parametrize("layout", ALL, ids=str)
@given(seed=SEED, lengths=st.lists(st.integers(-30, 60), min_size=1, max_size=8))
def test_columns_equal_construct_on_records_of_any_length(
    layout: Layout, seed: int, lengths: list[int]
):
    check(layout, [max(20, layout.length + n) for n in lengths], seed)


@pytest.mark.parametrize("layout", ALL, ids=str)
@given(seed=SEED)
def test_a_record_that_construct_builds_has_the_values_it_was_built_from(layout: Layout, seed: int):
    _, (record,) = encode(layout, [layout.length + 80], seed)
    for field in {o for g in layout.groups for o in [g.start] if isinstance(o, str)}:
        at = layout.field(field)
        behind = layout.length.to_bytes(at.length, "big")
        record = record[: at.offset] + behind + record[at.end :]
    values = struct(layout).parse(record)

    built = struct(layout).build(values).ljust(len(record), b"\0")

    again = struct(layout).parse(built)
    assert parsed(layout, again) == parsed(layout, values)
    assert [again[g.name] for g in layout.groups] == [values[g.name] for g in layout.groups]


def test_no_records_make_empty_columns():
    layout = ALL[0]
    none = np.empty(0, np.int64)

    assert rows(decode(layout, np.empty(0, np.uint8), none, none)) == []


@given(st.lists(st.binary(max_size=12), max_size=20))
def test_pieces_of_any_length_keep_their_order(parts: list[bytes]):
    data = np.frombuffer(b"".join(parts), np.uint8)
    lengths = np.array([len(p) for p in parts], np.int64)

    assert pieces(data, np.cumsum(lengths) - lengths, lengths).to_pylist() == parts
