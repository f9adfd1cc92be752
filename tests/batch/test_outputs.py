"""Outputs of days that have nothing for them, and of days that cannot be rendered yet."""

from __future__ import annotations

import json
import re
import zipfile

import pytest

from cpmon.batch import run as batch_run
from cpmon.cli.main import Status, run
from cpmon.reduce.page import content
from cpmon.reduce.page.index import load_index
from cpmon.reduce.page.runtime import FILE as RUNTIME
from tests.batch.fleet import hourly
from tests.batch.site import Site

FIRST, SECOND = hourly("ALPHA", 0, 0), hourly("ALPHA", 0, 24)
"""The first hour after midnight of two days."""
SETTINGS = """
[batch]
exceptions = false
validate = false
[[output]]
"""
REPORT = 'report = "PROCESSORS_BY_TIME"\npath = "out/{date}.csv"\nshift = "own"\n'


@pytest.fixture(autouse=True)
def no_reduce(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report computes the reductions that it needs, in less time than a batch computes all."""
    monkeypatch.setattr(batch_run, "reduce", lambda *_: None)


def outputs_after_batch(site: Site, output: str, status: Status = Status.DONE) -> list[str]:
    """The files in the folder `out` after a batch."""
    site.configure(SETTINGS + output)
    assert site.batch() is status
    folder = site.folder / "out"
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*.*"))


@pytest.mark.slow
def test_a_workbook_leaves_out_reports_of_what_was_not_measured(site: Site):
    site.put(FIRST.name, FIRST.data)
    output = 'report = ["EVENTS", "PROCESSORS_BY_TIME", "LPAR"]\npath = "out/{date}.xlsx"'
    (name,) = outputs_after_batch(site, output)
    with zipfile.ZipFile(site.folder / "out" / name) as book:
        sheets = re.findall('sheet name="([^"]+)"', book.read("xl/workbook.xml").decode())
    assert sheets == ["EVENTS", "PROCESSORS_BY_TIME"]


@pytest.mark.slow
def test_a_day_outside_of_the_shift_has_no_file_and_no_trouble(site: Site):
    site.put(FIRST.name, FIRST.data)
    shift = '[shifts.own]\nfrom = "08:00"\nto = "18:00"\n'
    assert outputs_after_batch(site, REPORT + shift) == []
    assert site.history[0]["trouble"] == [] and site.state["open"] == {}


@pytest.mark.slow
def test_a_day_whose_report_failed_is_written_when_the_settings_are_corrected(site: Site):
    site.put(FIRST.name, FIRST.data)
    (site.folder / "file").touch()
    report = 'report = "PROCESSORS_BY_TIME"\npath = "{}/%Y-%m-%d.csv"\n'
    assert outputs_after_batch(site, report.format("file"), Status.WARNINGS) == []
    assert outputs_after_batch(site, report.format("out")) == [f"{FIRST.begin.date()}.csv"]
    assert site.state["open"] == {}


@pytest.mark.slow
def test_a_day_without_a_run_has_a_page_of_the_system(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(content, "reports", dict)
    monkeypatch.setattr(content, "charts", list)
    monkeypatch.setattr(content, "TILES", ())
    site.put(FIRST.name, FIRST.data)
    output = 'pages = true\npath = "out/%d"'
    first = ["18/index.html", "18/system-ALPHA.html", "index.html", RUNTIME]
    assert outputs_after_batch(site, output) == first
    window = ("--since", "2001-12-18T00:00", "--until", "2001-12-18T12:00")
    define = ("--define", "R1", "--system", "ALPHA", *window)
    assert run(["runs", "--store", str(site.store), *define]) is Status.DONE
    site.put(SECOND.name, SECOND.data)
    assert "19/system-ALPHA.html" in outputs_after_batch(site, output)
    assert len(outputs_after_batch(site, output)) == 6


@pytest.mark.slow
def test_each_of_two_days_that_land_at_once_has_its_page(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    shown = {"PROCESSORS_BY_TIME": content.reports()["PROCESSORS_BY_TIME"]}
    monkeypatch.setattr(content, "reports", lambda *_: shown)
    monkeypatch.setattr(content, "charts", list)
    monkeypatch.setattr(content, "TILES", ())
    site.put(FIRST.name, FIRST.data)
    site.put(SECOND.name, SECOND.data)
    assert outputs_after_batch(site, 'pages = true\npath = "out/%d"') == [
        "18/index.html",
        "18/system-ALPHA.html",
        "19/index.html",
        "19/system-ALPHA.html",
        "index.html",
        RUNTIME,
    ]


@pytest.fixture
def few_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {n: content.reports()[n] for n in ("PROCESSORS_BY_TIME", "USER_RESOURCE_UTIL")}
    monkeypatch.setattr(content, "reports", lambda *_: shown)
    monkeypatch.setattr(content, "charts", list)
    monkeypatch.setattr(content, "TILES", ())


@pytest.mark.slow
@pytest.mark.usefixtures("few_reports")
def test_the_index_of_all_days_grows_and_days_that_did_not_change_stay(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    site.put(FIRST.name, FIRST.data)
    output = 'pages = true\ntop = 1\npath = "out/{system}/{date}"'
    first = outputs_after_batch(site, output)
    day = "ALPHA/2001-12-18"
    assert {f"{day}/index.html", f"{day}/system-ALPHA.html", "index.html"} < set(first)
    assert any(name.startswith(f"{day}/system-ALPHA/user-") for name in first)
    out = site.folder / "out"
    times = {name: (out / name).stat().st_mtime_ns for name in first}
    computed = []
    monkeypatch.setattr(
        "cpmon.reduce.page.page.read_content",
        lambda con, window, *rest: (
            computed.append(window.first),
            content.read_content(con, window, *rest),
        )[1],
    )
    site.put(SECOND.name, SECOND.data)
    second = outputs_after_batch(site, output)
    assert [begin.date() for begin in computed] == [SECOND.begin.date()]
    after = {name: (out / name).stat().st_mtime_ns for name in first}
    assert [name for name in first if after[name] != times[name]] == ["index.html"]
    index = load_index((out / "index.html").read_bytes())
    assert index is not None
    hrefs = [page.href for page in index.pages]
    assert hrefs == [f"ALPHA/2001-12-{n}/system-ALPHA.html" for n in (18, 19)]
    hrefs += [href for page in index.pages for _, href in page.objects]
    assert set(hrefs) < set(second) and len(hrefs) > 4
    assert len(index.hours["ALPHA"]) == 2
    assert '<a href="../../index.html">all days</a>' in (out / f"{day}/index.html").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("few_reports")
def test_pages_that_come_out_the_same_keep_their_time(site: Site):
    site.put(FIRST.name, FIRST.data)
    output = 'pages = true\npath = "out/{date}"'
    before = outputs_after_batch(site, output)
    out = site.folder / "out"
    times = [(out / name).stat().st_mtime_ns for name in before]
    state = site.store / "batch" / "state.json"
    document = json.loads(state.read_text())
    document["open"] = {"ALPHA": [str(FIRST.begin.date())]}  # as if its outputs had failed
    state.write_text(json.dumps(document))
    assert outputs_after_batch(site, output) == before
    assert site.history[0]["counts"]["written"] == 1
    assert [(out / name).stat().st_mtime_ns for name in before] == times


@pytest.mark.slow
@pytest.mark.usefixtures("few_reports")
def test_a_page_of_somebody_above_the_days_is_left_alone(site: Site):
    site.put(FIRST.name, FIRST.data)
    own = site.folder / "out" / "index.html"
    own.parent.mkdir()
    own.write_text("<html>mine</html>")
    outputs_after_batch(site, 'pages = true\npath = "out/{date}"', Status.WARNINGS)
    assert own.read_text() == "<html>mine</html>"
    assert "index-not-ours" in json.dumps(site.history[0]["trouble"])
