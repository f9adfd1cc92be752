"""Executors run the Python and the cpmon of this clone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cpmon

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


def test_executors_have_this_cpmon_and_are_processes_of_their_own(spark: SparkSession):
    def describe(_: int) -> tuple[str, int]:
        import os

        import cpmon

        return cpmon.__version__, os.getppid()

    found = spark.sparkContext.parallelize(range(8), 8).map(describe).collect()
    assert {version for version, _ in found} == {cpmon.__version__}
    assert len({parent for _, parent in found}) == 2
