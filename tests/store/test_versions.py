"""A kept result is shown only as long as everything that computed it is as it was."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from cpmon.config import Settings
from cpmon.core import grace_period
from cpmon.ingest import ingest
from cpmon.reduce.engine import reducing
from cpmon.reduce.metrics import rollups
from cpmon.reduce.metrics.metric import MetricKind
from cpmon.reduce.metrics.report_set import reports
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.results import lineage
from cpmon.store.results.reduced import kept
from cpmon.store.sql import interval as deltas
from cpmon.store.sql import landed_views
from tests.dumps import dump, fields, interval

NAME = "processors_by_time"
TOD_MINUTE = 60 * 4_096_000_000

Change = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows from code that a test changes in memory is no business of other tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def landed(store: Store, tmp_path: Path) -> Store:
    """Three minutes of a processor that works half of the time, user time alone."""
    config = fields("mtrsys", systmid="VMTEST") + fields("mtrspr", interval=60)
    samples = [
        fields("sytprp", 60 * n, pfxcpuad=0, pfxutime=n * TOD_MINUTE // 2) for n in range(1, 4)
    ]
    file = tmp_path / "a.mon"
    file.write_bytes(
        dump(interval(0, config), *(interval(60 * n + 60, s) for n, s in enumerate(samples)))
    )
    ingest(file, store)
    return store


def shown(store: Store) -> tuple[list[float], list[float]]:
    """Utilization by interval and by hour, as a reader finds them; none where none are kept."""
    with connect(store, reductions()) as con:
        fine = con.sql(
            f"SELECT total_util FROM {NAME} WHERE total_util IS NOT NULL ORDER BY interval_end"
        ).fetchall()
        has_rollups = kept(store, reductions()).get(NAME)
        hour = f"SELECT total_util FROM rollup.{NAME} WHERE level = 'hour'"
        coarse = con.sql(hour).fetchall() if has_rollups else []
    return [v for (v,) in fine], [v for (v,) in coarse]


def forget() -> None:
    """What this process and the cache know of definitions, as another version would not."""
    for file in Path(os.environ["XDG_CACHE_HOME"]).rglob("*.msgpack"):
        file.unlink()
    lineage._lineages.cache_clear()
    landed_views._landed_view.cache_clear()
    reductions.cache_clear()
    rollups.rollup_of.cache_clear()


def twice(patch: pytest.MonkeyPatch) -> None:
    """Deltas that are twice as great."""
    exact = deltas._Counter.steady
    patch.setattr(deltas._Counter, "steady", lambda counter: f"2 * ({exact(counter)})")


def macro(patch: pytest.MonkeyPatch) -> None:
    """Another macro of deltas, that no reduction names."""
    exact = landed_views.macros()
    patch.setattr(
        landed_views, "macros", lambda: exact.replace("previous AS BIGINT", "0 AS BIGINT")
    )


def grace(patch: pytest.MonkeyPatch) -> None:
    """A longer grace period for late interval ends."""
    patch.setattr(grace_period, "GRACE", timedelta(seconds=2))


def rolled(patch: pytest.MonkeyPatch) -> None:
    """Roll-ups with another percentile."""
    patch.setattr(rollups, "NEARLY_ALL", 2)


def metric(patch: pytest.MonkeyPatch) -> None:
    """Another factor of a metric that reports show."""
    report = next(r for r in reports().values() if r.reduction == NAME)
    columns = tuple(
        dataclasses.replace(c, factor=2 * c.factor) if c.kind is MetricKind.RATIO else c
        for c in report.columns
    )
    patch.setitem(reports(), report.name, dataclasses.replace(report, columns=columns))


@pytest.mark.slow
def test_results_of_a_wrong_definition_of_deltas_are_computed_again(
    landed: Store, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        twice(patch)
        forget()
        reducing.reduce(landed, [NAME], Settings())
        assert shown(landed) == ([1.0, 1.0], [1.0])
    forget()
    assert shown(landed) == ([0.5, 0.5], []), "computed live, as nothing that is kept counts"

    (done,) = reducing.reduce(landed, [NAME], Settings())

    assert done.days == 1
    assert shown(landed) == ([0.5, 0.5], [0.5])
    (again,) = reducing.reduce(landed, [NAME], Settings())
    assert str(again) == f"{NAME}: up to date"


@pytest.mark.slow
@pytest.mark.parametrize("change", [twice, macro, grace, rolled, metric])
def test_whatever_computes_a_result_is_part_of_its_version(
    change: Change, landed: Store, monkeypatch: pytest.MonkeyPatch
):
    reducing.reduce(landed, [NAME], Settings())
    assert NAME in kept(landed, reductions())
    with monkeypatch.context() as patch:
        change(patch)
        forget()
        assert NAME not in kept(landed, reductions())
        (done,) = reducing.reduce(landed, [NAME], Settings())
        assert done.days == 1
    forget()
    assert NAME not in kept(landed, reductions())
