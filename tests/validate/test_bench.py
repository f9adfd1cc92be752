"""The measurement of validation on a small store: that it measures what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import validating


@pytest.mark.slow
def test_validating_is_measured_and_leaves_nothing(tmp_path: Path):
    (section,) = validating.measure(tmp_path, 70_000, 1)
    figures = {row.name: row.figures["s"] for row in section.rows}
    assert section.bars[0].value == figures["validate"] > 0
    assert list(tmp_path.iterdir()) == []
