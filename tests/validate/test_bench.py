"""The measurements of validation and checks on a small store: they measure what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import checking, validating


@pytest.mark.slow
def test_validating_is_measured_and_leaves_nothing(tmp_path: Path):
    (section,) = validating.measure(tmp_path, 70_000, 1)
    figures = {row.name: row.figures["s"] for row in section.rows}
    assert section.bars[0].value == figures["validate"] > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_checking_is_measured_and_leaves_nothing(tmp_path: Path):
    (section,) = checking.measure(tmp_path, 3, 1)
    figures = {row.name: row.figures["processor s"] for row in section.rows}
    assert section.bars[0].value == figures["check"] / figures["ingest"] > 0
    assert section.bars[1].value == figures["validate"] > 0
    assert list(tmp_path.iterdir()) == []
