"""The calibration of run comparisons: the table in the documentation is one of this tool."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from tools.calibrate import HEAD, LENGTHS, LOADS, SimulatedRun, shares

PAGE = Path(__file__).resolve().parents[2] / "docs" / "comparisons.md"


def test_the_page_has_a_line_for_every_load_and_few_false_alarms() -> None:
    table = PAGE.read_text(encoding="utf-8").partition(HEAD)[2]
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \| ([\d.]+) % \|", table, re.MULTILINE)
    assert [(name, int(n)) for name, n, _ in rows] == [(n, k) for n in LOADS for k in LENGTHS]
    # 5 % and two standard errors of 1000 pairs.
    assert max(float(share) for *_, share in rows) <= 5 + 2 * 0.7


def test_an_equal_load_is_hardly_ever_called_a_change_and_a_fifth_more_is() -> None:
    found = shares(60, 25)
    assert max(shares[0] for shares in found.values()) <= 0.2
    assert found["steady"][1:] == [1.0, 1.0, 1.0]
    assert found["trend, 0.5 to 1.4"][3] == 1.0


def test_a_process_has_the_correlation_that_it_was_asked_for() -> None:
    process = SimulatedRun(1, 4000).process(0.8) - 1
    assert 0.77 < np.corrcoef(process[1:], process[:-1])[0, 1] < 0.83
    assert 0.045 < process.std() < 0.055
