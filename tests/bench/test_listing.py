"""The measurement of looking inside a dump: it measures what it says, and notices what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import listing
from bench.dumps import Dumps
from bench.machine import MEGA


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Dumps(tmp_path_factory.mktemp("bench")).of_size(MEGA)


@pytest.mark.slow
def test_a_list_is_measured_against_an_ingest(dump: Path):
    (section,) = listing.measure(dump, 1)
    figures = {row.name: row.figures["of ingest"] for row in section.rows}
    assert set(figures) == {listing.LIST, listing.SHOW, listing.CHECK, listing.INGEST}
    assert figures[listing.INGEST] == 1
    (bar,) = section.bars
    assert (bar.value, bar.limit, bar.at_least) == (figures[listing.LIST], 0.25, False)
    assert list(dump.parent.glob("*/records")) == []


def test_a_dump_with_findings_is_not_measured(dump: Path, tmp_path: Path):
    cut = tmp_path / "cut.mon"
    cut.write_bytes(dump.read_bytes()[:-6000])
    with pytest.raises(AssertionError, match="cpmon list ended with"):
        listing.check_list(cut)
