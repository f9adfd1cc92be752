"""Checks a dump in a scratch store, by the rules of validation; and the page of `cpmon doctor`.

A diagnosis also counts what is in the dump, in the same reading. The page, for somebody who cannot
see the dump, is rendered from a JSON document; that has names only on request.
"""

from __future__ import annotations

import hashlib
import shlex
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from ...core import __version__
from ...core.errors import CpmonError, DumpError, StoreError
from ...ingest.codec import moment
from ...ingest.container.source import Container, Progress, Source
from ...ingest.decode.reader import Reader
from ...ingest.findings import Code, Findings
from ...ingest.inspect.inventory import Inventory
from ...ingest.landing import Checked, Look, land_checked
from ...reduce.reductions.reductions import is_inferred
from ...reduce.reports.expected_reports import ExpectedReport, expected_reports
from ...reduce.reports.layout_notes import (
    MULTITHREADING,
    THREAD_FIELDS,
    is_of,
    is_withdrawn,
    longer_records,
)
from ...reduce.rules.rule import Purpose, load_rules
from ...reduce.rules.validation import breaches
from ...render.html import text_page
from ...schemas.registry import by_record, layout, site_folder
from ...schemas.release import release_key
from ...store import Store, connect
from ...store.sandbox.sandbox import Limits
from ..output import rows_as


def check_dump(source: Source, release: str = "", progress: Progress | None = None) -> Checked:
    """Check a dump in a scratch store, which is deleted afterwards.

    Args:
        release: of the system that wrote the dump, if it is to be another than the dump states.
        progress: called after every window.

    Raises:
        DumpError: it is not monitor data.
        CpmonError: the disk has no room for the dump's tables.
    """
    return _checked(Reader(source, release), progress)


