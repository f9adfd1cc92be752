"""The answers that a dump and a store both give to programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from ..config import Settings
from ..config.moments import find_zone, parse_line_length
from ..core.errors import CpmonError, unknown
from ..core.sql import relation_name
from ..reduce.explain import Explanation, explain, explanation_table, render_explanation
from ..reduce.explain.rendering import MOST_LINES
from ..reduce.page.plot import plot_spec
from ..reduce.reports.combined import combined_reports
from ..reduce.reports.report import ReportResult
from ..reduce.reports.report_text import render_report
from ..reduce.rules.exceptions import Exceptions, exceptions
from ..reduce.rules.rendering import render_findings
from ..reduce.rules.rule import Severity
from ..store import Store
from ..store.catalogue.answers import ask
from ..store.catalogue.connection import Connection
from ..store.runs.runs import measured_system
from .selection import Departure, Search, Selection, with_grace, with_objects

if TYPE_CHECKING:
    from typing import Unpack

    import altair as alt
    import polars as pl
    import pyarrow as pa


class Answers(ABC):
    """What `cpmon.read` and `cpmon.open` return answers these.

    Answers are polars DataFrames, whose `to_arrow()` and `to_pandas()` convert them: values are
    unrounded and in the units that the columns' meanings name, times are UTC.
    """

    _settings: Settings
    _store: Store
    _bounds: Mapping[str, datetime] = {}
    """`since` and `until` of answers that name none."""

    @abstractmethod
    def _connected(self) -> AbstractContextManager[Connection]:
        """A connection for one answer."""

    @abstractmethod
    def sql(self, query: str, **parameters: Any) -> pl.DataFrame:
        """The answer of a query, as of `cpmon query`; parameters by name, as `$top`."""

    def table(self, name: str) -> pl.DataFrame:
        """All rows of a table or view, as "interval.useact" or "users_by_time".

        Raises:
            CpmonError: there is none of that name.
        """
        return self.sql(f"FROM {relation_name(name)}")

    def report(self, name: str | Sequence[str], **selection: Unpack[Selection]) -> pl.DataFrame:
        """The lines of a report, unrounded, by time or the greatest object first.

        Args:
            name: of a report, as in `cpmon report --list`; or a list of columns of reports, which
                are then side by side, a row a time.
            selection: see `Selection`.

        Raises:
            CpmonError: a name is unknown, or there is nothing to report.
        """
        return as_frame(self._report(name, selection).for_programs)

    def report_text(self, name: str | Sequence[str], **selection: Unpack[Selection]) -> str:
        """The report as `cpmon report` prints it, with its mean line and notes."""
        return render_report(self._report(name, selection)).decode()

    def chart(self, name: str | Sequence[str], **selection: Unpack[Selection]) -> alt.Chart:
        """A chart of a report: lines over time, or bars of the greatest objects.

        Args:
            selection: see `Selection`; `columns` are drawn, by default the one that objects are
                sorted by, or the first figure of a report by time.

        Raises:
            CpmonError: a name is unknown, or there is nothing to draw.
        """
        import altair as alt

        columns = selection.pop("columns", ())
        return alt.Chart.from_dict(plot_spec(self._report(name, selection), columns))

    def _report(self, name: str | Sequence[str], selection: Selection) -> ReportResult:
        given = with_objects(with_grace({**self._bounds, **selection}))
        if "by" in given:
            text = given["by"]
            try:
                given["by"] = parse_line_length(text)
            except ValueError:
                raise CpmonError(
                    "that is no length of a line",
                    expected="15m, 1h, 1d, 1w or 1mo",
                    found=repr(text),
                ) from None
        with self._connected() as connection:
            names = [name] if isinstance(name, str) else name
            (found,) = combined_reports(connection, names, **given, settings=self._settings)
            return found

    def explain(self, *, top: int = MOST_LINES, **selection: Unpack[Departure]) -> pl.DataFrame:
        """What was different at a time, and who contributed: a row each, the heaviest first.

        Args:
            top: only so many rows.
            selection: see `Departure`.

        Raises:
            CpmonError: a name is unknown, or no interval is in the span.
        """
        return as_frame(explanation_table(self._explain(selection), _checked_top(top)))

    def explain_text(self, *, top: int = MOST_LINES, **selection: Unpack[Departure]) -> str:
        """The same as `cpmon explain` prints it, with what it was compared with and notes."""
        zone = self._zone(selection.get("system"), selection.get("run"))
        found = self._explain(selection)
        return render_explanation(found, "text", zone, _checked_top(top)).decode()

    def exceptions(self, **selection: Unpack[Search]) -> pl.DataFrame:
        """What should not be, by rules: a row an episode, the worst severity first, then by time.

        `value` is the worst one, in `unit`.

        Args:
            selection: see `Search`.

        Raises:
            CpmonError: a name is unknown, or no interval is in the span.
        """
        return as_frame(self._exceptions(selection).table)

    def exceptions_text(self, **selection: Unpack[Search]) -> str:
        """The same as `cpmon exceptions` prints it, with what could not be judged."""
        zone = self._zone(selection.get("system"), selection.get("run"))
        return render_findings(self._exceptions(selection), "text", zone.key).decode()

    def _explain(self, selection: Departure) -> Explanation:
        given = with_grace(selection if "at" in selection else {**self._bounds, **selection})
        given["moment"] = given.pop("at", None)
        zone = self._zone(given.get("system"), given.get("run"))
        with self._connected() as connection:
            return explain(connection, **given, zone=zone, settings=self._settings)

    def _exceptions(self, selection: Search) -> Exceptions:
        given = with_grace({**self._bounds, **selection})
        severity = given.get("severity", Severity.INFO)
        if severity not in [*Severity]:
            raise unknown("severity", severity, [*Severity])
        given["severity"] = Severity(severity)
        with self._connected() as connection:
            return exceptions(connection, **given, settings=self._settings)

    def _zone(self, system: str | None, run: str | None) -> ZoneInfo:
        return find_zone(self._settings.zone(measured_system(self._store, system, run)))


def _checked_top(top: int) -> int:
    """A number of objects or rows; below 0 it would leave out the last ones."""
    if top < 0:
        raise CpmonError("that is no number of objects", expected="top=0 or more", found=str(top))
    return top


def answer(connection: Connection, query: str, parameters: Mapping[str, Any]) -> pl.DataFrame:
    """The answer of a query on a connection."""
    import pyarrow as pa

    return as_frame(pa.concat_tables(ask(connection, query, parameters)))


def as_frame(table: pa.Table) -> pl.DataFrame:
    """An Arrow table as a polars DataFrame; infinite times, and years beyond 9999, make texts."""
    import polars as pl

    from ..render.render import without_odd_times

    frame = pl.from_arrow(without_odd_times(table))
    assert isinstance(frame, pl.DataFrame)
    return frame
