"""The screen of the last interval: what it shows, what its keys do, and what scripts get."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from cpmon.cli.main import Status
from cpmon.cli.top.followed import FollowedSource
from cpmon.cli.top.panels import SUBJECTS, Lines, Watched
from cpmon.cli.top.screen import LOOK_S, Sheet, TopScreen
from cpmon.config import Settings
from cpmon.generate import load_scenario, write_run
from cpmon.ingest.following import Follower
from cpmon.reduce.live import Interval
from cpmon.store import Store
from tests.cli.answer import Cpmon
from tests.cli.terminal import Terminal
from tests.conftest import Golden
from tests.ingest.test_following import live, sets
from tests.waiting import wait_until
from tools.recording import screen_text

Act = Callable[[TopScreen, "Pilot[None]"], Awaitable[None]]


class Remembered(Watched):
    """A store that does not change: each question is answered once in all tests."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, Settings())
        self._subjects: dict[tuple[str, datetime], Lines] = {}
        self._lines: dict[datetime, Lines] = {}
        self._all: list[Interval] = []

    def intervals(self) -> list[Interval]:
        self._all = self._all or super().intervals()
        return self._all

    def line(self, interval: Interval) -> Lines:
        if interval.end not in self._lines:
            self._lines[interval.end] = super().line(interval)
        return self._lines[interval.end]

    def subject(self, name: str, interval: Interval) -> Lines:
        key = name, interval.end
        if key not in self._subjects:
            self._subjects[key] = super().subject(name, interval)
        return self._subjects[key]


@pytest.fixture
def grows(tmp_path: Path) -> Store:
    return followed(tmp_path)


@pytest.fixture(scope="module")
def small_lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small-lab")
    return write_run(load_scenario("small-lab"), "LAB", folder, intervals=3).dump


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Remembered:
    return Remembered(followed(tmp_path_factory.mktemp("top")))


def followed(folder: Path) -> Store:
    store = Store(folder / "lab", create=True)
    with Follower(store, "a.mon") as follower:
        assert len([*follower.follow(live(*sets(1, 2, 3)))]) == 3
    return store


def drive(watched: Watched, act: Act, now_s: Callable[[], float] = time.monotonic) -> None:
    """Do something on the screen of a store, once it shows something."""

    async def run() -> None:
        app = TopScreen(watched, now_s=now_s)
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(app, pilot)
            await act(app, pilot)

    asyncio.run(run())


async def settled(app: TopScreen, pilot: Pilot[None]) -> None:
    """Wait until what was asked is answered."""
    await pilot.pause()
    await app.workers.wait_for_complete()
    await pilot.pause()


