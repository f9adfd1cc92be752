"""The facts of `cpmon doctor` about an input, as a JSON document; names only on request."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from typing import Any

from ... import __version__
from ...core.errors import CpmonError
from ...ingest.codec import moment
from ...ingest.findings import Code
from ...reduce.reductions.reductions import is_inferred
from ...reduce.reports.expected_reports import ExpectedReport, expected_reports
from ...reduce.reports.layout_notes import (
    MULTITHREADING,
    THREAD_FIELDS,
    is_of,
    is_withdrawn,
    longer_records,
)
from ...schemas.registry import by_record, layout, site_folder
from ...schemas.release import release_key
from .dump_check import Diagnosis

OWN = "layouts/"
"""The folder for layouts in the advised commands."""


def facts(diagnosis: Diagnosis, *, names: bool) -> dict[str, Any]:
    """The document of one input; `names`: includes ids of systems, users, devices and volumes."""
    document = {
        "schema_version": 1,
        "cpmon": __version__,
        "own_layouts": site_folder() is not None,
        "names": names,
        "input": _input(diagnosis),
    }
    if diagnosis.refused:
        refused = _error(diagnosis.refused, names=names)
        return {**document, "refused": refused, "commands": [_again(diagnosis.name)]}
    if diagnosis.mostly_lost:
        document["not_landed"] = _error(diagnosis.mostly_lost, names=names)
    findings = diagnosis.checked.findings
    longer = findings.details(Code.RECORD_LONGER)
    unread = [*longer, *findings.details(Code.RECORD_WITHDRAWN)]
    reports = expected_reports(diagnosis.inventory.records.keys(), diagnosis.release, unread)
    records = _records(diagnosis, longer_records(longer))
    pages = _pages(records, reports)
    return {
        **document,
        "dump": _dump(diagnosis, names=names),
        "findings": list(_findings(diagnosis, names=names)),
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
        "commands": _commands(diagnosis, reports, has_pages=bool(pages)),
    }


def _input(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "file": diagnosis.name,
        "stored_bytes": diagnosis.stored_size,
        "sha256": diagnosis.sha256 or None,
        "compression": diagnosis.compression,
        "wrapping": list(diagnosis.wrapping),
        "container": diagnosis.container or None,
        "content": diagnosis.content or None,
    }


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


def _dump(diagnosis: Diagnosis, *, names: bool) -> dict[str, Any]:
    inventory = diagnosis.inventory
    times = (inventory.first_us, inventory.last_us)
    first, last = (us if us is None else moment(us).replace(tzinfo=None) for us in times)
    ends = len(inventory.ends_us)
    processors, _ = inventory.records.get((0, 2), (0, 0))
    release = diagnosis.release
    has_threads = release_key(release) >= release_key(MULTITHREADING) if release else None
    return {
        "bytes": diagnosis.checked.bytes.as_dict(),
        "system_named": bool(diagnosis.checked.system),
        "system": (diagnosis.checked.system or None) if names else None,
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


def _findings(diagnosis: Diagnosis, *, names: bool) -> Iterator[dict[str, Any]]:
    counts = diagnosis.checked.findings.counts
    for code in sorted(counts, key=lambda code: code.name):
        yield {
            "severity": str(code.severity),
            "code": code.name,
            "count": counts[code],
            "meaning": code.meaning,
            "remedy": code.remedy,
            "details": diagnosis.details(code, names=names),
        }


def _records(diagnosis: Diagnosis, longer: Collection[str]) -> list[dict[str, Any]]:
    """One row for each kind of record, by domain and number; `longer`: exceed their layouts."""
    release, layouts = diagnosis.release, by_record()
    rows = []
    for row in diagnosis.inventory.table("type").to_pylist():
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
                "longest": diagnosis.inventory.longest[kind],
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


def _again(name: str) -> str:
    return f"cpmon doctor {_word(name)}"


def _word(name: str) -> str:
    """Quotes a file name for a command line; standard input is -."""
    return "-" if name == "standard input" else shlex.quote(name)


def _commands(diagnosis: Diagnosis, reports: list[ExpectedReport], *, has_pages: bool) -> list[str]:
    """The advised next commands, in order."""
    release = diagnosis.release or "V.R.M"
    ingest = f"cpmon ingest {_word(diagnosis.name)} --store perf/"
    ingest += "" if diagnosis.checked.system else " --system NAME"
    ingest += "" if diagnosis.release else f" --release {release}"
    ingest += " --accept-damage" if diagnosis.mostly_lost else ""
    best = min(reports, key=lambda report: report.outcome.rank)
    own = f"mon{release.replace('.', '')}/"
    bring = [
        f"cpmon schema import {own} --into {OWN} --effects effects.md",
        f"export CPMON_SCHEMAS={OWN}",
        _again(diagnosis.name),
    ]
    return [*(bring if has_pages else []), ingest, f"cpmon report {best.name} --store perf/"]
