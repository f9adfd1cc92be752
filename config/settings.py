"""Settings of a site: the tables and keys of its file, where the file is found, and variables.

The first existing file is used as a whole: the named one (`--config`, CPMON_CONFIG), `cpmon.toml`
in the working directory, that of the store, that of the user. Variables of the environment override
it. `docs/configuration.md` describes the keys.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..core.errors import unknown
from .definitions import FOLDER, Definitions, read_definitions
from .document import Document, Table, dotted, read_values
from .formats import FORMATS
from .moments import Shift
from .values import (
    Clock,
    Days,
    Duration,
    MemoryLimit,
    Names,
    PathPattern,
    Release,
    SystemName,
    Text,
    ZoneName,
    scheme_of,
)

PATTERNS = ("*.mon", "*.mon.gz", "*.mon.zst", "*.monwrite", "*.monwrite.gz", "*.monwrite.zst")


class InboxSettings(Table, frozen=True):
    """A folder in which dumps arrive; `settle` is the time without a change that ends a file."""

    folder: Path
    patterns: Names = Names(PATTERNS)
    recursive: bool = False
    system: SystemName | None = None
    settle: Duration | None = None


HOOKS = ("hook_dump", "hook_end", "hook_alert")
"""Keys of `BatchSettings` that name a command."""


class BatchSettings(Table, frozen=True):
    """Other options of a batch: folder for files that are no dumps, commands, summaries, checks."""

    settle: Duration = Duration("10m")
    quarantine: Path | None = None
    hook_dump: tuple[str, ...] = ()
    hook_end: tuple[str, ...] = ()
    hook_alert: tuple[str, ...] = ()
    hook_limit: Duration = Duration("60s")
    summary: PathPattern | None = None
    summary_json: PathPattern | None = None
    metrics: Path | None = None
    watch: Duration = Duration("30s")
    validate: bool = True
    exceptions: bool = True
    history: Annotated[int, Meta(ge=0, le=100_000)] = 1000


class OutputSettings(Table, frozen=True):
    """An output file for each changed system and day, of a report, table, pages or exceptions."""

    path: PathPattern
    report: Names | None = None
    table: Names | None = None
    pages: bool | None = None
    exceptions: bool | None = None
    form: str | None = msgspec.field(name="format", default=None)
    systems: Names = Names()
    top: Annotated[int, Meta(ge=0, le=100_000)] = 0
    shift: Text | None = None


FILE = "cpmon.toml"
_VARIABLE = "CPMON_CONFIG"
DEFAULT = "default"
MOST_THREADS = 1024

Format: Any = Literal[FORMATS]
WITH_FORMAT = (
    *("query", "shell", "report", "exceptions", "explain", "forecast", "compare", "runs"),
    *("classes", "store", "validate", "whatif"),
)
"""Commands that read a store and have --format."""

FormatSettings: Any = msgspec.defstruct(
    "FormatSettings",
    [(name, Format | None, None) for name in ("default", *WITH_FORMAT)],
    bases=(Table,),
    module=__name__,
)

VARIABLES = {
    "store": "CPMON_STORE",
    "timezone": "CPMON_TZ",
    "classes": "CPMON_CLASSES",
    "memory_limit": "CPMON_MEMORY_LIMIT",
    "threads": "CPMON_THREADS",
}
"""Variables of the environment that override a key of the file."""
DEFAULTS = {"timezone": "UTC", "memory_limit": "50% of memory", "threads": "all processors"}
"""Defaults as text."""


class SystemSettings(Table, frozen=True):
    """The zone for printed times of a system; the release of its dumps that name none."""

    timezone: ZoneName | None = None
    release: Release | None = None


class ShiftSettings(Table, frozen=True):
    """Hours of some days of the week."""

    begins: Clock = msgspec.field(name="from")
    ends: Clock = msgspec.field(name="to")
    days: Days = Days("mon-sun")


class RetentionSettings(Table, frozen=True):
    """Retention of samples and results; `store.results.retention` parses the lengths.

    Attributes:
        raw: samples.
        interval, hour: results of intervals, and roll-ups of hours.
    """

    raw: Text | None = None
    interval: Text | None = None
    hour: Text | None = None


class SiteSettings(Table, frozen=True):
    """A file of settings, its keys in the order in which they are shown.

    Attributes:
        store: folder of the landed dumps, or s3://BUCKET/PREFIX.
        timezone: zone of printed times and of shifts.
        classes: file of user classes.
        memory_limit, threads: limits of queries.
        formats: default format by command.
        systems, shifts: by name.
        retention: of samples and results.
        exceptions, validation: tables of rules, by id.
        inbox, batch, output: for `cpmon batch`.
        trusted_stores: stores whose own settings can name commands; in the user's file.
    """

    store: Path | None = None
    timezone: ZoneName = ZoneName("UTC")
    classes: Path | None = None
    memory_limit: MemoryLimit | None = None
    threads: Annotated[int, Meta(ge=1, le=MOST_THREADS)] | None = None
    formats: FormatSettings = FormatSettings()
    systems: dict[str, SystemSettings] = msgspec.field(default_factory=dict)
    shifts: dict[str, ShiftSettings] = msgspec.field(default_factory=dict)
    retention: RetentionSettings = RetentionSettings()
    exceptions: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    validation: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    inbox: list[InboxSettings] | InboxSettings = msgspec.field(default_factory=list)
    batch: BatchSettings = BatchSettings()
    trusted_stores: list[Path] = msgspec.field(default_factory=list)
    output: list[OutputSettings] | OutputSettings = msgspec.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a site: those of its file, overridden by variables and flags.

    Attributes, besides those of `SiteSettings`:
        shifts: by name, in the zone of `timezone`.
        exceptions, validation: tables of rules, by id.
        retention: level -> length, as written.
        memory_limit: in the syntax of DuckDB; empty for its default.
        document: the file; None without one.
        origins: dotted key -> its origin: file and key, or the variable.
        distrust: reason why commands in the file are not trusted; empty if they are.
        definitions: of the site. left_out: reason why they are not trusted; empty if they are.
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
    definitions: Definitions = field(default_factory=Definitions)
    left_out: str = ""

    @property
    def file(self) -> Path | None:
        """The settings file; None without one."""
        return Path(self.document.file) if self.document else None

    def shift(self, name: str, place: str | None = None) -> Shift:
        """The shift of that name.

        Args:
            place: where the name stands, for messages.

        Raises:
            CpmonError: there is none.
        """
        if name not in self.shifts:
            raise unknown("shift", name, self.shifts, place=place)
        return self.shifts[name]

    def zone(self, system: str | None) -> str:
        """Zone of printed times of a system."""
        return self.systems.get(system or "", SystemSettings()).timezone or self.timezone

    def has_zone(self, system: str | None) -> bool:
        """Whether a zone is set for a system, or for all; else its times are printed in UTC."""
        own = self.systems.get(system or "", SystemSettings()).timezone
        return own is not None or "timezone" in self.origins

    def release(self, system: str | None) -> str:
        """Release of a system's dumps that name none; empty if it is not set."""
        return self.systems.get(system or "", SystemSettings()).release or ""

    def format_of(self, command: str) -> str | None:
        """Default format of a command; None if it is not set."""
        form: str | None = getattr(self.formats, command, None) or self.formats.default
        return form

    def place(self, key: str) -> str:
        """Place of a key for messages: file and key."""
        if key in self.origins:
            return self.origins[key]
        return self.document.place(key) if self.document else f"{FILE}: {key}"


