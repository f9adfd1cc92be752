"""Files that grow, clocks that jump: the store stays right."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cpmon.cli.main import Status, run
from cpmon.core.errors import BusyError
from cpmon.ingest import ingest, landing
from cpmon.store import Store, connect
from tests.dumps import dump, fields, interval
from tests.faults.conftest import dump_of, rows
from tests.faults.test_kills import new_dump

PAGE = 4096


def test_a_file_that_grows_does_not_land_in_part(tmp_path: Path, store: Store):
    file = tmp_path / "growing.mon"
    whole = dump_of(0)
    file.write_bytes(whole[:-PAGE])

    def grow(_source: object) -> None:
        if file.stat().st_size < len(whole):
            with file.open("ab") as end:
                end.write(whole[-PAGE:])

    with pytest.raises(BusyError) as caught:
        ingest(file, store, progress=grow)

    said = str(caught.value)
    assert "growing.mon changed while it was read" in said
    assert f"{len(whole) - PAGE:,} bytes at the beginning, {len(whole):,} bytes now" in said
    assert "nothing was landed" in said and "ingest it again when it is complete" in said
    assert list(store.dumps()) == [] and list(store.staging.iterdir()) == []
    assert not ingest(file, store, progress=grow).already


def test_a_file_that_is_written_anew_does_not_land(tmp_path: Path, store: Store):
    file = new_dump(tmp_path, 0)

    def touch(_source: object) -> None:
        os.utime(file, (1, 1))

    with pytest.raises(BusyError, match="its time of change is another one"):
        ingest(file, store, progress=touch)
    assert list(store.dumps()) == []


def test_a_growing_file_is_busy_and_the_others_land(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    """The file grows while its last bytes are hashed: what a copy that goes on looks like."""
    growing, other = new_dump(tmp_path, 0), new_dump(tmp_path, 1)
    finish = landing.Reader.rest

    def rest(self: landing.Reader) -> object:
        if self.source.name == growing.name:
            with growing.open("ab") as end:
                end.write(bytes(PAGE))
        return finish(self)

    monkeypatch.setattr(landing.Reader, "rest", rest)
    store = tmp_path / "store"
    status = run(["ingest", str(growing), str(other), "--store", str(store)])
    assert status is Status.BUSY
    assert "changed while it was read" in capfd.readouterr().err
    assert sources(Store(store)) == [other.name]


@pytest.mark.parametrize("ahead_s", [-30 * 365 * 86_400, 30 * 365 * 86_400])
def test_the_time_of_a_file_means_nothing(ahead_s: int, tmp_path: Path, store: Store):
    file = new_dump(tmp_path, 0)
    then = time.time() + ahead_s
    os.utime(file, (then, then))
    assert not ingest(file, store).already
    os.utime(file, (1, 1))
    assert ingest(file, store).already
    assert len(list(store.dumps())) == 1


def test_a_clock_that_goes_back_changes_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Clock(datetime):
        days = 0

        @classmethod
        def now(cls, tz: object = None) -> datetime:
            del tz
            cls.days -= 400
            return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=cls.days)

    files = [new_dump(tmp_path, number) for number in range(3)]
    for name in ("straight", "back"):
        store = Store(tmp_path / name, create=True)
        for file in files:
            ingest(file, store)
            store.clean()
        monkeypatch.setattr(landing, "datetime", Clock)
    back = Store(tmp_path / "back")
    moments = [(back.about(landed.dump) or {})["landed_at"] for landed in back.dumps()]
    assert len(set(moments)) == 3 and min(moments) < "2023"
    assert rows(tmp_path / "back") == rows(tmp_path / "straight")


def test_a_clock_of_the_system_that_was_set_back_is_told(tmp_path: Path, store: Store):
    """The monitored system's own clock: an interval that ends before the one that came first."""
    file = tmp_path / "back.mon"
    start = fields("mtrsys", 7200, systmid="VMBACK")
    later = interval(7200, start, fields("sytrsp", 7200, pfxcpuad=1))
    earlier = interval(3600, fields("sytrsp", 3600, pfxcpuad=1))
    file.write_bytes(dump(later, earlier))
    about = ingest(file, store).about
    assert about["intervals"] == 2
    with connect(store) as connection:
        ends = connection.sql("SELECT interval_end FROM meta.interval ORDER BY ALL").fetchall()
    assert len(ends) == 2


def sources(store: Store) -> list[str]:
    return [(store.about(landed.dump) or {})["source"] for landed in store.dumps()]
