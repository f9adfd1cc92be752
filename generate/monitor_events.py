"""MONITOR commands: the texts that are recorded, and when they were given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .counters import Values, ebcdic
from .event_data import EventBatch
from .measurement import TOD_PER_S
from .model import Model


@dataclass(frozen=True, slots=True)
class Command:
    """A MONITOR command; one without EVENT or SAMPLE in it is about both."""

    tod: int
    text: str

    @property
    def of_events(self) -> bool:
        """Whether it is recorded in event data (MTRECM)."""
        return not self.text.startswith("MONITOR SAMPLE")

    @property
    def of_samples(self) -> bool:
        """Whether it is recorded with the next sample (MTRSCM)."""
        return not self.text.startswith("MONITOR EVENT")


def commands(model: Model, number: int, started: int) -> list[Command]:
    """The commands given before a sample with which monitoring begins, in order of time.

    Args:
        started: TOD at which monitoring started.
    """
    if model.timeline.starts(number):
        return [Command(started, "MONITOR START")]
    interval = model.timeline.interval_of(number)
    found = []
    for one in model.measurement.disturbances:
        if one.interval != interval:
            continue
        if one.kind == "interval" and one.interval_s is not None:
            length = f"MONITOR SAMPLE INTERVAL {one.interval_s} SEC"
            found.append(Command(model.change_tod(interval), length))
        elif one.kind == "restart":
            found.append(Command(started - TOD_PER_S, "MONITOR STOP"))
            found.append(Command(started, "MONITOR START"))
    return sorted(found, key=lambda command: command.tod)


def in_samples(given: list[Command]) -> list[tuple[Values, dict[str, int]]]:
    """Values and sizes of the MTRSCM record of each command that is about samples."""
    return [
        ({"caltod": command.tod, **_text(command)}, {"calcmd": len(command.text)})
        for command in given
        if command.of_samples
    ]


def in_events(given: list[Command]) -> list[EventBatch]:
    """The MTRECM records of the commands that are about events."""
    return [
        EventBatch(
            "mtrecm",
            np.array([command.tod], dtype=np.uint64),
            _text(command),
            sizes={"calcmd": len(command.text)},
        )
        for command in given
        if command.of_events
    ]


def _text(command: Command) -> Values:
    length = len(command.text)
    return {"calbyct": length, "calcmd": ebcdic(command.text, length)}
