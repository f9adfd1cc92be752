"""What `cpmon top` shows of an interval: a line of the system, and a report for each subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...config import Settings
from ...core.errors import NothingToReportError
from ...reduce.explain import explain, render_explanation
from ...reduce.live import Interval, LiveConnection, intervals_since
from ...reduce.metrics.metric import TIME
from ...reduce.reports.cells import clock, column_texts
from ...reduce.reports.report import ReportResult, report
from ...reduce.reports.report_names import find_report
from ...reduce.rules.exceptions import exceptions
from ...store import Store
from ...store.connection import Connection

SYSTEM = "SYSTEM_SUMMARY_BY_TIME"
PANELS = {
    "users": "USER_RESOURCE_UTIL",
    "devices": "DASD_BY_ACTIVITY",
    "processors": "PROCESSORS",
    "paging": "PAGING_BY_TIME",
    "linux": "LINUX_GUESTS",
}
"""Subject -> its report."""
EXCEPTIONS = "exceptions"
SUBJECTS = (*PANELS, EXCEPTIONS)
REACH = timedelta(hours=24)
"""How far back one can look from the last interval."""


@dataclass(frozen=True)
class Lines:
    """Lines to show.

    Attributes:
        heads: of the columns. cells: (columns,) texts of each. values: what these print.
        keys: names of the objects, by line; none if these are no objects.
        names: of the columns.
        notes: what is missing. marks: those of them that are about figures that are shown.
    """

    heads: Sequence[str] = ()
    cells: Sequence[pa.Array] = ()
    values: pa.Table = field(default_factory=lambda: pa.table({}))
    keys: Sequence[Any] = ()
    names: Sequence[str] = ()
    notes: Sequence[str] = ()
    marks: Sequence[str] = ()

    @property
    def first(self) -> Mapping[str, str]:
        """The first line: what each figure is called, and its text; empty without lines."""
        texts = (texts[0].as_py() for texts in self.cells)
        return dict(zip(self.heads, texts, strict=True))

    def chosen(self, text: str, sort: str | None, *, is_reversed: bool = False) -> Lines:
        """The lines whose first column has a text, in another order: the greatest first.

        What is not known comes last.
        """
        if not self.cells:
            return self
        mask = pc.match_substring(self.cells[0], text, ignore_case=True)
        order = pa.array(range(len(self.cells[0])), pa.int64())
        if sort is not None:
            by = pa.table({"value": self.values.column(sort), "line": order})
            direction = "ascending" if is_reversed else "descending"
            places = pc.sort_indices(by, [("value", direction), ("line", "ascending")])
            order = order.take(places)
        order = order.filter(mask.take(order))
        return replace(
            self,
            cells=[texts.take(order) for texts in self.cells],
            values=self.values.take(order),
            keys=[self.keys[n] for n in order.to_pylist()] if self.keys else (),
        )


class Watched:
    """A store that is looked at; each question reads it as it is then."""

    def __init__(self, store: Store, settings: Settings, system: str | None = None) -> None:
        self._store, self._settings, self._system = store, settings, system
        self._of_line, self._of_subject = (LiveConnection(store, settings) for _ in range(2))

    @property
    def version(self) -> str:
        """Changes when something lands."""
        return self._store.manifest.version

    @property
    def system(self) -> str | None:
        """The system that is shown: the one asked for, else the last that had landed at first."""
        if self._system is None:
            dumps = self._store.dumps()
            last = max(dumps, key=lambda dump: dump.first_end or "", default=None)
            self._system = last.system if last else None
        return self._system

    def intervals(self) -> list[Interval]:
        """The intervals of the last day, in order."""
        days = [d for dump in self._store.dumps() if dump.system == self.system for d in dump.days]
        if not days:
            return []
        with self._of_line.current() as connection:
            midnight = datetime.combine(max(days), datetime.min.time())
            return intervals_since(connection, self.system, midnight - REACH)

    def both(self, name: str, interval: Interval) -> tuple[Lines, Lines]:
        """The lines of a subject in an interval, and the system's, asked at the same time."""
        with ThreadPoolExecutor(1) as aside:
            line = aside.submit(self.line, interval)
            return self.subject(name, interval), line.result()

    def line(self, interval: Interval) -> Lines:
        """The line of the system in an interval, if it has one."""
        with self._of_line.current() as connection, suppress(NothingToReportError):
            return lines_of(self._report(connection, SYSTEM, interval.begin, interval.end))
        return Lines()

    def subject(self, name: str, interval: Interval) -> Lines:
        """The lines of a subject in an interval."""
        with self._of_subject.current() as connection:
            if name == EXCEPTIONS:
                return self._exceptions(connection, interval)
            try:
                return lines_of(
                    self._report(connection, PANELS[name], interval.begin, interval.end)
                )
            except NothingToReportError as error:
                return Lines(notes=[str(error).partition("\n")[0]])

    def over_time(self, name: str, key: Any, until: datetime) -> Lines:
        """The lines of an object of a subject over the last day."""
        (option,) = find_report(PANELS[name]).follows
        with self._of_subject.current() as connection:
            result = self._report(
                connection, PANELS[name], until - REACH, until, objects={option: key}
            )
        lines = lines_of(result)
        return lines.chosen("", TIME)

    def explained(self, interval: Interval) -> str:
        """What was different in an interval."""
        with self._of_subject.current() as connection:
            found = explain(
                connection,
                system=self.system,
                moment=interval.begin + (interval.end - interval.begin) / 2,
                against="before",
                settings=self._settings,
            )
        return render_explanation(found, "text").decode()

    def _report(
        self,
        connection: Connection,
        name: str,
        since: datetime,
        until: datetime | None = None,
        **options: Any,
    ) -> ReportResult:
        return report(
            connection,
            name,
            system=self.system,
            since=since,
            until=until,
            settings=self._settings,
            **options,
        )

    def _exceptions(self, connection: Connection, interval: Interval) -> Lines:
        found = exceptions(
            connection,
            system=self.system,
            since=interval.begin,
            until=interval.end,
            settings=self._settings,
        ).table
        columns = {
            "severity": found.column("severity").combine_chunks(),
            "exception": found.column("title").combine_chunks(),
            "object": found.column("object").combine_chunks(),
            "since": pa.array(
                [clock(t) for t in found.column("first_interval").to_pylist()], pa.string()
            ),
            "value": pa.array(map(_value, found.column("value").to_pylist()), pa.string()),
            "limit": pa.array(map(_value, found.column("limit").to_pylist()), pa.string()),
            "unit": found.column("unit").combine_chunks(),
        }
        texts = [pc.fill_null(column, "") for column in columns.values()]
        return Lines([*columns], texts, pa.table(columns), names=[*columns])


def _value(value: float | None) -> str:
    return "" if value is None else f"{value:,.6g}"


def lines_of(result: ReportResult) -> Lines:
    """The lines of a report, with the texts that it prints."""
    columns = result.report.columns
    cells = [
        column_texts(column, result.table.column(column.name), result.zone) for column in columns
    ]
    heads = [" ".join([*column.label.split("|"), column.unit]).strip() for column in columns]
    follows = [*result.report.follows.values()]
    keys = result.table.column(follows[0]).to_pylist() if len(follows) == 1 else ()
    names = [column.name for column in columns]
    return Lines(heads, cells, result.table, keys, names, result.notes, result.marks)
