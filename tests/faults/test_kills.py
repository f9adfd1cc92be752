"""Killed at any moment, 200 times, the store is what it was, and the next ingest completes it."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cpmon.store import Store
from tests.faults.conftest import Victim, check_tidy, dump_of, rows, undisturbed

ASK_EVERY = 4
DAY_S = 86_400


def whole_dumps(store: Path, seen: dict[Path, str] | None = None) -> set[str]:
    """Names of the landed files; each of their dumps must have all that is said of it.

    `seen`: those that were looked into before.
    """
    found = {} if seen is None else seen
    opened = Store(store, create=True)
    for dump in opened.dumps():
        folder, about = store / dump.folder, opened.about(dump.dump)
        if folder in found or not about:
            continue
        for table, count in about["rows"].items():
            assert pq.ParquetFile(folder / f"{table}.parquet").metadata.num_rows == count
        found[folder] = about["source"]
    return set(found.values())


@pytest.mark.parametrize(
    "kills",
    [pytest.param(40, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.long)],
)
def test_kills_at_random_moments_cost_nothing(kills: int, victim: Victim, tmp_path: Path):
    check_kills(victim, tmp_path, kills)


def check_kills(victim: Victim, folder: Path, kills: int) -> None:
    store, moments, dumps, dead = folder / "store", random.Random(6), [], 0
    longest: dict[bool, float] = {}
    seen: dict[Path, str] = {}
    for ask in (False, True):
        dumps.append(new_dump(folder, len(dumps)))
        started = time.perf_counter()
        assert victim.run(dumps[-1], store, ask=ask)[0] == 0
        longest[ask] = time.perf_counter() - started
    while dead < kills:
        if dumps[-1].name in whole_dumps(store, seen):
            dumps.append(new_dump(folder, len(dumps)))
        ask = dead % ASK_EVERY == 0
        started = time.perf_counter()
        if victim.kill_after(moments.uniform(0, longest[ask]), dumps[-1], store, ask=ask):
            dead += 1
        else:  # a machine that was slow at first would let most of them end
            longest[ask] = time.perf_counter() - started
        assert {d.name for d in dumps[:-1]} <= whole_dumps(store, seen)
    assert victim.run(dumps[-1], store)[0] == 0
    last = new_dump(folder, len(dumps))
    assert victim.run(last, store)[0] == 0
    assert rows(store) == undisturbed(folder, [*dumps, last])
    check_tidy(store)


def new_dump(folder: Path, number: int) -> Path:
    file = folder / f"{number}.mon"
    file.write_bytes(dump_of(number))
    return file
