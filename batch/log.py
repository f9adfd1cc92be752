"""The log of a batch: `logging`, one line for each event with its fields, as text or JSON.

`ascii_line`, `ascii_error` and `ascii_path` reduce texts of log and summary to one line of
printable ASCII, because mail and old log readers may not handle more.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import MutableMapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from ..core.errors import CpmonError

PRIORITIES = {logging.ERROR: 3, logging.WARNING: 4, logging.INFO: 6}
"""Log level -> syslog priority, as systemd reads it."""


class _EventLog(logging.LoggerAdapter[logging.Logger]):
    """Takes the fields of an event as keywords: `log.info("landed", path=path)`.

    Attributes:
        run: name of the batch, written in each line.
    """

    run = "-"

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        error = kwargs.pop("exc_info", None)
        return msg, {"exc_info": error, "extra": {"run": self.run, "fields": dict(kwargs)}}


log = _EventLog(logging.getLogger(__package__))
"""The log of this process, which runs one batch at a time."""


def write_log(form: str = "text", stream: TextIO | None = None, *, quiet: bool = False) -> None:
    """Write the log to `stream` (standard error) as "text" or "json"; `quiet` drops info."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_Formatter(form, is_journal=_is_journal(handler.stream)))
    log.logger.handlers = [handler]
    log.logger.propagate = False
    log.setLevel(logging.WARNING if quiet else logging.INFO)


class _Formatter(logging.Formatter):
    """One line for an event; its traceback is a field as well."""

    def __init__(self, form: str, *, is_journal: bool) -> None:
        super().__init__()
        self._is_json, self._is_journal = form == "json", is_journal

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = vars(record)
        run, fields, level = entry["run"], entry["fields"], record.levelname.lower()
        if record.exc_info:
            fields = {**fields, "trace": self.formatException(record.exc_info)}
        created = datetime.fromtimestamp(record.created, UTC)
        now = created.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if self._is_json:
            code = next(filter(None, map(error_code, fields.values())), None)
            said = {"time": now, "level": level, "run": run, "event": record.msg, **fields}
            line = json.dumps(said | ({"code": code} if code else {}), default=str)
        else:
            rest = "".join(f" {key}={_quoted(value)}" for key, value in fields.items())
            line = f"{now} {level} run={run} {record.msg}{rest}"
        return f"<{PRIORITIES[record.levelno]}>{line}" if self._is_journal else line


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
