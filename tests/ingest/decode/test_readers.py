"""Every scenario through every reader: plain, gzip, zstd, a pipe, and the inventory."""

from __future__ import annotations

import functools
import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cpmon.ingest import Landed, ingest
from cpmon.ingest.container.source import Source
from cpmon.ingest.inspect.inventory import take_inventory
from cpmon.store import Store
from tests.scenarios import SCENARIOS, Scenario


def zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


WRITERS = {"plain": bytes, "gzip": gzip.compress, "zstd": zstd, "pipe": bytes}


Land = Callable[[Scenario], tuple[Landed, Path]]
"""Lands a scenario through one reader; what that said, and the dump's folder."""
Trial = tuple[Land, list[Scenario]]
"""A reader, and the scenarios that go through it: all of a plain file, and some of each other one.

What is behind a file, a pipe and a decompressor is the same.
"""


@pytest.fixture(scope="module")
def once(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[Scenario, str], tuple[Landed, Path]]:
    """Lands each scenario once through each reader, into a store of its own."""

    @functools.cache
    def land(name: str, writer: str) -> tuple[Landed, Path]:
        (scenario,) = (s for s in SCENARIOS if s.name == name)
        folder = tmp_path_factory.mktemp("landed")
        store, file = Store(folder / "store", create=True), folder / "dump.mon"
        stored = WRITERS[writer](scenario.data)
        file.write_bytes(stored)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stored)))
            result = ingest("-" if writer == "pipe" else file, store)
        found = store.find(result.dump)
        assert found is not None
        return result, found

    return lambda scenario, writer: land(scenario.name, writer)


@pytest.fixture(params=WRITERS)
def trial(
    request: pytest.FixtureRequest, once: Callable[[Scenario, str], tuple[Landed, Path]]
) -> Trial:
    each = 1 if request.param == "plain" else 5
    return lambda scenario: once(scenario, request.param), SCENARIOS[::each]


def test_a_dump_lands_as_expected(trial: Trial, subtests: pytest.Subtests):
    landed, scenarios = trial
    for scenario in scenarios:
        with subtests.test(scenario=scenario.name):
            check_landed(scenario, landed)


def check_landed(scenario: Scenario, landed: Land) -> None:
    result, folder = landed(scenario)

    for name, columns in scenario.tables.items():
        table = pq.ParquetFile(folder / f"{name}.parquet").read()
        assert {c: table[c].to_pylist() for c in columns} == columns
    assert set(result.findings.counts) == scenario.findings


def test_every_byte_is_accounted_for(trial: Trial, subtests: pytest.Subtests):
    landed, scenarios = trial
    for scenario in scenarios:
        with subtests.test(scenario=scenario.name):
            check_bytes(scenario, landed)


def check_bytes(scenario: Scenario, landed: Land) -> None:
    parts = dict(landed(scenario)[0].about["bytes"])

    assert parts.pop("size") == len(scenario.data)
    assert sum(parts.values()) == len(scenario.data)
    lost = {f.name for f in scenario.findings if f.severity == "data_loss"}
    assert bool(parts["quarantined"]) == bool(lost) or "TRUNCATED" in {
        f.name for f in scenario.findings
    }


def test_what_is_quarantined_is_kept_byte_by_byte(trial: Trial, subtests: pytest.Subtests):
    landed, scenarios = trial
    for scenario in scenarios:
        with subtests.test(scenario=scenario.name):
            check_quarantine(scenario, landed)


def check_quarantine(scenario: Scenario, landed: Land) -> None:
    result, folder = landed(scenario)
    if result.about["bytes"]["quarantined"] == 0:
        assert not (folder / "quarantine.parquet").exists()
        return
    kept = pq.ParquetFile(folder / "quarantine.parquet").read()
    for at, data in zip(kept["record_offset"].to_pylist(), kept["data"].to_pylist(), strict=True):
        assert scenario.data[at : at + len(data)] == data
    assert sum(len(d) for d in kept["data"].to_pylist()) == result.about["bytes"]["quarantined"]


def test_the_inventory_counts_what_lands(trial: Trial, subtests: pytest.Subtests):
    landed, scenarios = trial
    for scenario in scenarios:
        with subtests.test(scenario=scenario.name):
            check_inventory(scenario, landed)


def check_inventory(scenario: Scenario, landed: Land) -> None:
    about = landed(scenario)[0].about
    found = take_inventory(Source(io.BytesIO(scenario.data), scenario.name))

    rows = {
        n: r for n, r in about["rows"].items() if n not in ("interval", "finding", "quarantine")
    }
    whole = {n: r for n, r in rows.items() if "_" not in n or n == "record_raw"}
    assert sum(count for count, _ in found.records.values()) == sum(whole.values())
    assert len(found.ends_us) == about["intervals"]
    assert found.size == about["bytes"]["size"]