def settings_from(
    site: SiteSettings, document: Document | None, origins: Mapping[str, str]
) -> Settings:
    """The settings of a file."""
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
    """A single table [output] as a list of tables [[output]]."""
    return tuple(tables) if isinstance(tables, list) else (tables,)


def _flat(values: Any, name: str = "") -> dict[str, Any]:
    """Values by their dotted key: {"shifts": {"prime": {"to": 1}}} is {"shifts.prime.to": 1}."""
    if isinstance(values, dict) and values:
        parts = ((dotted(name, key), value) for key, value in values.items())
    elif isinstance(values, list) and values and all(isinstance(item, dict) for item in values):
        parts = ((f"{name}[{number}]", item) for number, item in enumerate(values))
    else:
        return {name: values}
    leaves: dict[str, Any] = {}
    for key, value in parts:
        leaves |= _flat(value, key)
    return leaves


def setting_list(settings: Settings) -> list[dict[str, Any]]:
    """Every setting: `setting` (dotted key), `value` as text, `origin`."""
    values = _flat(dict(settings.document.values) if settings.document else {})
    rows = []
    for key in SiteSettings.__struct_fields__:
        below = (f"{key}.", f"{key}[")
        set_here = {n: value for n, value in values.items() if n == key or n.startswith(below)}
        if key in VARIABLES and key in settings.origins:
            set_here = {key: getattr(settings, key)}
        if not set_here:
            rows.append((key, DEFAULTS.get(key, ""), DEFAULT))
        rows += [(n, value, settings.origins.get(n, DEFAULT)) for n, value in set_here.items()]
    return [{"setting": k, "value": _text(value), "origin": origin} for k, value, origin in rows]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return str(value)


