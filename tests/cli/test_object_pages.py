from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from cpmon.cli.main import Status
from cpmon.reduce.page import chart, content
from cpmon.reduce.page.episodes import named_in_log
from cpmon.reduce.page.object_page import object_files
from tests.cli.answer import Cpmon

PAGES = ("report", "--html", "--run", "2600NP")
HREF = re.compile(r'<a href="([^"#]+)')


@pytest.fixture(autouse=True)
def few_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of a run has a table of users and one chart."""
    shown = {"USER_RESOURCE_UTIL", "PROCESSORS"}
    only = {name: one for name, one in content.reports().items() if one.name in shown}
    monkeypatch.setattr(content, "reports", lambda: only)
    monkeypatch.setattr(content, "charts", lambda: chart.CHARTS[:1])


@pytest.mark.slow
def test_tables_link_the_pages_of_the_greatest_and_every_link_leads_to_a_file(
    cpmon: Cpmon, perf: Path, tmp_path: Path
):
    answer = cpmon(*PAGES, "--top", "1", "--store", perf, "-o", tmp_path)
    assert answer.status == Status.DONE, answer.err
    pages = sorted(tmp_path.rglob("*.html"))
    kinds = {page.name.split("-")[0] for page in pages if page.parent != tmp_path}
    assert kinds == {"user", "device", "processor", "partition", "class"}
    for page in pages:
        for href in HREF.findall(page.read_text()):
            assert (page.parent / unquote(href)).resolve() in pages, (page, href)
    linked = HREF.findall((tmp_path / "run-2600NP.html").read_text())
    assert any(href.startswith("run-2600NP/user-") for href in linked)
    assert any(href.startswith("run-2600NP/processor-") for href in linked)


@pytest.mark.slow
def test_the_page_of_one_object_is_made_on_demand(cpmon: Cpmon, perf: Path, tmp_path: Path):
    answer = cpmon(*PAGES, "--user", "LINUX186", "--store", perf, "-o", tmp_path)
    assert answer.status == Status.DONE, answer.err
    page = (tmp_path / "run-2600NP" / "user-linux186.html").read_text()
    assert "<h1>User LINUX186</h1>" in page
    assert page.count("<figure") > 1
    assert HREF.findall(page)[:2] == ["../index.html", "../run-2600NP.html"]
    table = page.split('id="t-USER_RESOURCE_UTIL"')[1].split("</table>")[0]
    assert "LINUX001" not in table
    assert [path.name for path in (tmp_path / "run-2600NP").iterdir()] == ["user-linux186.html"]


@pytest.mark.long
def test_an_object_without_a_line_is_named(cpmon: Cpmon, perf: Path, tmp_path: Path):
    answer = cpmon(*PAGES, "--user", "NOBODY", "--store", perf, "-o", tmp_path)
    assert answer.status == Status.USAGE
    assert "no report has a line of User NOBODY" in answer.err
    assert not (tmp_path / "run-2600NP").exists()


def test_files_of_objects_stay_in_their_folder_and_apart():
    objects = [("user", "../../ETC"), ("user", "A/B"), ("user", "A:B"), ("user", "a/b")]
    names = list(object_files([*objects, ("device", 0x7C04), ("partition", "<B>")]).values())
    assert names == [
        "user-..-..-etc.html",
        "user-a-b.html",
        "user-a-b-2.html",
        "user-a-b-3.html",
        "device-7c04.html",
        "partition-b.html",
    ]


@pytest.mark.slow
def test_the_index_has_a_row_a_day_and_a_cell_an_hour(cpmon: Cpmon, perf: Path, tmp_path: Path):
    answer = cpmon(*PAGES, "--tz", "Etc/GMT-2", "--store", perf, "-o", tmp_path)
    assert answer.status == Status.DONE, answer.err
    hourly = cpmon(
        *("report", "system_summary_by_time", "--run", "2600NP", "--by", "1h"),
        *("--store", perf, "--format", "json"),
    )
    (line,) = json.loads(hourly.out)
    assert line["interval_end"].startswith("2001-11-13T15:00")
    hours = (tmp_path / "index.html").read_text().split('class="data hours"')[1]
    row = hours.split("<tbody>")[1].split("</tr>")[0]
    assert "2001-11-13</th>" in row
    cells = [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td.*?</td>", row)]
    assert len(cells) == 24
    head = hours.split("</thead>")[0]  # the script sorts every such table by its buttons
    assert head.count("<th ") == head.count("<button ") == 25
    busy = {hour: text for hour, text in enumerate(cells) if text}
    assert busy == {16: f"{100 * line['total_util']:.0f}"}  # 14:00 to 15:00 UTC
    (href,) = re.findall('href="([^"]+)"', row)
    assert href == "run-2600NP.html#from=2001-11-13T14:00:00Z&amp;to=2001-11-13T14:03:00Z"


def test_a_log_links_the_objects_that_it_names():
    links = {("cpu", 0): "p.html", ("device", 0x7C04): "d.html", ("user", "LNX1"): "u.html"}
    texts = ["processor 0", "device 7C04", "LNX1", "processor 1", "VMSYS", "device of nobody", None]
    assert named_in_log(texts, links) == ["p.html", "d.html", "u.html", "", "", "", ""]


@pytest.mark.long
def test_settings_of_a_user_are_no_chart(cpmon: Cpmon, perf: Path, tmp_path: Path):
    answer = cpmon(*PAGES, "--user", "LINUX186", "--store", perf, "-o", tmp_path)
    assert answer.status == Status.DONE, answer.err
    page = (tmp_path / "run-2600NP" / "user-linux186.html").read_text()
    figures = re.findall('<figure[^>]* id="c-([^"]+)', page)
    assert 'id="r-USER_CONFIG"' in page
    assert figures and not [name for name in figures if name.startswith("user_config")]


@pytest.mark.slow
def test_values_of_a_comparison_lead_to_their_charts_on_pages_beside_it(
    cpmon: Cpmon, perf: Path, tmp_path: Path
):
    words = ("compare", "--base", "2600NP", "--run", "3600P1", "--store", perf, "--html")
    assert cpmon(*words, "-o", tmp_path).status == Status.DONE
    page = tmp_path / "3600P1-with-2600NP.html"
    assert "<a " not in page.read_text()
    assert cpmon(*PAGES, "--store", perf, "-o", tmp_path).status == Status.DONE
    assert cpmon(*words, "-o", tmp_path).status == Status.DONE
    hrefs = re.findall('<a href="([^"]+)"', page.read_text())
    assert "run-2600NP.html" in hrefs and "run-2600NP.html#c-spin" in hrefs
    pages = {href.partition("#")[0] for href in hrefs}
    assert pages == {"run-2600NP.html", "index.html"}  # 3600P1 has none
