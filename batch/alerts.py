"""Alerts: exceptions as they begin and end while intervals land, each told once, as JSON lines.

The file is the memory: after a kill, what stands in it is not told again, and what does not is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ..config import Settings
from ..core.errors import NothingToReportError, StoreError
from ..ingest.landing import Landed
from ..reduce.live import LiveConnection
from ..reduce.rules.exceptions import exceptions
from ..store import Store
from ..store.connection import point
from ..store.format.parts import followed
from ..store.sql.scope import Scope

BEGIN, END = "begin", "end"
REACH = timedelta(hours=24)
"""How far behind the first record that lands one looks that knows of none before."""
MARGIN = timedelta(minutes=1)
KEYS = ("system", "rule", "object", "first_interval")
"""What tells one exception from another."""
Key = tuple[str | None, ...]


class Alerts:
    """The exceptions of a store, told to a file as they begin and end."""

    def __init__(self, store: Store, settings: Settings, file: Path) -> None:
        """Reads what the file has told, or begins it.

        Raises:
            StoreError: it cannot be used.
        """
        self._live = LiveConnection(store, settings, threads=1)
        self._store, self._settings, self._file = store, settings, file
        self._told: dict[Key, str] = {}
        self._since: dict[str, datetime] = {}
        self._has_told = file.exists()
        try:
            file.touch()
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise refused(file, error) from None
        for line in lines:
            with suppress(ValueError, KeyError):  # the last one may be cut, and is told again
                self._note(json.loads(line))

    def catch_up(self) -> None:
        """Tell what a kill kept from being told, if the file is not a new one.

        Raises:
            as `landed`.
        """
        lasts = {about["system"]: about["last_tod"] for about in followed(self._store)}
        for system, last in lasts.items() if self._has_told else ():
            if last is not None:
                self._tell([*self._events(system, datetime.fromisoformat(last))])

    def landed(self, landed: Landed) -> None:
        """Judge the intervals of a part that has landed.

        Raises:
            StoreError: the file cannot be written.
            CpmonError: a rule is wrong, or there is too little memory to judge it.
        """
        if not landed.about["intervals"]:
            return
        first = datetime.fromisoformat(landed.about["first_interval_end"])
        self._tell([*self._events(landed.system, first)])

    def _tell(self, events: Sequence[dict[str, Any]]) -> None:
        """Append events to the file.

        Raises:
            StoreError: it cannot be written.
        """
        if not events:
            return
        lines = "".join(json.dumps(event, default=str) + "\n" for event in events)
        try:
            with self._file.open("a+b") as out:
                if out.tell() and not self._ends_with_line():
                    out.write(b"\n")
                out.write(lines.encode())
                out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            raise refused(self._file, error) from None
        for event in events:
            self._note(event)

    def _events(self, system: str, first: datetime) -> Iterator[dict[str, Any]]:
        """What begins and ends by what has landed from a time on, in order."""
        still = [datetime.fromisoformat(str(key[-1])) for key in self._begun(system)]
        since = min([self._since.get(system, first - REACH), first, *still]) - MARGIN
        with self._live.current() as connection:
            try:
                found = exceptions(
                    connection, system=system, since=since, settings=self._settings
                ).table
            except NothingToReportError:  # there is no interval to judge
                return
            point(connection, Scope(system, since))
            ((last,),) = connection.execute(
                "SELECT max(interval_end) FROM meta.interval"
            ).fetchall()
        self._since[system] = last
        for row in sorted(found.to_pylist(), key=lambda row: row["last_interval"]):
            key = _key(row)
            if key not in self._told:
                yield _event(BEGIN, row)
            if row["last_interval"] < last and self._told.get(key) != END:
                yield _event(END, row)

    def _begun(self, system: str) -> Iterator[Key]:
        """Exceptions of a system that have begun and not ended."""
        return (key for key, what in self._told.items() if what == BEGIN and key[0] == system)

    def _note(self, event: dict[str, Any]) -> None:
        self._told[_key(event)] = event["event"]

    def _ends_with_line(self) -> bool:
        with self._file.open("rb") as written:
            written.seek(-1, os.SEEK_END)
            return written.read() == b"\n"


def refused(file: Path, error: Exception) -> StoreError:
    """The error for a file of alerts, or one beside it, that cannot be used."""
    return StoreError(
        "the file of alerts cannot be used",
        code="alerts-file-unusable",
        place=str(file),
        found=str(error),
        effect="what landed is in the store; no more alerts are told",
        remedy="name another file with --alerts",
    )


def _key(row: dict[str, Any]) -> Key:
    return tuple(None if row[key] is None else str(row[key]) for key in KEYS)


def _event(what: str, row: dict[str, Any]) -> dict[str, Any]:
    """A line: what happened, and the episode as `cpmon exceptions --format json` has it."""
    return {"event": what, **row}
