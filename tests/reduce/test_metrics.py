"""Metrics as data: what a row and an entry add, and which rows are refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cpmon.config import Document
from cpmon.core.errors import CpmonError
from cpmon.reduce.metrics import metric_of, views
from cpmon.reduce.metrics.report_set import HEADER, read_metrics, read_reports
from cpmon.reduce.reductions.sql_files import ordered, parse
from cpmon.reduce.reductions.system_settings import read_settings

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "sample-data/small-lab" / "LAB.mon.zst"
ROW = (
    "write_share,processors_by_time,ratio,xstor_pages,dasd_pages,1e3,,permille,1,9,Xstor|share,"
    ",0,,,,,Pages of expanded storage for every thousand of DASD. NULL without DASD pages.\n"
)
ENTRY = """
[[report]]
name = "SHARES"
title = "Paging of each processor"
group = "processors"
reduction = "processors_by_time"
lines = "object"
keys = ["cpu"]
sort = "write_share"
columns = ["cpu", "write_share", { metric = "total_util", heading = "Busy" }]
"""


def cpmon(package: Path, *arguments: str | Path) -> str:
    """What a command of a copy of the package prints."""
    done = subprocess.run(
        [sys.executable, "-m", "cpmon", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(package), "CPMON_CONFIG": ""},
        cwd=package,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 3), done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_row_adds_a_metric_and_an_entry_a_report(tmp_path: Path) -> None:
    package = tmp_path / "package"
    shutil.copytree(
        ROOT / "src" / "cpmon", package / "cpmon", ignore=shutil.ignore_patterns("__py*")
    )
    rows = package / "cpmon" / "reduce" / "metrics" / "processor.csv"
    rows.write_text(rows.read_text(encoding="utf-8") + ROW, encoding="utf-8")
    reports = package / "cpmon" / "reduce" / "metrics" / "reports.toml"
    reports.write_text(reports.read_text(encoding="utf-8") + ENTRY, encoding="utf-8")
    store = tmp_path / "store"
    cpmon(package, "ingest", LAB, "--store", store)
    cpmon(package, "reduce", "processors_by_time", "--store", store)
    lines = cpmon(package, "report", "SHARES", "--store", store, "--format", "csv").splitlines()
    assert lines[0] == "cpu,write_share,total_util,system,begin,end,measured_s"
    sums = (
        "SELECT cpu, 1e3 * sum(xstor_pages) / sum(dasd_pages) AS write_share"
        " FROM processors_by_time WHERE seconds IS NOT NULL GROUP BY cpu ORDER BY 2 DESC, 1"
    )
    expected = cpmon(package, "query", sums, "--store", store, "--format", "csv").splitlines()[1:]
    assert len(expected) > 1
    for line, sought in zip(lines[1:], expected, strict=True):
        assert float(line.split(",")[1]) == pytest.approx(float(sought.split(",")[1]), rel=1e-12)
    text = cpmon(package, "report", "SHARES", "--store", store)
    assert "Paging of each processor" in text
    assert all(word in text for word in ("Xstor", "share", "permille", "Busy"))


GOOD = (
    ",".join(HEADER)
    + "\nbusy,cpu_by_time,ratio,busy_tod,seconds,1/4096e6,,%,1,6,Busy,,,,,,,Text.\n"
)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("ratio", "quotient", "quotient"),
        ("1/4096e6", "1/0", "1/0"),
        (",seconds,", ",,", "nothing"),
        (",1,6,", ",one,6,", "one"),
        (",1,6,", ",1,wide,", "wide"),
        (",,,Text", ",5,,Text", "5"),
        (",,,Text", ",,6,Text", "6"),
        (",,,Text", "first,,,Text", "first"),
        (",,,,,Text", ",-,,,,Text", "-"),
        (",,,,Text", ",1..2,,,Text", "1..2"),
        (",Text.", "", "17"),
        ("name,views", "views,name", "views,name"),
    ],
)
def test_a_row_that_means_nothing_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, found: str
) -> None:
    file = tmp_path / "cpu.csv"
    file.write_text(GOOD, encoding="utf-8")
    (metric,) = read_metrics(file)
    assert (metric.multiplier, metric.scale) == (1 / 4096e6, 100)
    file.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(CpmonError, match="a row of metrics") as caught:
        list(read_metrics(file))
    assert str(caught.value.place).startswith("metrics/cpu.csv:")
    assert str(caught.value.found).startswith(found)


SUMS = """\
-- Sums of a processor.
CREATE OR REPLACE VIEW cpu_by_time AS
SELECT system,
       interval_end,
       -- Elapsed seconds.
       seconds,
       -- Running, TOD units.
       busy AS busy_tod
