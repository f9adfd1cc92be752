"""`--engine spark`: the executors of a Spark do what a process does, and write the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.copies import pieces
from cpmon.cli.main import Status, run
from cpmon.config import Settings
from cpmon.core.errors import CpmonError
from cpmon.jobs.spark import Spark
from cpmon.reduce.engine.reducing import reduce
from cpmon.store import Store
from tests.faults.conftest import dump_of
from tests.fleet import fleet
from tests.jobs import work
from tests.jobs.test_reduce import FEW, cut
from tests.spark.conftest import MASTER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


def cpmon(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cpmon", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Spark:
    """Executors find cpmon, but no tests: functions of these are sent by value."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(work)
    return Spark()


@pytest.mark.usefixtures("spark_environment")
@pytest.mark.parametrize(
    ("names", "least"),
    [
        pytest.param(FEW[:3], 20, id="few"),
        pytest.param((), 216, id="all", marks=pytest.mark.long),
    ],
)
def test_executors_reduce_to_the_same_bytes_and_name_the_unit_that_fails(
    tmp_path: Path, names: tuple[str, ...], least: int
):
    first = fleet(tmp_path, systems={"PRODA": (), "PRODB": (1, 3)})
    second = Store(shutil.copytree(first.root, tmp_path / "second"))
    reduce(first, names, Settings())
    expected = pieces(first)
    assert len(expected) >= least
    file = cut(second.root, "PRODB", date(2003, 5, 9))
    words = ("reduce", *names, "--store", second.root)
    done = cpmon(*words, "--engine", "spark", "--master", MASTER)
    assert done.returncode == Status.USAGE, done.stderr
    assert "PRODB 2003-05-09 failed" in done.stderr and str(file) in done.stderr
    assert f"reduced by Spark at {MASTER} in " in done.stdout
    found = pieces(second)
    of_unit = {name for name in expected if "PRODB/2003-05-09" in name}
    others = {name for name in expected if name not in of_unit and "/" in name}
    assert others <= found.keys()
    assert {name for name in others if found[name] != expected[name]} == set()


@pytest.mark.usefixtures("spark")
def test_executors_land_dumps(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    for number in range(3):
        (tmp_path / f"{number}.mon").write_bytes(dump_of(number))
    (tmp_path / "broken.mon").write_bytes(b"nothing of that kind")
    dumps = map(str, sorted(tmp_path.glob("*.mon")))
    words = ["--store", str(tmp_path / "store"), "--engine", "spark"]
    assert run(["ingest", *dumps, *words]) == Status.DAMAGED
    assert "broken.mon is no monitor data" in capfd.readouterr().err
    assert len(Store(tmp_path / "store").dumps()) == 3


@pytest.mark.usefixtures("spark_environment")
def test_without_java_spark_does_not_start(tmp_path: Path):
    """Unless JAVA_HOME leads to one."""
    store = fleet(tmp_path, intervals=1).root
    words = ["reduce", "events", "users_by_time", "--engine", "spark", "--store", store]
    done = cpmon(*words, PATH=str(tmp_path), JAVA_HOME="")
    assert done.returncode == Status.USAGE
    assert "Spark runs on Java" in done.stderr
    assert "install Java, or name its folder" in done.stderr


def test_a_task_that_fails_is_tried_again_unless_its_error_is_final(engine: Spark, tmp_path: Path):
    once, refused = tmp_path / "once", tmp_path / "refused"
    assert dict(engine.run(work.fail_once, [str(once)]))[0].result == "served"
    error = dict(engine.run(work.refuse, [str(refused)]))[0].error
    assert isinstance(error, CpmonError) and error.remedy == "none"
    assert refused.read_text() == "x"
    found = dict(engine.run(work.double, range(8)))
    assert [found[number].result for number in range(8)] == [*range(0, 16, 2)]


def test_a_task_that_ends_its_process_is_given_up_and_what_is_done_is_told(engine: Spark):
    found = dict(engine.run(work.die, [0, 2, 4, 6, 1]))
    assert [found[number].result for number in range(4)] == [0, 2, 4, 6]
    error = found[4].error
    assert isinstance(error, CpmonError) and error.problem.startswith("Spark gave up")
