"""What becomes of files, one by one; nothing is reduced here."""

from __future__ import annotations

import errno
import gzip
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cpmon.batch import BatchResult, read_plan
from cpmon.batch import intake as intake_module
from cpmon.batch.intake import Intake
from cpmon.batch.log import write_log
from cpmon.batch.state import State, load_state
from cpmon.config import read_settings
from cpmon.ingest import ingest
from cpmon.store import Store
from tests.batch.fleet import hourly
from tests.batch.site import Site
from tests.dumps import dump, fields, interval
from tests.ingest.container.failing import fail_behind

GOOD, LATER = hourly("ALPHA", 0, 0), hourly("ALPHA", 0, 1)


class Landing:
    """Takes in what lies in a site's inboxes, and remembers it."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.store = Store(site.store, create=True)
        self.folder = site.store / "batch"
        self.folder.mkdir()
        self.log = io.StringIO()

    def __call__(self) -> BatchResult:
        settings = read_settings(self.site.store, self.site.config)
        plan = read_plan(settings)
        memory = load_state(self.store, self.folder)
        write_log("text", self.log)
        found = BatchResult("test", datetime.now(UTC))
        Intake(self.store, plan, memory, self.folder, settings, lambda: False).run(found)
        memory.save(self.folder)
        return found

    @property
    def memory(self) -> State:
        return load_state(self.store, self.folder)

    @property
    def dumps(self) -> list[str]:
        documents = (self.store.about(landed.dump) or {} for landed in self.store.dumps())
        return [about["source"] for about in documents]


@pytest.fixture
def land(site: Site) -> Landing:
    return Landing(site)


def test_a_bad_file_stops_no_other(site: Site, land: Landing, monkeypatch: pytest.MonkeyPatch):
    for name, data in (("a.mon", b"text"), ("b.mon", GOOD.data), ("c.mon", LATER.data)):
        site.put(name, data)
    real = intake_module.ingest

    def fails(path: Path, *rest: object, **more: object) -> object:
        if path.name == "b.mon":
            raise ZeroDivisionError("a bug")
        return real(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(intake_module, "ingest", fails)
    found = land()
    assert (found.landed, found.counts["rejected"], found.counts["failures"]) == (1, 1, 1)
    assert int(found.status) == 1
    assert land.dumps == ["c.mon"]
    assert land().counts["failures"] == 0  # it is not tried again and again


def test_what_failed_is_tried_again_by_another_cpmon(
    site: Site, land: Landing, monkeypatch: pytest.MonkeyPatch
):
    site.put("a.mon", b"text")
    assert land().counts["rejected"] == 1
    assert land().counts["rejected"] == 0
    state = land.folder / "state.json"
    said = json.loads(state.read_text())
    state.write_text(json.dumps({**said, "cpmon": "0.0.1"}))
    assert land().counts["rejected"] == 1


def test_a_memory_that_is_lost_or_damaged_costs_a_look_and_no_more(site: Site, land: Landing):
    site.put("a.mon", GOOD.data)
    land()
    (land.folder / "state.json").write_text("{")
    assert land.memory.systems["ALPHA"].dumps == 1
    found = land()
    assert (found.landed, found.known) == (0, 1)
    assert land.memory.open["ALPHA"]  # its outputs may not have been written


def test_a_dump_of_a_run_that_was_killed_is_known_and_its_hook_is_not_told(
    site: Site, land: Landing
):
    """As docs/operations.md says; the other way a dump might be told twice."""
    site.configure(f'[batch]\nhook_dump = ["touch", "{site.folder}/told"]\n')
    ingest(site.put("a.mon", GOOD.data), land.store)  # and killed before anything was remembered
    found = land()
    assert (found.landed, found.known, found.counts["trouble"]) == (0, 1, 0)
    assert land.memory.open["ALPHA"] and not (site.folder / "told").exists()
    site.put("b.mon", LATER.data)
    assert land().landed == 1 and (site.folder / "told").exists()


def test_a_file_that_grows_while_it_is_read_does_not_land(
    site: Site, land: Landing, monkeypatch: pytest.MonkeyPatch
):
    path = site.put("a.mon", GOOD.data)
    real = intake_module.ingest

    def grows(*rest: object, **more: object) -> object:
        with path.open("ab") as file:
            file.write(bytes(4096))
        return real(*rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(intake_module, "ingest", grows)
    found = land()
    assert (found.landed, found.counts["deferred"]) == (0, 1)
    assert land.dumps == [] and list((site.store / "staging").iterdir()) == []


def test_a_file_on_a_disk_that_fails_is_tried_again(
    site: Site, land: Landing, monkeypatch: pytest.MonkeyPatch
):
    site.put("a.mon.gz", gzip.compress(GOOD.data))
    with monkeypatch.context() as patch:
        fail_behind(patch, 100, errno.ESTALE)
        found = land()
    assert (found.landed, found.counts["trouble"], found.counts["rejected"]) == (0, 1, 0)
    assert land().landed == 1


def test_files_that_are_gone_are_forgotten_but_not_with_their_folder(site: Site, land: Landing):
    site.put("a.mon", GOOD.data)
    site.put("b.mon", LATER.data)
    land()
    (site.inbox / "a.mon").unlink()
    land()
    assert list(land.memory.files) == [str(site.inbox / "b.mon")]
    site.inbox.rename(site.folder / "unmounted")
    found = land()
    assert found.counts["trouble"] == 1 and list(land.memory.files) == [str(site.inbox / "b.mon")]


def test_an_inbox_may_name_its_system(site: Site, land: Landing):
    site.configure(inbox='folder = "inbox"\nsystem = "VMPROD"')
    site.put("a.mon", hourly("ALPHA", 0, 0, "no configuration").data)
    assert land().systems.keys() == {"VMPROD"}


def test_the_release_of_a_system_is_for_dumps_that_name_none(site: Site, land: Landing):
    text = '[systems.VMPROD]\nrelease = "4.4"\n'
    site.configure(text, inbox='folder = "inbox"\nsystem = "VMPROD"')
    for level in ("", "05030000"):
        config = fields("mtrsys", systmid="VMPROD", hcpcpeid=level)
        site.put(f"cp{level}.mon", dump(interval(60, config, fields("sytrsg", 60))))
    land()
    documents = [land.store.about(landed.dump) or {} for landed in land.store.dumps()]
    assert {about["source"]: about["release"] for about in documents} == {
        "cp.mon": "4.4.0",
        "cp05030000.mon": "5.3.0",
    }


def test_a_file_that_is_no_dump_goes_into_quarantine_and_nothing_there_is_lost(
    site: Site, land: Landing
):
    site.configure('[batch]\nquarantine = "bad"\n')
    for _ in range(2):
        site.put("a.mon", b"text")
        (event,) = land().quarantined
        assert event.code == "dump-unrecognized"
    names = {"a.mon", "a.mon.1", "a.mon.reason.txt", "a.mon.1.reason.txt"}
    assert {file.name for file in (site.folder / "bad").iterdir()} == names


def test_without_a_quarantine_it_stays_and_is_looked_at_once(site: Site, land: Landing):
    site.put("a.mon", b"text")
    assert [land().counts["rejected"] for _ in range(2)] == [1, 0]
    assert (site.inbox / "a.mon").exists()


def test_a_name_with_line_ends_and_marks_breaks_no_log(site: Site, land: Landing):
    site.put("a\n<4>evil \x1b[31m.mon", b"text")
    land()
    lines = land.log.getvalue().splitlines()
    assert all(" run=" in line for line in lines) and "\x1b" not in land.log.getvalue()
