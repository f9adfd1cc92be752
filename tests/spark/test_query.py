"""`cpmon query --engine spark` in a process of its own: the answer, and what it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cpmon.cli.main import Status, run
from cpmon.ingest import ingest
from cpmon.store import Store
from tests.spark.damaged import SAMPLES

pytestmark = pytest.mark.slow

QUESTION = """
SELECT system, count(*), max(interval_end) AS last, max(calcpxrd) AS reads,
  (SELECT max(systodst) FROM monitor.mtrsys) AS loaded,
  bool_or(vmduser LIKE 'LX%') AS has_linux, round(sum(seconds)) AS seconds, 'a\\b' AS text
FROM interval.useact WHERE seconds IS NOT NULL GROUP BY system ORDER BY ALL"""


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = Store(tmp_path_factory.mktemp("landed") / "store", create=True)
    ingest(SAMPLES / "small-lab" / "LAB.mon.zst", store)
    return store.root


def cpmon(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cpmon", *map(str, words)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.usefixtures("spark_environment")
def test_spark_prints_what_duckdb_prints(landed: Path):
    words = ("query", QUESTION, "--store", landed, "--format", "json")
    of_duckdb = cpmon(*words)
    of_spark = cpmon(*words, "--engine", "spark", "--master", "local[1]")
    assert of_spark.returncode == Status.DONE, of_spark.stderr
    assert of_spark.stdout == of_duckdb.stdout != ""


@pytest.mark.usefixtures("spark")
def test_a_column_that_is_not_there_is_named_without_a_traceback(
    landed: Path, capfd: pytest.CaptureFixture[str]
):
    words = ["--engine", "spark", "--store", str(landed)]
    assert run(["query", "SELECT nosuch FROM interval.useact", *words]) == Status.USAGE
    said = capfd.readouterr().err
    assert "the query failed: [UNRESOLVED_COLUMN" in said
    assert "`nosuch`" in said
    assert "Traceback" not in said


@pytest.mark.usefixtures("spark_environment")
def test_a_spark_that_is_not_there_is_told(landed: Path):
    words = ("query", "SELECT 1", "--engine", "spark", "--store", landed)
    answer = cpmon(*words, "--master", "nowhere://x")
    assert answer.returncode == Status.USAGE
    assert "Spark cannot be started" in answer.stderr
    assert "remedy    try it without --master" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_what_writes_is_refused_before_spark_starts(landed: Path):
    words = ("query", "DROP TABLE events", "--engine", "spark", "--store", landed)
    answer = cpmon(*words, JAVA_HOME="/nowhere")
    assert answer.returncode == Status.USAGE
    assert "only queries are allowed" in answer.stderr
