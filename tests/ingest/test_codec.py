from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpmon.ingest.codec import dictionary, ebcdic_text, moment, packed_text, tod_to_unix_us


def matrix(values: list[bytes], width: int) -> np.ndarray:
    return np.frombuffer(b"".join(values), np.uint8).reshape(-1, width)


def test_the_tod_epoch_of_unix_is_zero_and_bit_51_is_a_microsecond():
    clock = np.array([0x7D91048BCA000000, 0x7D91048BCA000000 + 4096, 0], np.uint64)

    assert tod_to_unix_us(clock).tolist() == [0, 1, -2208988800000000]


def test_a_signed_clock_is_refused():
    with pytest.raises(TypeError, match="uint64"):
        tod_to_unix_us(np.array([1], np.int64))  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [1, 3, 6, 8, 16])
@given(data=st.data())
def test_text_equals_python_s_own_ebcdic(width: int, data: st.DataObject):
    fields = st.lists(st.binary(min_size=width, max_size=width), min_size=1, max_size=30)
    values = data.draw(fields)
    expected = [v.decode("cp037").rstrip(" \0") for v in values]

    assert ebcdic_text(matrix(values, width)).to_pylist() == expected
    assert dictionary(matrix(values, width), ebcdic_text).to_pylist() == expected


def test_blanks_inside_and_in_front_of_a_name_stay():
    assert ebcdic_text(matrix(["  A B   ".encode("cp037")], 8)).to_pylist() == ["  A B"]


def test_packed_digits_are_two_a_byte():
    assert packed_text(matrix([b"\x20\x64", b"\x0c\x5a"], 2)).to_pylist() == ["2064", "0C5A"]


def test_the_clock_of_64_bits_goes_on_behind_september_2042():
    last, first, pivot = (1 << 64) - 4096, 4096, 0x7D91048BCA000000
    clock = np.array([last, first, pivot - 4096, pivot], np.uint64)
    wrap = 2294610827370496  # 2042-09-17 23:53:47.370496 UTC

    assert tod_to_unix_us(clock).tolist() == [wrap - 1, wrap + 1, wrap - 1 + 2208988800000000, 0]
    assert moment(wrap).isoformat() == "2042-09-17T23:53:47.370496+00:00"
