"""From a page of the server to other times, charts of metrics, files, explanations and objects."""

from __future__ import annotations

import io
import json
import re
from datetime import timedelta
from html import unescape
from pathlib import Path

import polars
import pytest

from cpmon.config import Settings
from cpmon.generate import load_scenario, write_run
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.reductions.reductions import reductions
from cpmon.serve import objects
from cpmon.serve.objects import objects_of_system
from cpmon.store import Store, connect
from tests.serve.conftest import Server

RUN = {"run": "2600NP"}


@pytest.mark.slow
def test_a_page_leads_to_other_times_files_and_explanations(server: Server):
    page = server.get("page", **RUN).text
    assert 'name="since" value="2001-11-13T14:00"' in page
    head = page[page.index("<header>") : page.index("</header>")]
    links = {text: unescape(href) for href, text in re.findall('href="([^"]+)">([^<]+)<', head)}
    assert {"last hour", "chart of metrics"} <= links.keys()
    hour = server.get(links["last hour"])
    assert "previous day" in hour.text or "next day" in hour.text
    explain = re.search(r'href="(explain[^"]+)">explain<', page)
    explained = server.get(unescape(explain[1]))
    assert explained.status == 200
    assert "different" in explained.text
    assert 'href="page?run=2600NP#from=2001-11-13T' in explained.text
    for kind, name in (("chart", "master"), ("report", "PROCESSORS_BY_TIME")):
        assert f'href="{kind}.csv?run=2600NP&amp;{kind}={name}"' in page


def test_charts_and_reports_are_files(server: Server):
    lines = polars.read_csv(
        io.BytesIO(server.get("report.csv", **RUN, report="PROCESSORS_BY_TIME").body)
    )
    assert {"interval_end", "cpu", "total_util", "system"} <= {*lines.columns}
    drawn = json.loads(server.get("chart.json", **RUN, chart="master").body)
    assert {row["series"] for row in drawn} == {"Master", "Mean of all"}
    for address in ({"report": "PROCESSORS_BY_TIME"}, {"chart": "master"}):
        name = next(iter(address))
        picture = server.get(f"{name}.png", **RUN, **address)
        assert picture.body[1:4] == b"PNG"
        assert picture.headers["content-type"] == "image/png"
    assert server.get("chart.exe", **RUN, chart="master").status == 404
    for wrong in ({}, {"chart": "nosuch"}, {"report": "nosuch"}, {"metric": "nosuch"}):
        assert server.get("chart.csv", **RUN, **wrong).status in (400, 404)


def test_metrics_of_objects_are_drawn_against_a_run(server: Server):
    asked = {**RUN, "metric": "cpu_util", "user": "LINUX186,LINUX187"}
    rows = json.loads(server.get("chart.json", **asked).body)
    heading = "%CPU of one proc"
    assert {row["series"] for row in rows} == {f"{u} {heading}" for u in asked["user"].split(",")}
    assert {row["unit"] for row in rows} == {"%"}
    system = {"metric": "total_util"}
    against = json.loads(server.get("chart.json", **RUN, **system, against="3600P1").body)
    base = json.loads(server.get("chart.json", run="3600P1", **system).body)
    moved = [row for row in against if row["series"].endswith(" of run 3600P1")]
    assert [row["value"] for row in moved] == [row["value"] for row in base]
    assert moved[0]["interval_end"][:16] == against[0]["interval_end"][:16]
    page = server.get("chart", **asked).text
    assert 'value="cpu_util"' in page and 'value="LINUX186,LINUX187"' in page
    assert "<figure" in page
    many = ",".join(f"LINUX{n}" for n in range(100, 130))
    assert server.get("chart", **{**asked, "user": many}).status == 400


def test_a_chart_without_metrics_is_a_form(server: Server):
    page = server.get("chart").text
    assert '<option value="total_util">' in page
    assert "<figure" not in page
    assert "form-action 'self'" in server.get("chart").headers["content-security-policy"]
    strange = server.get("chart", metric="<b>", run="2600NP")
    assert strange.status == 404
    assert "<b>" not in strange.text


def test_all_objects_of_a_system_are_found(server: Server):
    index = server.get("").text
    address = unescape(re.search('data-objects="([^"]+)"', index)[1])
    objects = dict(json.loads(server.get(address).body))
    assert {"User LINUX186", "Processor 0"} <= objects.keys()
    assert server.get(objects["User LINUX186"]).status == 200
    assert server.get("objects", system="nosuch").status == 404


def test_times_are_those_of_the_zone_that_an_address_names(server: Server):
    span = {**RUN, "chart": "master"}
    utc = server.get("chart.csv", **span, since="2001-11-13T14:01", until="2001-11-13T14:02")
    local = {"since": "2001-11-13T15:01", "until": "2001-11-13T15:02", "zone": "Europe/Vienna"}
    assert server.get("chart.csv", **span, **local).body == utc.body
    assert utc.body.count(b"2001-11-13") == 2
    assert server.get("chart.csv", **span, zone="Nowhere/At_all").status in (400, 404)


@pytest.mark.slow
def test_who_is_in_kept_hours_alone_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    dump = write_run(load_scenario("small-lab"), "LAB", tmp_path, intervals=40).dump
    store = Store(tmp_path / "store", create=True)
    ingest(dump, store)
    monkeypatch.setattr(objects, "REACH", timedelta(minutes=5))

    def found() -> set[str]:
        with connect(store, reductions()) as connection:
            return {title for title, _ in objects_of_system(connection, {"system": "SMALLLAB"})}

    assert "User STAFF001" in found() and "User STAFF003" not in found()  # who logged off at 8:20
    reduce(store, ("users_by_time",), Settings())
    assert "User STAFF003" in found()
