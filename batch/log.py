"""What a batch says while it works: a line an event, as text or JSON, with the run in each."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any, TextIO

from .plain import plain_line


class Level(IntEnum):
    """How grave an event is, as systemd counts."""

    ERROR = 3
    WARNING = 4
    INFO = 6


class Log:
    """A log on a stream.

    Attributes:
        run: what stands in each line as the run's name.
    """

    def __init__(
        self, form: str = "text", stream: TextIO | None = None, *, quiet: bool = False
    ) -> None:
        """Write to `stream` (standard error), as "text" or "json"; if quiet, no mere news."""
        self.run = "-"
        self._json = form == "json"
        self._stream = stream or sys.stderr
        self._most = Level.WARNING if quiet else Level.INFO
        self._prefixed = _is_journal(self._stream)

    def info(self, event: str, **said: Any) -> None:
        """Something that was expected."""
        self._write(Level.INFO, event, said)

    def warning(self, event: str, **said: Any) -> None:
        """Something to look at."""
        self._write(Level.WARNING, event, said)

    def error(self, event: str, **said: Any) -> None:
        """Something that could not be done."""
        self._write(Level.ERROR, event, said)

    def _write(self, level: Level, event: str, said: dict[str, Any]) -> None:
        if level > self._most:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        name = level.name.lower()
        if self._json:
            facts = {"time": now, "level": name, "run": self.run, "event": event, **said}
            line = json.dumps(facts, default=str)
        else:
            rest = "".join(f" {key}={_word(value)}" for key, value in said.items())
            line = f"{now} {name} run={self.run} {event}{rest}"
        prefix = f"<{int(level)}>" if self._prefixed else ""
        self._stream.write(f"{prefix}{line}\n")
        self._stream.flush()


def _word(value: Any) -> str:
    """A value as it stands in a line: quoted if there is a blank in it."""
    text = plain_line(str(value))
    return f'"{text}"' if " " in text or not text else text


def _is_journal(stream: TextIO) -> bool:
    """Whether the stream goes to systemd's journal, which reads a priority in front of lines."""
    said = os.environ.get("JOURNAL_STREAM", "")
    try:
        there = os.fstat(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return False
    return said == f"{there.st_dev}:{there.st_ino}"
