"""What a followed `bank-day` costs: landing with alerts, a screen of a new interval, a scrape."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cpmon.batch.alerts import Alerts
from cpmon.batch.figures import LiveMetrics
from cpmon.cli.top.panels import SUBJECTS, Watched
from cpmon.config import Settings
from cpmon.generate import dump_frames, load_scenario
from cpmon.ingest import Landed
from cpmon.ingest.following import Follower
from cpmon.store import Store

from .result import Bar, Row, Section

SCENARIO, RUN = "bank-day", "BANKDAY"
INTERVAL_S = 60
SHARE_BAR = 0.03
"""Of a core, for landing and alerts at one sample a minute."""
SHOWN_BAR_S = 1.0
SCRAPE_BAR_S = 0.05
ALL = 1000
"""As many objects with metrics of their own as can be asked for."""


def measure(folder: Path, intervals: int, warm: int) -> list[Section]:
    """One section: each of the intervals lands, is judged, shown and scraped, in turn.

    Args:
        folder: where the store is made, and deleted again.
        warm: so many of them are not measured.
    """
    place = folder / f"{SCENARIO}-followed"
    shutil.rmtree(place, ignore_errors=True)
    store, settings = Store(place / "store", create=True), Settings()
    alerts, metrics = Alerts(store, settings, place / "alerts"), LiveMetrics(store, settings, ALL)
    watched, kinds = Watched(store, settings), ("processor s", "s")
    costs: dict[str, list[tuple[float, float]]] = {}

    def timed(name: str, work: Callable[..., Any], *given: Any) -> Any:
        began = time.process_time(), time.perf_counter()
        answer = work(*given)
        ended = time.process_time(), time.perf_counter()
        costs.setdefault(name, []).append((ended[0] - began[0], ended[1] - began[1]))
        return answer

    def compute(landed: Landed) -> None:
        metrics.landed(landed)
        metrics.compute()

    def show(subject: str) -> None:
        watched.both(subject, watched.intervals()[-1])

    frames = dump_frames(load_scenario(SCENARIO), RUN, intervals=intervals)
    with Follower(store, f"{RUN}.mon") as follower:
        coming = follower.follow(bytes(chunk) for chunk in frames)
        while landed := timed("land an interval", next, coming, None):
            timed("judge it for alerts", alerts.landed, landed)
            if not watched.intervals():
                continue
            timed("compute metrics", compute, landed)
            timed("scrape", metrics.text)
            for subject in SUBJECTS[:: len(SUBJECTS) - 1]:
                timed(f"show {subject}", show, subject)
    costs["land an interval"].pop()  # of the end
    shutil.rmtree(place)
    means = {
        name: [sum(column) / len(column) for column in zip(*of[warm:], strict=True)]
        for name, of in costs.items()
    }
    share = (means["land an interval"][0] + means["judge it for alerts"][0]) / INTERVAL_S
    bars = (
        Bar("landing and alerts, of a core", share, SHARE_BAR, at_least=False),
        Bar("a new interval of users, s", means["show users"][1], SHOWN_BAR_S, at_least=False),
        Bar("scrape, s", means["scrape"][1], SCRAPE_BAR_S, at_least=False),
    )
    given = f"`{SCENARIO}`, {intervals} intervals as they come; means of all but the first {warm}"
    rows = tuple(Row(name, dict(zip(kinds, mean, strict=True))) for name, mean in means.items())
    return [Section("Watching", given, rows, bars)]
