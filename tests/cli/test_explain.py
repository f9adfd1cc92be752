"""`cpmon explain`: options and formats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from tests.cli.answer import Cpmon


@pytest.mark.slow
def test_an_interval_is_explained(cpmon: Cpmon, perf: Path, tmp_path: Path):
    words = ("explain", "--at", "2001-11-13T14:02:30", "--store", perf)
    document = json.loads(cpmon(*words, "--format", "json").text)
    assert (document["system"], document["until"]) == ("TIMER", "2001-11-13T14:03:00.234263Z")
    assert "available-list-empty" in [line["name"] for line in document["lines"]]
    page = tmp_path / "page.html"
    assert cpmon(*words, "--format", "html", "-o", page).status is Status.DONE
    assert "CP found no free frame" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--at", "14:00", "--since", "2001-11-13T13:00"], "--at names one interval"),
        (["--base", "2600NP", "--against", "days"], "leave out --against"),
    ],
)
def test_options_exclude_each_other(cpmon: Cpmon, perf: Path, words: list[str], said: str):
    answer = cpmon("explain", *words, "--store", perf)
    assert answer.status is Status.USAGE
    assert said in answer.err
