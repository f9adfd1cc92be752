"""Reports and charts that cannot be made so: what the message says helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.reduce.page import renderer
from cpmon.store import Store
from tests.dumps import dump, fields, interval
from tests.remedies.conftest import LAB
from tests.remedies.trying import Attempt, tries

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        pytest.param("events --by 15m", "events", marks=tries("report-by-unsupported")),
        pytest.param("pucfglog", "--list", marks=tries("report-not-printed")),
        pytest.param("fcx999", "ustat", marks=tries("report-number-unknown")),
        pytest.param(
            "processors_by_time --top 1",
            "processors_by_time --top 1 --sort total_util",
            marks=tries("report-order-missing"),
        ),
        pytest.param(
            "user_resource_util --top-of line",
            "user_resource_util --top-of line --top 2 --by 15m",
            marks=tries("report-top-of-unsupported"),
        ),
        pytest.param(
            "paging_by_time --top 3",
            "paging_by_time --top 3 --sort steal_rate",
            marks=tries("report-order-missing"),
        ),
        pytest.param(
            "total_util paging_by_time",
            "total_util",
            marks=tries("report-metric-mixed"),
        ),
        pytest.param(
            "total_util steal_rate --columns total_util",
            "total_util steal_rate",
            marks=tries("metric-option-unsupported"),
        ),
        pytest.param(
            "cpu_util --user LX*",
            "cpu_util --user LXDB0001",
            marks=tries("metric-objects-several"),
        ),
        pytest.param(
            "paging_by_time --with max",
            "paging_by_time --with max --by 1h",
            marks=tries("report-statistics-unsupported"),
        ),
        pytest.param(
            "system_summary_by_time --user LXDB0001",
            "system_summary_by_time",
            marks=tries("report-filter-unsupported"),
        ),
        pytest.param(
            "system_summary_by_time --user LXDB0001",
            "user_resource_util --user LXDB0001",
            marks=tries("report-filter-unsupported"),
        ),
        pytest.param(
            "system_summary_by_time --run LAB --system OTHER",
            "system_summary_by_time --run LAB",
            marks=tries("run-of-another-system"),
        ),
        pytest.param(
            "system_summary_by_time --tz Europe/Viena",
            "system_summary_by_time --tz Europe/Vienna",
            marks=tries("name-unknown"),
        ),
        pytest.param(
            "user_resource_util --user LXBD0001",
            "user_resource_util --user LXDB0001",
            marks=tries("name-unknown", "did you mean"),
        ),
        pytest.param(
            "procesors_by_time",
            "processors_by_time",
            marks=tries("name-unknown", "did you mean"),
        ),
    ],
)
def test_a_report_that_is_asked_for_as_the_message_says_is_printed(
    wrong: str, right: str, tried: Attempt, lab: Path
):
    tried.fails("report", *wrong.split(), "--store", lab)
    assert tried.works("report", *right.split(), "--store", lab).out


@tries("store-empty")
@tries("system-ambiguous")
def test_a_dump_is_ingested_and_where_there_are_two_systems_one_is_named(
    tried: Attempt, mon: Path, tmp_path: Path
):
    store = tmp_path / "store"
    Store(store, create=True)
    for words in (("report", "events"), ("exceptions",), ("validate",)):
        assert "ingest a dump first" in tried.fails(*words, "--store", store)
    tried.works("ingest", mon, "--store", store)
    tried.works("ingest", LAB, "--store", store)
    tried.works("exceptions", "--store", store, "--system", "VMTEST")
    tried.fails("report", "events", "--store", store)
    tried.works("report", "events", "--store", store, "--system", "SMALLLAB")


@tries("report-not-plottable")
def test_a_report_without_figures_is_printed_or_another_drawn(
    tried: Attempt, lab: Path, tmp_path: Path
):
    words = ("--store", lab, "--plot", tmp_path / "chart.svg")
    tried.fails("report", "events", *words)
    tried.works("report", "events", "--store", lab)
    tried.fails("report", "events", *words)
    tried.works("report", "processors_by_time", *words)


@tries("span-without-intervals")
def test_pages_of_another_span_are_made(tried: Attempt, landed: Path, tmp_path: Path):
    words = ("report", "--html", "--store", landed, "-o", tmp_path / "pages")
    tried.fails(*words, "--since", "2004-01-01")
    tried.works(*words, "--since", "2001-12-01")


@tries("shift-not-rolled-up")
def test_days_whose_intervals_are_gone_are_reported_without_a_shift(tried: Attempt, tmp_path: Path):
    """The shift was defined when the intervals of the first of two days had gone."""
    words, settings = ("--store", tmp_path / "store"), tmp_path / "cpmon.toml"
    settings.write_text(
        '[shifts.prime]\ndays = "mon-sun"\nfrom = "00:00"\nto = "23:59"\n', encoding="utf-8"
    )
    tried.works("ingest", LAB, *words)
    tried.works("ingest", LAB.with_name("LAB52.mon.zst"), "--system", "SMALLLAB", *words)
    tried.works("reduce", *words)
    tried.works("store", "prune", *words, "--keep", "interval=10d", "--as-of", "2006-02-18")
    report = ("report", "processors_by_time", *words, "--config", settings)
    tried.fails(*report, "--shift", "prime", "--until", "2003-05-07")
    tried.works(*report, "--until", "2003-05-07")
    tried.fails(*report, "--shift", "prime", "--until", "2003-05-07")
    tried.works(*report, "--shift", "prime", "--since", "2006-02-01")


@tries("time-zone-not-rolled-up")
def test_days_of_another_zone_are_shown_where_only_hours_are_kept(tried: Attempt, tmp_path: Path):
    words = ("--store", tmp_path / "store")
    tried.works("ingest", LAB, *words)
    tried.works("reduce", "processors_by_time", *words)
    tried.works("store", "prune", *words, "--keep", "interval=1d")
    report = ("report", "processors_by_time", *words, "--tz", "Asia/Kolkata")
    tried.fails(*report, "--by", "1d")
    tried.works(*report)
    tried.fails(*report, "--by", "1d")
    tried.works(*report[:-1], "Europe/Vienna", "--by", "1d")


@tries("format-holds-one-report")
def test_several_reports_go_into_a_workbook(tried: Attempt, lab: Path, tmp_path: Path):
    words = ("report", "events", "spin_locks", "--run", "LAB", "--store", lab)
    tried.fails(*words, "--format", "csv")
    tried.works(*words, "-o", tmp_path / "both.xlsx")


@tries("system-zone-unknown")
def test_a_zone_is_named_where_no_record_says_it(tried: Attempt, tmp_path: Path):
    sets = [interval(60 * n, fields("sytprp", 60 * n, pfxcpuad=0)) for n in range(2)]
    (tmp_path / "a.mon").write_bytes(dump(*sets))
    words = ("--store", tmp_path / "store")
    tried.works("ingest", tmp_path / "a.mon", "--system", "VM", *words)
    tried.fails("report", "processors_by_time", *words, "--tz", "system")
    tried.works("report", "processors_by_time", *words, "--tz", "Europe/Vienna")


@tries("chart-not-drawn")
def test_without_a_process_that_draws_there_are_tables(
    tried: Attempt, lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    words = ("report", "paging_by_time", "--store", lab)
    (tmp_path / "dies.py").write_text("import os; os.kill(os.getpid(), 5)")
    with monkeypatch.context() as patch:
        patch.setattr(renderer, "_PROGRAM", tmp_path / "dies.py")
        patch.setattr(renderer, "_renderer", lambda _: renderer.Renderer())
        said = tried.fails(*words, "--plot", tmp_path / "paging.svg")
    assert "SIGTRAP" in said
    tried.works(*words)
