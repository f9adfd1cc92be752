"""A batch that cannot do as it was told: what the message says helps."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cpmon.batch import BatchRunner
from cpmon.batch.result import BatchResult
from cpmon.batch.state import exclusive_lock
from cpmon.cli.main import Status
from cpmon.core.errors import StoreError
from tests.batch.site import Site, make_site
from tests.dumps import dump, fields, interval
from tests.remedies.trying import Attempt, tries

OPERATIONS = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
QUIET = "[batch]\nvalidate = false\nexceptions = false\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    found = make_site(tmp_path, monkeypatch)
    found.configure(QUIET)
    return found


def example() -> str:
    """The settings that docs/operations.md has to start from."""
    return OPERATIONS.read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]


@tries("settings-missing")
@tries("inbox-missing")
def test_the_page_has_settings_to_start_from(
    tried: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its paths are put below a folder of this test; all else is as it stands there."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "cpmon.toml"
    said = tried.fails("batch", "run", "--store", tmp_path / "store")
    assert "docs/operations.md has settings to start from" in said
    file.write_text(f'store = "{tmp_path}/store"\n', encoding="utf-8")
    tried.fails("batch", "run", "--config", file)
    (tmp_path / "var" / "spool" / "monwrite").mkdir(parents=True)
    file.write_text(example().replace('"/', f'"{tmp_path}/'), encoding="utf-8")
    tried.works("batch", "run", "--config", file)


@tries("batch-running")
def test_the_next_batch_waits_for_the_first(tried: Attempt, site: Site):
    words = ("--config", site.config)
    tried.works("batch", "run", *words)
    with exclusive_lock(site.store / "batch", "first"):
        said = tried.fails("batch", "run", *words)
        assert "`cpmon batch status` shows which one it is" in said
        assert "run first" in tried.cpmon("batch", "status", *words).text
    tried.works("batch", "run", *words)


@tries("path-mark-invalid")
def test_a_percent_sign_in_a_path_is_doubled(tried: Attempt, site: Site):
    output = f'{QUIET}[[output]]\nreport = "EVENTS"\npath = "100%x/{{date}}.txt"\n'
    site.configure(output)
    tried.fails("config", "check", site.config)
    site.configure(output.replace("%x", "%%x"))
    tried.works("config", "check", site.config)


@pytest.mark.slow
@tries("output-path-ambiguous")
def test_the_system_in_a_path_keeps_two_of_them_apart(tried: Attempt, site: Site):
    output = f'{QUIET}[[output]]\nreport = "EVENTS"\npath = "out/{{date}}.txt"\n'
    site.configure(output)
    for name in ("VM1", "VM2"):
        start = fields("mtrsys", 60, systmid=name)
        user = fields("uselof", 120, vmduser="U1")
        data = dump(interval(60, start, fields("sytrsp", 60)), interval(120, user))
        site.put(f"{name}.mon", data)
    said = tried.cpmon("batch", "run", "--config", site.config, "-q")
    assert said.status is Status.WARNINGS
    assert "one file; put {system} into the path" in " ".join(said.text.split())
    site.configure(output.replace("out/", "out/{system}/"))
    done = tried.works("batch", "run", "--config", site.config, status=Status.DONE)
    assert "would be written to one file" not in done.text
    assert list((site.folder / "out").glob("VM2/*.txt"))


@pytest.mark.slow
@tries("index-not-ours")
def test_pages_below_another_folder_have_an_index(tried: Attempt, site: Site):
    output = f'{QUIET}[[output]]\npages = true\npath = "out/{{date}}"\n'
    site.configure(output)
    records = fields("mtrsys", 60, systmid="VM1"), fields("sytrsp", 60)
    site.put("VM1.mon", dump(interval(60, *records), interval(120, fields("sytrsp", 120))))
    (site.folder / "out").mkdir()
    (site.folder / "out" / "index.html").write_text("mine")
    said = tried.cpmon("batch", "run", "--config", site.config, "-q")
    assert said.status is Status.WARNINGS
    assert "put a folder into the path of the output" in " ".join(said.text.split())
    site.configure(output.replace("out/", "out/pages/"))
    site.put("VM1-2.mon", dump(interval(180, *records), interval(240, fields("sytrsp", 240))))
    tried.works("batch", "run", "--config", site.config, status=Status.DONE)
    assert (site.folder / "out" / "pages" / "index.html").is_file()


@pytest.mark.slow
@tries("quarantine-failed")
def test_a_quarantine_that_can_be_written_takes_the_file(tried: Attempt, site: Site):
    """A file in the place of its folder stands for rights: to root nothing is forbidden."""
    site.configure(f'{QUIET}quarantine = "bad"\n')
    (site.folder / "bad").touch()
    letter = site.put("letter.mon", b"Dear Sir or Madam,\n" * 500)
    words = ("batch", "run", "--config", site.config)
    said = tried.cpmon(*words)
    told = " ".join(said.text.split())
    assert said.status is Status.WARNINGS and "; let this user write to " in told
    (site.folder / "bad").unlink()
    tried.works(*words, status=Status.WARNINGS)
    assert (site.folder / "bad" / "letter.mon").exists() and not letter.exists()


@pytest.mark.slow
@tries("quarantine-failed")
def test_a_file_that_cannot_leave_the_inbox_leaves_no_copies_in_quarantine(
    tried: Attempt, site: Site, monkeypatch: pytest.MonkeyPatch
):
    """The quarantine is on another disk, and the account may not write to the inbox."""
    site.configure(f'{QUIET}quarantine = "bad"\n')
    letter = site.put("letter.mon", b"Dear Sir or Madam,\n" * 500)
    words, rename, unlink = ("batch", "run", "--config", site.config), Path.rename, Path.unlink

    def elsewhere(self: Path, target: Path) -> Path:
        if self == letter:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return rename(self, target)

    def forbidden(self: Path, missing_ok: bool = False) -> None:
        if self == letter:
            raise PermissionError(errno.EACCES, "Permission denied")
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "rename", elsewhere)
    monkeypatch.setattr(Path, "unlink", forbidden)
    for _ in range(3):
        said = tried.cpmon(*words)
        assert "(Permission denied); let this user write" in " ".join(said.text.split())
        assert list((site.folder / "bad").iterdir()) == []
    monkeypatch.setattr(Path, "unlink", unlink)
    tried.works(*words, status=Status.WARNINGS)
    assert (site.folder / "bad" / "letter.mon").exists() and not letter.exists()


def test_an_inbox_that_was_not_there_is_read_when_it_is_made(tried: Attempt, site: Site):
    site.inbox.rmdir()
    words = ("batch", "run", "--config", site.config)
    said = tried.cpmon(*words)
    assert said.status is Status.WARNINGS
    assert "cannot be read: No such file or directory" in " ".join(said.text.split())
    site.inbox.mkdir()
    tried.works(*words)


@tries("settings-untrusted")
def test_settings_with_commands_are_kept_outside_of_the_store(tried: Attempt, site: Site):
    words = ("batch", "run", "--store", site.store)
    tried.works(*words, "--config", site.config)
    inside = site.store / "cpmon.toml"
    hook = json.dumps([sys.executable, "-c", ""])
    inbox = json.dumps(str(site.inbox))
    inside.write_text(f"[[inbox]]\nfolder = {inbox}\n{QUIET}hook_end = {hook}\n")
    site.config.unlink()
    tried.fails(*words)
    inside.rename(site.config)
    tried.works(*words, "--config", site.config)


def test_a_hook_that_fails_is_tried_by_hand_with_the_twin_of_the_summary(
    tried: Attempt, site: Site
):
    broken, right = (f"import json, sys; json.load(sys.stdin)['{key}']" for key in ("x", "run"))
    hook = [sys.executable, "-c", broken]
    settings = f'{QUIET}summary_json = "told.json"\nhook_end = {json.dumps(hook)}\n'
    site.configure(settings)
    words = ("batch", "run", "--config", site.config)
    said = tried.cpmon(*words)
    assert said.status is Status.WARNINGS and "ended with status 1" in " ".join(said.text.split())
    told = (site.folder / "told.json").read_bytes()
    by_hand = [
        subprocess.run([*hook[:2], code], input=told, capture_output=True, check=False).returncode
        for code in (broken, right)
    ]
    assert by_hand == [1, 0]
    site.configure(settings.replace(json.dumps(broken), json.dumps(right)))
    tried.works(*words)


def test_a_batch_that_stays_tries_again_when_the_disk_was_full(
    tried: Attempt, site: Site, monkeypatch: pytest.MonkeyPatch
):
    told: list[str] = []
    once = BatchRunner.run

    def full_at_first(self: BatchRunner, *, idle: bool) -> BatchResult:
        told.append("full" if not told else "done")
        if told == ["full"]:
            raise StoreError("the disk of the store is full", remedy="make room")
        os.kill(os.getpid(), signal.SIGTERM)
        return once(self, idle=idle)

    monkeypatch.setattr(BatchRunner, "run", full_at_first)
    site.configure(f"{QUIET}watch = '1s'\n")
    answer = tried.works("batch", "run", "--watch", "--config", site.config)
    assert told == ["full", "done"] and "remedy make room" in answer.err


@pytest.mark.slow
def test_what_could_not_be_written_is_written_by_the_next_run(tried: Attempt, site: Site):
    site.configure(f'{QUIET}[[output]]\nreport = "EVENTS"\npath = "out/{{date}}.txt"\n')
    start = fields("mtrsys", 60, systmid="VM1")
    user = fields("uselof", 120, vmduser="U1")
    site.put("VM1.mon", dump(interval(60, start, fields("sytrsp", 60)), interval(120, user)))
    (site.folder / "out").touch()
    words = ("batch", "run", "--config", site.config)
    said = tried.cpmon(*words)
    assert "cannot be written: File exists" in " ".join(said.text.split())
    (site.folder / "out").unlink()
    tried.works(*words)
    assert list((site.folder / "out").glob("*.txt"))
