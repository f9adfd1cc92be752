"""What really happened in a run: sums over objects agree, and parts of intervals are parts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from cpmon.generate import parse_scenario, write_run
from tests.generate.eventful import SYSTEM

Truth = dict[str, pl.DataFrame]
LATE_S = 0.002
"""A sample is at most so early or late."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("truth")
    write_run(parse_scenario(SYSTEM, "eventful.toml"), "A", folder, truth=True)
    return folder


@pytest.fixture(scope="module")
def truth(folder: Path) -> Truth:
    return {file.stem: pl.read_parquet(file) for file in (folder / "A.truth").iterdir()}


def sums(truth: Truth, kind: str, column: str) -> list[float]:
    """Sum over all objects, by interval."""
    rows = truth[kind].group_by("interval_end").agg(pl.col(column).sum()).sort("interval_end")
    return rows.get_column(column).to_list()


def test_users_use_what_processors_do_for_them(truth: Truth):
    done = truth["system"].select(pl.col("emulation_s") + pl.col("charged_s")).to_series()
    assert sums(truth, "users", "cpu_s") == pytest.approx(done.to_list())
    assert sums(truth, "virtual_processors", "cpu_s") == pytest.approx(done.to_list())
    assert sums(truth, "users", "virtual_s") == pytest.approx(
        truth["system"].get_column("emulation_s").to_list()
    )


def test_no_virtual_processor_runs_for_longer_than_it_exists(truth: Truth):
    rows = truth["virtual_processors"]
    assert (rows.get_column("cpu_s") <= rows.get_column("exists_s") + 1e-6).all()


def test_who_is_logged_off_three_seconds_into_an_interval_has_the_work_of_these(truth: Truth):
    rows = truth["users"].filter(userid="LINUX003").sort("interval_end")
    exists, used = rows.get_column("exists_s").to_list(), rows.get_column("cpu_s").to_list()
    assert exists[:3] == pytest.approx([30, 30, 3.25], abs=LATE_S)
    assert used[2] < min(used[:2]) / 4
    assert exists[3:5] == [0, 0] and used[3:5] == [0, 0]
    assert exists[5] == pytest.approx(26.75, abs=LATE_S)
    whole = rows.filter(at_begin=True, at_end=True, ended=0)
    assert (whole.get_column("exists_s") - whole.get_column("seconds")).abs().max() < 1e-5


def test_a_device_that_is_offline_starts_nothing(truth: Truth):
    rows = truth["devices"].filter(device=0xB04).sort("interval_end")
    assert rows.get_column("starts").to_list()[4] == 0
    assert rows.get_column("exists_s").to_list()[3] == pytest.approx(3.25, abs=LATE_S)


def test_a_sample_that_is_not_written_is_told(truth: Truth):
    written = truth["system"].sort("interval_end").get_column("in_dump").to_list()
    assert [number for number, each in enumerate(written) if not each] == [9, 10]


def test_a_run_without_truth_writes_none(tmp_path: Path):
    write_run(parse_scenario(SYSTEM, "eventful.toml"), "A", tmp_path, intervals=1)
    assert not (tmp_path / "A.truth").exists()
