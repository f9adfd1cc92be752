"""Notes of a report about the CP levels of its dumps: empty columns, incomplete layouts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

import duckdb
import pyarrow as pa

from ...core.text import counted
from ...schemas.layout import Layout
from ...schemas.registry import record_of, tables
from ...schemas.release import LATEST, release_key
from ...schemas.unplaced import unplaced
from ..metrics.metric import Metric, ReportColumn
from ..metrics.report_set import Report, metric_of
from ..reductions.reductions import reduction, tables_of

LONGER = "Longer than the layouts"
"""How the one note begins that says nothing against the figures that are shown."""
RELEASE = re.compile(r"\d+(\.\d+)*")

Levels = list[tuple[int, ...]]
"""CP levels of dumps in ascending order; empty if the level of any dump is unknown."""


def dumps_of(
    con: duckdb.DuckDBPyConnection, system: str, first: datetime, last: datetime
) -> dict[str, str]:
    """Dump -> CP level, for the dumps of a UTC time span; the level is empty if unknown."""
    rows = con.execute(
        "SELECT dump, release FROM meta.dump WHERE system = ?"
        " AND least(first_tod, last_tod) <= ? AND greatest(first_tod, last_tod) >= ?",
        [system, last, first],
    ).fetchall()
    return {dump: release or "" for dump, release in rows}


def levels_of(releases: Iterable[str]) -> Levels:
    """Parses and sorts the levels of dumps."""
    named = set(releases)
    return sorted(map(release_key, named)) if all(map(RELEASE.fullmatch, named)) else []


def notes_of(definition: Report, levels: Levels) -> list[str]:
    """The notes of a report that apply, or may apply, to some of its dumps."""
    return [
        note.text
        for note in definition.notes
        if not levels
        or (
            (not note.since or levels[-1] >= release_key(note.since))
            and (not note.before or levels[0] < release_key(note.before))
        )
    ]


def missing(definition: Report, table: pa.Table, levels: Levels) -> list[str]:
    """Notes on empty values, one for each reason, with the columns concerned."""
    notes: dict[str, list[str]] = {}
    for column in definition.columns:
        nulls = table.column(column.name).null_count
        share = (
            "" if nulls == table.num_rows else f" in {nulls} of {counted(table.num_rows, 'line')}"
        )
        reason = _reason(definition, column, levels)
        if nulls and reason:
            notes.setdefault(f"not known{share} {reason}", []).append(column.heading)
    return [f"{', '.join(headings)}: {reason}." for reason, headings in notes.items()]


def unrecorded(definition: Report, levels: Levels) -> list[str]:
    """Notes on columns that no dump of these levels can fill, one for each reason."""
    notes: dict[str, list[str]] = {}
    for column in (c for c in definition.columns if not c.is_optional):
        if reason := _level_reason(metric_of(definition.reduction, column.name), levels):
            notes.setdefault(f"not known {reason}", []).append(column.heading)
    return [f"{', '.join(headings)}: {reason}." for reason, headings in notes.items()]


def _level_reason(metric: Metric, levels: Levels) -> str:
    """Why no dump of these levels has a metric; empty if some may have it."""
    if metric.until and levels and levels[0] > release_key(metric.until):
        return f"after CP {metric.until}, the last level that records it"
    if metric.since and levels and levels[-1] < release_key(metric.since):
        return f"before CP {metric.since}, the first level that records it"
    return ""


def _reason(definition: Report, column: ReportColumn, levels: Levels) -> str:
    """Why values are missing: the CP level, or what the column documents for NULL."""
    metric = metric_of(definition.reduction, column.name)
    if reason := _level_reason(metric, levels):
        return reason
    reasons = [reduction(definition.reduction).column(column.name).absence]
    since, until = (release_key(r) if r else () for r in (metric.since, metric.until))
    if since and not (levels and levels[0] >= since):
        reasons.append(f"before CP {metric.since}")
    if until and not levels:
        reasons.append(
            f"after CP {metric.until}, which a dump that names no level may be of"
            " (cpmon ingest --release names it)"
        )
    elif until and levels[-1] > until:
        reasons.append(f"after CP {metric.until}")
    return ", or ".join(filter(None, reasons))


MULTITHREADING = "6.3.0"
"""The first release with multithreading (two threads on a core)."""
THREAD_TIMES = frozenset(
    {
        *("busy_tod", "emulation_tod", "cp_tod", "cp_user_tod", "cp_system_tod", "wait_tod"),
        *("suspended_tod", "cpu_tod", "virtual_tod"),
        *("master_busy_tod", "master_emulation_tod", "master_cp_tod"),
    }
)
"""Sums of processor times; with multithreading they are raw thread times."""
THREAD_FIELDS = frozenset({"sysmt", "vmdttime_mt1", "vmdttime_pro"})
"""Fields that distinguish threads from cores; their places come from imported IBM pages."""
THREAD_COLUMNS = {
    "core": "Core is the processor's address without the bit that tells its threads apart",
    "core_util": "Core disp is the time for which the machine dispatched the core",
    "cpu_util_mt1": "%CPU MT-1 is what CP estimates for one thread on each core",
    "cpu_util_prorated": "%CPU core is the share of a core's time, where CP keeps it",
}
"""Columns that need these fields, and the note about each."""
ASSUMABLE = {"vmdctpvg": ("resident_above_pages", "resident_above_2g")}
"""Fields that a dump may have at an assumed offset -> the metrics that depend on them."""
RESTING = frozenset(metric for metrics in ASSUMABLE.values() for metric in metrics)


def layout_notes(
    con: duckdb.DuckDBPyConnection, dumps: Mapping[str, str], shown: Report
) -> list[str]:
    """Notes on what is not decoded of dumps (with their CP levels), and its effect on a report."""
    releases = sorted(filter(RELEASE.fullmatch, set(dumps.values())), key=release_key)
    if not releases:
        return []
    records = records_of(tables_of(shown.reduction))
    found = con.execute(
        "SELECT DISTINCT code, detail FROM meta.finding WHERE list_contains(?, dump)"
        " AND code IN ('RECORD_LONGER', 'RECORD_WITHDRAWN') ORDER BY ALL",
        [list(dumps)],
    ).fetchall()
    columns = [column.name for column in shown.columns]
    threads = thread_notes(shown, releases[-1], records, columns)
    if threads:  # MTRSYS_SYSMT: 0 if no dump has threads; NULL if its offset is unknown
        ((flags,),) = con.execute(
            "SELECT max(CAST(sysmt AS BIGINT)) FROM monitor.mtrsys WHERE list_contains(?, dump)",
            [list(dumps)],
        ).fetchall()
        threads = threads if flags != 0 else []
    assumed = assumed_notes(con, dumps, {c.name: c.heading for c in shown.columns})
    return [
        *unread_notes((detail for _, detail in found), releases[-1], records),
        *threads,
        *assumed,
    ]


def assumed_notes(
    con: duckdb.DuckDBPyConnection, dumps: Collection[str], shown: Mapping[str, str]
) -> list[str]:
    """Notes on fields read at assumed offsets; `shown`: displayed metric -> its heading."""
    resting = {
        field: ", ".join(shown[metric] for metric in metrics if metric in shown)
        for field, metrics in ASSUMABLE.items()
    }
    rows = con.execute(
        'SELECT DISTINCT a.record, a.field, a."offset", a.source FROM (SELECT unnest(assumed) AS a'
        " FROM meta.dump WHERE list_contains(?, dump)) ORDER BY ALL",
        [list(dumps)],
    ).fetchall()
    return [
        f"{resting[field]}: from {record.upper()}_{field.upper()} at {offset}, a place that is"
        f" assumed by {source}; no public description has one."
        for record, field, offset, source in rows
        if resting.get(field)
    ]


def records_of(landed: Iterable[str]) -> dict[str, Layout]:
    """Name -> layout of the records behind some tables, by domain and number."""
    layouts = {record_of(tables()[name]) for name in landed if name in tables()}
    ordered = sorted(layouts, key=lambda layout: (layout.domain, layout.record))
    return {layout.name: layout for layout in ordered}


def written(
    records: Mapping[str, Layout], release: str, kinds: Collection[tuple[int, int]] = ()
) -> dict[str, Layout]:
    """The records that a release still writes, or that the dump (`kinds`) has nevertheless."""
    return {
        name: layout
        for name, layout in records.items()
        if not is_withdrawn(layout, release) or (layout.domain, layout.record) in kinds
    }


def is_withdrawn(layout: Layout, release: str) -> bool:
    """Whether a release no longer writes a record, according to its layout."""
    if not release or not layout.until:
        return False
    return release_key(release) > release_key(layout.until)


def unread_notes(details: Iterable[str], release: str, records: Mapping[str, Layout]) -> list[str]:
    """Notes on bytes not decoded (`details` of findings), and on layouts of another release."""
    details, notes = list(details), []
    longer = {
        name: named(records[name]) + (f" {size} bytes, {decoded} of them known" if size else "")
        for name, (size, decoded) in longer_records(details).items()
        if name in records
    }
    if longer:
        notes.append(
            f"{LONGER}: {'; '.join(longer.values())}. What the other bytes say is"
            " not in this report; IBM's pages of that release bring it:"
            f" {', '.join(f'MR{name.upper()}' for name in longer)}."
        )
    matches = (re.match(r"records of (\w+): none after ([\d.]+)", text) for text in details)
    ends = {match[1]: match[2] for match in matches if match and match[1] in records}
    if ends:
        names = ", ".join(f"{named(records[name])}, none after {end}" for name, end in ends.items())
        notes.append(
            f"Written, though their layouts say that they no longer are: {names}. IBM's pages of"
            " that release tell what they mean now:"
            f" {', '.join(f'MR{name.upper()}' for name in ends)}."
        )
    still = written(records, release).values()
    if guessed := [named(layout) for layout in still if not is_of(layout, release)]:
        notes.append(
            f"CP {release} is later than the layouts of {', '.join(guessed)}, which are of"
            f" {LATEST}: a field that has moved or changed since then is misread."
        )
    return notes


def thread_notes(
    report: Report, release: str, records: Mapping[str, Layout], columns: Collection[str] = ()
) -> list[str]:
    """A note on processor times if the release has multithreading; `columns`: with values."""
    sums = {metric_of(report.reduction, column.name).numerator for column in report.columns}
    if release_key(release) < release_key(MULTITHREADING) or not THREAD_TIMES & sums:
        return []
    layouts = ({"mtrsys": tables()["mtrsys"]} | dict(records)).values()
    missing = [row for layout in layouts for row in unplaced(layout) if row.name in THREAD_FIELDS]
    certain = "" if "core" in columns else " if the system runs multithreaded"
    note = (
        f"Processor times are raw times of threads{certain}: two threads share a core, so that "
        "they overstate how much of it is used."
    )
    note += "".join(f" {text}." for name, text in THREAD_COLUMNS.items() if name in columns)
    if missing:
        fields = ", ".join(f"{row.dsect}_{row.name}".upper() for row in missing)
        pages = ", ".join(dict.fromkeys(f"MR{row.dsect.upper()}" for row in missing))
        note += f" What tells more has no place yet: {fields}; IBM's pages bring it: {pages}."
    return [note]


def longer_records(details: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Record -> actual and known length, parsed from the details of findings RECORD_LONGER."""
    words = (
        re.match(r"records of (\w+)(?:: (\d+) bytes, (\d+) known)?$", text) for text in details
    )
    return {match[1]: (match[2] or "", match[3] or "") for match in words if match}


def is_of(layout: Layout, release: str) -> bool:
    """Whether a layout is published for a release, or the release is not newer than `LATEST`."""
    is_later = release_key(release) > release_key(LATEST)
    return not is_later or release in dict(layout.lengths)


def named(layout: Layout) -> str:
    """A record as text: USEACT (4.3)."""
    return f"{layout.name.upper()} ({layout.domain}.{layout.record})"
