"""Whatever events tell, no report says otherwise: random worlds against what happened in them."""

from __future__ import annotations

import csv
import itertools
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from cpmon.generate import parse_scenario, write_run
from cpmon.ingest import ingest
from cpmon.ingest.following import Follower
from cpmon.store import Store
from cpmon.store.connection import connect
from tests.ingest.test_following import pieces
from tests.worlds.held import Outcome, Wrong, hold, lines_of, smallest
from tests.worlds.world import KINDS, MACHINES, World, random_world

_ROWS = (Path(__file__).parent / "open.csv").read_text(encoding="utf-8").splitlines()
OPEN = {tuple(row["kinds"].split()): int(row["seed"]) for row in csv.DictReader(_ROWS)}
"""Kinds of events that some report does not tell rightly yet, alone or with each other.

With the seed of a world that shows it.
"""

SETTLED = tuple(kind for kind in KINDS if (kind,) not in OPEN)
"""The kinds that are told rightly alone."""

NOT_TOGETHER = tuple(kinds for kinds in OPEN if len(kinds) > 1)

BATCH = 20
MOST_BLANK = 0.01
"""Share of figures in worlds with events that may be blank or marked, though records tell them."""


def show(found: Iterable[Wrong], folder: Path) -> str:
    """The first wrong figures, with the smallest world that shows them."""
    first = next(iter(found))
    world, wrong = smallest(first.world, folder)
    wrong = wrong or [first]
    return "\n".join([*lines_of(wrong), "", repr(world), "", world.text])


def misled(outcome: Outcome) -> list[Wrong]:
    """Figures that are wrong and unmarked."""
    return [each for each in outcome.wrong if each.why == "wrong"]


def blanks(outcome: Outcome, line: str = "whole") -> float:
    """Share of the figures of a kind of lines that are blank or marked."""
    own = {verdict: n for (each, verdict), n in outcome.counts.items() if each == line}
    return (own.get("blank", 0) + own.get("marked", 0)) / max(sum(own.values()), 1)


def many_worlds() -> list[World]:
    """The worlds of the long test."""
    return [random_world(1000 + n, SETTLED, NOT_TOGETHER, most=5) for n in range(2000)]


def test_every_figure_of_a_world_without_events_is_printed_and_true(tmp_path: Path):
    worlds = [World(f"W{n}", level, seed=n) for n, level in enumerate(MACHINES)]
    outcome = hold(worlds, tmp_path)
    assert not outcome.wrong, show(outcome.wrong, tmp_path / "smaller")
    assert outcome.counts["whole", "right"] > 4000


def shown(*events: tuple[str, int], **about: object) -> tuple[dict[str, object], ...]:
    """Events of a Linux guest; those of a virtual processor are of its second."""
    guest = {"users": "LINUX002", **about}
    return tuple(
        {"kind": kind, "at_s": at, **guest, **({"processor": 1} if kind.endswith("cpu") else {})}
        for kind, at in events
    )


SUSPEND = {"kind": "suspend", "at_s": 125, "lasts_s": 50}
SHOWN = (
    shown(("define-cpu", 123), ("logoff", 157)),
    shown(("define-cpu", 123), ("detach-cpu", 130), ("define-cpu", 140)),
    shown(("define-cpu", 118), ("detach-cpu", 130), ("define-cpu", 132), ("logoff", 157)),
    shown(("logoff", 90), ("logon", 125), ("logoff", 130), ("logon", 140), ("logoff", 150)),
    ({"kind": "sample-disable", "at_s": 20, "domain": "user"}, *shown(("logoff", 130))),
    (SUSPEND, *shown(("logoff", 130), ("logon", 140))),
    (SUSPEND, *shown(("share", 130), share=200)),
    (SUSPEND, {"kind": "measurement-off", "at_s": 130, "device": "0B00"}),
    (
        {"kind": "measurement-off", "at_s": 70, "device": "0B00"},
        SUSPEND,
        {"kind": "measurement-on", "at_s": 140, "device": "0B00"},
    ),
    *(
        (
            {"kind": "suspend", "at_s": 66, "lasts_s": 200},
            {"kind": "storage-add", "at_s": at, "storage_mib": 4096},
        )
        for at in (80, 130, 190)
    ),
)
"""Events that showed a rule that was missing, each in a world of its own."""


