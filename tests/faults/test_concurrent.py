"""Two ingests at once, of the same dump and of different ones, and a reader beside them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from cpmon.store import Store
from tests.faults.conftest import Victim, check_tidy, dump_of, rows, undisturbed

PAIRS = 20


def check_pairs(victims: tuple[Victim, Victim], folder: Path, pairs: int) -> None:
    store, dumps, seen = folder / "store", [], 0
    for number in range(pairs):
        # In turn: the same dump twice, and two different ones.
        fresh = [folder / f"{len(dumps) + n}.mon" for n in range(1 + number % 2)]
        for n, file in enumerate(fresh):
            file.write_bytes(dump_of(len(dumps) + n))
        dumps += fresh
        for victim, file in zip(victims, (fresh[0], fresh[-1]), strict=True):
            victim.begin(file, store, ask=number % 5 == 0)
        if number:
            now = rows(store)["meta.dump"]
            assert seen <= len(now) <= len(dumps)
        ends = [victim.end() for victim in victims]
        assert [status for status, _ in ends] == [0, 0], ends
        if len(fresh) == 1:
            assert sum("landed before" in told for _, told in ends) == 1
        seen = len(dumps)
    assert rows(store) == undisturbed(folder, dumps)
    check_tidy(store)


def test_pairs_of_ingests_land_each_dump_once(victims: tuple[Victim, Victim], tmp_path: Path):
    check_pairs(victims, tmp_path, 2)


@pytest.mark.long
def test_twenty_pairs_of_ingests_land_each_dump_once(
    victims: tuple[Victim, Victim], tmp_path: Path
):
    check_pairs(victims, tmp_path, PAIRS)


def test_the_same_dump_under_two_systems_lands_once(tmp_path: Path, store: Store):
    about = {"dump": "abc", "stored_size": None, "layouts": "x"}
    with store.stage() as first, store.stage() as second:
        day = date(2001, 12, 18)
        assert store.land(first, {**about, "system": "A"}, day)
        assert not store.land(second, {**about, "system": "B"}, day)
    assert [one.system for one in store.dumps()] == ["A"]
    assert list(store.staging.iterdir()) == []
