"""Damage in front of a good dump costs nothing of that dump: a transfer that stopped, and went on.

What must be there is known from `tools.fuzz_seeds`, whose reader shares no code with cpmon.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from cpmon.ingest.container.source import Container
from tests.dumps import FRAME, dump, fields, frame, frame_end, interval_end, samples
from tests.ingest.reading import read, record_offsets
from tests.scenarios import CONFIG
from tools.fuzz_seeds import Seed, seeds

STEP = 512
"""Bytes from one cut to the next."""
PAIRS = [
    pytest.param(cut, whole, id=f"{cut.name}-{whole.name}")
    for cut, whole in product(seeds(), seeds())
    if cut.captured == whole.captured
]


def lost(front: bytes, whole: Seed, container: Container) -> list[int]:
    """Offsets in a good dump of its records that are not found with something in front of it."""
    expected = np.array([start for unit in whole.units for start in unit.records])
    offsets = record_offsets(front + whole.data, container)
    missing: list[int] = expected[~np.isin(expected + len(front), offsets)].tolist()
    return missing


def container_of(seed: Seed) -> Container:
    return Container.MONREADER if seed.captured else Container.MONWRITE


def fronts(cut: Seed, every: int) -> Iterator[bytes]:
    """A dump that ends early; also with other bytes behind it."""
    noise = np.random.default_rng(5).integers(0, 256, 700, np.uint8).tobytes()
    for number, end in enumerate(range(STEP, len(cut.data), STEP)):
        if number % every == 0:
            yield cut.data[:end]
            yield cut.data[:end] + noise[: 100 + number]


@pytest.mark.parametrize(("cut", "whole"), PAIRS)
def test_a_whole_dump_behind_a_cut_one_is_read_in_full(cut: Seed, whole: Seed):
    for front in fronts(cut, every=11):
        assert lost(front, whole, container_of(whole)) == [], len(front)


@pytest.mark.long
@pytest.mark.parametrize(("cut", "whole"), PAIRS)
def test_a_whole_dump_behind_every_cut_is_read_in_full(cut: Seed, whole: Seed):
    for front in fronts(cut, every=1):
        assert lost(front, whole, container_of(whole)) == [], len(front)


@pytest.mark.parametrize("cuts", [(700, 100), (FRAME + 300, 40, FRAME - 9), (9000, 9000, 5)])
def test_several_cuts_in_a_row_cost_nothing_of_the_last_dump(cuts: tuple[int, ...]):
    for seed in seeds():
        front = b"".join(seed.data[:cut] for cut in cuts)
        assert lost(front, seed, container_of(seed)) == [], seed.name


def test_what_a_cut_costs_is_reported_at_the_control_record_behind_it():
    """The first dump announces three frames, and is cut 1,000 bytes into its second one."""
    row = fields("sytrsp", 60, pfxcpuad=1, plsmvb2g=700)
    first = samples(frame(CONFIG, row, frame_end(60)), frame(row, frame_end(60)), frame(row))
    whole = dump(samples(frame(CONFIG, row, frame_end(60)), frame(row, interval_end(60))))

    reading = read(first[: 2 * FRAME + 1000] + whole)

    (cut,) = (row for row in reading.findings if row["code"] == "CONTROL_CUT")
    assert cut["record_offset"] == 2 * FRAME + 1000
    assert cut["detail"].startswith(f"{2 * FRAME - 1000} more bytes expected")
    assert len(reading.tables["sytrsp"]) == 4
    assert reading.bytes["quarantined"] == 0
