"""Counters: what a sequence of flows looks like in the bytes of records."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from cpmon.core.errors import LayoutError
from cpmon.generate.encode.encoder import COUNTDOWN_FROM, Encoder, text_bytes
from cpmon.schemas import layout


def encode(encoder: Encoder, **flows: object) -> list[bytes]:
    tods = np.arange(1, encoder.rows + 1, dtype=np.uint64)
    return [bytes(row) for row in encoder.encode(tods, flows)]


def test_a_counter_adds_up_and_wraps_at_its_width():
    encoder = Encoder(layout("sytrsp"), 1, "4.3.0", {}, ages=1.0)
    values = [
        struct.unpack_from(">I", encode(encoder, plsmvb2g=grown)[0], 44)[0]
        for grown in (2**32 - 5, 3, 4)
    ]
    assert values == [2**32 - 5, 2**32 - 2, 2]


def test_a_halfword_counter_wraps_at_65536():
    encoder = Encoder(layout("ioddev"), 1, "4.3.0", {}, ages=1.0)
    values = [
        struct.unpack_from(">H", encode(encoder, scmssch=grown)[0], 52)[0] for grown in (65_530, 10)
    ]
    assert values == [65_530, 4]


def test_a_countdown_falls_by_what_it_grew():
    encoder = Encoder(layout("sytprp"), 1, "4.3.0", {}, ages=2.0)
    values = [
        struct.unpack_from(">Q", encode(encoder, pfxprbtm=grown)[0], 24)[0] for grown in (100, 30)
    ]
    assert values == [COUNTDOWN_FROM - 200, COUNTDOWN_FROM - 230]


def test_a_wrapping_counter_passes_the_top_in_its_first_interval():
    encoder = Encoder(layout("sytrsp"), 2, "4.3.0", {}, ages=1.0, wrapping="plsmvb2g")
    first, second = (encode(encoder, plsmvb2g=np.array([100, 100])) for _ in range(2))
    at = slice(44, 48)
    assert first[0][at] > second[0][at]
    assert first[1][at] < second[1][at]


def test_each_row_has_an_age_of_its_own():
    encoder = Encoder(layout("sytrsp"), 2, "4.3.0", {}, ages=np.array([1.0, 3.0]))
    rows = encode(encoder, plsstlfr=np.array([10, 10]))
    assert [struct.unpack_from(">I", row, 24)[0] for row in rows] == [10, 30]


def test_the_header_carries_length_domain_record_and_time():
    (row,) = encode(Encoder(layout("sytrsp"), 1, "4.3.0", {}))
    assert len(row) == 48
    assert struct.unpack_from(">HHBBHQI", row) == (48, 0, 0, 0, 4, 1, 0)


def test_text_fields_are_blank_unless_set():
    (row,) = encode(Encoder(layout("mtrsys"), 1, "4.3.0", {"systmid": text_bytes("VM1", 8)}))
    assert row[88:96] == "VM1     ".encode("cp037")
    assert row[28:36] == b"\x40" * 8


def test_a_level_is_written_as_it_is():
    encoder = Encoder(layout("sytrsg"), 1, "4.3.0", {})
    at = layout("sytrsg").field("rsaavail").offset
    levels = [struct.unpack_from(">I", encode(encoder, rsaavail=n)[0], at)[0] for n in (7, 5)]
    assert levels == [7, 5]


def test_a_text_is_written_in_ebcdic():
    names = {"vmduser": np.array(["ALPHA", "BETA"])}
    rows = encode(Encoder(layout("useact"), 2, "5.2.0", names))
    assert [row[20:28].decode("cp037") for row in rows] == ["ALPHA   ", "BETA    "]


def test_a_field_that_is_not_there_is_refused():
    with pytest.raises(LayoutError, match="sytrsp has no field plsmvb3g"):
        encode(Encoder(layout("sytrsp"), 1, "4.3.0", {}), plsmvb3g=1)


def counts(records: np.ndarray, at: int = 44) -> list[int]:
    return [struct.unpack_from(">I", bytes(row), at)[0] for row in records]


def test_absent_rows_have_no_record_and_their_counters_stay():
    encoder = Encoder(layout("sytrsp"), 3, "4.3.0", {}, ages=1.0)
    every, two = np.arange(3, dtype=np.uint64), np.arange(2, dtype=np.uint64)
    flow = {"plsmvb2g": np.array([10, 20, 30])}
    assert counts(encoder.encode(every, flow)) == [10, 20, 30]
    without = encoder.encode(two, flow, np.array([True, False, True]))
    assert counts(without) == [20, 60]
    assert [struct.unpack_from(">Q", bytes(row), 8)[0] for row in without] == [0, 1]
    assert counts(encoder.encode(every, flow)) == [30, 40, 90]


def test_entries_of_absent_rows_stay():
    encoder = Encoder(layout("prcdia"), 2, "4.3.0", {}, ages=1.0)
    name = f"diagnose.{layout('prcdia').groups[0].entry.columns[0].name}"
    tods = np.ones(2, dtype=np.uint64)
    encoder.encode(tods, {name: np.full((2, 193), 5)})
    encoder.encode(tods[:1], {name: 1}, np.array([False, True]))
    assert counts(encoder.encode(tods, {name: 0}), 24 + 4 * 192) == [5, 6]


def test_a_restarted_row_begins_with_what_its_first_interval_brought():
    encoder = Encoder(layout("sytrsp"), 2, "4.3.0", {}, ages=100.0)
    tods, flow = np.ones(2, dtype=np.uint64), {"plsmvb2g": np.array([10, 20])}
    assert counts(encoder.encode(tods, flow)) == [1000, 2000]
    encoder.restart(np.array([False, True]))
    assert counts(encoder.encode(tods, flow)) == [1010, 20]
    encoder.restart(np.array([True, True]))
    assert counts(encoder.encode(tods, flow)) == [10, 20]


def test_a_row_that_is_restarted_before_the_first_sample_has_no_age():
    encoder = Encoder(layout("sytrsp"), 2, "4.3.0", {}, ages=100.0)
    encoder.restart(np.array([True, False]))
    tods, flow = np.ones(2, dtype=np.uint64), {"plsmvb2g": np.array([10, 20])}
    assert counts(encoder.encode(tods, flow)) == [10, 2000]


def test_a_timer_that_is_restarted_falls_from_the_top():
    encoder = Encoder(layout("sytprp"), 1, "4.3.0", {}, ages=100.0)
    encode(encoder, pfxprbtm=5)
    encoder.restart(np.array([True]))
    (row,) = encode(encoder, pfxprbtm=7)
    assert struct.unpack_from(">Q", row, 24)[0] == COUNTDOWN_FROM - 7


def test_a_record_has_its_published_length_and_zeros_behind_what_is_known():
    (row,) = encode(Encoder(layout("useact"), 1, "5.2.0", {}))
    assert (len(row), struct.unpack_from(">H", row)[0]) == (364, 364)
    assert not any(row[196:])
