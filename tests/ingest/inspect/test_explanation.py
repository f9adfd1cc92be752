"""One record explained: the values of construct, the bytes they stand in, bits, entries, tails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from cpmon.ingest.inspect.explanation import FieldLine, explain, hexdump
from cpmon.schemas import HEADER_LENGTH, Layout, Type, layout, layouts
from cpmon.schemas.structs import struct
from tests.dumps import fields, record
from tests.examples import few_or_many, tried
from tests.ingest.decode.test_columns import random_record
from tests.layouts import INVENTED

ALL = (*layouts(), *INVENTED)
INVENTED_BY_NAME = {known.name: known for known in INVENTED}


def by_path(lines: list[FieldLine]) -> dict[str, FieldLine]:
    """The lines by name; the later of two views of one name wins."""
    return {line.path: line for line in lines}


def values(layout_: Layout, parsed: Any, around: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that construct parses, with the path that the explainer gives it."""
    for field in layout_.columns:
        yield around + field.name, parsed[field.name]
    for group in layout_.groups:
        for number, entry in enumerate(parsed[group.name]):
            yield from values(group.entry, entry, f"{around}{group.name}[{number}].")


def own(layout_: Layout, record_: bytes) -> bytes:
    """The record with its own domain and number, so that the header reads well."""
    kind = bytes([0, 0, layout_.domain, 0]) + layout_.record.to_bytes(2, "big")
    return record_[:2] + kind + record_[8:]


@few_or_many(2)
def test_a_line_has_the_value_that_construct_parses_and_its_bytes(
    examples: int, subtests: pytest.Subtests
):
    seed, longer = st.integers(0, 2**32 - 1), st.sampled_from([-9, 0, 40])
    for known in ALL:
        with subtests.test(layout=known.name):
            tried(examples, check_lines, known=st.just(known), seed=seed, longer=longer)


def check_lines(known: Layout, seed: int, longer: int) -> None:
    length = max(known.length + longer, HEADER_LENGTH)
    raw = own(known, random_record(known, length, np.random.default_rng(seed)))
    lines = explain(raw, known)
    found = {line.path: line for line in lines if not line.is_bit}
    expected = dict(values(known, struct(known).parse(raw)))

    assert {path: found[path].value for path in expected} == expected
    for line in lines:
        if line.raw is None:
            assert line.value is None
        else:
            assert line.raw == raw[line.offset : line.offset + line.length]


def test_fields_that_a_shorter_record_lacks_have_neither_bytes_nor_value():
    for known in ALL:
        lines = explain(own(known, HEADER_LENGTH.to_bytes(2, "big") + bytes(18)), known)
        missing = {line.name for line in lines if line.raw is None}
        assert missing == {field.name for field in known.columns}, known.name


def test_bits_stand_under_their_flag():
    known = INVENTED_BY_NAME["xviews"]
    # Bytes 28 to 30 are `odd`: leftmost bit of the first, two rightmost bits of the last.
    raw = record(12, 6, bytes(8) + b"\x80\x00\x02" + b"\x00")
    names = [line.name for line in explain(raw, known)]
    assert names[names.index("odd") :][:3] == ["odd", "first", "last"]
    found = by_path(explain(raw, known))
    assert (found["first"].value, found["first"].offset) == (True, 28)
    assert (found["last"].value, found["last"].offset) == (2, 30)


def test_entries_are_numbered_and_carry_their_label():
    known = INVENTED_BY_NAME["xlabels"]
    raw = record(12, 7, (9).to_bytes(2, "big") + b"".join(n.to_bytes(4, "big") for n in (5, 6, 7)))
    found = by_path(explain(raw, known))
    assert [found[f"code[{n}]"].value for n in range(3)] == ["X'01'", None, "three"]
    assert [found[f"code[{n}].many"].value for n in range(3)] == [5, 6, 7]
    assert [found[f"code[{n}]"].offset for n in range(3)] == [22, 26, 30]


