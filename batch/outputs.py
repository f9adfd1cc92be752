"""Reports, tables and pages of the days that changed, each in its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path

import duckdb

from ..reduce.exceptions import exceptions
from ..reduce.exceptions_text import render_exceptions
from ..reduce.report import report
from ..reduce.report_text import render_report
from ..reduce.settings import Settings
from ..reduce.shifts import find_zone
from ..reduce.spec import load_spec
from ..reduce.table_text import render_comparison
from ..reduce.tables import compare
from ..schemas.errors import CpmonError
from .log import Log
from .naming import file_for, tells_days_apart
from .plain import plain_error
from .plan import Output
from .result import Result
from .spans import bounds

Write = Callable[[Path, bytes], None]
Days = Mapping[str, set[date]]


class Writer:
    """Writes outputs; one that cannot be written stops no other.

    Attributes:
        unwritten: systems and days of which a file could not be written; the next run does it.
    """

    def __init__(
        self, con: duckdb.DuckDBPyConnection, settings: Settings, write: Write, log: Log
    ) -> None:
        """Read from `con`, to the store with the reductions; `write` writes a file as a whole."""
        self.con, self.settings, self.write, self.log = con, settings, write, log
        self.unwritten: set[tuple[str, date]] = set()
        self._done: dict[Path, str] = {}

    def run(self, outputs: tuple[Output, ...], days: Days, result: Result) -> None:
        """Write everything that these days of each system have a say in."""
        self._done.clear()
        for output in outputs:
            wanted = {
                name: sorted(of) if tells_days_apart(output.path) else [max(of)]
                for name, of in sorted(days.items())
                if of and (not output.systems or name in output.systems)
            }
            if output.kind == "table":
                newest = {day for of in wanted.values() for day in of}
                wanted = {"": sorted(newest)[-1:]} if newest else {}
            for system, these in wanted.items():
                for day in these:
                    self._one(output, system, day, result)

    def _one(self, output: Output, system: str, day: date, result: Result) -> None:
        path = file_for(output.path, day, system, output.name)
        what = " ".join(filter(None, [output.kind, output.name, system, str(day)]))
        try:
            if self._done.setdefault(path, system) != system:
                self.unwritten.add((system, day))
                raise CpmonError(
                    f"{self._done[path]} and {system} would be written to one file",
                    place=str(path),
                    remedy="put {system} into the path of the output",
                )
            made = self._made(output, system, day, path)
        except (CpmonError, duckdb.Error) as error:
            self._fail(what, path, error, result)
            return
        try:
            for file, data in made:
                self.write(file, data)
        except (CpmonError, OSError) as error:
            self._fail(what, path, error, result)
            self.unwritten.add((system, day))
            return
        result.counts["written"] += 1
        result.written.append(str(path))
        self.log.info("written", path=path, what=what)

    def _fail(self, what: str, path: Path, error: Exception, result: Result) -> None:
        result.note("trouble", what, plain_error(error))
        self.log.error("not written", path=path, what=what, reason=error)

    def _made(
        self, output: Output, system: str, day: date, path: Path
    ) -> Sequence[tuple[Path, bytes]]:
        """The files of an output, with what belongs into them."""
        asked = self.settings
        zone = asked.zone(system)
        since, until = bounds(day, find_zone(zone))
        if output.kind == "report":
            found = report(
                self.con,
                output.name,
                system=system,
                since=since,
                until=until,
                top=output.top,
                shift=output.shift,
                zone=zone,
                settings=asked,
            )
            return [(path, render_report(found, output.form))]
        if output.kind == "exceptions":
            met = exceptions(self.con, system=system, since=since, until=until, settings=asked)
            return [(path, render_exceptions(met, output.form, zone))]
        if output.kind == "table":
            table = compare(self.con, load_spec(output.name))
            return [(path, render_comparison(table, output.form))]
        from ..reduce.page.page import write_pages

        pages: list[tuple[Path, bytes]] = []
        write_pages(
            self.con,
            path,
            lambda file, data: pages.append((file, data)),
            system=system,
            since=since,
            until=until,
            zone=zone,
            settings=asked,
        )
        return pages
