"""What a system is: another one of its name, or in its file, never makes unknown what was known."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.core.errors import CpmonError
from cpmon.ingest import ingest
from cpmon.store import Store
from tests.dumps import dump, fields, interval


def written(folder: Path, name: str, first_s: int = 0, **system: str) -> Path:
    """A dump of four minutes of the system VM."""
    about = {"systmid": "VM", "sysmseqc": "AAAA", "lparname": "PROD"} | system
    ends = range(first_s, first_s + 240, 60)
    sets = [
        interval(at, *[fields("mtrsys", at, **about)] * (at == first_s), fields("sytprp", at))
        for at in ends
    ]
    file = folder / name
    file.write_bytes(dump(*sets))
    return file


@pytest.mark.parametrize("other", [{"sysmseqc": "BBBB"}, {"lparname": "TEST"}])
def test_another_system_of_the_name_at_the_same_time_lands_under_a_name_of_its_own(
    tmp_path: Path, store: Store, other: dict[str, str]
):
    ingest(written(tmp_path, "a.mon"), store)
    second = written(tmp_path, "b.mon", 20, **other)
    with pytest.raises(CpmonError) as refused:
        ingest(second, store)
    assert refused.value.code == "system-name-twice"
    assert [one.system for one in store.dumps()] == ["VM"]
    assert ingest(second, store, system="VM2").system == "VM2"


@pytest.mark.parametrize("first_s", [20, 600])
def test_the_same_system_and_one_that_moved_land_beside_each_other(
    tmp_path: Path, store: Store, first_s: int
):
    ingest(written(tmp_path, "a.mon"), store)
    moved = {"sysmseqc": "BBBB"} if first_s == 600 else {}
    ingest(written(tmp_path, "b.mon", first_s, **moved), store)
    assert len(store.dumps()) == 2


@pytest.mark.parametrize(("first_s", "other"), [(600, {"systmid": "TWO"}), (0, {"lparname": "T"})])
def test_a_file_of_two_systems_is_cut(
    tmp_path: Path, store: Store, first_s: int, other: dict[str, str]
):
    parts = [written(tmp_path, "a.mon"), written(tmp_path, "b.mon", first_s, **other)]
    joined = tmp_path / "joined.mon"
    joined.write_bytes(b"".join(part.read_bytes() for part in parts))
    with pytest.raises(CpmonError) as refused:
        ingest(joined, store)
    assert refused.value.code == "systems-several"
    assert not store.dumps()
    for number, part in enumerate(parts):
        ingest(part, store, system=f"S{number}")
