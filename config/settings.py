"""Settings of a site: the tables and keys of its file. `docs/configuration.md` describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..schemas.formats import FORMATS
from ..schemas.lookup import unknown
from .batch import BatchSettings, InboxSettings, OutputSettings
from .document import Document, Table
from .shifts import Shift
from .values import Clock, Days, MemoryLimit, Release, Text, ZoneName

FILE = "cpmon.toml"
VARIABLE = "CPMON_CONFIG"
DEFAULT = "default"
MOST_THREADS = 1024

Format: Any = Literal[FORMATS]
WITH_FORMAT = (
    *("query", "shell", "report", "exceptions", "compare", "runs", "classes", "store", "validate"),
)
"""Commands that read a store and have --format."""

FormatSettings: Any = msgspec.defstruct(
    "FormatSettings",
    [
        (name, Annotated[Format | None, Meta(description=doc)], None)
        for name, doc in (
            ("default", "all commands that read a store"),
            *((command, f"`cpmon {command}`") for command in WITH_FORMAT),
        )
    ],
    bases=(Table,),
    module=__name__,
)


class SystemSettings(Table, frozen=True):
    """What is known of a system."""

    timezone: Annotated[ZoneName | None, Meta(description="in which its times are printed")] = None
    release: Annotated[Release | None, Meta(description="of z/VM that wrote its dumps")] = None


class ShiftSettings(Table, frozen=True):
    """Hours of some days of the week."""

    begins: Annotated[Clock, Meta(description="as 08:00")] = msgspec.field(name="from")
    ends: Annotated[Clock, Meta(description="as 18:00")] = msgspec.field(name="to")
    days: Annotated[Days, Meta(description="as mon-fri")] = Days("mon-sun")


class RetentionSettings(Table, frozen=True):
    """How long samples and results are kept; `store.retention` reads the lengths."""

    raw: Annotated[Text | None, Meta(description="samples")] = None
    interval: Annotated[Text | None, Meta(description="results of intervals")] = None
    quarter: Annotated[Text | None, Meta(description="roll-ups of 15 minutes")] = msgspec.field(
        name="15m", default=None
    )
    hour: Annotated[Text | None, Meta(description="roll-ups of hours")] = None


class SiteSettings(Table, frozen=True):
    """A file of settings."""

    store: Annotated[
        Path | None,
        Meta(
            description="folder of the landed dumps, or s3://BUCKET/PREFIX",
            extra={"variable": "CPMON_STORE"},
        ),
    ] = None
    timezone: Annotated[
        ZoneName,
        Meta(description="in which times are printed", extra={"variable": "CPMON_TZ"}),
    ] = ZoneName("UTC")
    classes: Annotated[
        Path | None,
        Meta(
            description="file that says which users belong together",
            extra={"variable": "CPMON_CLASSES"},
        ),
    ] = None
    memory_limit: Annotated[
        MemoryLimit | None,
        Meta(
            description="most memory that queries use",
            extra={"variable": "CPMON_MEMORY_LIMIT", "default": "80% of memory"},
        ),
    ] = None
    threads: Annotated[
        Annotated[int, Meta(ge=1, le=MOST_THREADS)] | None,
        Meta(
            description="most threads that queries use",
            extra={"variable": "CPMON_THREADS", "default": "all processors"},
        ),
    ] = None
    formats: Annotated[
        FormatSettings, Meta(description="how results are printed without --format, by command")
    ] = FormatSettings()
    systems: Annotated[dict[str, SystemSettings], Meta(description="what is known of a system")] = (
        msgspec.field(default_factory=dict)
    )
    shifts: Annotated[
        dict[str, ShiftSettings], Meta(description="hours of some days of the week")
    ] = msgspec.field(default_factory=dict)
    retention: Annotated[
        RetentionSettings, Meta(description="how long samples and results are kept")
    ] = RetentionSettings()
    exceptions: Annotated[dict[str, dict[str, Any]], Meta(description="rules of exceptions")] = (
        msgspec.field(default_factory=dict)
    )
    validation: Annotated[
        dict[str, dict[str, Any]], Meta(description="rules of cpmon validate")
    ] = msgspec.field(default_factory=dict)
    inbox: Annotated[
        list[InboxSettings] | InboxSettings,
        Meta(description="folders that cpmon batch looks into"),
    ] = msgspec.field(default_factory=list)
    batch: Annotated[BatchSettings, Meta(description="what cpmon batch does besides")] = (
        BatchSettings()
    )
    trusted_stores: Annotated[
        list[Path],
        Meta(description="stores whose own settings may name commands; in the user's file"),
    ] = msgspec.field(default_factory=list)
    output: Annotated[
        list[OutputSettings] | OutputSettings, Meta(description="what cpmon batch writes")
    ] = msgspec.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a site has set: its file, with variables of the environment and flags over it.

    Attributes, besides keys that are as in `SiteSettings`:
        shifts: by name, in the zone of `timezone`.
        exceptions, validation: tables of rules, by id.
        retention: level -> how long it is kept, as written.
        memory_limit: as DuckDB has it; empty for its default.
        document: the file; None without one.
        origins: dotted key -> file, key and line, or the variable, that it came from.
        distrust: why no command is taken from the file; empty if commands are.
    """

    timezone: str = "UTC"
    shifts: Mapping[str, Shift] = field(default_factory=dict)
    exceptions: Mapping[str, Any] = field(default_factory=dict)
    retention: Mapping[str, str] = field(default_factory=dict)
    store: Path | None = None
    systems: Mapping[str, SystemSettings] = field(default_factory=dict)
    classes: Path | None = None
    formats: Any = field(default_factory=FormatSettings)
    memory_limit: str = ""
    threads: int | None = None
    validation: Mapping[str, Any] = field(default_factory=dict)
    inboxes: tuple[InboxSettings, ...] = ()
    batch: BatchSettings = field(default_factory=BatchSettings)
    outputs: tuple[OutputSettings, ...] = ()
    document: Document | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    trusted_stores: tuple[Path, ...] = ()
    distrust: str = ""

    @property
    def file(self) -> Path | None:
        """Where the settings were read from; None without a file."""
        return Path(self.document.file) if self.document else None

    def shift(self, name: str) -> Shift:
        """The shift of that name.

        Raises:
            CpmonError: there is none.
        """
        if name not in self.shifts:
            raise unknown("shift", name, self.shifts)
        return self.shifts[name]

    def zone(self, system: str | None) -> str:
        """In which times of a system are printed."""
        settings = self.systems.get(system or "")
        return (settings and settings.timezone) or self.timezone

    def release(self, system: str | None) -> str:
        """Release of z/VM that wrote the dumps of a system, where that is set; else empty."""
        settings = self.systems.get(system or "")
        return (settings and settings.release) or ""

    def format_of(self, command: str) -> str | None:
        """How results of a command are printed without --format; None where that is not set."""
        form: str | None = getattr(self.formats, command, None) or self.formats.default
        return form

    def place(self, key: str) -> str:
        """Where a key stands, for messages: file, key, and line where it is known."""
        if key in self.origins:
            return self.origins[key]
        return self.document.place(key) if self.document else f"{FILE}: {key}"


def settings_from(
    site: SiteSettings, document: Document | None, origins: Mapping[str, str]
) -> Settings:
    """The settings that a file holds."""
    keys = msgspec.structs.asdict(site)
    inboxes, outputs = _listed(keys.pop("inbox")), _listed(keys.pop("output"))
    lengths = msgspec.to_builtins(site.retention, enc_hook=str)
    keys["retention"] = {level: length for level, length in lengths.items() if length is not None}
    keys["shifts"] = {
        name: Shift(name, shift.days.numbers, shift.begins, shift.ends, site.timezone)
        for name, shift in site.shifts.items()
    }
    keys["memory_limit"] = site.memory_limit or ""
    keys["trusted_stores"] = tuple(site.trusted_stores)
    return Settings(**keys, inboxes=inboxes, outputs=outputs, document=document, origins=origins)


def _listed(tables: Any) -> tuple[Any, ...]:
    """[output] is read as [[output]]."""
    return tuple(tables) if isinstance(tables, list) else (tables,)
