"""Kept results of reductions as expectation suites of Great Expectations, one for each reduction.

The expectations follow from the metrics and the columns of a reduction: the possible range and type
of each metric, and columns that are documented as never NULL. Views give NULL for values outside
their range, so a kept file with such a value was not written by cpmon.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ...core.errors import CpmonError
from ...core.sql import name, text
from ...store import Store
from ...store.connection import table_of
from ...store.results.reduced import kept
from ...store.sql.scope import Scope
from ..metrics.metric import TIME
from ..metrics.report_set import metrics_of
from ..reductions.reduction import Reduction
from ..reductions.reductions import reductions
from .coverage import Coverage, coverage

VERSION = 1
"""Of the result document."""
SITE = "cpmon"
NUMBERS = ["float64", "int64"]
"""Types of DuckDB's numbers in pandas; integers with NULL values become float64."""
MOST = "most_of_"
"""Name prefix of the columns with the greatest possible value of a metric."""
SCHEMA = pa.schema(
    [
        ("reduction", pa.string()),
        ("column", pa.string()),
        ("expectation", pa.string()),
        ("success", pa.bool_()),
        ("rows", pa.int64()),
        ("unexpected", pa.int64()),
        ("examples", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Expectations:
    """The results of the suites over the kept results in a scope.

    Attributes:
        results: reduction -> the result of its suite as Great Expectations writes it to JSON.
    """

    coverage: Coverage
    results: dict[str, dict[str, Any]]

    @property
    def holds(self) -> bool:
        """Whether every expectation was met."""
        return all(result["success"] for result in self.results.values())

    @property
    def table(self) -> pa.Table:
        """The expectations as `SCHEMA`, those that were not met first."""
        rows = [
            _row(reduction, outcome)
            for reduction, result in self.results.items()
            for outcome in result["results"]
        ]
        return pa.Table.from_pylist(sorted(rows, key=lambda row: row["success"]), schema=SCHEMA)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {"schema_version": VERSION, "success": self.holds, "reductions": self.results}


def judge(
    con: duckdb.DuckDBPyConnection,
    store: Store,
    scope: Scope,
    run: str | None = None,
    data_docs: Path | None = None,
) -> Expectations:
    """Check the kept results in a scope, and write Data Docs to a folder if one is given.

    Raises:
        CpmonError: nothing is kept, no interval is in the scope, or an expectation cannot be
            computed.
    """
    covered, names = coverage(con, scope, run), kept(store, reductions())
    chosen = [each for each in reductions() if each.name in names and metrics_of(each.name)]
    if not chosen:
        raise CpmonError(
            "no result of a reduction is kept",
            code="kept-results-missing",
            effect="there is nothing to check",
            remedy="compute them first: cpmon reduce",
        )
    frames = ((each, _frame(con, each, scope, run)) for each in chosen)
    with _offline():
        return Expectations(covered, _validated(frames, data_docs))


def _frame(
    con: duckdb.DuckDBPyConnection, reduction: Reduction, scope: Scope, run: str | None
) -> pa.Table:
    """The rows of a reduction, with the greatest possible value of each metric that is a part."""
    columns = {column.name for column in reduction.columns}
    wholes = [m for m in metrics_of(reduction.name).values() if m.whole in columns]
    most = [f"1.005 * {name(m.whole)} + 0.001 AS {name(MOST + m.name)}" for m in wholes]
    condition = Scope(scope.system).condition() if "system" in columns else "true"
    if TIME in columns:
        condition = scope.condition()
    elif run is not None and "run_id" in columns:
        condition = f"run_id = {text(run)}"
    sql = f"SELECT {', '.join(['*', *most])} FROM {name(reduction.name)} WHERE {condition}"
    return table_of(con, sql)


def _validated(
    frames: Iterator[tuple[Reduction, pa.Table]], data_docs: Path | None
) -> dict[str, dict[str, Any]]:
    """The results of the suites over the frames that have rows."""
    import great_expectations as gx

    context: Any = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    for site in [*context.get_site_names()]:
        context.delete_data_docs_site(site)
    source = context.data_sources.add_pandas(SITE)
    results = {}
    for reduction, frame in frames:
        if not frame.num_rows:
            continue
        suite = context.suites.add(
            gx.ExpectationSuite(reduction.name, expectations=[*_expected(reduction, frame)])
        )
        asset = source.add_dataframe_asset(reduction.name)
        batch = asset.add_batch_definition_whole_dataframe("kept")
        definition = context.validation_definitions.add(
            gx.ValidationDefinition(name=reduction.name, data=batch, suite=suite)
        )
        given = {"dataframe": frame.to_pandas()}
        result = definition.run(batch_parameters=given, result_format="BASIC")
        for outcome in result.results:
            # Great Expectations reports what it could not compute as not met.
            if outcome.exception_info.get("raised_exception"):
                raise CpmonError(
                    f"an expectation of {reduction.name} cannot be computed",
                    found=str(outcome.exception_info.get("exception_message")),
                    effect="no kept result was checked",
                )
        results[reduction.name] = result.to_json_dict()
    if data_docs is not None:
        _write_docs(context, data_docs)
    return results


def _expected(reduction: Reduction, frame: pa.Table) -> Iterator[Any]:
    gxe: Any = importlib.import_module("great_expectations.expectations")
    yield gxe.ExpectTableColumnsToMatchSet(
        column_set=[column.name for column in reduction.columns], exact_match=False
    )
    present = set(frame.column_names)
    for each in reduction.columns:
        if each.name in present and each.is_complete:
            yield gxe.ExpectColumnValuesToNotBeNull(column=each.name)
    for metric in metrics_of(reduction.name).values():
        # A column without any value has neither a type nor a value out of range.
        if metric.name in present and frame[metric.name].null_count < len(frame):
            column, (least, most) = metric.name, metric.possible
            if metric.is_number:
                yield gxe.ExpectColumnValuesToBeInTypeList(column=column, type_list=NUMBERS)
            if least is not None or most is not None:
                yield gxe.ExpectColumnValuesToBeBetween(
                    column=column, min_value=least, max_value=most, description=metric.title
                )
            if MOST + column in present:
                yield gxe.ExpectColumnPairValuesAToBeGreaterThanB(
                    column_A=MOST + column,
                    column_B=column,
                    or_equal=True,
                    ignore_row_if="either_value_is_missing",
                )


def _row(reduction: str, outcome: dict[str, Any]) -> dict[str, Any]:
    config, found = outcome["expectation_config"], outcome["result"]
    keys = config["kwargs"]
    examples = found.get("partial_unexpected_list") or []
    if not examples and not outcome["success"]:
        examples = [found.get("observed_value", "")]
    return {
        "reduction": reduction,
        "column": keys.get("column") or keys.get("column_B"),
        "expectation": config["type"],
        "success": outcome["success"],
        "rows": found.get("element_count"),
        "unexpected": found.get("unexpected_count"),
        "examples": ", ".join(map(str, examples[:3])),
    }


def _write_docs(context: Any, folder: Path) -> None:
    backend = {
        "class_name": "TupleFilesystemStoreBackend",
        "base_directory": str(folder.absolute()),
    }
    config = {
        "class_name": "SiteBuilder",
        "store_backend": backend,
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
    }
    context.add_data_docs_site(site_name=SITE, site_config=config)
    try:
        context.build_data_docs(site_names=[SITE])
    except OSError as error:
        raise CpmonError(f"{folder} cannot be written: {error.strerror or error}") from None


@contextmanager
def _offline() -> Iterator[None]:
    """Silence Great Expectations on standard error, and turn off its network access.

    Spark is hidden from it, since it imports all of it where it is installed: a part of it that
    lacks packages of its own ends the process (pyspark 4.3, `sys.exit(0)`).
    """
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    logger = logging.getLogger("great_expectations")
    level = logger.level
    logger.setLevel(logging.ERROR)
    spark = "pyspark.sql.connect" if "pyspark" in sys.modules else "pyspark"
    hides_spark = spark not in sys.modules
    if hides_spark:
        sys.modules[spark] = None  # type: ignore[assignment]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
        if hides_spark:
            del sys.modules[spark]