def stored_hash(path: Path) -> str | None:
    """SHA-256 of a file as it is stored; None for what can be read only once."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked(reader: Reader, progress: Progress | None, look: Look | None = None) -> Checked:
    """Land a dump in a scratch store and validate it.

    Args:
        look: called with each window of it.
    """
    try:
        with TemporaryDirectory(prefix="cpmon-check-") as folder:
            store = Store(Path(folder, "store"), create=True)
            checked = land_checked(reader, store, progress, look)
            # DuckDB puts on disk what does not fit.
            with connect(store, (), Limits(memory="256MB")) as connection:
                landed = connection.tables
                rules = load_rules(Purpose.VALIDATION, landed=landed)
                found = breaches(connection, rules, landed)
                for breach in sorted(found, key=lambda breach: breach.offset):
                    code = Code[breach.finding]
                    checked.findings.add(
                        code, breach.offset, breach.detail, breach.effect, count=breach.count
                    )
    except (OSError, StoreError, duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise CpmonError(
            "the check has no room for the rows that it compares",
            code="temporary-disk-full",
            expected="half the size of the dump, free on the disk",
            found=str(error).split("\n", maxsplit=1)[0],
            effect="nothing was checked",
            remedy="make room, or name a folder on another disk in TMPDIR",
        ) from error
    return checked


def diagnose(
    source: Source,
    release: str = "",
    progress: Progress | None = None,
    *,
    names: bool = False,
    sha256: str | None = None,
) -> dict[str, Any]:
    """The document of one input, which is counted and checked in one pass.

    A file that is no dump has a document too, with the reason instead of contents.

    Args:
        release: of the system that wrote it, if it is to be another than the dump states.
        names: include ids of systems, users, devices and volumes.
        sha256: of the stored file; None for a pipe or device.

    Raises:
        CpmonError: the disk has no room for the dump's tables.
    """
    reader, inventory = Reader(source, release), Inventory(source.name)
    refused: DumpError | None = None
    try:
        checked = _checked(reader, progress, inventory.take)
    except DumpError as error:
        refused = error
    document = _head(source, sha256, is_dump=refused is None, names=names)
    word = "-" if source.name == "standard input" else shlex.quote(source.name)
    again = f"cpmon doctor {word}"
    if refused:
        return {**document, "refused": _error(refused, names=names), "commands": [again]}
    inventory.finish(source, Findings())
    inventory.configuration.level = release or inventory.configuration.level
    if mostly_lost := reader.mostly_lost():
        document["not_landed"] = _error(mostly_lost, names=names)
    release, findings = inventory.configuration.release, checked.findings
    longer = findings.details(Code.RECORD_LONGER)
    unread = [*longer, *findings.details(Code.RECORD_WITHDRAWN)]
    reports = expected_reports(inventory.records.keys(), release, unread)
    records = _records(inventory, longer_records(longer))
    pages = _pages(records, reports)
    landing = (
        f"cpmon ingest {word} --store perf/"
        + ("" if checked.system else " --system NAME")
        + ("" if release else " --release V.R.M")
        + (" --accept-damage" if mostly_lost else "")
    )
    best = min(reports, key=lambda report: report.outcome.rank)
    return {
        **document,
        "dump": _dump(checked, inventory, names=names),
        "findings": _findings(findings, names=names),
        "records": records,
        "reports": [
            {
                "report": report.name,
                "title": report.title,
                "outcome": str(report.outcome),
                "notes": list(report.notes),
            }
            for report in reports
        ],
        "pages": pages,
        "commands": [
            *_bringing(pages, release, again),
            landing,
            f"cpmon report {best.name} --store perf/",
        ],
    }


def _head(source: Source, sha256: str | None, *, is_dump: bool, names: bool) -> dict[str, Any]:
    """What the document says of the input and of this program."""
    return {
        "schema_version": 1,
        "cpmon": __version__,
        "own_layouts": site_folder() is not None,
        "names": names,
        "input": {
            "file": source.name,
            "stored_bytes": source.stored_size,
            "sha256": sha256,
            "compression": source.compression,
            "wrapping": list(source.wrapping),
            "container": None if source.container is Container.AUTO else str(source.container),
            "content": source.identity if is_dump else None,
        },
    }


def _bringing(pages: Collection[object], release: str, again: str) -> list[str]:
    """The commands that bring the pages that are not shipped, if there are any."""
    if not pages:
        return []
    own = f"mon{(release or 'V.R.M').replace('.', '')}/"
    bring = f"cpmon schema import {own} --into layouts/ --effects effects.md"
    return [bring, "export CPMON_SCHEMAS=layouts/", again]


def _error(error: CpmonError, *, names: bool) -> dict[str, Any]:
    """The parts of an error; the value found is hidden without `names`, as it may contain one."""
    return {
        "code": error.code,
        "problem": error.problem,
        "at": error.place,
        "expected": error.expected,
        "found": error.found if names else None,
        "remedy": error.remedy,
    }


def _dump(checked: Checked, inventory: Inventory, *, names: bool) -> dict[str, Any]:
    times = (inventory.first_us, inventory.last_us)
    first, last = (us if us is None else moment(us).replace(tzinfo=None) for us in times)
    ends = len(inventory.ends_us)
    processors, _ = inventory.records.get((0, 2), (0, 0))
    release = inventory.configuration.release
    has_threads = release_key(release) >= release_key(MULTITHREADING) if release else None
    return {
        "bytes": checked.bytes.as_dict(),
        "system_named": bool(checked.system),
        "system": (checked.system or None) if names else None,
        "release": release or None,
        "first": first and first.isoformat(sep=" ", timespec="milliseconds"),
        "last": last and last.isoformat(sep=" ", timespec="milliseconds"),
        "intervals": ends,
        "interval_s": inventory.interval_s,
        "gaps": len(inventory.gaps),
        "ipls": len(inventory.resets) + bool(inventory.ipl_us),
        "processors": round(processors / ends, 1) if ends else None,
        "can_multithread": has_threads,
        "shows_multithreading": any(f.name in THREAD_FIELDS for f in layout("mtrsys").fields),
    }


def _findings(findings: Findings, *, names: bool) -> list[dict[str, Any]]:
    """One row for each code; without `names` no details that may quote the dump."""
    return [
        {
            "severity": str(code.severity),
            "code": code.name,
            "count": findings.counts[code],
            "meaning": code.meaning,
            "remedy": code.remedy,
            "details": findings.details(code) if names or not code.quotes else [],
        }
        for code in sorted(findings.counts, key=lambda code: code.name)
    ]


def _records(inventory: Inventory, longer: Collection[str]) -> list[dict[str, Any]]:
    """One row for each kind of record, by domain and number; `longer`: exceed their layouts."""
    release, layouts = inventory.configuration.release, by_record()
    rows = []
    for row in inventory.table("type").to_pylist():
        kind = row["domain"], row["record"]
        of_kind = layouts.get(kind)
        state = "unknown" if of_kind is None else "known"
        if of_kind and is_withdrawn(of_kind, release):
            state = "withdrawn"
        elif of_kind and of_kind.name in longer:
            state = "longer"
        elif of_kind and of_kind.columns and release and not is_of(of_kind, release):
            state = "of another release"
        elif of_kind and is_inferred(of_kind, [release] if release else ()):
            state = "inferred"
        rows.append(
            {
                "record": f"{kind[0]}.{kind[1]}",
                "name": row["name"],
                "state": state,
                "count": row["records"],
                "longest": inventory.longest[kind],
                "known_bytes": of_kind.length if of_kind else None,
            }
        )
    return rows


WHY = {
    "withdrawn": "withdrawn, says its layout",
    "unknown": "no layout",
    "longer": "longer than its layout",
    "of another release": "layout of another release",
    "inferred": "layout is inferred",
}


def _pages(records: list[dict[str, Any]], reports: list[ExpectedReport]) -> list[dict[str, Any]]:
    """Helpful IBM pages: those that reports need first, then those of undecoded bytes."""
    readers: dict[str, list[str]] = {}
    for report in reports:
        for name in report.pages:
            readers.setdefault(name.upper(), []).append(report.name)
    rows = [
        {
            "page": f"MR{record['name']}" if record["name"] else None,
            "record": record["record"],
            "why": WHY[record["state"]],
            "reports": readers.get(record["name"] or "", []),
        }
        for record in records
        if record["state"] in ("unknown", "longer", "withdrawn") or record["name"] in readers
    ]
    return sorted(rows, key=lambda row: not row["reports"])


WIDTH = 96


def page(documents: Iterable[dict[str, Any]], form: str) -> bytes:
    """Renders the pages of several inputs one below the other."""
    return "\n".join(_page(document, _Style(form == "markdown")) for document in documents).encode()


def _page(document: dict[str, Any], style: _Style) -> str:
    tables: dict[str, list[dict[str, Any]]] = {
        "records": [{**row, "name": row["name"] or "?"} for row in document.get("records", ())],
        "pages": [
            {
                "page": row["page"] or "by IBM's list of records",
                **{key: row[key] for key in ("record", "why")},
                "reports": _shortened(row["reports"]),
            }
            for row in document.get("pages", ())
        ],
    }
    hidden = "not shown; --names shows it"
    values = {**document, **tables, "page": style, "hidden": hidden, "counted": _counted}
    return text_page(__package__, "doctor.txt", **values)


@dataclass(frozen=True)
class _Style:
    """Formats the parts of a page as text or Markdown."""

    is_markdown: bool

    def head(self, text: str, level: int = 2) -> str:
        """A heading, after an empty line unless it is the first."""
        underline = ("=" if level == 1 else "-") * len(text)
        heading = f"{'#' * level} {text}\n" if self.is_markdown else f"{text}\n{underline}"
        return heading if level == 1 else f"\n{heading}"

    def paragraph(self, text: str, details: Iterable[str] = ()) -> str:
        """A paragraph, or a list item with details."""
        lines = textwrap.wrap(text, WIDTH)
        for detail in details:
            lines += textwrap.wrap(detail, WIDTH, initial_indent="  - ", subsequent_indent="    ")
        return ("- " if self.is_markdown and details else "") + "\n".join(lines)

    def fact(self, name: str, text: str) -> str:
        """A name and its value."""
        if self.is_markdown:
            return f"- {name}: {text}"
        return textwrap.fill(f"{name:<15} {text}", WIDTH, subsequent_indent=" " * 16)

    def table(self, rows: list[dict[str, Any]]) -> str:
        """A table of rows with the same keys."""
        return rows_as(rows, "markdown" if self.is_markdown else "table").decode().rstrip("\n")


def _counted(rows: Iterable[dict[str, Any]], key: str) -> str:
    """The values of a key with their counts, the most frequent first."""
    counts = Counter(row[key] for row in rows)
    return ", ".join(f"{count} {value}" for value, count in counts.most_common())


def _shortened(names: list[str]) -> str:
    """At most three names, or two and the number of others."""
    more = len(names) - 2
    return ", ".join([*names[:2], f"{more} others"] if more > 1 else names)
