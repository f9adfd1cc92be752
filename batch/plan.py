"""What a site wants done unattended: the tables [[inbox]], [batch] and [[output]] of its settings.

docs/operations.md has the keys, with an example that can be copied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..reduce.report import find_report
from ..reduce.spec import load_spec
from ..schemas.errors import CpmonError
from ..schemas.formats import FORMATS
from .keys import Keys, key_tables
from .naming import check_pattern

PATTERNS = ("*.mon", "*.mon.gz", "*.mon.zst", "*.monwrite", "*.monwrite.gz", "*.monwrite.zst")
SETTLE = "10m"
WATCH = "30s"
HOOK_LIMIT = "60s"
KEPT_RUNS = 1000
KINDS = ("report", "table", "pages", "exceptions")


@dataclass(frozen=True, slots=True)
class Inbox:
    """A folder in which dumps arrive.

    Attributes:
        patterns: of file names that are taken; others are not looked at.
        system: name to use instead of the one in the dumps; empty: theirs.
        settle: seconds without a change after which a file counts as complete.
    """

    folder: Path
    patterns: tuple[str, ...] = PATTERNS
    recursive: bool = False
    system: str = ""
    settle: float = 600.0


@dataclass(frozen=True, slots=True)
class Output:
    """Something that is written for each system and day that changed.

    Attributes:
        kind: one of `KINDS`. name: of the report or table; empty for the others.
        path: where, with marks for day and system (`naming`); a folder for pages.
        form: format. systems: only of these; empty: of all.
        top, shift: as the options of `cpmon report`.
    """

    kind: str
    name: str
    path: Path
    form: str = "table"
    systems: tuple[str, ...] = ()
    top: int | None = None
    shift: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """All of it.

    Attributes:
        quarantine: folder that files which are no dumps are moved to; None: they stay.
        hook_dump, hook_end: commands after each new dump and at the end; empty: none.
        hook_seconds: after which a command is ended.
        summary, summary_json, metrics: files that are written at the end; None: not.
        every: seconds between two looks of --watch.
        validate, exceptions: whether these are done.
        history: runs that are remembered.
    """

    inboxes: tuple[Inbox, ...] = ()
    outputs: tuple[Output, ...] = ()
    quarantine: Path | None = None
    hook_dump: tuple[str, ...] = ()
    hook_end: tuple[str, ...] = ()
    hook_seconds: float = 60.0
    summary: Path | None = None
    summary_json: Path | None = None
    metrics: Path | None = None
    every: float = 30.0
    validate: bool = True
    exceptions: bool = True
    history: int = KEPT_RUNS
    file: str = field(default="", compare=False)


def read_plan(tables: Mapping[str, Any], file: str) -> Plan:
    """The plan in some tables of the settings.

    Args:
        tables: `inbox`, `batch` and `output` as TOML has them.
        file: where they stand; relative paths start at its folder.

    Raises:
        CpmonError: a key is unknown or a value means nothing, or there is no inbox.
    """
    batch = Keys(tables.get("batch", {}), file, "batch")
    settle = batch.text("settle", SETTLE)
    batch.seconds("settle", SETTLE)
    found = Plan(
        inboxes=tuple(
            _inbox(table, settle) for table in key_tables(tables.get("inbox", []), file, "inbox")
        ),
        outputs=tuple(
            output
            for table in key_tables(tables.get("output", []), file, "output")
            for output in _outputs(table)
        ),
        quarantine=batch.place("quarantine"),
        hook_dump=batch.command("hook_dump"),
        hook_end=batch.command("hook_end"),
        hook_seconds=batch.seconds("hook_limit", HOOK_LIMIT),
        summary=batch.place("summary"),
        summary_json=batch.place("summary_json"),
        metrics=batch.place("metrics"),
        every=max(1.0, batch.seconds("watch", WATCH)),
        validate=batch.flag("validate", True),
        exceptions=batch.flag("exceptions", True),
        history=max(1, batch.number("history", KEPT_RUNS, most=100_000)),
        file=file,
    )
    batch.done()
    for path, key in ((found.summary, "summary"), (found.summary_json, "summary_json")):
        check_pattern(path, f"{file}: batch.{key}", ("date",))
    if not found.inboxes:
        raise CpmonError(
            "there is no inbox",
            place=file,
            expected='[[inbox]] with folder = "..."',
            effect="nothing was done",
            remedy="docs/operations.md has settings to start from",
        )
    return found


def _inbox(table: Keys, settle: str) -> Inbox:
    found = Inbox(
        folder=table.places("folder"),
        patterns=table.names("patterns") or PATTERNS,
        recursive=table.flag("recursive", False),
        system=table.text("system", ""),
        settle=table.seconds("settle", settle),
    )
    if found.system and not re.fullmatch(r"[A-Za-z0-9@#$_+-]{1,16}", found.system):
        raise table.wrong("system", "a system's name: letters, digits, @ # $ _ + -, up to 16")
    table.done()
    return found


def _outputs(table: Keys) -> list[Output]:
    """One output for each name that a table lists."""
    kinds = [kind for kind in KINDS if table.has(kind)]
    if len(kinds) != 1:
        raise CpmonError(
            "an output says what it is by one key",
            place=f"{table.file}: {table.key}",
            expected="one of " + ", ".join(KINDS),
            found=", ".join(kinds) or "none of them",
            effect="nothing was done",
        )
    (kind,) = kinds
    names = _names(table, kind)
    path, pages = table.places("path"), kind == "pages"
    forms = ("html",) if pages else (*FORMATS, "html") if kind == "table" else FORMATS
    form = table.text("format", forms[0])
    if form not in forms:
        raise table.wrong("format", ", ".join(forms))
    systems = table.names("systems")
    top = table.number("top", 0, most=100_000) if kind == "report" else 0
    shift = table.text("shift", "") if kind == "report" else ""
    table.done()
    place = f"{table.file}: {table.path('path')}"
    marks = ("date",) if kind == "table" else ("date", "system")
    check_pattern(path, place, (*marks, "name"))
    if len(names) > 1 and "{name}" not in str(path):
        raise table.wrong("path", "a path with {name}, as several are written")
    return [Output(kind, name, path, form, systems, top or None, shift or None) for name in names]


def _names(table: Keys, kind: str) -> tuple[str, ...]:
    """Names of the reports or tables that are wanted, as they are known."""
    if kind in ("pages", "exceptions"):
        if not table.flag(kind, True):
            raise table.wrong(kind, "true")
        return ("",)
    names = table.names(kind)
    if not names:
        raise table.wrong(kind, f"the name of a {kind}, or a list of them")
    if kind == "report":
        return tuple(find_report(name).name for name in names)
    for name in names:
        load_spec(name)
    return names
