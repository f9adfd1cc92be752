"""The log of a batch: one line for each event, as text or JSON, with the name of the batch.

`ascii_line`, `ascii_error` and `ascii_path` reduce texts of log and summary to one line of
printable ASCII, because mail and old log readers may not handle more.
"""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import UTC, datetime
from functools import partialmethod
from pathlib import Path
from typing import Any, TextIO

from ..core.errors import CpmonError

PRIORITIES = {"error": 3, "warning": 4, "info": 6}
"""Log level -> syslog priority, as systemd reads it."""


class Log:
    """A log on a stream.

    Attributes:
        run: name of the batch, written in each line.
    """

    def __init__(
        self, form: str = "text", stream: TextIO | None = None, *, quiet: bool = False
    ) -> None:
        """Write to `stream` (standard error) as "text" or "json"; `quiet` drops info."""
        self.run = "-"
        self._json = form == "json"
        self._stream = stream or sys.stderr
        self._is_quiet = quiet
        self._is_journal = _is_journal(self._stream)

    def _write(self, level: str, event: str, /, **fields: Any) -> None:
        if self._is_quiet and level == "info":
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if self._json:
            entry = {"time": now, "level": level, "run": self.run, "event": event, **fields}
            for code in filter(None, map(error_code, fields.values())):
                entry["code"] = code
            line = json.dumps(entry, default=str)
        else:
            rest = "".join(f" {key}={_quoted(value)}" for key, value in fields.items())
            line = f"{now} {level} run={self.run} {event}{rest}"
        prefix = f"<{PRIORITIES[level]}>" if self._is_journal else ""
        self._stream.write(f"{prefix}{line}\n")
        self._stream.flush()

    info = partialmethod(_write, "info")
    """Log a normal event."""
    warning = partialmethod(_write, "warning")
    """Log an event that needs attention."""
    error = partialmethod(_write, "error")
    """Log a failure."""


def _quoted(value: Any) -> str:
    """Formats a value as one word of a log line: quoted if it is empty or has a blank."""
    text = ascii_line(str(value))
    return f'"{text}"' if " " in text or not text else text


def _is_journal(stream: TextIO) -> bool:
    """Whether the stream goes to systemd's journal, which expects a priority before each line."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def ascii_line(text: str) -> str:
    """Formats a text on one line, with single blanks."""
    return ascii_path(" ".join(text.split()))


def ascii_error(error: Exception) -> str:
    """Formats an error on one line: problem, found, remedy. The log has the full error."""
    if not isinstance(error, CpmonError):
        return ascii_line(str(error))
    cause = f" ({error.found})" if error.found else ""
    return ascii_line(f"{error.problem}{cause}" + (f"; {error.remedy}" if error.remedy else ""))


def error_code(error: object) -> str | None:
    """The code of an error, if it has one."""
    return error.code if isinstance(error, CpmonError) else None


def ascii_path(path: Path | str) -> str:
    """Escapes all but printable ASCII, and keeps blanks; idempotent."""
    return re.sub(r"[^ -~]", lambda match: ascii(match[0])[1:-1], str(path))
