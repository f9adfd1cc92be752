"""Questions to Spark: what their messages say helps."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.remedies.trying import Attempt, tries
from tests.spark import conftest

ASKED = ("query", "--engine", "spark")
spark_environment, spark = conftest.spark_environment, conftest.spark

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("spark")]


@tries("spark-package-missing")
def test_without_its_package_it_is_installed(
    tried: Attempt, landed: Path, monkeypatch: pytest.MonkeyPatch
):
    words = (*ASKED, "SELECT 1 AS a", "--store", landed)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pyspark.sql", None)
        tried.fails(*words)
    tried.works(*words)


@tries("java-missing")
def test_without_java_it_is_installed(
    tried: Attempt, landed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    words = (*ASKED, "SELECT 1 AS a", "--store", landed)
    with monkeypatch.context() as without:
        without.setenv("PATH", str(tmp_path))
        without.delenv("JAVA_HOME", raising=False)
        tried.fails(*words)
    tried.works(*words)


@tries("spark-query-not-allowed")
def test_a_result_is_kept_in_a_file(tried: Attempt, landed: Path, tmp_path: Path):
    kept = tmp_path / "users.csv"
    users = "SELECT DISTINCT vmduser FROM monitor.useact"
    words = ("--store", landed, "--format", "csv", "-o", kept)
    tried.fails(*ASKED, f"CREATE TABLE users AS {users}", *words)
    tried.works(*ASKED, users, *words)
    assert kept.read_text(encoding="utf-8").count("U") == 3
    tried.fails(*ASKED, "DESCRIBE monitor.useact", "--store", landed)
    tried.works("query", "DESCRIBE monitor.useact", "--store", landed)


@tries("parameter-without-value")
def test_a_parameter_is_written_as_its_value(tried: Attempt, landed: Path):
    tried.fails(*ASKED, "SELECT $a AS a", "--store", landed)
    tried.works(*ASKED, "SELECT 5 AS a", "--store", landed)
