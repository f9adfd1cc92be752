"""Outputs: reports, tables, exceptions and pages of the days that changed, one file each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb

from ..config import Settings
from ..config.moments import find_zone
from ..core.errors import CpmonError, NothingToReportError
from ..core.grace_period import day_bounds
from ..reduce.compare.comparison_table import compare
from ..reduce.compare.rendering import render_comparison
from ..reduce.compare.spec import load_spec
from ..reduce.reports.report import ReportResult, report
from ..reduce.reports.report_text import render_reports
from ..reduce.rules.exceptions import exceptions
from ..reduce.rules.rendering import render_findings
from .log import ascii_error, error_code, log
from .plan import PlannedOutput, folder_above, has_file_per_day, output_path, written_folders
from .result import BatchResult

Write = Callable[[Path, bytes], None]
Days = Mapping[str, set[date]]
Files = Sequence[tuple[Path, bytes]]


@dataclass(frozen=True)
class OutputWriter:
    """Writes outputs; a failure does not stop the others.

    Attributes:
        con: a connection with the reductions. write: replaces a file atomically.
        unwritten: systems and days of outputs that failed; the next batch retries.
    """

    con: duckdb.DuckDBPyConnection
    settings: Settings
    write: Write
    unwritten: set[tuple[str, date]] = field(default_factory=set)
    _systems: dict[Path, str] = field(default_factory=dict)
    _above: set[Path] = field(default_factory=set)

    def run(self, outputs: tuple[PlannedOutput, ...], changed: Days, result: BatchResult) -> None:
        """Write every output that depends on the changed days of each system."""
        for output in outputs:
            selected = {
                name: sorted(days) if has_file_per_day(output.path) else [max(days)]
                for name, days in sorted(changed.items())
                if days and (not output.systems or name in output.systems)
            }
            if output.kind == "table":
                newest = max((days[-1] for days in selected.values()), default=None)
                selected = {"": [newest]} if newest else {}
            for system, days in selected.items():
                for day in days:
                    self._write_output(output, system, day, result)
        pages = {output.path for output in outputs if output.kind == "pages"}
        for folder in sorted(self._above):
            self._write_index(folder, {p for p in pages if folder_above(p) == folder}, result)

    def _write_output(
        self, output: PlannedOutput, system: str, day: date, result: BatchResult
    ) -> None:
        path = output_path(output.path, day, system, output.name)
        what = " ".join(filter(None, [output.kind, output.name, system, str(day)]))
        try:
            if self._systems.setdefault(path, system) != system:
                raise CpmonError(
                    f"{self._systems[path]} and {system} would be written to one file",
                    code="output-path-ambiguous",
                    place=str(path),
                    remedy="put {system} into the path of the output",
                )
            for file, data in self._render(output, system, day, path):
                if output.kind != "pages" or not _has(file, data):
                    self.write(file, data)
        except NothingToReportError as error:
            log.info("nothing to report", path=path, what=what, reason=error)
            return
        except (CpmonError, OSError, duckdb.Error) as error:
            result.note("trouble", what, ascii_error(error), error_code(error))
            log.error("not written", path=path, what=what, reason=error)
            self.unwritten.add((system, day))
            return
        result.counts["written"] += 1
        result.written.append(str(path))
        log.info("written", path=path, what=what)
        if output.kind == "pages" and (above := folder_above(output.path)):
            self._above.add(above)

    def _write_index(self, folder: Path, paths: Collection[Path], result: BatchResult) -> None:
        """Write the index above the folders of pages of some patterns, from their own."""
        from ..reduce.page.index import load_index, merged
        from ..reduce.page.page import render_index

        path = folder / "index.html"
        try:
            if path.exists() and load_index(path.read_bytes()) is None:
                raise CpmonError(
                    "the index of all days would replace a page that is none",
                    code="index-not-ours",
                    place=str(path),
                    effect="it was not written; the pages of the days were",
                    remedy="move that page, or put a folder into the path of the output",
                )
            known = {
                f"{quote(below.relative_to(folder).as_posix())}/": index
                for each in sorted(paths)
                for below in written_folders(each)
                if (index := load_index((below / "index.html").read_bytes()))
            }
            data = render_index(self.con, merged(known))
            if not _has(path, data):
                self.write(path, data)
        except (CpmonError, OSError, duckdb.Error) as error:
            result.note("trouble", str(path), ascii_error(error), error_code(error))
            log.error("not written", path=path, reason=error)
            return
        log.info("index", path=path, folders=len(known))

    def _render(self, output: PlannedOutput, system: str, day: date, path: Path) -> Files:
        """Render the files of an output: path -> content."""
        con, zone = self.con, self.settings.zone(system)
        since, until = day_bounds(day, day, find_zone(zone))
        selection: dict[str, Any] = {
            "system": system,
            "since": since,
            "until": until,
            "settings": self.settings,
        }
        if output.kind == "report":
            options: dict[str, Any] = {"top": output.top, "shift": output.shift, "zone": zone}
            reports = self._reports(output.names, **selection, **options)
            return [(path, render_reports(reports, output.form))]
        if output.kind == "exceptions":
            matches = exceptions(con, **selection)
            return [(path, render_findings(matches, output.form, zone))]
        if output.kind == "table":
            return [(path, render_comparison(compare(con, load_spec(output.name)), output.form))]
        from ..reduce.page.page import write_pages

        pages: list[tuple[Path, bytes]] = []
        folder = folder_above(output.path)
        above = "../" * len(path.relative_to(folder).parts) + "index.html" if folder else ""
        options = {"zone": zone, "top": output.top or 0, "above": above}
        write_pages(con, path, lambda *file: pages.append(file), **selection, **options)
        return pages

    def _reports(self, names: Sequence[str], **options: Any) -> list[ReportResult]:
        """The reports that have data; raises NothingToReportError if none of them has."""
        reports = []
        for name in names:
            try:
                reports.append(report(self.con, name, **options))
            except NothingToReportError as error:
                if name == names[-1] and not reports:
                    raise
                log.info("report left out", report=name, reason=error)
        return reports


def _has(file: Path, data: bytes) -> bool:
    """Whether a file has that content, so that it keeps its time."""
    try:
        return file.read_bytes() == data
    except OSError:
        return False
