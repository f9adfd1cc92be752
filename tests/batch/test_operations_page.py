"""docs/operations.md against the product: keys, messages, metrics and marks that exist."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cpmon.batch.metrics import render_metrics
from cpmon.batch.plan import CODES, fixed_folder, read_plan
from cpmon.batch.state import State
from cpmon.config.settings import BatchSettings, InboxSettings, OutputSettings, parse_settings
from tests.batch.test_result import result
from tests.units import units_of, verify_units

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def test_the_settings_to_start_from_are_read(tmp_path: Path):
    text, of_pages = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    file = tmp_path / "cpmon.toml"
    file.write_text(text + of_pages, encoding="utf-8")
    plan = read_plan(parse_settings(file))
    assert len(plan.outputs) == 4 and plan.batch.quarantine is not None


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_accepts_the_units_and_notices_what_is_wrong(tmp_path: Path):
    service, timer = units_of(PAGE)
    names = ("cpmon-batch.service", "cpmon-batch.timer")
    assert verify_units(tmp_path, dict(zip(names, (service, timer), strict=True))) == ""
    assert "Nicer" in verify_units(tmp_path, {names[0]: service.replace("Nice=", "Nicer=")})
    assert "calendar" in verify_units(tmp_path, {names[1]: timer.replace("*:0/15", "*:0/x")})


def test_the_service_may_write_where_the_settings_say(tmp_path: Path):
    text, _ = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    file = tmp_path / "cpmon.toml"
    file.write_text(text, encoding="utf-8")
    settings = parse_settings(file)
    plan = read_plan(settings)
    assert settings.store and plan.batch.metrics and plan.batch.quarantine
    written = [settings.store, plan.batch.metrics.parent, plan.batch.quarantine]
    written += [fixed_folder(output.path) for output in plan.outputs]
    written += [inbox.folder for inbox in plan.inboxes]
    allowed = re.findall("^ReadWritePaths=(.*)$", units_of(PAGE)[0], re.M)
    for folder in written:
        assert any(folder.is_relative_to(each) for each in allowed), folder


def test_cron_takes_warnings_and_a_busy_store_for_success():
    (line,) = re.findall(r"^\*/15 \* \* \* \* (.*)$", PAGE, re.M)
    for status, ends in ((0, 0), (3, 0), (75, 0), (1, 1), (4, 1)):
        command = f"(exit {status}) ||{line.partition('||')[2]}"
        assert subprocess.run(["sh", "-c", command], check=False).returncode == ends


def test_every_key_of_the_batch_is_told():
    for table in (InboxSettings, BatchSettings, OutputSettings):
        for key in table.__struct_encode_fields__:
            assert f"`{key}`" in PAGE, key


def test_every_metric_is_told():
    for family in re.findall(r"# TYPE (\w+) (\w+)", render_metrics(State(), result(), None)):
        name = family[0] + ("_total" if family[1] == "counter" else "")
        assert f"`{name}" in PAGE


def test_every_code_of_a_path_is_told():
    assert all(f"%{code}" in PAGE for code in CODES)


def test_every_message_of_the_page_is_one_of_the_product():
    folders = ("batch", "cli", "ingest", "reduce", "store")
    source = "\n".join(
        file.read_text(encoding="utf-8") for f in folders for file in (ROOT / f).rglob("*.py")
    )
    section = PAGE.partition("## 5. ")[2]
    said = [
        m for row in re.findall(r"^\| (.*?) \| ", section, re.M) for m in re.findall("`(.+?)`", row)
    ]
    assert len(said) > 10
    for message in said:
        ours = re.sub(
            r"^(\.\.\.|STORE|VM1 and VM2|hook_end: \.\.\.) |: (No|Permission).*| N$", "", message
        )
        assert ours in source, message