def exposure(store: Path, *files: Path) -> str:
    """Reason why others than this user and root can write to a store or its files; else empty."""
    for path in (store, *files):
        try:
            status = path.stat()
        except OSError:
            continue
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"{path} can be written by others (mode {stat.S_IMODE(status.st_mode):04o})"
        if status.st_uid not in (0, os.geteuid()):
            return f"{path} belongs to another user (number {status.st_uid})"
    return ""


def _distrust(file: Path, *, named: bool) -> str:
    """Reason why commands or definitions in a file are not trusted; empty if they are.

    Args:
        named: the user named this file.
    """
    users = _users_file()  # which can name stores that are trusted
    trusted = parse_settings(users).trusted_stores if _exists(users, Path.is_file) else ()
    above = file.resolve().parents
    store = next((folder for folder in above if (folder / "store.json").exists()), None)
    if store is None:
        return ""
    if not named and store not in (path.resolve() for path in trusted):
        return f"{file} lies in a store that is not trusted"
    return exposure(store, file, *(file.iterdir() if file.is_dir() else ()))


def settings_files(store: Path | None) -> list[Path]:
    """Default settings files; the first existing one is used."""
    return [Path(FILE), *([store / FILE] if store else []), _users_file()]


def _users_file() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "cpmon" / "config.toml"


def _find_file(store: Path | None, file: Path | None) -> Path | None:
    """The settings file: the named one, or the first existing one of `settings_files`."""
    named = file or (Path(os.environ[_VARIABLE]) if os.environ.get(_VARIABLE) else None)
    return named or next((f for f in settings_files(store) if _exists(f, Path.is_file)), None)


def ignored_files(store: Path | None, counted: Path | None) -> list[Path]:
    """Existing settings files that are not read, since another one precedes them."""
    return [file for file in settings_files(store) if file.is_file() and file != counted]


def read_settings(store: Path | None = None, file: Path | None = None) -> Settings:
    """The settings for a store.

    Args:
        store: the store, if known; its own file is one of `settings_files`.
        file: the named file, if any.

    Raises:
        CpmonError: the named file does not exist, or it or a variable has a mistake; the error has
            file, key, found and allowed values.
    """
    settings, named = _read_settings(store, file), file is not None or _VARIABLE in os.environ
    above = [*([settings.file.parent] if settings.file else []), store or settings.store]
    folders = (path / FOLDER for path in above if path and not scheme_of(str(path)))
    own = next((folder for folder in folders if _exists(folder, Path.is_dir)), None)
    if own:
        reason = _distrust(own, named=named and own.parent != store)
        read = Definitions() if reason else read_definitions(own)
        settings = replace(settings, definitions=read, left_out=reason)
    if settings.file is None or not any(getattr(settings.batch, hook) for hook in HOOKS):
        return settings
    return replace(settings, distrust=_distrust(settings.file, named=named))


def _read_settings(store: Path | None, file: Path | None) -> Settings:
    settings = parse_settings(_find_file(store, file))
    if store is None and settings.store and settings.file not in (None, file, Path(FILE)):
        own = parse_settings(_find_file(settings.store, file))
        if own.file != settings.file and own.store is None:  # the user's file only names the store
            origins = {**own.origins, "store": settings.origins["store"]}
            return replace(own, store=settings.store, origins=origins)
    return settings


def parse_settings(file: Path | None) -> Settings:
    """The settings of a file, or defaults, with variables of the environment applied.

    Raises:
        CpmonError: as `read_settings`.
    """
    site, document, origins = SiteSettings(), None, {}
    if file is not None:
        document = Document.load(file, "the settings")
        site = document.read(SiteSettings, file.parent)
        origins = {key: document.place(key) for key in _flat(document.values) if key}
    texts = {key: os.environ.get(variable) for key, variable in VARIABLES.items()}
    values = {key: text for key, text in texts.items() if text}
    # Paths in variables are relative to the working directory.
    own = read_values(SiteSettings, values, VARIABLES.__getitem__, strict=False)
    site = msgspec.structs.replace(site, **{key: getattr(own, key) for key in values})
    return settings_from(site, document, origins | {key: VARIABLES[key] for key in values})


def _exists(path: Path, check: Callable[[Path], bool]) -> bool:
    """Whether a file or folder exists; False if this user may not look."""
    try:
        return check(path)
    except PermissionError:
        return False
