"""A session of Spark for a command, or the reason why there is none."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..schemas.errors import CpmonError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.app.name": "cpmon",
    "spark.log.level": "ERROR",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
}
"""What a session of ours is started with; its other settings are those of Spark on this machine."""


@contextlib.contextmanager
def session(master: str | None = None) -> Iterator[SparkSession]:
    """The session of Spark of this process; one that is started here ends with the block.

    Args:
        master: as `--master` of spark-submit has it; else what Spark's own settings say.

    Raises:
        CpmonError: pyspark or Java is missing, or it cannot be started.
    """
    from_here = _session_class()
    active = from_here.getActiveSession()
    running = active or _start(from_here, master)
    # They write what Spark refuses to standard error, beside the error that is raised.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "sqlglot"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield running
    finally:
        if active is None:
            running.stop()


def _session_class() -> type[SparkSession]:
    """What starts Spark.

    Raises:
        CpmonError: pyspark or Java is missing.
    """
    try:
        with warnings.catch_warnings():  # about a pandas that nothing here hands to Spark
            warnings.simplefilter("ignore", FutureWarning)
            from pyspark.sql import SparkSession
    except ImportError as error:
        raise CpmonError(
            "Spark is not installed beside cpmon",
            expected="the package pyspark",
            found=str(error),
            effect="nothing was run",
            remedy="install cpmon with its extra: pip install 'cpmon[spark]'",
        ) from None
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        raise CpmonError(
            "Spark runs on Java, and there is none",
            expected="Java 17 or newer, named by JAVA_HOME or on the PATH",
            effect="nothing was run",
            remedy="install Java, or name its folder: JAVA_HOME=/usr/lib/jvm/java-17",
        )
    found: type[SparkSession] = SparkSession
    return found


def _start(of: type[SparkSession], master: str | None) -> SparkSession:
    builder = of.builder
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    if master is not None:
        builder = builder.master(master)
    try:
        return builder.getOrCreate()
    except Exception as error:
        if not is_of_spark(error):
            raise
        raise CpmonError(
            "Spark cannot be started",
            place=master,
            found=first_line(error),
            effect="nothing was run",
            remedy="try it without --master, on this machine alone; then see that --master names a"
            " Spark that runs and can be reached",
        ) from None


def is_of_spark(error: Exception) -> bool:
    """Whether an error is what Spark, or Java below it, says."""
    return type(error).__module__.startswith(("pyspark.errors", "py4j."))


def first_line(error: Exception) -> str:
    """What an error of Spark says, without the plan and the frames of Java."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return next(iter([*causes[-1:], *lines]), type(error).__name__)[:500]
