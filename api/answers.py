"""The answers that a dump and a store both give to programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar
from zoneinfo import ZoneInfo

from ..config.moments import find_zone, parse_line_length
from ..core.errors import CpmonError, unknown
from ..core.sql import name as quoted
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
from ..store.answers import ask
from ..store.connection import Connection
from ..store.measured.runs import measured_system
from .selection import (
    Departure,
    SearchOptions,
    Selection,
    documented,
    with_grace,
    with_objects,
    with_times,
)
from .site_store import SiteStore

if TYPE_CHECKING:
    from typing import Unpack

    import altair as alt
    import polars as pl
    import pyarrow as pa


Frame = TypeVar("Frame", "pl.DataFrame", "pl.LazyFrame")


class Answers(ABC):
    """What `cpmon.read` and `cpmon.open` return answers these.

    Answers are polars DataFrames, whose `to_arrow()` and `to_pandas()` convert them: values are
    unrounded and in the units that the columns' meanings name, times are UTC.
    """

    _site: SiteStore
    _bounds: Mapping[str, datetime] = {}
    """`since` and `until` of answers that name none."""

    @abstractmethod
    def _connected(self) -> AbstractContextManager[Connection]:
        """A connection for one answer."""

    @abstractmethod
    def sql(self, query: str, **parameters: Any) -> pl.DataFrame:
        """The answer of a query, as of `cpmon query`; parameters by name, as `$top`."""

    def lazy(self, query: str, **parameters: Any) -> pl.LazyFrame:
        """The answer of a query as a polars LazyFrame, which is asked when it is collected.

        It reads only the columns that are needed; of a dump it is collected before it is closed.

        Raises:
            CpmonError: see `sql`.
        """
        from polars.io.plugins import register_io_source

        def asked(
            columns: list[str] | None,
            predicate: pl.Expr | None,
            rows: int | None,
            _size: int | None,
        ) -> Iterator[pl.DataFrame]:
            listed = ", ".join(map(quoted, columns)) if columns else "*"
            limit = f" LIMIT {rows}" if rows is not None else ""
            frame = self.sql(f"SELECT {listed} FROM ({query}){limit}", **parameters)
            yield frame if predicate is None else frame.filter(predicate)

        schema = self.sql(f"SELECT * FROM ({query}) LIMIT 0", **parameters).schema
        return register_io_source(asked, schema=schema)

    def table(self, name: str) -> pl.DataFrame:
        """All rows of a table or view, as "interval.useact" or "users_by_time".

        Raises:
            CpmonError: there is none of that name.
        """
        return self.sql(f"FROM {relation_name(name)}")

    @documented(Selection)
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

    @documented(Selection)
    def report_text(self, name: str | Sequence[str], **selection: Unpack[Selection]) -> str:
        """The report as `cpmon report` prints it, with its mean line and all notes.

        Args:
            name: as of `report`.
            selection: see `Selection`.
        """
        return render_report(self._report(name, selection)).decode()

    @documented(Selection)
    def chart(self, name: str | Sequence[str], **selection: Unpack[Selection]) -> alt.Chart:
        """A chart of a report: lines over time, or bars of the greatest objects.

        Charts combine, as `a | b` and `a & b`; their look is that of Altair then.

        Args:
            selection: see `Selection`; `columns` are drawn, by default the one that objects are
                sorted by, or the first figure of a report by time.

        Raises:
            CpmonError: a name is unknown, or there is nothing to draw.
        """
        import altair as alt

        columns = with_times(selection).get("columns", ())
        given: Selection = {k: v for k, v in selection.items() if k != "columns"}  # type: ignore[assignment]
        return alt.Chart.from_dict(_combinable(plot_spec(self._report(name, given), columns)))

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
            (found,) = combined_reports(connection, names, **given, settings=self._site.settings)
            return found

    @documented(Departure)
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

    @documented(SearchOptions)
    def exceptions(self, **selection: Unpack[SearchOptions]) -> pl.DataFrame:
        """What should not be, by rules: a row an episode, the worst severity first, then by time.

        `value` is the worst one, in `unit`.

        Args:
            selection: see `SearchOptions`.

        Raises:
            CpmonError: a name is unknown, or no interval is in the span.
        """
        return as_frame(self._exceptions(selection).table)

    def exceptions_text(self, **selection: Unpack[SearchOptions]) -> str:
        """The same as `cpmon exceptions` prints it, with what could not be judged."""
        zone = self._zone(selection.get("system"), selection.get("run"))
        return render_findings(self._exceptions(selection), "text", zone.key).decode()

    def _explain(self, selection: Departure) -> Explanation:
        given = with_grace(selection if "at" in selection else {**self._bounds, **selection})
        given["moment"] = given.pop("at", None)
        zone = self._zone(given.get("system"), given.get("run"))
        with self._connected() as connection:
            return explain(connection, **given, zone=zone, settings=self._site.settings)

    def _exceptions(self, selection: SearchOptions) -> Exceptions:
        given = with_grace({**self._bounds, **selection})
        severity = given.get("severity", Severity.INFO)
        if severity not in [*Severity]:
            raise unknown("severity", severity, [*Severity])
        given["severity"] = Severity(severity)
        with self._connected() as connection:
            return exceptions(connection, **given, settings=self._site.settings)

    def _zone(self, system: str | None, run: str | None) -> ZoneInfo:
        return find_zone(self._site.settings.zone(measured_system(self._site.store, system, run)))


def _combinable(spec: dict[str, Any]) -> dict[str, Any]:
    """A specification without what only the top may have; data stand where they are used."""
    datasets = spec.pop("datasets", {})
    for key in ("$schema", "config", "background"):
        spec.pop(key, None)

    def inline(part: Any) -> Any:
        if isinstance(part, list):
            return [inline(each) for each in part]
        if not isinstance(part, dict):
            return part
        if set(part) == {"name"} and part["name"] in datasets:
            return {"values": datasets[part["name"]]}
        return {key: inline(value) for key, value in part.items()}

    combinable: dict[str, Any] = inline(spec)
    return combinable


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
    """An Arrow table as a polars DataFrame, times in UTC.

    Infinite times, and years beyond 9999, make texts.
    """
    import polars as pl

    from ..render.render import without_odd_times

    frame = pl.from_arrow(without_odd_times(table))
    assert isinstance(frame, pl.DataFrame)
    return in_utc(frame)


def in_utc(frame: Frame) -> Frame:
    """A frame whose times are of UTC by their type, as they are by their meaning."""
    import polars as pl

    kinds = frame.collect_schema().items()
    naive = [name for name, kind in kinds if isinstance(kind, pl.Datetime) and not kind.time_zone]
    return frame.with_columns(pl.col(naive).dt.replace_time_zone("UTC"))
