"""What follows from the package alone is kept between commands, and never outlives its sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from cpmon.core import derived as cache
from cpmon.core.derived import derived, files_version
from cpmon.reduce.reductions.reductions import reductions
from cpmon.schemas import registry
from cpmon.schemas.registry import layout, layouts, reload
from cpmon.store.results import lineage
from cpmon.store.results.lineage import lineages

Ask = Callable[..., tuple[int, ...]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "cpmon"


@pytest.fixture
def made() -> list[int]:
    return []


@pytest.fixture
def ask(made: list[int]) -> Ask:
    def number(*depends_on: str) -> tuple[int, ...]:
        return derived(
            "numbers", tuple[int, ...], lambda: made.append(1) or (len(made), 7), *depends_on
        )

    return number


def test_a_value_is_made_once_for_all_that_it_depends_on(folder: Path, ask: Ask, made: list[int]):
    assert ask("a") == ask("a") == (1, 7)
    assert ask("b") == (2, 7)
    assert len(made) == 2
    assert (folder / "numbers.msgpack").stat().st_mode & 0o777 == 0o600


def test_another_package_makes_its_own(folder: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch):
    assert ask() == (1, 7)
    monkeypatch.setattr(cache, "package_version", lambda: "another")
    assert ask() == (2, 7)


@pytest.mark.parametrize("damage", [b"", b"\xc1", b"\x93\x01\x02"])
def test_a_damaged_file_is_made_again(folder: Path, ask: Ask, damage: bytes):
    ask()
    file = folder / "numbers.msgpack"
    file.write_bytes(file.read_bytes()[:-3] + damage)
    assert ask() == (2, 7)
    assert ask() == (2, 7)


def test_a_file_that_others_may_write_to_is_not_read(folder: Path, ask: Ask):
    ask()
    (folder / "numbers.msgpack").chmod(0o666)
    assert ask() == (2, 7)


def test_without_a_home_or_a_disk_a_value_is_made(
    folder: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
):
    folder.write_text("a file where the folder should be", encoding="ascii")
    assert ask() == (1, 7)
    monkeypatch.setattr(cache, "cache_folder", lambda: None)
    assert ask() == (2, 7)


def test_a_version_changes_with_names_and_contents_of_files(tmp_path: Path):
    """Also where sizes and times stay, as those of a reproducible build do."""
    file = tmp_path / "a.csv"
    file.write_text("0,5", encoding="ascii")
    before = files_version([file])
    file.write_text("0,6", encoding="ascii")
    changed = files_version([file])
    renamed = files_version([file.rename(tmp_path / "b.csv")])
    assert len({before, changed, renamed}) == 3
    assert files_version([tmp_path / "b.csv"]) == renamed


def test_a_site_s_layout_that_changes_behind_a_link_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shipped_again: None
):
    shipped = Path(registry.__file__).parent
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    site.mkdir()
    (site / "d00_system").symlink_to(elsewhere)
    own = elsewhere / "sytrsp.csv"
    text = (shipped / "d00_system" / "sytrsp.csv").read_text(encoding="utf-8")
    monkeypatch.setenv("CPMON_SCHEMAS", str(site))
    titles = []
    for meaning in ("of one page", "of another"):
        own.write_text(f"{text}5000,4,,unsigned,own,,,counter,,,,inferred,{meaning}\n", "utf-8")
        reload()
        titles.append(layout("sytrsp").field("own").meaning)
    assert titles == ["of one page", "of another"]


@pytest.fixture
def twice(folder: Path, shipped_again: None) -> Iterator[list[object]]:
    """Layouts, reductions and lineages: as made, and as read from the cache."""
    values: list[object] = []
    for _ in range(2):
        reload()
        reductions.cache_clear()
        lineage._lineages.cache_clear()
        values.append((msgspec.to_builtins(layouts()), reductions(), lineages(reductions())))
    yield values
    reload()
    reductions.cache_clear()


def test_what_is_read_from_the_cache_is_what_was_made(folder: Path, twice: list[object]):
    made, read = twice
    assert made == read
    assert {file.stem for file in folder.iterdir()} >= {"layouts", "lineages", "reductions"}
