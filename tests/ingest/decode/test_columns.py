"""Columns against construct, for every layout: random records, cut records, longer records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpmon.ingest.decode.columns import Decoded, decode, pieces
from cpmon.schemas import Group, Layout, layouts
from cpmon.schemas.field import REST
from cpmon.schemas.structs import struct
from tests.examples import few_or_many, tried
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
    place(layout, raw, rng)
    return raw.tobytes()


def place(layout: Layout, raw: np.ndarray, rng: np.random.Generator) -> None:
    """Make the groups of a record, or of an entry, lie inside it more often than not."""
    for group in layout.groups:
        if group.when and rng.random() < 0.6:
            prefix = group.when.prefixes[int(rng.integers(len(group.when.prefixes)))]
            put(raw, layout.field(group.when.field).offset, prefix)
        limits = (max(len(raw), 1) + 20, len(raw) + 8 if is_nested(group.entry) else 40, 6)
        for operand, limit in zip(operands(group), limits, strict=True):
            if isinstance(operand, str) and operand != REST:
                field = layout.field(operand)
                put(raw, field.offset, int(rng.integers(0, limit)).to_bytes(field.length, "big"))
    for group in (g for g in layout.groups if is_nested(g.entry) and isinstance(g.start, str)):
        field = layout.field(group.start)
        start = int.from_bytes(raw[field.offset : field.end].tobytes(), "big")
        if start >= layout.length:
            place(group.entry, raw[start:], rng)
    if layout.sequel:
        place_sequel(layout, raw, rng)


def is_nested(entry: Layout) -> bool:
    return bool(entry.groups or entry.sequel)


def place_sequel(layout: Layout, raw: np.ndarray, rng: np.random.Generator) -> None:
    """Make a part, and what is behind each text, lie inside more often than not."""
    if layout.text is not None:
        size = int(rng.choice([0, 1, 7, 40]))
        put(raw, layout.text.offset, size.to_bytes(2, "big"))
        start = layout.text.end + size
        letters = np.frombuffer(b"/dev\xc3\xa9\xff", np.uint8)
        put(raw, layout.text.end, rng.choice(letters, size).tobytes())
    else:
        start = layout.length + int(rng.choice([0, 0, 3]))
        for name, value in ((layout.sequel.start, start), (layout.sequel.size, len(raw) - start)):
            if rng.random() < 0.8:
                field = layout.field(name)
                put(raw, field.offset, max(value, 0).to_bytes(field.length, "big"))
    place(layout.sequel.layout, raw[start:], rng)


def put(raw: np.ndarray, offset: int, value: bytes) -> None:
    room = raw[offset : offset + len(value)]
    room[:] = np.frombuffer(value, np.uint8)[: len(room)]


def operands(group: Group) -> tuple[int | str, int | str, int | str]:
    return group.start, group.stride, group.count


def columns_of(
    layout: Layout, data: np.ndarray, records: list[bytes], release: str = ""
) -> Decoded:
    lengths = np.array([len(r) for r in records], np.int64)
    return decode(layout, data, np.cumsum(lengths + 3) - lengths, lengths, release)


def rows(decoded: Decoded) -> list[dict[str, Any]]:
    columns = {**decoded.columns, "tail": decoded.tail}
    values = {name: column.to_pylist() for name, column in columns.items()}
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]


def parsed(layout: Layout, found: Any) -> dict[str, Any]:
    """What lands of what construct says of a record.

    NULL where a value is beyond what its field can be, and the signed number of the same 64 bits.
    """
    values = {f.name: found[f.name] for f in layout.columns}
    for field in layout.columns:
        value = values[field.name]
        if field.limit is not None and (value or 0) > field.limit:
            values[field.name] = None
        elif field.is_number and value is not None:
            values[field.name] = field.landed(value)
    return {**values, "tail": found["tail"]}


def check(layout: Layout, lengths: list[int], seed: int, release: str = "") -> None:
    data, records = encode(layout, lengths, seed)
    decoded = columns_of(layout, data, records, release)
    compare(decoded, [struct(layout, release).parse(r) for r in records])


def compare(decoded: Decoded, said: list[Any]) -> None:
    """What was decoded, groups and their groups included, is what construct says of each."""
    layout = decoded.layout
    assert rows(decoded) == [parsed(layout, s) for s in said]
    for group, entries in zip(layout.groups, decoded.entries, strict=True):
        expected = [
            (number, position)
            for number, record in enumerate(said)
            for position, _ in enumerate(record[group.name])
        ]
        found = zip(entries.record.tolist(), entries.position.tolist(), strict=True)
        assert list(found) == expected
        compare(entries.decoded, [entry for record in said for entry in record[group.name]])


@pytest.mark.parametrize("release", ["4.4.0", "5.1.0", "5.2.0", "5.3.0", "7.3.0+callevel.5"])
def test_columns_equal_construct_as_of_a_release(release: str, subtests: pytest.Subtests):
    for layout in (x for x in ALL if x.replacing or x.absent("7.5.0")):
        with subtests.test(layout=layout.name):
            check(layout, [layout.length] * 5, seed=1, release=release)


def test_a_release_decides_what_the_bytes_of_a_replaced_field_are():
    layout = next(x for x in INVENTED if x.name == "xreplaced")
    data, records = encode(layout, [layout.length], seed=1)

    def known(release: str) -> set[str]:
        (row,) = rows(columns_of(layout, data, records, release))
        return {name for name, value in row.items() if value is not None}

    assert known("4.4.0") == known("5.1.0") == {"old", "always"}
    assert known("5.2.0") == {"newer", "always"}
    assert known("5.3.0") == {"newer", "newest", "always"}
    assert known("") == {"old", "newer", "newest", "always"}


def test_bits_of_callevel_decide_within_a_release_and_not_before_or_behind_it():
    layout = next(x for x in INVENTED if x.name == "xservice")
    data, records = encode(layout, [layout.length], seed=1)
    readings = {
        "7.1.0": {"first"},
        "7.2.0+callevel.5": {"first", "half"},
        "7.3.0+callevel": {"first", "half"},
        "7.3.0+callevel.4.6": {"first", "half"},
        "7.3.0+callevel.5": {"second", "half"},
        "7.3.0+callevel.5.9": {"third", "half"},
        "7.4.0+callevel": {"third", "half"},
        "7.3.0": {"first", "second", "third", "half"},
    }
    for level, expected in readings.items():
        (row,) = rows(columns_of(layout, data, records, level))
        known = {name for name, value in row.items() if value is not None}
        assert known == expected | {"always"}, level


def test_columns_equal_construct_on_records_cut_at_every_field_boundary(
    subtests: pytest.Subtests,
):
    for layout in ALL:
        ends = sorted({20, *(f.end for f in layout.fields), *(f.offset for f in layout.fields)})
        with subtests.test(layout=layout.name):
            check(layout, [end for end in ends if end >= 20], seed=len(ends))


@few_or_many(2, 30)
def test_columns_equal_construct_on_records_of_any_length(examples: int, subtests: pytest.Subtests):
    def equal(layout: Layout, seed: int, lengths: list[int]) -> None:
        check(layout, [layout.length] * 3 + [max(20, layout.length + n) for n in lengths], seed)

    lengths = st.lists(st.integers(-30, 60), min_size=4, max_size=8)
    for layout in ALL:
        with subtests.test(layout=layout.name):
            tried(examples, equal, layout=st.just(layout), seed=SEED, lengths=lengths)


@few_or_many(2)
def test_a_record_that_construct_builds_has_the_values_it_was_built_from(
    examples: int, subtests: pytest.Subtests
):
    for layout in ALL:
        with subtests.test(layout=layout.name):
            tried(examples, check_built, layout=st.just(layout), seed=SEED)


def check_built(layout: Layout, seed: int) -> None:
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
