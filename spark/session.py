"""The Spark session for queries."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..jobs.spark_start import require_spark, starting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.app.name": "cpmon",
    "spark.log.level": "ERROR",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
}
"""Settings of a session that cpmon starts; others are those of Spark on this machine."""


@contextlib.contextmanager
def session(master: str | None = None) -> Iterator[SparkSession]:
    """The Spark session of this process; one that is started here ends with the block.

    Args:
        master: as in `--master` of spark-submit; by default that of Spark's settings.

    Raises:
        CpmonError: pyspark or Java is missing, or it cannot be started.
    """
    require_spark()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    settings = SETTINGS if master is None else {**SETTINGS, "spark.master": master}
    with starting(master):
        running = active or SparkSession.builder.config(map=dict(settings)).getOrCreate()
    # These loggers write errors to standard error that are raised as well.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "sqlglot"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield running
    finally:
        if active is None:
            running.stop()
