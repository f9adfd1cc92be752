"""A Spark of two executors on loopback; its tests need Java and `make spark`, and CI has both."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local-cluster[2,1,1024]"
"""Two executors, processes of their own, of one core and 1,024 MB each."""
DEFAULTS = """\
spark.master {master}
spark.driver.bindAddress 127.0.0.1
spark.driver.host 127.0.0.1
spark.ui.enabled false
spark.ui.showConsoleProgress false
spark.sql.shuffle.partitions 2
spark.sql.session.timeZone UTC
spark.sql.warehouse.dir {warehouse}
spark.driver.extraJavaOptions {options}
spark.executor.extraJavaOptions {options}
"""
OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of Java. What runs for a minute or two is not worth the better of its two compilers: without it
all reductions take 74 s instead of 87."""
LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n
"""


def _missing() -> str | None:
    """What these tests lack, or None."""
    if shutil.which("java") is None:
        return "no java on the PATH (tools/java.sh installs it)"
    if importlib.util.find_spec("pyspark") is None:
        return "no pyspark (make spark installs it)"
    return None


@pytest.fixture(scope="session")
def spark_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Environment variables by which Spark stays on loopback and in temporary folders.

    They are set in this process too. A session needs no further configuration, nor does
    `cpmon ... --engine spark` in a process of its own.
    """
    if missing := _missing():
        assert not os.environ.get("CI"), missing
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp("spark")
    defaults = DEFAULTS.format(master=MASTER, options=OPTIONS, warehouse=folder / "warehouse")
    (folder / "spark-defaults.conf").write_text(defaults)
    (folder / "log4j2.properties").write_text(LOGGING)
    variables = {
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "localhost",
        "PYSPARK_PYTHON": sys.executable,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield variables


@pytest.fixture(scope="session")
def spark(spark_environment: dict[str, str]) -> Iterator[SparkSession]:
    """A session on a cluster of two executors; it takes some 10 s to start."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.appName("tests of cpmon").getOrCreate()
    yield session
    session.stop()
