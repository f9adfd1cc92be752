"""What a question costs in Spark on this machine, beside DuckDB: the start, and some days."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

from cpmon.generate import load_scenario, write_run
from cpmon.reduce.reductions.reductions import reductions
from cpmon.spark import Fleet
from cpmon.spark.fleet import session
from cpmon.store import Store
from cpmon.store.check import rebuild
from cpmon.store.connection import Connection

from .copies import copy_dump
from .machine import MEGA
from .process import command
from .result import Row, Section

SCENARIO, RUN = "small-lab", "LAB"
DAY = 1440
QUESTION = (
    "SELECT system, vmduser, sum(vmdttime) AS cpu, sum(seconds) AS seconds"
    " FROM interval.useact GROUP BY ALL ORDER BY cpu DESC NULLS LAST LIMIT 10"
)
SETTINGS = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_LOCAL_HOSTNAME": "localhost",
    "PYSPARK_SUBMIT_ARGS": "--conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2"
    " --conf spark.driver.memory=4g pyspark-shell",
}


def measure(folder: Path, days: int, intervals: int) -> list[Section]:
    """One section: a store of some days, of one system, asked by either engine in one process.

    Args:
        intervals: of a day.

    Raises:
        AssertionError: their answers differ.
    """
    if find_spec("pyspark") is None or shutil.which("java") is None:
        print("Spark is left out: it needs `make spark` and Java 17\n")
        return []
    place = folder / "spark"
    shutil.rmtree(place, ignore_errors=True)
    store, size = _store(place, days, intervals)
    done = subprocess.run(
        [sys.executable, "-m", "bench.spark", str(store)],
        cwd=Path(__file__).parent.parent,
        env={**os.environ, **SETTINGS},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    shutil.rmtree(place)
    measured: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    given = (
        f"`{SCENARIO}`, {days} days of {size / MEGA / days:.0f} MB, landed once and copied; Spark"
        " as local[*] in one process; reductions computed from landed rows, none kept"
    )
    rows = tuple(Row(name, figures) for name, figures in measured.items())
    return [Section("Spark", given, rows)]


def _store(place: Path, days: int, intervals: int) -> tuple[Path, int]:
    """A store of so many days, and the bytes of the dumps that would fill it."""
    dump = write_run(load_scenario(SCENARIO), RUN, place, intervals=intervals, compression=None)
    store = place / "store"
    command("ingest", str(dump.dump), "--store", str(store))
    (landed,) = store.glob("records/*/*/*/*")
    copy_dump(landed, (timedelta(days=day) for day in range(1, days)))
    rebuild(Store(store))
    return store, days * dump.dump.stat().st_size


def compare(root: Path) -> dict[str, dict[str, float]]:
    """Seconds of the steps by engine."""
    store = Store(root)
    views = [view.name for view in reductions() if not view.is_private]
    with Connection(store, reductions(), live=True) as connection:
        duckdb = {
            "start": 0.0,
            "first question": _seconds(lambda: connection.sql(QUESTION).fetchall()),
            "the same again": _seconds(lambda: connection.sql(QUESTION).fetchall()),
            "all reductions": _seconds(
                lambda: [connection.sql(f"SELECT * FROM {v}").to_arrow_table() for v in views]
            ),
        }
        rows = connection.sql(QUESTION).fetchall()
    started = time.perf_counter()
    with session() as spark:
        of_spark = {"start": time.perf_counter() - started}
        fleet = Fleet(spark, store, keep=True)
        of_spark["first question"] = _seconds(lambda: fleet.answer(QUESTION))
        of_spark["the same again"] = _seconds(lambda: fleet.answer(QUESTION))
        of_spark["all reductions"] = _seconds(
            lambda: [fleet.answer(f"SELECT * FROM {view}") for view in views]
        )
        answer = fleet.answer(QUESTION).to_pylist()
    assert [row["vmduser"] for row in answer] == [row[1] for row in rows]
    return {
        name: {"DuckDB, s": duckdb[name], "Spark, s": seconds} for name, seconds in of_spark.items()
    }


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    print(json.dumps(compare(Path(sys.argv[1]))))
