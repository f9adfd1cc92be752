"""Reports of a site that are wrong: what the message says makes them right."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.config.definitions import Definitions, use
from tests.cli.test_own_reports import FILES, TABLES, VIEW
from tests.remedies.trying import Attempt, tries


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cpmon.config.definitions._used", Definitions())
    (tmp_path / "cpmon.toml").touch()
    folder = tmp_path / "reports"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.slow
@tries("definition-unreadable")
@tries("definition-name-taken")
@tries("metric-expression-wrong")
@tries("report-rows-several")
def test_definitions_are_corrected(tried: Attempt, reports: Path, landed: Path):
    words = ("report", "moves", "--store", landed)
    (reports / "more.toml").write_bytes(b"\xff")
    tried.fails(*words)
    (reports / "more.toml").unlink()
    tried.works(*words)
    taken = reports / "paging_by_time.sql"
    taken.write_text(VIEW.replace("VIEW moves", "VIEW paging_by_time"))
    tried.fails(*words)
    taken.unlink()
    tried.works(*words)
    numbers = 'numerator = "pages"\n'
    of_other_rows = TABLES.replace(numbers, f'{numbers}expression = "pages - lag(pages) OVER ()"\n')
    (reports / "own.toml").write_text(of_other_rows)
    tried.fails(*words)
    lagged = "s.plsmvb2g - lag(s.plsmvb2g) OVER (ORDER BY s.interval_end)"
    (reports / "moves.sql").write_text(VIEW.replace("s.plsmvb2g", lagged))
    (reports / "own.toml").write_text(TABLES)
    tried.works(*words)
    (reports / "moves.sql").write_text(VIEW)
    without_keys = TABLES.replace('keys = ["cpu"]\nfollows = { cpu = "cpu" }\n', "")
    (reports / "own.toml").write_text(without_keys.replace('columns = ["cpu", ', "columns = ["))
    tried.fails(*words)
    (reports / "own.toml").write_text(TABLES)
    tried.works(*words)
    use(Definitions())


@tries("report-file-exists")
@tries("report-name-taken")
def test_a_new_report_has_another_name(tried: Attempt, reports: Path):
    tried.fails("report", "--new", "EVENTS", "--like", "paging_by_time")
    tried.works("report", "--new", "EVENTS2", "--like", "paging_by_time")
    tried.fails("report", "--new", "EVENTS2", "--like", "paging_by_time")
    tried.works("report", "--new", "EVENTS3", "--like", "paging_by_time")
    use(Definitions())
