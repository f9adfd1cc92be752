"""Every report as a reader sees it, of the tutorial's hour; `make goldens` writes them anew."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from cpmon.generate import dump_frames, load_scenario
from cpmon.ingest import ingest
from cpmon.reduce.metrics.report_set import Lines
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.reduce.reports.report_names import find_report, report_names
from cpmon.reduce.reports.report_text import render_report
from cpmon.store import Store, connect
from tests.conftest import Golden
from tests.virtual_devices import virtual_devices

SAMPLES = Path(__file__).parents[2] / "sample-data" / "small-lab"
TOP = 12
"""Objects in the texts of reports that have many."""
DAEMONS = ("LINUX_FILE_SYSTEMS", "LINUX_PROCESSES", "LINUX_TASKS")
"""Reports of what the guests of small-lab do not write; those of linux-guests do."""
DEVICES = ("VIRTUAL_ADAPTERS", "VIRTUAL_DISKS", "VIRTUAL_SWITCHES")
"""Reports of virtual devices, which no scenario has."""


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    store = Store(tmp_path_factory.mktemp("lab"), create=True)
    ingest(SAMPLES / "LAB.mon.zst", store)
    return connect(store, reductions())


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("guests")
    dump = folder / "LNXLAB.mon"
    dump.write_bytes(b"".join(dump_frames(load_scenario("linux-guests"), "LNXLAB", intervals=5)))
    store = Store(folder / "store", create=True)
    ingest(dump, store)
    return connect(store, reductions())


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("devices")
    (folder / "VMNET.mon").write_bytes(virtual_devices())
    store = Store(folder / "store", create=True)
    ingest(folder / "VMNET.mon", store)
    return connect(store, reductions())


@pytest.mark.golden
@pytest.mark.parametrize(
    "name", [name for name in report_names() if name not in (*DAEMONS, *DEVICES)]
)
def test_a_report_reads_as_it_did(con: duckdb.DuckDBPyConnection, name: str, golden: Golden):
    top = None if find_report(name).lines is Lines.TIME else TOP
    text = render_report(report(con, name, run="LAB", top=top)).decode()
    golden.check(f"reports/{name}.txt", text)


@pytest.mark.golden
@pytest.mark.parametrize("name", DAEMONS)
def test_a_report_of_daemons_reads_as_it_did(
    guests: duckdb.DuckDBPyConnection, name: str, golden: Golden
):
    golden.check(f"reports/{name}.txt", render_report(report(guests, name)).decode())


@pytest.mark.golden
@pytest.mark.parametrize("name", DEVICES)
def test_a_report_of_virtual_devices_reads_as_it_did(
    devices: duckdb.DuckDBPyConnection, name: str, golden: Golden
):
    golden.check(f"reports/{name}.txt", render_report(report(devices, name)).decode())


def test_no_golden_is_of_a_report_that_is_gone():
    kept = {file.stem for file in (Golden.FOLDER / "reports").iterdir()}
    assert kept == set(report_names())
