"""Spark as an engine: maps units of work over its executors, which it only schedules.

Executors need cpmon with the same version of Python, and the store and the dumps under the same
paths. Queries start Spark by the same rules.
"""

from __future__ import annotations

import functools
import os
import shutil
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ..core.errors import CpmonError
from .engine import ATTEMPTS, Job, Outcome, Outcomes, Result, attempt, is_final

if TYPE_CHECKING:
    from pyspark import Accumulator, SparkContext

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
            remedy="try it without --master, on this machine alone; then check that --master names"
            " a Spark that runs and can be reached",
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


class Spark:
    """An engine that runs units on the executors of Spark.

    Attributes:
        jobs: 1, since executors do not share the memory of this process.
    """

    jobs = 1

    def __init__(self, master: str | None = None) -> None:
        """Check that Spark can be used.

        Args:
            master: URL of the master; by default that of Spark's settings.

        Raises:
            CpmonError: pyspark or Java is missing.
        """
        require_spark()
        self._master = master
        self.place = f"Spark at {master}" if master else "Spark"

    def run(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> Outcomes[Result]:
        """Yields the number and the outcome of each unit as it ends.

        Spark repeats a unit whose executor is lost, or that had a passing error.

        Raises:
            CpmonError: no Spark can be reached or started.
        """
        if not jobs:
            return
        context, is_own = self._connect()
        try:
            left = set(range(len(jobs)))
            errors: list[Exception] = []
            for number, outcome in _outcomes(context, function, jobs, errors):
                left.discard(number)
                yield number, outcome
            for number in sorted(left):
                given_up = CpmonError(
                    "Spark gave up before this was done",
                    code="spark-job-failed",
                    found=first_line(errors[0]) if errors else "no answer from its executor",
                    effect="completed units are kept",
                    remedy="read the logs of its executors: they need cpmon and the same Python,"
                    " memory for a unit, and the store under the same path; then run the command"
                    " again",
                )
                yield number, Outcome(error=given_up)
        finally:
            with suppress(Exception):
                context.cancelAllJobs()
            if is_own:
                context.stop()

    def _connect(self) -> tuple[SparkContext, bool]:
        """The context of this process, and whether it was created here."""
        from pyspark import SparkConf, SparkContext

        if (active := SparkContext._active_spark_context) is not None:
            return active, False
        conf = SparkConf().setAppName("cpmon").setIfMissing("spark.ui.showConsoleProgress", "false")
        if self._master:
            conf.setMaster(self._master)
        with starting(self._master):
            return SparkContext(conf=conf), True


def _outcomes(
    context: SparkContext,
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    errors: list[Exception],
) -> Outcomes[Result]:
    """Yields outcomes as units end: tasks of one job of Spark.

    Args:
        errors: the error that ended the job, if any, is added to it.
    """
    from pyspark.accumulators import AccumulatorParam

    class Collected(AccumulatorParam):  # type: ignore[misc]
        """A list that tasks append to; this process receives the items as tasks end."""

        def zero(self, value: list[Any]) -> list[Any]:
            return []

        def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:
            return [*value1, *value2]

    ended: Accumulator[list[tuple[int, Outcome[Result]]]] = context.accumulator([], Collected())
    units = context.parallelize(list(enumerate(jobs)), len(jobs))
    is_local = (context.master or "").split("[")[0] == "local"
    # Attempts of a task before the job fails; there is one at a local master.
    most = 1 if is_local else int(context.getConf().get("spark.task.maxFailures", "4") or 1)
    task = functools.partial(_task, function, min(ATTEMPTS, most), ended)

    def work() -> None:
        try:
            units.foreach(task)
        except Exception as error:  # noqa: BLE001 - whatever Py4J makes of an error of the JVM
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    sent, is_over = 0, False
    while not is_over:
        thread.join(0.1)
        is_over = not thread.is_alive()
        outcomes = ended.value
        yield from outcomes[sent:]
        sent = len(outcomes)


def _task(
    function: Callable[[Job], Result],
    attempts: int,
    ended: Accumulator[list[tuple[int, Outcome[Result]]]],
    numbered: tuple[int, Job],
) -> None:
    """Runs a unit in an executor; a passing error is raised so that Spark tries it elsewhere."""
    from pyspark import TaskContext

    number, job = numbered
    outcome = attempt(function, job, 1)
    context = TaskContext.get()
    number_of_attempt = context.attemptNumber() + 1 if context else attempts
    error = outcome.error
    if error is not None and not is_final(error) and number_of_attempt < attempts:
        raise error
    ended.add([(number, outcome)])
