"""`cpmon.open`: a store for programs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from ..config import read_settings
from ..config.definitions import use
from ..config.moments import LineLength, parse_line_length
from ..core.errors import CpmonError
from ..core.grace_period import GRACE
from ..core.sql import relation_name
from ..ingest.landing import ingest
from ..reduce.compare import compare, compare_runs, measure_parts
from ..reduce.engine.reducing import reduce
from ..reduce.page.plot import plot_spec
from ..reduce.reductions.reductions import reductions
from ..reduce.reports.narrowing import named_objects
from ..reduce.reports.report import ReportResult, report
from ..reduce.reports.report_text import render_report
from ..store import Store
from ..store.catalogue.connection import Connection, connect
from ..store.results.readable_part import lazily_readable_part
from ..store.sandbox.sandbox import Limits
from .dump import answer

if TYPE_CHECKING:
    from typing import Unpack

    import altair as alt
    import polars as pl


class Selection(TypedDict, total=False):
    """What a report is of; all of it may be left out.

    Attributes:
        run: a run; it or a system is needed if the store has several systems.
        system: a system.
        since: only intervals that end after it; without a zone it is UTC.
        until: only intervals that do not end after it; CP may have ended them a second late.
        user: a user to follow, "LNX1"; or the users of a pattern, "LNX*".
        user_class: a class of users.
        device: a device number, or a pair of the first and the last.
        cpu: a processor.
        partition: a logical partition.
        by: length of a line: "15m", "1h", "1d", "1w" or "1mo".
        top: only so many objects, the greatest.
        each: the greatest of each line instead of the whole span.
        sort: a column that orders the lines.
        where: a condition on the lines, as "cpu_util > 0.5".
        columns: only these columns.
        shift: only the hours of this shift of the settings.
        zone: time zone of days and hours.
    """

    run: str
    system: str
    since: datetime
    until: datetime
    user: str
    user_class: str
    device: int | tuple[int, int]
    cpu: int
    partition: str
    by: str
    top: int
    each: bool
    sort: str
    where: str
    columns: Sequence[str]
    shift: str
    zone: str


class OpenStore:
    """A store. Each method reads it as it is at that moment; the settings are those of `open`.

    Answers are polars DataFrames, whose `to_arrow()` and `to_pandas()` convert them: values are
    unrounded and in the units that the columns' meanings name, times are UTC.
    """

    def __init__(
        self, path: str | Path, *, config: str | Path | None = None, create: bool = False
    ) -> None:
        """Opens a store; see `open`."""
        self.path = Path(path)
        self._settings = read_settings(self.path, Path(config) if config else None)
        self._store = Store(self.path, create=create)

    def __repr__(self) -> str:
        """Class and folder."""
        return f"<cpmon store {self.path}>"

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        use(self._settings.definitions)
        store = lazily_readable_part(self._store, _warn)
        limits = Limits(self._settings.memory_limit, self._settings.threads)
        with connect(store, reductions(), limits) as connection:
            yield connection

    def sql(self, query: str, **parameters: Any) -> pl.DataFrame:
        """The answer of a query, as of `cpmon query`; parameters by name, as `$top`.

        Raises:
            CpmonError: it does not only read, names unknown tables, or fails.
        """
        with self._connected() as connection:
            return answer(connection, query, parameters)

    def table(self, name: str) -> pl.DataFrame:
        """All rows of a table or view, as "interval.useact" or "users_by_time".

        Raises:
            CpmonError: there is none of that name.
        """
        return self.sql(f"FROM {relation_name(name)}")

    @property
    def runs(self) -> pl.DataFrame:
        """The runs, a row each, by name."""
        return self.sql("FROM meta.run ORDER BY run_id")

    def report(self, name: str, **selection: Unpack[Selection]) -> pl.DataFrame:
        """The lines of a report, unrounded, by time or the greatest object first.

        Args:
            name: of a report, as in `cpmon report --list`.
            selection: see `Selection`.

        Raises:
            CpmonError: a name is unknown, or there is nothing to report.
        """
        import polars as pl

        frame = pl.from_arrow(self._report(name, selection).table)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def report_text(self, name: str, **selection: Unpack[Selection]) -> str:
        """The report as `cpmon report` prints it, with its mean line and notes."""
        return render_report(self._report(name, selection)).decode()

    def chart(self, name: str, **selection: Unpack[Selection]) -> alt.Chart:
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

    def _report(self, name: str, selection: Selection) -> ReportResult:
        given: dict[str, Any] = dict(selection)
        names = ("cpu", "user", "user_class", "device", "partition")
        given["objects"] = named_objects(*(given.pop(option, None) for option in names))
        if "by" in given:
            given["by"] = _line_length(given["by"])
        for bound in ("since", "until"):
            if bound in given:
                given[bound] += GRACE
        with self._connected() as connection:
            return report(connection, name, **given, settings=self._settings)

    def compare(
        self,
        table: str | Path | None = None,
        *,
        runs: Sequence[str] = (),
        base: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> pl.DataFrame:
        """A comparison of runs, a row a cell of a table, or a row a metric.

        Args:
            table: a shipped table, as "timer_t1", or a TOML file of one.
            runs: without a table, the runs that are compared on the standard metrics.
            base: the run that they are compared with; by default the one that they name.
            since: compare only what ends after it, in each of `runs` and `base`.
            until: compare only what does not end after it.

        Raises:
            CpmonError: the table or a run is unknown, or a run has no steady state in the span.
        """
        import polars as pl

        with self._connected() as connection:
            if table is not None:
                cells = compare(connection, table).to_arrow()
            else:
                if since or until:
                    measure_parts(connection, runs, base, lambda _run: (since, until))
                cells = compare_runs(connection, runs, base).to_arrow()
        frame = pl.from_arrow(cells)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def ingest(self, dump: str | Path, *, system: str | None = None, release: str = "") -> str:
        """Land a dump; one that landed before is left as it is.

        Args:
            dump: a file of MONWRITE, also with gzip or zstd.
            system: name to use instead of the one in the dump.
            release: CP level that wrote the dump ("7.3.0"), if not the one that the dump names.

        Returns:
            The name of the dump in `meta.dump`. What is wrong with it is in `meta.finding`.

        Raises:
            CpmonError: it is no monitor data, most of it is lost, or the store cannot be written.
        """
        fallback = self._settings.release(system)
        landed = ingest(
            dump, self._store, system=system, release=release, fallback_release=fallback
        )
        return landed.dump

    def reduce(self, *names: str) -> None:
        """Compute the missing results of all reductions, or of those named, and keep them.

        Raises:
            CpmonError: a name is unknown, or a computation failed; the others are kept.
        """
        use(self._settings.definitions)
        reduce(self._store, names, self._settings)


def open(store: str | Path, *, config: str | Path | None = None, create: bool = False) -> OpenStore:
    """Open a store.

    Args:
        store: its folder.
        config: a file of settings instead of those that commands find.
        create: make the folder a store if it is none.

    Raises:
        CpmonError: there is no store, or the settings are wrong.
    """
    return OpenStore(store, config=config, create=create)


def _line_length(text: str) -> LineLength:
    try:
        return parse_line_length(text)
    except ValueError:
        raise CpmonError(
            "that is no length of a line", expected="15m, 1h, 1d, 1w or 1mo", found=repr(text)
        ) from None


def _warn(notes: Sequence[str]) -> None:
    for note in notes:
        warnings.warn(note, stacklevel=2)
