"""A site's first night: what arrives, what becomes of it, and what is told, by the real command."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import pytest

from cpmon.cli.main import Status, run
from cpmon.store import Store, connect
from tests.batch.fleet import hourly
from tests.batch.openmetrics import parsed
from tests.batch.site import Site, make_site

pytestmark = pytest.mark.slow

GOOD, LATER = hourly("ALPHA", 0, 0), hourly("ALPHA", 0, 1)
BROKEN = hourly("BETA", 1, 0, "record bad")
HOOK = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read())"
SETTINGS = f"""
[batch]
quarantine = "quarantine"
metrics = "out/cpmon.prom"
summary = "out/{{date}}.txt"
summary_json = "out/summary.json"
hook_dump = [{json.dumps(sys.executable)}, "-c", {json.dumps(HOOK)}, "HERE/dumps.jsonl"]
hook_end = [{json.dumps(sys.executable)}, "-c", {json.dumps(HOOK)}, "HERE/ends.jsonl"]
validate = false
[[output]]
report = "PROCESSORS_BY_TIME"
path = "out/{{system}}/%Y/{{name}}-{{date}}.csv"
format = "csv"
[[output]]
exceptions = true
path = "out/{{system}}/exceptions.json"
format = "json"
"""


@dataclass
class Night:
    """The site afterwards, and what the first run said."""

    site: Site
    status: Status
    out: str
    err: str

    def lines(self, name: str) -> list[dict[str, object]]:
        text = (self.site.folder / name).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Night:
    os.environ.pop("CPMON_STORE", None)
    site = make_site(tmp_path_factory.mktemp("night"))
    site.configure(SETTINGS.replace("HERE", str(site.folder)))
    site.put(GOOD.name, GOOD.data)
    site.put("copy.mon", GOOD.data)
    site.put(BROKEN.name, BROKEN.data, age=5)  # young, but ended
    site.put("text.mon", b"No space left on device\n" * 300)
    site.put("growing.mon", LATER.data[:-8192], age=5)
    site.put("notes.txt", b"no business of a batch")
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        sys.stdout.buffer = io.BytesIO()  # type: ignore[misc] # what `deliver` writes to
        status = site.batch("--log-format", "json")
        text = sys.stdout.buffer.getvalue().decode()
    return Night(site, status, text, err.getvalue())


def test_what_is_complete_has_landed_once(night: Night):
    with connect(Store(night.site.store)) as con:
        found = con.sql(
            "SELECT system, count(*), count(DISTINCT interval_end) FROM meta.interval"
            " GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    assert found == [("ALPHA", 3, 3), ("BETA", 2, 2)]


def test_somebody_should_look_so_the_status_is_3(night: Night):
    assert night.status is Status.WARNINGS


def test_a_file_that_is_no_dump_is_moved_with_the_reason_beside(night: Night):
    folder = night.site.folder / "quarantine"
    assert sorted(f.name for f in folder.iterdir()) == ["text.mon", "text.mon.reason.txt"]
    assert "is no monitor data" in (folder / "text.mon.reason.txt").read_text()
    assert not (night.site.inbox / "text.mon").exists()


def test_everything_else_stays_where_it_was(night: Night):
    names = {"copy.mon", "growing.mon", "notes.txt", GOOD.name, BROKEN.name}
    assert {file.name for file in night.site.inbox.iterdir()} == names


def test_the_summary_fits_into_a_mail(night: Night):
    lines = night.out.splitlines()
    assert lines[0] == "cpmon batch: done, with warnings (exit status 3)"
    assert len(lines) <= 60 and max(map(len, lines)) <= 72 and night.out.isascii()
    assert "2 landed, 1 known, 1 deferred, 1 quarantined" in night.out
    (file,) = (night.site.folder / "out").glob("*.txt")
    assert file.read_text() == night.out


def test_its_twin_says_the_same(night: Night):
    said = json.loads((night.site.folder / "out" / "summary.json").read_text())
    assert (said["landed"], said["known"], said["status"]) == (2, 1, 3)
    assert said["findings"] == {
        "RECORD_SHORT": {"severity": "data_loss", "count": 1},
        "INTERVAL_GAP": {"severity": "warning", "count": 1},  # whose end was in that frame
    }
    assert said["systems"]["ALPHA"]["intervals"] == 3


def test_reports_are_where_they_were_wanted(night: Night):
    out = night.site.folder / "out"
    text = (out / "ALPHA" / "2001" / "PROCESSORS_BY_TIME-2001-12-18.csv").read_text()
    assert len(text.splitlines()) > 1
    for system in ("ALPHA", "BETA"):
        assert json.loads((out / system / "exceptions.json").read_text()) is not None


def test_a_report_without_a_measured_interval_is_no_trouble(night: Night):
    assert not (night.site.folder / "out" / "BETA" / "2001").exists()
    said = json.loads((night.site.folder / "out" / "summary.json").read_text())
    assert said["trouble"] == []
    assert "nothing to report" in night.err


def test_the_metrics_are_openmetrics(night: Night):
    found = parsed((night.site.folder / "out" / "cpmon.prom").read_text())
    assert found["cpmon_dumps_total"] == {(("system", "ALPHA"),): 1, (("system", "BETA"),): 1}
    assert found["cpmon_last_exit_code"] == {(): 3}
    assert found["cpmon_findings_total"][("severity", "data_loss"),] == 1
    assert found["cpmon_last_success_timestamp_seconds"][()] > 1_700_000_000


def test_hooks_are_told(night: Night):
    dumps, ends = night.lines("dumps.jsonl"), night.lines("ends.jsonl")
    assert {(d["system"], d["intervals"]) for d in dumps} == {("ALPHA", 3), ("BETA", 2)}
    assert ends[0]["landed"] == 2


def test_each_line_of_the_log_has_the_run_in_it(night: Night):
    lines = [json.loads(line) for line in night.err.splitlines()]
    assert {line["run"] for line in lines} == {night.site.history[0]["run"]}
    assert {"landed", "known", "deferred", "quarantined", "written"} <= {
        line["event"] for line in lines
    }


def test_the_next_run_has_nothing_to_do_and_the_file_still_waits(
    night: Night, capfd: pytest.CaptureFixture[str]
):
    site = night.site
    site.configure("[batch]\nvalidate = false\n")
    site.put("growing.mon", LATER.data[:-4096], age=4000)  # old, but other than at the last look
    (site.inbox / GOOD.name).unlink()
    capfd.readouterr()
    assert site.batch() is Status.DONE
    assert "0 landed, 0 known, 1 deferred" in capfd.readouterr().out
    assert str(site.inbox / GOOD.name) not in site.state["files"]
    status = run(["batch", "status", "--config", str(site.config), "--format", "json"])
    said = json.loads(capfd.readouterr().out)
    assert status is Status.DONE
    assert [row["state"] for row in said["waiting"]] == ["deferred"]
    assert [one["landed"] for one in said["runs"]] == [0, 2]


@pytest.mark.parametrize(
    "text", ['[retention]\nraw = "30"\n', '[exceptions.x]\nmeasure = "no"\n'], ids=["raw", "rule"]
)
def test_what_a_check_of_the_settings_refuses_no_batch_takes(
    text: str, site: Site, capfd: pytest.CaptureFixture[str]
):
    site.configure(text)
    assert run(["config", "check", str(site.config)]) is Status.USAGE
    refused = capfd.readouterr().err
    assert site.batch() is Status.USAGE
    assert capfd.readouterr().err == refused
    assert not site.store.exists()


def test_a_workbook_of_a_day_has_a_sheet_for_each_report(site: Site):
    reports = 'report = ["system_summary_by_time", "user_resource_util"]'
    site.configure(f'[[output]]\n{reports}\npath = "out/{{system}}-{{date}}.xlsx"\n')
    site.put(GOOD.name, GOOD.data)
    assert site.batch() in (Status.DONE, Status.WARNINGS)
    (file,) = (site.folder / "out").iterdir()
    with zipfile.ZipFile(file) as book:
        names = re.findall('sheet name="([^"]+)"', book.read("xl/workbook.xml").decode())
        texts = [book.read(f"xl/worksheets/sheet{n}.xml").decode() for n in (1, 2)]
    assert names == ["SYSTEM_SUMMARY_BY_TIME", "USER_RESOURCE_UTIL"]
    assert all("UTC" in text and "<v>" in text and "<f>" not in text for text in texts)
