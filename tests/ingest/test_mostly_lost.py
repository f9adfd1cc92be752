"""A dump of which most is lost does not land, unless it is asked for; one with less does."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.core.errors import DumpError
from cpmon.ingest import Code, ingest
from cpmon.store import Store
from tests.dumps import FRAME, dump, frame, frame_end, interval, samples
from tests.ingest.reading import Container, check, inventory
from tests.scenarios import CONFIG, SAMPLE, capture

GOOD = dump(interval(60, CONFIG, SAMPLE), *(interval(60 * n, SAMPLE) for n in range(2, 12)))
NOISE = b"\x91" * FRAME
FRAMES = len(GOOD) // FRAME


@pytest.mark.parametrize(("noise", "lands"), [(2, True), (FRAMES - 1, True), (FRAMES + 1, False)])
def test_more_than_half_is_too_much(noise: int, lands: bool, tmp_path: Path, store: Store):
    data = GOOD + NOISE * noise
    file = tmp_path / "a.mon"
    file.write_bytes(data)
    if not lands:
        with pytest.raises(DumpError) as caught:
            ingest(file, store)
        assert caught.value.place == f"first at offset {len(GOOD):#x}"
        assert [*store.dumps()] == [] and not any(store.root.glob("staging/*"))
    landed = ingest(file, store, accept_damage=not lands)
    assert landed.about["rows"]["sytrsp"] == 11
    assert (Code.MOSTLY_LOST in landed.findings.counts) is not lands
    checked = check(data, Container.AUTO)
    assert ("MOSTLY_LOST" in {row["code"] for row in checked["findings"]}) is not lands
    assert inventory(data, Container.AUTO).records[0, 4][0] == 11


def test_a_few_frames_are_too_few_to_judge(tmp_path: Path, store: Store):
    file = tmp_path / "a.mon"
    file.write_bytes(dump(interval(60, CONFIG, SAMPLE)) + NOISE * 10)
    assert ingest(file, store).about["rows"]["sytrsp"] == 1


def test_a_capture_that_is_cut_in_its_first_set_is_refused_with_the_place(
    tmp_path: Path, store: Store
):
    """Its bytes are kept in quarantine as TRUNCATED, a warning."""
    file = tmp_path / "a.mon"
    file.write_bytes(capture(samples(*[frame(SAMPLE, frame_end())] * 60))[: 40 * FRAME])
    with pytest.raises(DumpError) as caught:
        ingest(file, store)
    assert caught.value.problem == "most of a.mon is lost"
    assert caught.value.place == f"first at offset {40 * FRAME:#x}"
    assert "TRUNCATED" in (caught.value.found or "")
    landed = ingest(file, store, accept_damage=True)
    assert landed.about["bytes"]["quarantined"] == 40 * FRAME