@pytest.mark.slow
def test_what_showed_that_a_rule_was_missing_is_told(tmp_path: Path):
    worlds = [World(f"S{n}", seed=n + 3, events=events) for n, events in enumerate(SHOWN)]
    outcome = hold(worlds, tmp_path, spans=False)
    assert not outcome.wrong, "\n".join(each.text for each in outcome.wrong)


@pytest.mark.slow
def test_a_device_that_is_not_sampled_is_not_gone(tmp_path: Path):
    events = (
        {"kind": "sample-disable", "at_s": 197, "domain": "io"},
        {"kind": "sample-enable", "at_s": 299, "domain": "io"},
    )
    outcome = hold([World("S", seed=1, events=events)], tmp_path, explains=True)
    assert not outcome.wrong, "\n".join(each.text for each in outcome.wrong)


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 9), marks=pytest.mark.slow)])
def test_figures_of_worlds_with_events_are_true_or_blank_or_marked(seeds: range, tmp_path: Path):
    worlds = [random_world(seed, SETTLED, NOT_TOGETHER) for seed in seeds]
    outcome = hold(worlds, tmp_path)
    assert not misled(outcome), show(misled(outcome), tmp_path / "smaller")
    assert max(blanks(outcome), blanks(outcome, "told")) <= MOST_BLANK
    assert outcome.counts["told", "right"] + outcome.counts["touched", "right"] > 20


@pytest.mark.long
@pytest.mark.parametrize("batch", range(2000 // BATCH))
def test_figures_of_two_thousand_worlds(tmp_path: Path, batch: int):
    worlds = many_worlds()[batch * BATCH : (batch + 1) * BATCH]
    outcome = hold(worlds, tmp_path, explains=True)
    assert not misled(outcome), show(misled(outcome), tmp_path / "smaller")
    assert blanks(outcome) <= MOST_BLANK


def followed(dump: Path, store: Store) -> None:
    """Lands a dump as it comes, in pieces of any size with pauses; the follower ends twice."""
    data, rng = dump.read_bytes(), random.Random(dump.parent.parent.name)
    for most in (2, 3, None):
        with Follower(store, dump.name) as follower:
            coming = follower.follow(pieces(data, rng.randrange(1000)))
            for _ in itertools.islice(coming, most):
                pass
            if most is None:
                for _ in follower.finish():
                    pass


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(9, 15), marks=pytest.mark.slow),
        pytest.param(range(15, 75), marks=pytest.mark.long),
    ],
)
def test_figures_of_worlds_that_are_followed_are_true_too(seeds: range, tmp_path: Path):
    worlds = [random_world(seed, SETTLED, NOT_TOGETHER) for seed in seeds]
    outcome = hold(worlds, tmp_path, land=followed)
    assert not misled(outcome), show(misled(outcome), tmp_path / "smaller")
    assert blanks(outcome) <= MOST_BLANK


@pytest.mark.slow
def test_two_thousand_worlds_have_many_combinations_of_events():
    assert len({world.kinds for world in many_worlds()}) >= 200


@pytest.mark.slow
@pytest.mark.parametrize("kinds", OPEN, ids=" ".join)
def test_what_is_open_is_still_told_wrongly_or_not_at_all(tmp_path: Path, kinds: tuple[str, ...]):
    """What holds leaves the list, which is meant to shrink."""
    world = random_world(OPEN[kinds], kinds, most=len(kinds))
    assert world.has(kinds)
    outcome = hold([world], tmp_path, spans=False)
    assert misled(outcome) or blanks(outcome) > MOST_BLANK


@pytest.mark.parametrize("kind", KINDS)
def test_a_random_world_is_one_that_a_scenario_can_describe(kind: str):
    for seed in range(20):
        parse_scenario(random_world(seed, [kind]).text, "world.toml")


@pytest.mark.slow
def test_the_last_blocks_of_a_guest_that_logs_off_name_what_they_are_about(tmp_path: Path):
    world = World("W", events=({"kind": "logoff", "at_s": 90, "users": "LINUX001"},))
    written = write_run(parse_scenario(world.text, "world.toml"), "A", tmp_path / "run")
    store = Store(tmp_path / "store", create=True)
    ingest(written.dump, store)
    with connect(store) as con:
        assert con.sql("SELECT fs_dir FROM monitor.apledt_fs").fetchall() == [("/",)]
        told = con.sql("SELECT cmd FROM monitor.apledt_process ORDER BY pid").fetchall()
    assert told == [("init",), ("db2sysc",)]
