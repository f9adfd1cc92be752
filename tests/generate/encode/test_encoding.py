"""Records with groups: where entries are put, and that their parents say so."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest

from cpmon.core.errors import LayoutError
from cpmon.generate.encode.encoder import Encoder, Encoding, EventBatch, encode_events, text_bytes
from cpmon.ingest.decode.columns import Decoded, Entries, decode
from cpmon.schemas import Layout, layout, layouts

LINUX_OS = bytes.fromhex("D3C9D5E4E7D2D9D5D302").ljust(16, b"\xf0")


def encoded(encoder: Encoder, values: dict[str, object] | None = None) -> list[bytes]:
    tods = np.arange(1, encoder.rows + 1, dtype=np.uint64)
    return [bytes(row) for row in encoder.encode(tods, values or {})]


def decoded(table: Layout, rows: list[bytes], release: str) -> Decoded:
    """What ingest makes of some records."""
    window = np.frombuffer(b"".join(rows), dtype=np.uint8)
    lengths = np.array([len(row) for row in rows])
    return decode(table, window, np.cumsum(lengths) - lengths, lengths, release)


def landed(table: Layout, rows: list[bytes], release: str) -> dict[str, Entries]:
    """What it makes of their groups, by name."""
    found = decoded(table, rows, release)
    return dict(zip((g.name for g in table.groups), found.entries, strict=True))


def column(entries: Entries, name: str) -> list[object]:
    values = entries.decoded.columns[name]
    return (values if isinstance(values, pa.Array) else pa.chunked_array(values)).to_pylist()


def test_entries_of_a_partition_are_where_its_record_says():
    encoder = Encoder(
        layout("sytcup"),
        2,
        "5.1.0",
        {"lcupname": text_bytes(["LP1", "LP2"], 8), "cpu.lcucpuid": np.arange(3)},
        entries={"cpu": 3},
    )
    grown = np.array([[10, 20, 30], [40, 50, 60]])
    _, second = encoded(encoder, {"cpu.lcucwght": [[7], [9]], "cpu.lcucactm": grown})
    start, size = struct.unpack_from(">hh", second, 32)
    assert (len(second), second[30], start, size) == (64 + 3 * 40, 3, 64, 40)
    assert struct.unpack_from(">H", second, 0)[0] == len(second)
    cpus = [struct.unpack_from(">HHBxQ", second, start + size * n) for n in range(3)]
    assert cpus == [(0, 9, 0, 0), (1, 9, 0, 0), (2, 9, 0, 0)]
    _, again = encoded(encoder, {"cpu.lcucactm": grown})
    assert [struct.unpack_from(">Q", again, start + size * n + 6)[0] for n in range(3)] == [
        40,
        50,
        60,
    ]


def test_a_partition_record_of_an_early_release_has_no_later_fields():
    encoder = Encoder(
        layout("sytcup"), 1, "4.3.0", {"lcptype": text_bytes("CP", 16)}, entries={"cpu": 1}
    )
    (row,) = encoded(encoder)
    assert (len(row), struct.unpack_from(">h", row, 32)[0]) == (44 + 40, 44)


@pytest.mark.parametrize(("release", "kind"), [("4.3.0", None), ("5.3.0", "CP")])
def test_entries_of_an_early_release_are_not_taken_for_a_later_field(
    release: str, kind: str | None
):
    said = {"lcptype": text_bytes("CP", 16)}
    rows = encoded(Encoder(layout("sytcup"), 1, release, said, entries={"cpu": 1}))
    found = decoded(layout("sytcup"), rows, release).columns["lcptype"]
    assert found.to_pylist() == [kind]


def test_locks_land_with_the_name_and_the_counts_that_were_given():
    names = text_bytes(["LOCKA", "LOCKB"], 8)
    encoder = Encoder(
        layout("sytlck"), 1, "5.3.0", {"lock.callckid": names}, ages=2.0, entries={"lock": 2}
    )
    rows = encoded(encoder, {"lock.calxscnt": [[5, 6]], "lock.calxtime": [[1 << 33, 4096]]})
    locks = landed(layout("sytlck"), rows, "5.3.0")["lock"]
    assert column(locks, "callckid") == ["LOCKA", "LOCKB"]
    assert column(locks, "calxscnt") == [10, 12]
    assert column(locks, "calxtime") == [1 << 34, 8192]


def test_a_block_of_a_guest_holds_one_entry_for_each_of_its_processors():
    encoder = Encoder(
        layout("aplsdt"),
        2,
        "5.3.0",
        {"mdgprod": LINUX_OS, "userid": text_bytes(["LINUX1", "LINUX2"], 8)},
        ages=1.0,
        entries={"os": 1, "os.cpu": 2},
    )
    flows = {"os.cpu.per_cpu_user": np.array([[1, 2], [3, 4]])}
    rows = encoded(encoder, {"os.nr_threads": np.array([80, 90]), **flows})
    block = 52 + 52
    assert {len(row) for row in rows} == {block + 2 * 36}
    assert struct.unpack_from(">hh", rows[0], 20) == (52, 52 + 2 * 36)
    assert struct.unpack_from(">III", rows[0], 52 + 16) == (2, 36, 52)
    blocks = landed(layout("aplsdt"), rows, "5.3.0")["os"]
    assert column(blocks, "nr_threads") == [80, 90]
    assert column(blocks.decoded.entries[0], "per_cpu_user") == [1, 2, 3, 4]


def test_a_block_is_refused_in_a_record_that_says_it_has_another():
    memory = bytes.fromhex("D3C9D5E4E7D2D9D5D301").ljust(16, b"\xf0")
    with pytest.raises(LayoutError, match="aplsdt has its group os in other records"):
        Encoder(layout("aplsdt"), 1, "5.3.0", {"mdgprod": memory}, entries={"os": 1})


def test_a_block_of_another_product_has_the_size_that_it_is_given():
    values = {"mdgprod": text_bytes("PRODUCT1", 16), "data.data": b"\x01\x02\x03"}
    tods = np.zeros(1, dtype=np.uint64)
    batch = EventBatch("aplsdt", tods, values, entries={"data": 1}, sizes={"data": 3})
    row = encode_events([batch], "5.3.0")[0].records[0].tobytes()
    assert (struct.unpack_from(">hh", row, 20), row[52:]) == ((52, 3), b"\x01\x02\x03")


def test_an_entry_without_a_length_needs_one():
    with pytest.raises(LayoutError, match="entries of aplsdt_data have no length"):
        Encoding(layout("aplsdt"), "5.3.0", {"data": 1})


def test_counts_of_diagnoses_can_be_given_by_table_or_by_name():
    encoder = Encoder(layout("prcdia"), 2, "5.3.0", {})
    (name,) = [f.name for f in layout("prcdia").groups[0].entry.columns]
    table = np.arange(2 * 193).reshape(2, 193)
    for _ in range(2):
        row = encoded(encoder, {f"diagnose.{name}": table})[1]
    assert struct.unpack_from(">193I", row, 24) == tuple(range(193, 386))
    other = Encoder(layout("prcdia"), 1, "5.3.0", {}, ages=1.0)
    (row,) = encoded(other, {"plsdgx44": 77})
    assert struct.unpack_from(">I", row, 24 + 4 * 17)[0] == 77


def test_what_a_release_does_not_have_is_left_out():
    flows = {"stlnu.stlnu": np.arange(31), "stlct.stlct": np.arange(64)}
    old, new = (
        encoded(Encoder(layout("prcprp"), 1, release, {}, ages=1.0), {"pfxcputy": 9, **flows})[0]
        for release in ("5.2.0", "5.4.0")
    )
    assert (len(old), len(new)) == (124, 384)
    assert struct.unpack_from(">31H", old, 22) == tuple(range(31))
    assert not any(new[22:84])
    assert struct.unpack_from(">64I", new, 124) == tuple(range(64))
    assert new[380] == 9


def test_ingest_finds_the_entries_of_every_group_that_a_record_locates():
    groups = [(table, group) for table in layouts() for group in table.groups]
    for table, group in groups:
        if group.end:
            continue
        count = 1 if group.count == 1 else 3
        sizes = {"data": 5} if group.name == "data" else {}
        encoding = Encoding(table, "7.5.0", {group.name: count}, sizes)
        record = encoding.blank.copy()
        if group.when and not group.when.negated:
            at = encoding.places[group.when.field].offset
            record[at : at + group.when.reach] = list(group.when.prefixes[0])
        found = landed(table, [record.tobytes()], "7.5.0")
        positions = {name: len(one.position) for name, one in found.items()}
        assert {name: n for name, n in positions.items() if n} == {group.name: count}, table.name
        assert len(found[group.name].cut) == 0, table.name


def test_records_are_as_long_as_published():
    published = {table.name: dict(table.lengths) for table in layouts() if table.lengths}
    assert published
    written = {
        name: {release: layout(name).written_at(release) for release in lengths}
        for name, lengths in published.items()
    }
    assert written == published


def test_a_record_grows_by_what_is_known_to_be_new():
    useact, sytcup = layout("useact"), layout("sytcup")
    assert [useact.written_at(r) for r in ("4.3.0", "5.2.0", "5.3.0", "6.2.0", "7.1.0")] == [
        196,
        364,
        364,
        508,
        508,
    ]
    assert [sytcup.written_at(r) for r in ("4.2.0", "4.4.0", "5.1.0")] == [44, 44, 64]
