"""Whatever a store holds, a span is shown as a scan of everything shows it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.spark.frames import LandedFiles, QuerySpan
from cpmon.store import Store
from cpmon.store.connection import Connection
from cpmon.store.sql import relations
from cpmon.store.sql.scope import Scope
from tests.batch.fleet import BEGIN, INTERVALS, NOMINAL_S, OFFSET
from tests.dumps import dump, fields, frame, interval_end, samples
from tests.store.left_out import command, two_left_out

HOURS = 36
SYSTEMS = ("ALPHA", "BETA")
TICKS = 4096 * 1_000_000
RELATIONS = (
    *("interval.sytprp", "interval.useact", "monitor.useact", "meta.interval"),
    *("processors_by_time", "users_by_time", "system_summary_by_time", "system_summary2_by_time"),
)
"""What depends on deltas, on configuration, on lengths of intervals."""


class Life:
    """What a system does in some days, and the dumps that tell of it."""

    def __init__(self, system: str, chance: random.Random) -> None:
        self.system, self.chance = system, chance
        self.booted = 0.0
        self.slips: list[float] = []
        self.nominal = chance.random() < 0.7

    def dumps(self) -> Iterator[bytes]:
        """Dumps of hours: some are missing, some are there twice, whole or in part."""
        for hour in range(HOURS):
            if self.chance.random() < 0.05:
                self.booted = OFFSET + hour * 3600 + 60
            sets = [self._set(OFFSET + hour * 3600 + NOMINAL_S * (k + 1)) for k in range(INTERVALS)]
            if self.chance.random() < 0.25:
                continue
            for part in self.chance.choice([[sets], [sets], [sets], [sets, sets[:2]], [sets[1:]]]):
                first = self._configuration(hour) if self.chance.random() < 0.5 else b""
                yield dump(first, *part)

    def _configuration(self, hour: int) -> bytes:
        at = OFFSET + hour * 3600 + 1
        system = fields("mtrsys", at, systmid=self.system)
        length = [fields("mtrspr", at, interval=NOMINAL_S)] if self.nominal else []
        return samples(frame(system, *length))

    def _set(self, at: float) -> bytes:
        """The frames of an interval. The counters of one processor and user may slip in it."""
        lost = 0
        if self.chance.random() < 0.2:
            lost = 2 * NOMINAL_S * TICKS
            self.slips.append(at - OFFSET)
        users = self.chance.choice([1, 2, 2, 2])
        elapsed = int((at - (self.booted or OFFSET - 1e6)) * TICKS)
        sampled = [
            fields(
                "sytprp",
                at - 0.001,
                pfxcpuad=cpu,
                pfxutime=max(elapsed - lost * (1 - cpu), 0) // (3 + cpu),
                pfxtmsys=0x7FFFFFFF00000000 - elapsed // 20,
                pfxtotwt=max(elapsed - lost * cpu, 0) // 8,
            )
            for cpu in (0, 1)
        ]
        sampled += [
            fields(
                "useact",
                at - 0.001,
                vmduser=f"USER{user}",
                vmdttime=max(elapsed - lost * (1 - user), 0) // (9 + user),
            )
            for user in range(users)
        ]
        left_out = [] if users == 2 else [command(at - 1, "MONITOR SAMPLE DISABLE USER USER1")]
        return samples(frame(*sampled), frame(*left_out, interval_end(at)))


def made(folder: Path, lives: list[Life], chance: random.Random) -> Store:
    """A store of such systems, whose dumps land in any order."""
    store = Store(folder / "store", create=True)
    dumps = [(life.system, data) for life in lives for data in life.dumps()]
    chance.shuffle(dumps)
    for number, (system, data) in enumerate(dumps):
        file = folder / f"{number}.mon"
        file.write_bytes(data)
        ingest(file, store, system=system)
    return store


def spans(chance: random.Random, count: int, lives: list[Life]) -> Iterator[Scope]:
    """Spans of any begin; for each system some behind intervals in which counters slipped.

    And one whose first interval, of each processor and user, has its sample before in another day.
    """
    for life in lives:
        yield Scope(life.system, _moment(24 * 3600 + 60), _moment(24 * 3600 + 7200))
        for slip in chance.sample(life.slips, 2):
            yield Scope(life.system, _moment(slip + 60), _moment(slip + 7200))
    for _ in range(count):
        first = chance.uniform(0, HOURS * 3600)
        since, until = _moment(first), _moment(first + chance.choice([600, 7200, 86_400, 200_000]))
        yield Scope(
            chance.choice([None, *SYSTEMS]),
            chance.choice([None, since, since, since]),
            chance.choice([None, until, until, until]),
        )


def _moment(second: float) -> datetime:
    return (BEGIN + timedelta(seconds=round(second))).replace(tzinfo=None)


@pytest.mark.parametrize(
    ("seed", "count"),
    [
        pytest.param(1, 2, marks=pytest.mark.slow),
        *(pytest.param(seed, 6, marks=pytest.mark.long) for seed in (2, 3)),
    ],
)
def test_a_span_is_shown_as_a_scan_of_everything_shows_it(
    seed: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """On one connection, which has deltas as tables for one span and as views for the next."""
    chance = random.Random(seed)
    lives = [Life(system, chance) for system in SYSTEMS]
    store, found = made(tmp_path, lives, chance), 0
    with (
        Connection(store, reductions(), live=True) as whole,
        Connection(store, reductions(), live=True) as near,
    ):
        for number, relation in enumerate(RELATIONS):
            whole.execute(f"CREATE TEMP TABLE everything_{number} AS FROM {relation}")
        sizes = itertools.cycle((relations.SMALL, 0))
        for scope, size in zip(spans(chance, count, lives), sizes, strict=False):
            monkeypatch.setattr(relations, "SMALL", size)
            near.point(scope)
            for number, relation in enumerate(RELATIONS):
                every, condition = f"everything_{number}", scope.condition()
                sql = f"SELECT * FROM {{}} WHERE {condition} ORDER BY ALL"
                expected = whole.sql(sql.format(every)).fetchall()
                assert near.sql(sql.format(relation)).fetchall() == expected, (scope, relation)
                found += len(expected)
    assert found > 500


def test_who_is_no_longer_sampled_is_missing_until_logged_off_however_long(tmp_path: Path):
    """Of two who are left out on the second day, one logs off on the fourth."""
    store = two_left_out(tmp_path)
    scope = Scope("ALPHA", _moment(5 * 86_400 + 6 * 3600), _moment(5 * 86_400 + 9 * 3600))
    sql = f"""SELECT vmduser, cause, count(*) FROM interval.useact WHERE {scope.condition()}
        GROUP BY ALL ORDER BY ALL"""
    with Connection(store, reductions(), live=True) as con:
        everything = con.sql(sql).fetchall()
        con.point(scope)
        assert con.sql(sql).fetchall() == everything
    assert everything == [("ANNA", "missing", 3), ("CARL", None, 3)]
    read_by_spark = LandedFiles(store, QuerySpan(scope.since, scope.until)).of("useact")
    days = {file.name.partition("date=")[2][:10] for file in read_by_spark}
    assert days == {f"{_moment(day * 86_400):%F}" for day in (0, 1, 3, 4, 5)}
