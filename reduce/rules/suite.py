"""The counts of the rules as an expectation suite of Great Expectations, and what it says of them.

The counts stand in a frame of one row, with a column for each rule: conditions on rows of a frame
with a row for each rule cost fifteen times as much. Rules that had nothing to look at are in no
expectation, since one over nothing would pass.
"""

from __future__ import annotations

import functools
import importlib
import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ...core.errors import CpmonError
from .counts import Outcome

SUITE = "cpmon"
QUIET: Any = {"globally": False, "metric_calculations": False}


@contextmanager
def loading() -> Iterator[None]:
    """Great Expectations is imported meanwhile, which takes seconds and little of DuckDB's time."""
    thread = threading.Thread(target=_import)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _import() -> None:
    # A failure is met again, and told, where the module is used.
    with _offline(), suppress(ImportError):
        importlib.import_module("great_expectations.expectations")


def judge(counts: Sequence[Outcome]) -> tuple[dict[str, bool], dict[str, Any]]:
    """Assert that no row breaks any of the rules.

    Returns:
        Rule id -> whether its expectation was met, without rules that do not apply; and the result
        as Great Expectations writes it to JSON.

    Raises:
        CpmonError: an expectation could not be computed.
    """
    applying = [outcome for outcome in counts if not outcome.reason]
    if not applying:
        return {}, {}
    with _offline():
        result = _validated(applying)
    success: dict[str, bool] = {}
    for outcome in result.results:
        rule = outcome.expectation_config.meta["rule"]
        if outcome.exception_info.get("raised_exception"):
            raise CpmonError(
                f"the expectation of rule {rule} cannot be computed",
                found=str(outcome.exception_info.get("exception_message")),
                effect="no rule was judged",
            )
        success[rule] = bool(outcome.success)
    return success, result.to_json_dict()


def _validated(counts: Sequence[Outcome]) -> Any:
    """The result of the suite over the counts."""
    import great_expectations as gx
    import pandas as pd

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = QUIET
    frame = pd.DataFrame({outcome.rule.id: [outcome.bad] for outcome in counts})
    asset = context.data_sources.add_pandas(SUITE).add_dataframe_asset("rules")
    batch = asset.add_batch_definition_whole_dataframe("counts").get_batch({"dataframe": frame})
    expectation = _expectation()
    expectations = [
        expectation(
            column=outcome.rule.id,
            severity=str(outcome.rule.severity),
            description=outcome.rule.title,
            meta={"rule": outcome.rule.id, "n_checked": outcome.checked},
        )
        for outcome in counts
    ]
    suite = gx.ExpectationSuite(SUITE, expectations=expectations)
    return batch.validate(suite, result_format="BASIC")


@functools.cache
def _expectation() -> Any:
    """The expectation that a rule is never broken: `observed_value` is how often it is."""
    from great_expectations.expectations.core import (  # type: ignore[attr-defined]
        ExpectColumnMaxToBeBetween,
    )

    class ExpectRuleToHold(ExpectColumnMaxToBeBetween):
        """Expect that no row breaks the rule whose count of bad rows is in the column."""

        max_value: float = 0

    return ExpectRuleToHold


@contextmanager
def _offline() -> Iterator[None]:
    """Great Expectations without a word on standard error, and without the network."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    logger = logging.getLogger("great_expectations")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), without_spark():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


@contextmanager
def without_spark() -> Iterator[None]:
    """Hide Spark from Great Expectations, which imports all of it where it is installed.

    A part of it that lacks packages of its own ends the process (pyspark 4.3, `sys.exit(0)`).
    """
    name = "pyspark.sql.connect" if "pyspark" in sys.modules else "pyspark"
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]
