"""`cpmon.open`: a store for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..config import read_settings
from ..core.errors import CpmonError
from ..core.text import counted
from ..ingest.landing import ingest
from ..reduce.compare import compare, compare_runs, measure_parts
from ..reduce.engine.reducing import reduce
from ..reduce.forecast import Forecast, forecast
from ..reduce.metrics.report_set import reports
from ..reduce.reports.report_text import render_report
from ..store.answers import relations
from ..store.connection import Connection
from .answers import Answers, answer, as_frame
from .selection import Future, documented, with_objects, with_times
from .site_store import SiteStore

if TYPE_CHECKING:
    from typing import Unpack

    import polars as pl


class OpenStore(Answers):
    """A store. Each method reads it as it is at that moment; the settings are those of `open`."""

    def __init__(
        self, path: str | Path, *, config: str | Path | None = None, create: bool = False
    ) -> None:
        """Opens a store; see `open`."""
        self.path = Path(path)
        settings = read_settings(self.path, Path(config) if config else None)
        self._site = SiteStore(self.path, settings, create=create)
        self._store = self._site.store  # there must be one

    def __repr__(self) -> str:
        with suppress(CpmonError, OSError):  # it may be gone
            dumps = counted(len(self._store.dumps()), "dump")
            return f"<cpmon store {self.path}: {dumps} of {', '.join(self.systems) or 'none'}>"
        return f"<cpmon store {self.path}>"

    @property
    def systems(self) -> list[str]:
        """The systems whose dumps have landed."""
        return sorted({dump.system for dump in self._store.dumps()})

    @property
    def tables(self) -> list[str]:
        """What can be read: records that have landed, reductions, and what is known of dumps."""
        with self._connected() as connection:
            return relations(connection)

    @property
    def reports(self) -> list[str]:
        """The names of the reports, also of those of the site."""
        self._site.use()
        return sorted(reports())

    def _repr_html_(self) -> str:
        """The systems of the store, as a notebook shows them."""
        query = (
            "SELECT system, count(*) AS dumps, min(first_tod) AS since, max(last_tod) AS until"
            " FROM meta.dump GROUP BY system ORDER BY system"
        )
        return f"<p>{escape(repr(self))}</p>{self.sql(query)._repr_html_()}"

    def close(self) -> None:
        """Ends its use, as of a dump: a store holds nothing open between two answers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        self._site.use()
        with self._site.connect() as connection:
            yield connection

    def sql(self, query: str, **parameters: Any) -> pl.DataFrame:
        """The answer of a query, as of `cpmon query`; parameters by name, as `$top`.

        Raises:
            CpmonError: it does not only read, names unknown tables, or fails.
        """
        with self._connected() as connection:
            return answer(connection, query, parameters)

    @property
    def runs(self) -> pl.DataFrame:
        """The runs, a row each, by name."""
        return self.sql("FROM meta.run ORDER BY run_id")

    def compare(
        self,
        table: str | Path | None = None,
        *,
        runs: Sequence[str] = (),
        base: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
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
        with self._connected() as connection:
            if table is not None:
                return as_frame(compare(connection, table).to_arrow())
            if since or until:
                given = with_times({"since": since, "until": until})
                bounds = given["since"], given["until"]
                measure_parts(connection, runs, base, lambda _run: bounds)
            return as_frame(compare_runs(connection, runs, base).to_arrow())

    @documented(Future)
    def forecast(self, metric: str, **selection: Unpack[Future]) -> pl.DataFrame:
        """When a metric meets a threshold, from its kept hours: a row a day or week.

        Args:
            metric: a column of a report.
            selection: see `Future`.

        Raises:
            CpmonError: a name is unknown, or fewer than six weeks of hours are kept.
        """
        return as_frame(self._forecast(metric, selection).result.table)

    def forecast_text(self, metric: str, **selection: Unpack[Future]) -> str:
        """The same as `cpmon forecast` prints it, with trend, season and notes."""
        return render_report(self._forecast(metric, selection).result).decode()

    def _forecast(self, metric: str, selection: Future) -> Forecast:
        given = with_objects(with_times(selection))
        if "by" in given:
            lengths, text = {"1d": timedelta(days=1), "1w": timedelta(days=7)}, given["by"]
            if text not in lengths:
                raise CpmonError(
                    "that is no length of a line", expected="1d or 1w", found=repr(text)
                )
            given["by"] = lengths[text]
        with self._connected() as connection:
            return forecast(connection, metric, **given, settings=self._site.settings)

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
        self._site.use()
        fallback = self._site.settings.release(system)
        landed = ingest(
            dump, self._store, system=system, release=release, fallback_release=fallback
        )
        return landed.dump

    def reduce(self, *names: str) -> None:
        """Compute the missing results of all reductions, or of those named, and keep them.

        Raises:
            CpmonError: a name is unknown, or a computation failed; the others are kept.
        """
        self._site.use()
        reduce(self._store, names, self._site.settings)


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
