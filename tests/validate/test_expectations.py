"""`cpmon validate --expectations`: kept results held against what their metrics may be."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cpmon.ingest import ingest
from cpmon.reduce.metrics.report_set import metrics
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store
from tests.cli.answer import Cpmon
from tests.cli.conftest import cpmon  # noqa: F401 - the fixture that runs a command line
from tests.validate.conftest import SAMPLES

PROCESSORS = "processors_by_time"


@pytest.fixture(scope="module")
def reduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run, reduced; for reading only. It is reduced by the command, as users do."""
    from cpmon.cli.main import run

    root = tmp_path_factory.mktemp("expectations") / "store"
    ingest(SAMPLES / "timer" / "2600NP.mon.zst", Store(root, create=True))
    assert run(["reduce", "--store", str(root)]) == 0
    return root


@pytest.fixture
def store(reduced: Path, tmp_path: Path) -> Path:
    """A copy of it to write into."""
    return shutil.copytree(reduced, tmp_path / "store")


def rewrite(store: Path, column: str, whole: str, factor: float | None) -> None:
    """Replace a column of the kept rows of processors by another times a factor, or by NULL."""
    (file,) = (store / "reduced" / PROCESSORS / "level=interval").glob("*/*.parquet")
    table = pq.ParquetFile(file).read()
    at = table.schema.get_field_index(column)
    values = [
        None if factor is None or value is None else int(value * factor)
        for value in table[whole].to_pylist()
    ]
    changed = pa.array(values, table.schema.field(at).type)
    pq.write_table(table.set_column(at, table.schema.field(at), changed), file)


def unmet(answer_text: str) -> list[tuple[str, str, str]]:
    """Reduction, column and expectation of all that was not met, of a JSON document."""
    return [
        (
            reduction,
            next(kwargs[key] for key in ("column", "column_B") if key in kwargs),
            found["expectation_config"]["type"],
        )
        for reduction, result in json.loads(answer_text)["reductions"].items()
        for found in result["results"]
        for kwargs in [found["expectation_config"]["kwargs"]]
        if not found["success"]
    ]


@pytest.mark.slow
def test_what_reduce_wrote_meets_every_expectation(cpmon: Cpmon, reduced: Path):  # noqa: F811
    answer = cpmon("validate", "--store", reduced, "--expectations", "--run", "2600NP")
    head, span = answer.text.splitlines()
    assert answer.status == 0 and answer.err == ""
    assert head.startswith("Expectations: 0 not met, ")
    assert span.startswith("System TIMER, run 2600NP, ")


@pytest.mark.slow
def test_wrong_figures_in_a_kept_file_are_named(cpmon: Cpmon, store: Path):  # noqa: F811
    rewrite(store, "wait_tod", "wait_tod", 1e6)
    rewrite(store, "cpu", "cpu", None)
    rewrite(store, "emulation_tod", "busy_tod", 1.05)  # computed from sums: just more than running
    rewrite(store, "busy_tod", "busy_tod", -3)
    answer = cpmon("validate", "--store", store, "--expectations", "--format", "json")
    assert answer.status == 4
    expected = {
        ("wait_util", "expect_column_values_to_be_between"),
        ("cpu", "expect_column_values_to_not_be_null"),
        ("emul_util", "expect_column_pair_values_a_to_be_greater_than_b"),
        ("total_util", "expect_column_values_to_be_between"),
    }
    named = unmet(answer.text)
    assert {reduction for reduction, _, _ in named} == {PROCESSORS}
    assert {(metric, expectation) for _, metric, expectation in named} >= expected


@pytest.mark.slow
def test_text_names_what_was_not_met_and_data_docs_have_a_page_for_each_result(
    cpmon: Cpmon,  # noqa: F811
    store: Path,
    tmp_path: Path,
):
    rewrite(store, "busy_tod", "busy_tod", -3)
    docs = tmp_path / "docs"
    answer = cpmon("validate", "--store", store, "--expectations", "--data-docs", docs)
    assert answer.status == 4
    rows = [line.split()[:3] for line in answer.text.splitlines()]
    assert [PROCESSORS, "total_util", "expect_column_values_to_be_between"] in rows
    assert (docs / "index.html").is_file()
    assert any(PROCESSORS in str(page) for page in docs.rglob("*.html"))


def test_without_kept_results_the_remedy_is_named(cpmon: Cpmon, lab: Store):  # noqa: F811
    answer = cpmon("validate", "--store", lab.root, "--expectations")
    assert answer.status == 2 and "cpmon reduce" in answer.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--expectations", "--rule", "device-busy"), "--expectations looks at kept results"),
        (("--data-docs", "docs"), "name both"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    cpmon: Cpmon,  # noqa: F811
    lab: Store,
    options: tuple[str, ...],
    message: str,
):
    answer = cpmon("validate", "--store", lab.root, *options)
    assert answer.status == 2 and message in answer.err


def test_every_metric_that_is_a_number_states_its_least_value_and_its_type():
    unstated = [
        metric.name
        for metric in metrics()
        if metric.is_number and metric.possible[0] is None and not metric.low
    ]
    assert unstated == []


def test_the_time_of_a_row_is_always_known():
    times = [c for r in reductions() for c in r.columns if c.name == "interval_end"]
    assert times and all(column.is_complete for column in times)