async def pressed(app: TopScreen, pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await settled(app, pilot)


def texts(app: TopScreen) -> list[list[str]]:
    table = app.screen.query_one(DataTable)
    return [[str(cell) for cell in table.get_row_at(n)] for n in range(table.row_count)]


def status(app: TopScreen) -> str:
    return str(app.query_one("#status", Static).content)


def test_it_shows_the_users_of_the_last_interval(lab: Remembered):
    async def act(app: TopScreen, pilot: Pilot[None]) -> None:
        assert "VMTEST  2001-12-18 10:03:00  interval 2 of 2" in str(
            app.query_one("#system", Static).content
        )
        assert [row[:3] for row in texts(app)] == [["ALICE", "60.0", "0.00"]]

    drive(lab, act)


def test_it_says_when_the_last_interval_is_out_of_date(lab: Remembered):
    """Intervals are of a minute: after three of them without another one."""
    clock = [100.0]

    async def act(app: TopScreen, pilot: Pilot[None]) -> None:
        clock[0] += 179
        await pilot.pause(2 * LOOK_S)
        assert "nothing new" not in status(app)
        clock[0] += 1
        while "nothing new for 3 minutes" not in status(app):
            await settled(app, pilot)

    drive(lab, act, lambda: clock[0])


@pytest.mark.slow
def test_arrows_go_through_time_and_space_pauses(lab: Remembered):
    async def act(app: TopScreen, pilot: Pilot[None]) -> None:
        await pressed(app, pilot, "left")
        assert app.shown.number == (1, 2)
        await pressed(app, pilot, "left")
        assert app.shown.number == (1, 2)
        await pressed(app, pilot, "right", "right")
        assert app.shown.number == (2, 2)
        await pressed(app, pilot, "space")
        assert "PAUSED" in status(app)

    drive(lab, act)


@pytest.mark.slow
def test_what_lands_is_shown_when_it_lands(grows: Store):
    async def act(app: TopScreen, pilot: Pilot[None]) -> None:
        with Follower(grows, "a.mon") as follower:
            assert len([*follower.follow(live(*sets(1, 2, 3, 4)))]) == 1
        while app.shown.number != (3, 3):
            await settled(app, pilot)

    drive(Watched(grows, Settings()), act)


@pytest.mark.slow
def test_keys_choose_sort_and_filter(perf: Path):
    async def act(app: TopScreen, pilot: Pilot[None]) -> None:
        users = [row[0] for row in texts(app)]
        await pressed(app, pilot, "s", "r")
        assert [row[0] for row in texts(app)] == sorted(users)
        assert "by Userid (turned)" in status(app)
        await pressed(app, pilot, "slash", *users[0].lower(), "enter")
        assert [row[0] for row in texts(app)] == users[:1]
        await pressed(app, pilot, "3")
        assert "processors" in status(app) and texts(app) == []  # the filter holds

    drive(Remembered(Store(perf)), act)


@pytest.mark.slow
def test_enter_shows_an_object_over_time_and_e_explains(lab: Remembered):
    async def act(app: TopScreen, pilot: Pilot[None]) -> None:
        await pressed(app, pilot, "enter")
        assert isinstance(app.screen, Sheet)
        assert [row[0] for row in texts(app)] == ["2001-12-18 10:03:00", "2001-12-18 10:02:00"]
        await pressed(app, pilot, "escape", "e")
        assert "was different: VMTEST" in str(app.screen.query_one("#text Static", Static).content)
        await pressed(app, pilot, "escape", "n")
        assert isinstance(app.screen, Sheet)

    drive(lab, act)


@pytest.mark.slow
def test_every_subject_is_shown_even_without_records(lab: Remembered):
    async def act(app: TopScreen, pilot: Pilot[None]) -> None:
        for number in "123456":
            await pressed(app, pilot, number)
        assert status(app).startswith("exceptions")

    drive(lab, act)


def test_scripts_get_the_last_interval(cpmon: Cpmon, perf: Path):
    answer = cpmon("top", "--store", perf, "--once", "--format", "json", "--top", 3)
    document = json.loads(answer.out)

    assert answer.status is Status.DONE
    assert len(document["users"]["lines"]) == 3
    assert [line["severity"] for line in document["exceptions"]["lines"]] == ["warning"]
    text = cpmon("top", "--store", perf, "--once").text
    assert text.count("\n\n") >= 6 and "Userid" in text


def test_without_a_terminal_it_says_what_to_do(cpmon: Cpmon, perf: Path):
    answer = cpmon("top", "--store", perf)

    assert answer.status is Status.USAGE
    assert "--once" in answer.err


@pytest.mark.slow
def test_it_runs_on_a_terminal(grows: Store):
    words = [sys.executable, "-m", "cpmon", "top", "--store", str(grows.root)]
    with Terminal(words, {**os.environ, "COLUMNS": "80", "LINES": "24", "NO_COLOR": "1"}) as top:
        top.wait_for("ALICE")
        top.type("q")
        assert top.end() == 0


@pytest.mark.slow
@pytest.mark.golden
def test_screens_of_eighty_columns(small_lab: Path, golden: Golden):
    async def act(app: TopScreen, pilot: Pilot[None]) -> None:
        for key, name in enumerate(SUBJECTS, 1):
            await pressed(app, pilot, str(key))
            golden.check(f"top/{name}.txt", screen_text(app))
        await pressed(app, pilot, "2")
        await pilot.press("enter")
        while not isinstance(app.screen, Sheet):
            await settled(app, pilot)
        await settled(app, pilot)
        golden.check("top/device-over-time.txt", screen_text(app))

    source = FollowedSource(small_lab)
    with source.landing() as store:
        source.wait(store)
        drive(Watched(store, Settings()), act)


@pytest.mark.slow
def test_a_source_is_shown_without_a_store(
    cpmon: Cpmon, small_lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    answer = cpmon("top", small_lab, "--once", "--format", "json", "--top", 1)

    assert json.loads(answer.out)["interval_end"].startswith("2003-05-06 08:03:00")
    assert not [*tmp_path.glob("cpmon-top-*")]


def test_a_source_that_cannot_be_followed_says_why(cpmon: Cpmon, tmp_path: Path):
    (tmp_path / "packed").write_bytes(gzip.compress(b"anything"))
    answer = cpmon("top", tmp_path / "packed", "--once")
    assert answer.status is Status.USAGE and "is compressed by gzip" in answer.err


@pytest.mark.slow
def test_keys_work_while_data_comes_from_a_pipe(small_lab: Path, tmp_path: Path):
    command = f"(cat {small_lab}; sleep 60) | {sys.executable} -m cpmon top -"
    screen = {"COLUMNS": "80", "LINES": "24", "NO_COLOR": "1"}
    variables = {**os.environ, **screen, "TMPDIR": str(tmp_path)}
    with Terminal(["sh", "-c", command], variables) as top:
        top.wait_for("LXWEB001")
        top.type("2")
        top.wait_for("LABLX5")
        assert [*tmp_path.glob("cpmon-top-*")]
        top.type("q")
        wait_until(lambda: not [*tmp_path.glob("cpmon-top-*")])
