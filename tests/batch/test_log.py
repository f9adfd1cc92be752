"""The log of a batch, and its hooks."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from cpmon.batch.hooks import run_command
from cpmon.batch.log import ascii_line, ascii_path, log, write_log
from cpmon.core.errors import StoreError


def test_the_log_is_text_or_json_and_has_a_priority_in_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with (tmp_path / "log").open("w+") as stream:
        there = os.fstat(stream.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{there.st_dev}:{there.st_ino}")
        monkeypatch.setattr(log, "run", "-")  # that of a batch in this process stays
        write_log("text", stream)
        log.warning("odd", path="a b\nc")
        stream.seek(0)
        line = stream.read()
    assert line.startswith("<4>") and line.endswith(' warning run=- odd path="a b c"\n')
    other = io.StringIO()
    write_log("json", other, quiet=True)
    log.info("news")
    assert other.getvalue() == ""
    write_log("json", other)
    log.info("news", path="x\ny")
    assert json.loads(other.getvalue())["path"] == "x\ny"


def test_an_error_in_the_log_has_its_code_in_json():
    error = StoreError("the disk of the store is full", code="disk-full", remedy="make room")
    logs = {form: io.StringIO() for form in ("json", "text")}
    for form, stream in logs.items():
        write_log(form, stream)
        log.error("not done", reason=error)
    entry = json.loads(logs["json"].getvalue())
    assert (entry["code"], entry["reason"]) == ("disk-full", str(error))
    assert "disk-full" not in logs["text"].getvalue()


def test_a_traceback_is_a_field_of_its_line():
    logs = {form: io.StringIO() for form in ("json", "text")}
    for form, stream in logs.items():
        write_log(form, stream)
        try:
            raise ValueError("odd")
        except ValueError as error:
            log.exception("failed", reason=error)
    entry = json.loads(logs["json"].getvalue())
    assert entry["reason"] == "odd" and entry["trace"].endswith("\nValueError: odd")
    (line,) = logs["text"].getvalue().splitlines()
    assert line.endswith('ValueError: odd"')


def test_control_characters_never_reach_a_terminal():
    line = ascii_line("a\x1b[31m\r\n  b\x00'é\udcff")
    assert line == "a\\x1b[31m b\\x00'\\xe9\\udcff"
    assert ascii_line(line) == line  # it may pass through several hands
    assert ascii_path(Path("/in/two  'words'\n.mon")) == "/in/two  'words'\\n.mon"


def test_a_hook_reads_json_and_no_shell_reads_its_words(tmp_path: Path):
    told = tmp_path / "told"
    script = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read() + sys.argv[2])"
    command = (sys.executable, "-c", script, str(told), "$(touch x); `y`")
    assert run_command(command, {"a": 1}, 20) == ""
    assert told.read_text() == '{"a": 1}\n$(touch x); `y`'


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("/no/such",), "cannot be started: No such file"),
        (("sh", "-c", "echo it broke; exit 7"), "ended with status 7: it broke"),
        (("sh", "-c", "kill -9 $$"), "was ended by signal 9"),
        (("sh", "-c", "sleep 60 & sleep 60"), "did not end within 0.3 s"),
    ],
)
def test_a_hook_that_fails_is_told(command: tuple[str, ...], said: str):
    assert said in run_command(command, {}, 0.3 if "sleep" in str(command) else 20)
