"""Every report as a reader sees it, of the tutorial's hour; `make goldens` writes them anew."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from cpmon.ingest import ingest
from cpmon.reduce import find_report, reductions, render_report, report, report_names
from cpmon.reduce.metrics.report_shape import Lines
from cpmon.store import Store, connect
from tests.conftest import Golden

SAMPLES = Path(__file__).parents[2] / "sample-data" / "small-lab"
TOP = 12
"""Objects in the texts of reports that have many."""


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    store = Store(tmp_path_factory.mktemp("lab"), create=True)
    ingest(SAMPLES / "LAB.mon.zst", store)
    return connect(store, reductions())


@pytest.mark.golden
@pytest.mark.parametrize("name", report_names())
def test_a_report_reads_as_it_did(con: duckdb.DuckDBPyConnection, name: str, golden: Golden):
    top = None if find_report(name).lines is Lines.TIME else TOP
    text = render_report(report(con, name, run="LAB", top=top)).decode()
    golden.check(f"reports/{name}.txt", text)


def test_no_golden_is_of_a_report_that_is_gone():
    kept = {file.stem for file in (Golden.FOLDER / "reports").iterdir()}
    assert kept == set(report_names())
