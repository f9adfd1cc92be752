"""Runs that cannot be compared so: what the message says helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.reduce.compare.run_facts import base_and_runs
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from tests.remedies.trying import Attempt, tries

pytestmark = pytest.mark.slow

TABLE = """
name = "mine"
title = "Before and after"
runs = ["before", "after"]
{key} = "before"
[[groups]]
rows = [{{ label = "Total", source = "v", measure = "total_util" }}]
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        pytest.param("--run after", "--run after --base before", marks=tries("base-run-ambiguous")),
        pytest.param(
            "--run before --base before",
            "--run after --base before",
            marks=tries("run-compared-with-itself"),
        ),
        pytest.param(
            "--run after --run after --base before",
            "--run after --base before",
            marks=tries("run-compared-with-itself"),
        ),
        pytest.param(
            "--run aftr --base before",
            "--run after --base before",
            marks=tries("name-unknown", "did you mean"),
        ),
        pytest.param(
            "--run after --base before --since 2001-01-01 --until 2001-01-02",
            "--run after --base before",
            marks=tries("run-outside-span"),
        ),
    ],
)
def test_runs_that_are_named_as_the_message_says_are_compared(
    wrong: str, right: str, tried: Attempt, runs: Path
):
    tried.fails("compare", *wrong.split(), "--store", runs)
    assert tried.works("compare", *right.split(), "--store", runs).out


@tries("name-unknown", "did you mean")
def test_a_key_of_a_table_is_spelt_as_suggested(tried: Attempt, runs: Path, tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text(TABLE.format(key="bass"), encoding="utf-8")
    assert "did you mean base?" in tried.fails("compare", file, "--store", runs)
    file.write_text(TABLE.format(key="base"), encoding="utf-8")
    tried.works("compare", file, "--store", runs)


@tries("comparison-runs-missing")
@pytest.mark.parametrize("beside", [True, False])
def test_the_runs_of_a_table_are_ingested(beside: bool, tried: Attempt, mon: Path, tmp_path: Path):
    """With a run file beside the dump, or with --run-id; runs that are not there stay empty."""
    words, file = ("--store", tmp_path / "store"), tmp_path / "mine.toml"
    file.write_text(TABLE.format(key="base"), encoding="utf-8")
    tried.works("ingest", mon, *words)
    tried.fails("compare", file, *words)
    if beside:
        mon.with_name("first.run.toml").write_text('run_id = "before"\n', encoding="utf-8")
        tried.works("ingest", mon, *words)
    else:
        tried.works("ingest", mon, *words, "--run-id", "before")
    tried.works("compare", file, *words)


@tries("run-required")
def test_a_run_is_named_to_compare(tried: Attempt, runs: Path):
    """No command leads there: without --run it asks for a table."""
    with connect(Store(runs), reductions()) as con:
        tried.raises(lambda: base_and_runs(con, [], "before"))
        assert tried.returns(lambda: base_and_runs(con, ["after"], "before")) == ("before", "after")
