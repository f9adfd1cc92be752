"""The tables of a site's file that `cpmon batch` works by; `docs/operations.md` describes them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from .document import Table
from .values import Duration, Names, PathPattern, SystemName, Text

PATTERNS = ("*.mon", "*.mon.gz", "*.mon.zst", "*.monwrite", "*.monwrite.gz", "*.monwrite.zst")


class InboxSettings(Table, frozen=True):
    """A folder in which dumps arrive; `settle` is the time without a change that ends a file."""

    folder: Path
    patterns: Names = Names(PATTERNS)
    recursive: bool = False
    system: SystemName | None = None
    settle: Duration | None = None


class BatchSettings(Table, frozen=True):
    """What a batch does besides: where files go that are no dumps, commands, summaries, checks."""

    settle: Duration = Duration("10m")
    quarantine: Path | None = None
    hook_dump: tuple[str, ...] = ()
    hook_end: tuple[str, ...] = ()
    hook_limit: Duration = Duration("60s")
    summary: PathPattern | None = None
    summary_json: PathPattern | None = None
    metrics: Path | None = None
    watch: Duration = Duration("30s")
    validate: bool = True
    exceptions: bool = True
    history: Annotated[int, Meta(ge=0, le=100_000)] = 1000


class OutputSettings(Table, frozen=True):
    """A file for each system and day that changed; report, table, pages or exceptions: of what."""

    path: PathPattern
    report: Names | None = None
    table: Names | None = None
    pages: bool | None = None
    exceptions: bool | None = None
    form: str | None = msgspec.field(name="format", default=None)
    systems: Names = Names()
    top: Annotated[int, Meta(ge=0, le=100_000)] = 0
    shift: Text | None = None
