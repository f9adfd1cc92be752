"""Whatever a store holds, a span is shown as a scan of everything shows it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cpmon.ingest import ingest
from cpmon.reduce import reductions
from cpmon.store import Store
from cpmon.store.catalogue.connection import Connection
from cpmon.store.scope import Scope
from tests.batch.fleet import BEGIN, INTERVALS, NOMINAL_S, OFFSET
from tests.dumps import dump, fields, frame, interval_end, samples

HOURS = 60
SYSTEMS = ("ALPHA", "BETA")
TICKS = 4096 * 1_000_000
RELATIONS = (
    *("interval.sytprp", "interval.useact", "monitor.useact", "meta.interval"),
    *("processors_by_time", "users_by_time", "system_summary_by_time", "system_summary2_by_time"),
)
"""What is compared: all that depends on deltas, on configuration, on lengths of intervals."""


class Life:
    """What a system does in some days, and the dumps that tell of it."""

    def __init__(self, system: str, chance: random.Random) -> None:
        self.system, self.chance = system, chance
        self.booted = self.slipped = 0.0
        self.nominal = chance.random() < 0.7

    def dumps(self) -> Iterator[bytes]:
        """Dumps of hours: some are missing, some are there twice, whole or in part."""
        for hour in range(HOURS):
            if self.chance.random() < 0.1:
                self.booted = OFFSET + hour * 3600 + 60
            sets = [self._set(OFFSET + hour * 3600 + NOMINAL_S * (k + 1)) for k in range(INTERVALS)]
            if self.chance.random() < 0.6:
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
        """The frames of an interval. A counter may fall, and rise again from there."""
        if self.chance.random() < 0.05:
            self.slipped = at
        since = max(self.booted, self.slipped if self.chance.random() < 0.5 else 0)
        elapsed = int((at - since) * TICKS) if since else int((at - OFFSET + 1e5) * TICKS)
        sampled = [
            fields(
                "sytprp",
                at - 0.001,
                pfxcpuad=cpu,
                pfxutime=elapsed // (3 + cpu),
                pfxtmsys=0x7FFFFFFF00000000 - elapsed // 20,
                pfxtotwt=elapsed // 4,
            )
            for cpu in (0, 1)
        ]
        sampled += [
            fields("useact", at - 0.001, vmduser=f"USER{user}", vmdttime=elapsed // (9 + user))
            for user in range(self.chance.choice([1, 2, 2, 2]))
        ]
        return samples(frame(*sampled), frame(interval_end(at)))


def made(folder: Path, chance: random.Random) -> Store:
    """A store of such systems, whose dumps land in any order."""
    store = Store(folder / "store", create=True)
    lives = {system: Life(system, chance) for system in SYSTEMS}
    dumps = [(system, data) for system, life in lives.items() for data in life.dumps()]
    chance.shuffle(dumps)
    for number, (system, data) in enumerate(dumps):
        file = folder / f"{number}.mon"
        file.write_bytes(data)
        ingest(file, store, system=system)
    return store


def spans(chance: random.Random, count: int) -> Iterator[Scope]:
    for _ in range(count):
        first = chance.uniform(0, HOURS * 3600)
        length = chance.choice([600, 7200, 86_400, 200_000])
        since, until = (_moment(at) for at in (first, first + length))
        yield Scope(
            chance.choice([None, *SYSTEMS]),
            chance.choice([None, since, since, since]),
            chance.choice([None, until, until, until]),
        )


def _moment(second: float) -> datetime:
    return (BEGIN + timedelta(seconds=round(second))).replace(tzinfo=None)


@pytest.mark.parametrize(
    ("seed", "count"),
    [(1, 3), *(pytest.param(seed, 6, marks=pytest.mark.slow) for seed in range(2, 12))],
)
def test_a_span_is_shown_as_a_scan_of_everything_shows_it(seed: int, count: int, tmp_path: Path):
    chance = random.Random(seed)
    store = made(tmp_path, chance)
    found = 0
    with (
        Connection(store, reductions(), live=True) as whole,
        Connection(store, reductions(), live=True) as near,
    ):
        for scope, relation in itertools.product(spans(chance, count), RELATIONS):
            near.point(scope)
            sql = f"SELECT * FROM {relation} WHERE {scope.condition()} ORDER BY ALL"
            expected = whole.sql(sql).fetchall()
            assert near.sql(sql).fetchall() == expected, (scope, relation)
            found += len(expected)
    assert found > 500
