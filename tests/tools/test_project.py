"""The frame of the project: dependency lists that agree, locks, and what a wheel carries."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tools.check_imports import ALLOWED

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = tuple(ALLOWED)
CARRIED = {".py", ".csv", ".sql", ".toml", ".txt", ".html", ".css", ".js", ".service", ".timer"}
LOCKS = (
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-spark.lock",
    "requirements-site.lock",
)


def requirements(name: str) -> set[str]:
    """Requirements of a .in file, without those it includes."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith(("#", "-r"))}


def pinned(name: str) -> set[str]:
    """Names pinned in a lock file, in the spelling of package indexes."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return {normal(found) for found in re.findall(r"^([A-Za-z0-9._-]+)==", text, re.MULTILINE)}


def normal(requirement: str) -> str:
    """The name in a requirement, lower case, with `-` for every separator."""
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=!\[ ;]", requirement)[0]).lower()


def test_the_wheel_asks_for_what_the_lock_is_made_from():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["dependencies"]) == requirements("requirements.in")


def test_every_requirement_is_pinned():
    runtime = {normal(one) for one in requirements("requirements.in")}
    assert runtime <= pinned("requirements.lock")
    assert runtime | {normal(one) for one in requirements("requirements-dev.in")} <= pinned(
        "requirements-dev.lock"
    )
    assert pinned("requirements.lock") <= pinned("requirements-dev.lock")
    spark = {normal(one) for one in requirements("requirements-spark.in")}
    assert spark <= pinned("requirements-spark.lock")
    site = {normal(one) for one in requirements("requirements-site.in")}
    assert site <= pinned("requirements-site.lock")


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_a_hash_for_every_pin_and_no_address(lock: str):
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert not re.findall(r"//|index-url|find-links|@ ", text)
    pins = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert [pin.split()[0] for pin in pins if "--hash=sha256:" not in pin] == []


def product_files() -> set[str]:
    """What belongs into a wheel, by its path inside the package."""
    found = {
        f"{folder}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in CARRIED
    }
    scenarios = (ROOT / "sample-data" / "scenarios").rglob("*.toml")
    found |= {f"scenarios/{p.relative_to(ROOT / 'sample-data/scenarios')}" for p in scenarios}
    return found | {"__init__.py", "__main__.py", "py.typed"}


def test_everything_in_the_folders_is_of_a_kind_that_a_wheel_carries():
    strange = {
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix not in CARRIED and "__pycache__" not in path.parts
    }
    assert strange == set(), "add the kind to package-data in pyproject.toml and to CARRIED here"


def build(kind: str, source: Path, out: Path) -> Path:
    """The wheel or sdist that setuptools makes of `source`; `out` is created."""
    out.mkdir()
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(out)!r})"
    subprocess.run(
        [sys.executable, "-c", code], cwd=source, check=True, capture_output=True, text=True
    )
    return next(out.iterdir())


def packed(wheel: Path) -> set[str]:
    """Paths inside the package of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("cpmon/")]
    assert len(names) == len(set(names))
    return {name.removeprefix("cpmon/") for name in names}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the build reads, links kept as links, so that no build litters the clone."""
    copy = tmp_path_factory.mktemp("source") / "cpmon"
    for name in (*FOLDERS, "src", "sample-data/scenarios", "man"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.mark.slow
def test_the_wheel_carries_every_file_and_runs_on_its_own(source: Path, tmp_path: Path):
    wheel = build("wheel", source, tmp_path / "out")
    assert packed(wheel) == product_files()
    installed = tmp_path / "installed"
    shutil.unpack_archive(wheel, installed, "zip")
    code = f"""
import sys
sys.path.insert(0, {str(installed)!r})
import cpmon.schemas
assert cpmon.schemas.__file__.startswith({str(installed)!r}), cpmon.schemas.__file__
print(len(cpmon.schemas.layouts()))
"""
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert int(said.stdout) > 0


@pytest.mark.slow
def test_the_wheel_has_no_links_and_an_empty_environment_gets_the_command_and_its_manual(
    source: Path, tmp_path: Path
):
    """The packages that it asks for are lent to the environment, so that nothing is downloaded."""
    wheel = build("wheel", source, tmp_path / "out")
    with zipfile.ZipFile(wheel) as archive:
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    assert [name for name, mode in modes.items() if stat.S_ISLNK(mode)] == []
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    libraries = Path(subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip())
    lent = [path for path in map(Path, sys.path) if path.name == "site-packages"]
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
    (libraries / "lent.pth").write_text("\n".join(map(str, lent)), encoding="utf-8")
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    sample = ROOT / "sample-data" / "timer" / "2600NP.mon.zst"
    command = [environment / "bin" / "cpmon", "list", sample]
    said = subprocess.run(
        command, cwd=tmp_path, check=True, capture_output=True, text=True, env=clean
    )
    assert "system TIMER" in said.stdout
    manual = environment / "share" / "man" / "man1"
    assert {p.name for p in manual.iterdir()} == {p.name for p in (ROOT / "man").iterdir()}


@pytest.mark.slow
def test_a_wheel_made_from_the_sdist_is_the_same(source: Path, tmp_path: Path):
    sdist = build("sdist", source, tmp_path / "out")
    with tarfile.open(sdist) as archive:
        assert [member.name for member in archive if member.issym()] == []
        archive.extractall(tmp_path / "unpacked", filter="data")
    unpacked = next((tmp_path / "unpacked").iterdir())
    assert packed(build("wheel", unpacked, tmp_path / "wheel")) == product_files()


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_nothing_is_built_where_the_links_were_not_checked_out(
    kind: str, source: Path, tmp_path: Path
):
    unlinked = tmp_path / "unlinked"
    shutil.copytree(source, unlinked, symlinks=True)
    link = unlinked / "src" / "cpmon" / "ingest"
    target = link.readlink()
    link.unlink()
    link.write_text(str(target), encoding="utf-8")
    with pytest.raises(subprocess.CalledProcessError) as failed:
        build(kind, unlinked, tmp_path / "out")
    assert "files in place of ingest" in failed.value.stderr
    assert "core.symlinks" in failed.value.stderr
    assert list((tmp_path / "out").iterdir()) == []
