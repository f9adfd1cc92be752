"""A store keeps the layouts of a site that its dumps landed with, and is read by them."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

import cpmon as api
from cpmon.cli.main import Status
from cpmon.schemas.registry import home, reload
from tests.cli.answer import Cpmon
from tests.dumps import dump, fields, interval
from tests.schemas.test_page import example

pytestmark = pytest.mark.usefixtures("shipped_again")

FIGURES = """
SELECT (SELECT count(*) FROM monitor.xmplrc) AS things, list(plsmvb2g ORDER BY tod) AS plsmvb2g
FROM interval.sytrsp
"""


@pytest.fixture
def landed(cpmon: Cpmon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose dump landed with a table of the site's own, and a counter that is none."""
    own, store = tmp_path / "own", tmp_path / "perf"
    (tmp_path / "new.txt").write_text(example().aligned())
    assert cpmon("schema", "import", tmp_path / "new.txt", "--into", own).status is Status.DONE
    (own / "d00_system").mkdir()
    text = (home() / "d00_system" / "sytrsp.csv").read_text()
    changed = text.replace("plsmvb2g,,,counter", "plsmvb2g,,,gauge")
    assert changed != text
    (own / "d00_system" / "sytrsp.csv").write_text(changed)
    monkeypatch.setenv("CPMON_SCHEMAS", str(own))
    reload()

    def sample(at: int) -> bytes:
        start = [fields("mtrsys", at, systmid="VMTEST")] if at == 60 else []
        storage = fields("sytrsp", at, pfxcpuad=1, plsmvb2g=at)
        return interval(at, *start, storage, fields("xmplrc", at, cpuad=at))

    (tmp_path / "a.mon").write_bytes(dump(*map(sample, (60, 120, 180))))
    assert cpmon("ingest", tmp_path / "a.mon", "--store", store).status is Status.DONE
    return store


def test_a_store_is_read_by_the_layouts_that_its_dumps_landed_with(
    cpmon: Cpmon, landed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shutil.rmtree(tmp_path / "own")
    monkeypatch.delenv("CPMON_SCHEMAS")
    reload()
    (figures,) = cpmon("query", FIGURES, "--store", landed, "--format", "json").rows
    assert figures == {"things": 3, "plsmvb2g": [60, 120, 180]}
    reload()
    assert api.open(landed).sql(FIGURES).row(0, named=True) == figures
    # A dump that lands now lands with the same.
    data = (tmp_path / "a.mon").read_bytes()
    (tmp_path / "b.mon").write_bytes(data + data)
    cpmon("ingest", tmp_path / "b.mon", "--store", landed)
    assert len(list((landed / "layouts").iterdir())) == 2
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")  # a cache that cannot be written
    reload()
    assert "counter" in cpmon("schema", "show", "sytrsp.plsmvb2g").text
    shown = cpmon("schema", "show", "sytrsp.plsmvb2g", "--store", landed).text
    assert "gauge" in shown and "counter" not in shown


def test_layouts_that_are_kept_and_damaged_are_told(
    cpmon: Cpmon, landed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.delenv("CPMON_SCHEMAS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (archive,) = (landed / "layouts").glob("*.zip")
    for damage in (b"no archive", archive.read_bytes()[:-40], None, b"stray"):
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        reload()
        if damage is None:
            archive.unlink()
        elif damage == b"stray":
            with zipfile.ZipFile(archive, "w") as packed:
                packed.writestr("../records.csv", "")
        else:
            archive.write_bytes(damage)
        answer = cpmon("schema", "show", "sytrsp", "--store", landed)
        assert answer.status is Status.USAGE
        assert "the layouts that dumps landed with cannot be read" in answer.err
        assert archive.name in answer.err
