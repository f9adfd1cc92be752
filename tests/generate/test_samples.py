"""The shipped sample dumps are what their recipes make."""

from __future__ import annotations

import pytest

from tools.make_samples import SAMPLES, differences, samples


@pytest.mark.slow
def test_every_sample_is_rebuilt_byte_for_byte():
    assert differences() == []


def test_samples_are_small_and_say_what_they_are_for():
    assert sum(sample.bytes for sample in samples()) < 10_000_000
    assert all(sample.purpose for sample in samples())


def test_no_dump_is_shipped_without_a_recipe():
    suffixes = {"zstd": "zst", "gzip": "gz"}
    wanted = {f"{s.folder}/{s.run}.mon.{suffixes[s.compression]}" for s in samples()}
    shipped = {p.relative_to(SAMPLES).as_posix() for p in SAMPLES.rglob("*.mon*")}
    assert shipped == wanted
