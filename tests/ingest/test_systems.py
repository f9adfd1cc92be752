"""What a system is: another one of its name, or in its file, never makes unknown what was known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cpmon.core.errors import CpmonError
from cpmon.ingest import Code, ingest
from cpmon.store import Store
from tests.cli import conftest as commands
from tests.cli.answer import Cpmon
from tests.dumps import FRAME, dump, fields, interval, tod

cpmon = commands.cpmon
DAY_S = 86_400


def written(folder: Path, name: str, first_s: int = 0, **system: Any) -> Path:
    """A dump of four minutes of the system VM."""
    about = {"systmid": "VM", "sysmseqc": "AAAA", "lparname": "PROD", **loaded(600)} | system
    ends = range(first_s, first_s + 240, 60)
    sets = [
        interval(at, *[fields("mtrsys", at, **about)] * (at == first_s), fields("sytprp", at))
        for at in ends
    ]
    file = folder / name
    file.write_bytes(dump(*sets))
    return file


def loaded(before_s: int) -> dict[str, int]:
    """CP was loaded so long before the dumps begin."""
    return {"systodst": tod(-before_s)}


@pytest.mark.parametrize("other", [{"sysmseqc": "BBBB"}, {"lparname": "TEST"}, loaded(900)])
def test_another_system_of_the_name_at_the_same_time_lands_under_a_name_of_its_own(
    tmp_path: Path, store: Store, other: dict[str, Any]
):
    ingest(written(tmp_path, "a.mon"), store)
    second = written(tmp_path, "b.mon", 20, **other)
    with pytest.raises(CpmonError) as refused:
        ingest(second, store)
    assert refused.value.code == "system-name-twice"
    assert [one.system for one in store.dumps()] == ["VM"]
    assert ingest(second, store, system="VM2").system == "VM2"


def test_one_whose_days_are_between_those_of_the_other_is_found(tmp_path: Path, store: Store):
    """Both dumps have a first and a last day; neither has one of the other."""
    ends = range(0, 5 * DAY_S, DAY_S)
    about = {"systmid": "VM", "sysmseqc": "AAAA"}
    sets = [
        interval(at, *[fields("mtrsys", at, **about)] * (at == 0), fields("sytprp", at))
        for at in ends
    ]
    (tmp_path / "long.mon").write_bytes(dump(*sets))
    ingest(written(tmp_path, "short.mon", 2 * DAY_S, sysmseqc="BBBB"), store)
    with pytest.raises(CpmonError, match="another system"):
        ingest(tmp_path / "long.mon", store)


def test_a_dump_that_cannot_be_read_hinders_no_other(tmp_path: Path, store: Store):
    landed = ingest(written(tmp_path, "a.mon"), store)
    (store.root / str(store.find(landed.dump)) / "dump.json").write_bytes(b"{")
    assert not ingest(written(tmp_path, "b.mon", 20), Store(store.root)).already
    assert len(Store(store.root).dumps()) == 2


@pytest.mark.parametrize("first_s", [20, 600])
def test_the_same_system_and_one_that_moved_land_beside_each_other(
    tmp_path: Path, store: Store, first_s: int
):
    ingest(written(tmp_path, "a.mon"), store)
    moved = {"sysmseqc": "BBBB", **loaded(-550)} if first_s == 600 else {}
    ingest(written(tmp_path, "b.mon", first_s, **moved), store)
    assert len(store.dumps()) == 2


@pytest.mark.parametrize(
    ("first_s", "other"),
    [(600, {"systmid": "TWO"}), (0, {"lparname": "TEST"}), (0, loaded(900))],
)
def test_a_file_of_two_systems_is_cut(
    tmp_path: Path, store: Store, cpmon: Cpmon, first_s: int, other: dict[str, Any]
):
    parts = [written(tmp_path, "a.mon"), written(tmp_path, "b.mon", first_s, **other)]
    joined = tmp_path / "joined.mon"
    joined.write_bytes(b"".join(part.read_bytes() for part in parts))
    with pytest.raises(CpmonError) as refused:
        ingest(joined, store)
    assert refused.value.code == "systems-several"
    assert not store.dumps()
    checked = cpmon("check", joined).text
    assert f"SYSTEMS_SEVERAL x 1, first at {parts[0].stat().st_size + FRAME:#x}" in checked
    assert ingest(joined, Store(tmp_path / "all", create=True), system="VM").system == "VM"
    for number, part in enumerate(parts):
        ingest(part, store, system=f"S{number}")


def test_a_system_that_was_loaded_again_is_one(tmp_path: Path, store: Store):
    """Also where its clock was set back then: it was loaded after the file began."""
    parts = [written(tmp_path, "a.mon"), written(tmp_path, "b.mon", 60, **loaded(-50))]
    joined = tmp_path / "joined.mon"
    joined.write_bytes(b"".join(part.read_bytes() for part in parts))
    assert ingest(joined, store).findings.counts[Code.TOD_BACK]