FROM interval.sytprp;
"""


def test_a_view_has_keys_then_metrics_then_sums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, sql = tmp_path / "cpu.csv", tmp_path / "cpu_by_time.sql"
    rows.write_text(GOOD, encoding="utf-8")
    sql.write_text(SUMS, encoding="utf-8")
    monkeypatch.setattr(views, "metrics_of", lambda _: {m.name: m for m in read_metrics(rows)})
    sums, shown = ordered(views.with_metrics([parse(sql.name, sql.read_text())]))
    assert (sums.name, shown.name) == ("_cpu_by_time", "cpu_by_time")
    assert [(column.name, column.doc) for column in shown.columns] == [
        ("system", "System."),
        ("interval_end", "End of the interval, UTC."),
        ("seconds", "Elapsed seconds."),
        ("busy", "Text."),
        ("busy_tod", "Running, TOD units."),
    ]
    assert "CAST(busy_tod AS DOUBLE) / 4096e6 / nullif(seconds, 0) AS busy" in shown.select
    rows.write_text(GOOD.replace(",,,,,,,Text", ",,0,1,,,,Text"), encoding="utf-8")
    raw, sums, shown = ordered(views.with_metrics([parse(sql.name, sql.read_text())]))
    assert [raw.name, sums.name] == ["_cpu_by_time_sums", "_cpu_by_time"]
    assert "THEN busy_tod END AS busy_tod" in sums.select
    rows.write_text(GOOD.replace("busy_tod", "busy_tud"), encoding="utf-8")
    with pytest.raises(CpmonError, match="no column for the metric busy") as caught:
        views.with_metrics([parse(sql.name, sql.read_text())])
    assert caught.value.remedy == "did you mean busy_tod?"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"cpu", "write', '"cpo", "write', "no metric of processors_by_time"),
        ('heading = "Busy"', 'heading = "Busy", format = "wide"', "format that means nothing"),
        ('sort = "', 'sorted = "', "sorted"),
        ('lines = "object"', 'lines = "objects"', "objects"),
    ],
)
def test_a_report_that_means_nothing_is_refused(old: str, new: str, problem: str) -> None:
    entry = ENTRY.replace("write_share", "ssch_rate")
    old, new = (text.replace("write", "ssch") for text in (old, new))
    good, bad = (Document(text, "own", "it") for text in (entry, entry.replace(old, new)))
    assert read_reports([good])["SHARES"].columns[2].label == "Busy"
    with pytest.raises(CpmonError, match="(?s).*" + problem):
        read_reports([bad])


def test_a_metric_that_no_view_has_is_named_with_the_nearest() -> None:
    with pytest.raises(CpmonError) as caught:
        metric_of("processors_by_time", "total_utl")
    assert caught.value.remedy == "did you mean total_util?"


@pytest.mark.parametrize(
    "row",
    [
        "10,Name,monitor.mtrsys,text,systmid,,perhaps",
        "ten,Name,monitor.mtrsys,text,systmid,,",
        "10,Name,monitor.mtrsys,words,systmid,,",
        "10,Name,monitor.mtrsys,text,systmid,",
    ],
)
def test_a_setting_that_means_nothing_is_refused_with_its_line(row: str) -> None:
    header = "position,label,relation,form,value,unit,optional\n"
    (good,) = read_settings(f"{header}10,Size,monitor.mtrmem,bytes,systors,MB,\n")
    assert good.sql == "CAST(ROUND(systors / 1048576e0) AS BIGINT) || ' MB'"
    with pytest.raises(CpmonError, match="a row of settings") as caught:
        list(read_settings(f"{header}{row}\n"))
    assert caught.value.place == "system_settings.csv:2"
