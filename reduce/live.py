"""A connection that is kept while the store changes, and the intervals that there are.

Of one interval, DuckDB takes far longer to bind the views of a report than to compute it; on a
connection that is kept they stay bound.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from ..config import Settings
from ..core.errors import NothingToReportError
from ..store import Store
from ..store.connection import Connection, connect, point
from ..store.sandbox.sandbox import Limits
from ..store.sql.scope import Scope
from .reductions.reductions import reductions

_INTERVALS = """
SELECT DISTINCT previous_end, interval_end FROM meta.interval
WHERE previous_end IS NOT NULL AND {condition} ORDER BY interval_end"""


class LiveConnection:
    """A connection for whoever asks again and again; it shows the store as it is at each time."""

    def __init__(self, store: Store, settings: Settings, threads: int | None = None) -> None:
        """Opens nothing yet.

        Args:
            threads: number of threads instead of that of the settings; of one interval there is
                less to compute than it takes to wake more than one.
        """
        self._store = store
        self._limits = Limits(settings.memory_limit, threads or settings.threads)
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._version = ""

    @contextmanager
    def current(self) -> Iterator[Connection]:
        """The connection, for one thread at a time. After a failure the next one is a new one.

        Raises:
            CpmonError: a limit of the settings is invalid.
        """
        with self._lock:
            version = self._store.manifest.version
            if self._connection is None:
                self._connection = connect(self._store, reductions(), self._limits)
            elif version != self._version:
                self._connection.reread()
            self._version = version
            try:
                yield self._connection
            except NothingToReportError:
                raise
            except BaseException:
                self._connection.close()
                self._connection = None
                raise

    def close(self) -> None:
        """Closes the connection, if there is one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None


OUTDATED = 3
"""Intervals without another one after which figures are those of an earlier time."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of a system that has rates: its begin, the end of the one before, and its end.

    UTC without zone. Nothing else ends behind `begin` and up to `end`.
    """

    begin: datetime
    end: datetime

    @property
    def holds_s(self) -> float:
        """Seconds for which it is the last one, without another, before it is out of date."""
        return OUTDATED * (self.end - self.begin).total_seconds()


def intervals_since(connection: Connection, system: str | None, since: datetime) -> list[Interval]:
    """The intervals of a system that end after a time, in order."""
    scope = Scope(system, since)
    point(connection, scope)
    rows = connection.execute(_INTERVALS.format(condition=scope.condition())).fetchall()
    return [Interval(begin, end) for begin, end in rows]