def test_entries_inside_an_entry_are_found_from_its_start():
    known = INVENTED_BY_NAME["xproduct"]
    cpu = (3).to_bytes(4, "big") + (4).to_bytes(4, "big")
    # sync, two processors of 8 bytes each, from byte 10 of the block on.
    block = bytes(4) + b"\x00\x02\x00\x08\x00\x0a" + cpu + cpu
    at = 32
    head = at.to_bytes(2, "big") + len(block).to_bytes(2, "big") + b"\xd3\xc9\xd5\x00" + bytes(4)
    found = by_path(explain(record(12, 8, head + block), known))
    assert found["text[0].cpu[1].nice"].value == 4
    assert found["text[0].cpu[1].nice"].offset == at + 10 + 8 + 4
    assert not any(path.startswith("other") for path in found)


def test_a_field_that_another_replaced_is_shown_for_its_release_only():
    known = INVENTED_BY_NAME["xreplaced"]
    raw = record(12, known.record, b"\x00\x01\x00\x02" + bytes(10))
    old, new = (by_path(explain(raw, known, release)) for release in ("5.1.0", "5.3.0"))
    assert (old["old"].value, old["newer"].raw) == (0x10002, None)
    assert (new["newer"].value, new["newest"].value, new["old"].raw) == (1, 2, None)


def test_a_time_and_a_duration_are_told_in_words():
    raw = fields("mtrsys", 3.5, systodst=0x7D91048BCA000000 + (1_000_000 << 12))
    found = by_path(explain(raw, layout("mtrsys")))
    assert found["systodst"].note == "1970-01-01 00:00:01.000000 UTC"
    assert found["mrhdrtod"].note == "2001-12-18 10:00:03.500000 UTC"
    busy = by_path(explain(fields("sytprp", pfxutime=4096 * 1_500_000), layout("sytprp")))
    assert busy["pfxutime"].note == "1.500000 s"


def test_bytes_behind_the_last_field_and_records_without_layout_are_kept():
    longer = fields("sytrsp", pfxcpuad=1) + b"NEW!"
    longer = len(longer).to_bytes(2, "big") + longer[2:]
    tail = explain(longer, layout("sytrsp"))[-1]
    assert (tail.name, tail.offset, tail.raw) == ("tail", len(longer) - 4, b"NEW!")

    unknown = explain(record(9, 42, b"abcd"), None)
    assert unknown[-1].raw == b"abcd" and unknown[-1].offset == HEADER_LENGTH
    assert [line.name for line in unknown[:-1]] == [
        "mrhdrlen", "mrhdrzer", "mrhdrdm", "mrhdrrc", "mrhdrtod"
    ]  # fmt: skip


def test_a_hexdump_has_every_byte_and_a_bar_before_every_field(subtests: pytest.Subtests):
    for known in ALL:
        with subtests.test(layout=known.name):
            check_hexdump(known)


def check_hexdump(known: Layout) -> None:
    length = known.length + 5
    raw = own(known, random_record(known, length, np.random.default_rng(1)))
    lines = explain(raw, known)
    shown = list(hexdump(raw, lines))
    digits = "".join(line[7:].partition("  *")[0] for line in shown)
    assert bytes.fromhex(digits.replace("|", " ")) == raw

    cells = [line[6 + 3 * n : 9 + 3 * n] for line in shown for n in range(16)][:length]
    marked = {n for n, cell in enumerate(cells) if cell.startswith("|")}
    plain = [ln for ln in lines if ln.raw and not ln.is_bit and not (ln.field and ln.field.of)]
    assert marked == {line.offset for line in plain}


def test_a_hexdump_shows_ebcdic_and_names_in_the_margin():
    raw = fields("mtrpag", cpvolser="VMPG01", caltype="PAGE")
    second = list(hexdump(raw, explain(raw, layout("mtrpag"))))[1]
    assert second == (
        "+0010  00 00 00 00|E5 D4 D7 C7 F0 F1|00|00|D7 C1 C7 C5  "
        "*....VMPG01..PAGE*  cpvolser rdcpcyl calflags caltype"
    )


def test_a_reserved_byte_has_bytes_and_no_value():
    found = explain(fields("sytrsp", pfxcpuad=1), layout("sytrsp"))
    (reserved, *_) = [ln for ln in found if ln.field and ln.field.type is Type.RESERVED]
    assert (reserved.name, reserved.offset, reserved.raw, reserved.value) == (
        "*",
        22,
        b"\0\0",
        None,
    )
