"""What lands does not depend on where windows end; memory stays bounded without interval ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from cpmon.generate import load_scenario, write_run
from cpmon.ingest import Code, ingest
from cpmon.ingest.container import windows
from cpmon.store import Store
from tests.dumps import FRAME, dump, fields, frame, frame_end, interval, samples
from tests.scenarios import CONFIG


def land(file: Path, root: Path) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Any]]:
    store = Store(root, create=True)
    landed = ingest(file, store)
    folder = store.find(landed.dump)
    assert folder is not None
    tables = {f.stem: pq.ParquetFile(f).read().to_pylist() for f in folder.glob("*.parquet")}
    return tables, landed.about["bytes"]


def test_a_generated_dump_lands_the_same_in_small_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    written = write_run(load_scenario("timer"), "2600P", tmp_path, intervals=2)
    whole = land(written.dump, tmp_path / "whole")
    monkeypatch.setattr(windows, "CHUNK", 17 * FRAME)

    assert land(written.dump, tmp_path / "parts") == whole


def test_samples_without_an_end_are_landed_when_a_window_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(windows, "CHUNK", 2 * FRAME)
    monkeypatch.setattr(windows, "LIMIT", 8 * FRAME)
    sample = fields("sytrsp", 60, pfxcpuad=1)
    endless = samples(*[frame(sample, frame_end()) for _ in range(40)])
    file = tmp_path / "a.mon"
    file.write_bytes(dump(interval(0, CONFIG), endless, interval(60, sample)))
    store = Store(tmp_path / "store", create=True)

    landed = ingest(file, store)

    assert landed.about["rows"]["sytrsp"] == 41
    assert landed.findings.counts[Code.INTERVAL_OPEN] > 0
    assert sum(landed.about["bytes"].values()) == 2 * file.stat().st_size
