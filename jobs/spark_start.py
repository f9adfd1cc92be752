"""Starts Spark for jobs and for queries, or raises why it cannot start."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ..core.errors import CpmonError

_EFFECT = "nothing was done"


def require_spark() -> None:
    """Import pyspark without its warning about pandas, which is not used with it.

    Raises:
        CpmonError: pyspark or Java is missing.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
            import pyspark.sql  # noqa: F401
    except ImportError as error:
        raise CpmonError(
            "Spark is not installed beside cpmon",
            code="spark-package-missing",
            expected="the package pyspark, here and where the executors are",
            found=str(error),
            effect=_EFFECT,
            remedy="install cpmon with its extra: pip install 'cpmon[spark]'; or leave out"
            " --engine spark",
        ) from None
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        raise CpmonError(
            "Spark runs on Java, and there is none",
            code="java-missing",
            expected="Java 17 or newer, named by JAVA_HOME or on the PATH",
            effect=_EFFECT,
            remedy="install Java, or name its folder: JAVA_HOME=/usr/lib/jvm/java-17",
        )


@contextmanager
def starting(master: str | None) -> Iterator[None]:
    """Map errors in a block that starts Spark to CpmonError.

    Args:
        master: URL of the master; None for that of Spark's settings.

    Raises:
        CpmonError: it fails.
    """
    try:
        yield
    except Exception as error:
        if not (is_of_spark(error) or isinstance(error, OSError)):
            raise
        raise CpmonError(
            "Spark cannot be started",
            code="spark-start-failed",
            place=master,
            found=first_line(error),
            effect=_EFFECT,
            remedy="try it without --master, on this machine alone; then see that --master names a"
            " Spark that runs and can be reached",
        ) from None


def is_of_spark(error: Exception) -> bool:
    """Whether Spark, or Java below it, raised an error."""
    return type(error).__module__.startswith(("pyspark.errors", "py4j."))


def first_line(error: Exception) -> str:
    """The message of an error of Spark, without the plan and the frames of Java."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    raised = [line for line in lines if "Error: " in line or "Exception: " in line]
    return next(iter([*causes[-1:], *raised[-1:], *lines]), type(error).__name__)[:500]
