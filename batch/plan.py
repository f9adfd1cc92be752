"""The plan of a batch, read from the tables [[inbox]], [batch] and [[output]] of the settings.

docs/operations.md documents the keys, with an example.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date
from glob import escape
from pathlib import Path
from urllib.parse import quote

import msgspec

from ..config import FILE, Settings
from ..config.formats import FORMATS, format_of_file
from ..config.settings import BatchSettings, InboxSettings, OutputSettings
from ..core.errors import CpmonError, unknown
from ..reduce.compare.spec import load_spec
from ..reduce.metrics.report_set import Lines
from ..reduce.reports.report_names import find_report
from ..reduce.rules.rule import Purpose, load_rules
from ..schemas.registry import tables
from ..store.results.retention import retention
from .hooks import refuse_untrusted

KINDS = ("report", "table", "pages", "exceptions")
PATHS = ("quarantine", "summary", "summary_json", "metrics")
"""Keys of [batch] that name files or folders."""
CODES = {
    "Y": "year",
    "m": "month, 01 to 12",
    "d": "day of the month, 01 to 31",
    "j": "day of the year, 001 to 366",
    "G": "year of the ISO week",
    "V": "ISO week, 01 to 53",
    "u": "day of the week, 1 for Monday",
}
"""strftime codes that do not depend on the locale and are constant within a day."""

_MARK = re.compile(r"\{(\w*)\}|%(.?)")
_ITSELF = ("%", "{")
"""Codes that stand for a literal character: % for %%."""


@dataclass(frozen=True, slots=True)
class PlannedOutput:
    """A file that is written for each system and day that changed.

    Attributes:
        kind: one of `KINDS`. names: name of a report or table, or of the reports in an XLSX file,
            one sheet each; empty for other kinds.
        path: pattern of the file (`output_path`), or of the folder of pages.
        form: format. systems: limits to these systems; empty: all.
        top, shift: like the options of `cpmon report`; pages have so many objects of each kind.
    """

    kind: str
    names: tuple[str, ...]
    path: Path
    form: str = "table"
    systems: tuple[str, ...] = ()
    top: int | None = None
    shift: str | None = None

    @property
    def name(self) -> str:
        """The names joined to one word."""
        return "+".join(self.names)


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The plan of a batch.

    Attributes:
        inboxes: the tables [[inbox]], with absolute paths and effective `settle`.
        batch: the table [batch], with absolute paths.
    """

    inboxes: tuple[InboxSettings, ...] = ()
    outputs: tuple[PlannedOutput, ...] = ()
    batch: BatchSettings = field(default_factory=BatchSettings)


def check_settings(settings: Settings) -> BatchPlan | None:
    """Check settings that only some commands use; returns the plan, if there is one.

    Raises:
        CpmonError: the first invalid setting: file, key, found, allowed.
    """
    retention(settings.retention, settings.place)
    for rule in load_rules(Purpose.EXCEPTIONS, settings):
        if rule.shift:
            settings.shift(rule.shift, rule.place("shift"))
    load_rules(Purpose.VALIDATION, settings, landed=tables())
    return read_plan(settings) if settings.inboxes or settings.outputs else None


def read_plan(settings: Settings) -> BatchPlan:
    """Build the plan from the settings.

    Raises:
        CpmonError: settings are contradictory, a report or table is unknown, there is no inbox, or
            the settings of an untrusted store name a command.
    """
    if not settings.inboxes:
        raise CpmonError(
            "there is no inbox",
            code="inbox-missing",
            place=str(settings.file or FILE),
            expected='[[inbox]] with folder = "..."',
            effect="nothing was done",
            remedy="docs/operations.md has settings to start from",
        )
    refuse_untrusted(settings)
    batch = settings.batch
    for key in ("summary", "summary_json"):
        check_path(getattr(batch, key), settings.place(f"batch.{key}"), ("date",))
    paths = {key: path.absolute() for key in PATHS if (path := getattr(batch, key)) is not None}
    return BatchPlan(
        inboxes=tuple(
            msgspec.structs.replace(
                inbox, folder=inbox.folder.absolute(), settle=inbox.settle or batch.settle
            )
            for inbox in settings.inboxes
        ),
        outputs=tuple(
            output
            for number, table in enumerate(settings.outputs)
            for output in _outputs(table, settings, f"output[{number}]")
        ),
        batch=msgspec.structs.replace(batch, **paths),
    )


def _outputs(table: OutputSettings, settings: Settings, key: str) -> list[PlannedOutput]:
    """One output for each name in a table of the settings."""

    def invalid(name: str, allowed: str, value: object) -> CpmonError:
        return CpmonError(
            f"{key}.{name} has a wrong value",
            place=settings.place(f"{key}.{name}"),
            expected=allowed,
            found=repr(value),
            effect="nothing was done",
        )

    kinds = [kind for kind in KINDS if getattr(table, kind) is not None]
    if len(kinds) != 1:
        raise CpmonError(
            "an output needs exactly one key for its kind",
            place=settings.place(key),
            expected="one of " + ", ".join(KINDS),
            found=", ".join(kinds) or "none of them",
            effect="nothing was done",
        )
    (kind,) = kinds
    setting: tuple[str, ...] | bool = getattr(table, kind)
    if not setting:
        raise invalid(kind, "true" if isinstance(setting, bool) else f"a {kind}", setting)
    names = _names(setting, kind)
    forms = ("html",) if kind == "pages" else (*FORMATS, "html") if kind == "table" else FORMATS
    form = table.form or format_of_file(table.path, forms) or forms[0]
    if form not in forms:
        raise invalid("format", ", ".join(forms), form)
    for name, having in (("top", ("report", "pages")), ("shift", ("report",))):
        if kind not in having and getattr(table, name):
            only = " and ".join(f"{each.rstrip('s')}s" for each in having)
            raise invalid(name, f"nothing: only {only} have it", getattr(table, name))
    if table.shift:
        settings.shift(table.shift, settings.place(f"{key}.shift"))
    limited = names if kind == "report" and table.top else ()
    by_time = [name for name in limited if find_report(name).lines is Lines.TIME]
    if by_time:
        raise invalid("top", f"nothing: {by_time[0]} has lines by time", table.top)
    marks = ("date",) if kind == "table" else ("date", "system")
    check_path(table.path, settings.place(f"{key}.path"), (*marks, "name"))
    parts: list[tuple[str, ...]] = [(name,) for name in names]
    if len(names) > 1 and not any(mark == "name" for mark, _ in _MARK.findall(str(table.path))):
        if form != "xlsx" or kind != "report":
            raise invalid("path", "a path with {name}, as several are written", str(table.path))
        parts = [names]
    path, top = table.path, table.top or None
    return [
        PlannedOutput(kind, part, path, form, table.systems, top, table.shift) for part in parts
    ]


def _names(setting: tuple[str, ...] | bool, kind: str) -> tuple[str, ...]:
    """Names of the reports or tables of an output; one empty name for other kinds."""
    if isinstance(setting, bool):
        return ("",)
    if kind == "report":
        return tuple(find_report(name).name for name in setting)
    for name in setting:
        load_spec(name)
    return setting


def check_path(path: Path | None, place: str, marks: Collection[str]) -> None:
    """Check a path pattern.

    Raises:
        CpmonError: it has a mark that is not in `marks`, or a % code that is not in `CODES`.
    """
    for match in _MARK.finditer(str(path or "")):
        mark, code = match.groups()
        if mark is not None and mark not in marks:
            raise unknown("mark", mark, marks, place=place)
        if code is not None and code not in (*CODES, *_ITSELF):
            raise CpmonError(
                f"%{code} cannot stand in a path",
                code="path-mark-invalid",
                place=place,
                expected=", ".join(f"%{name} ({meaning})" for name, meaning in CODES.items()),
                found=str(path),
                effect="nothing was done",
                remedy="write %% for a percent sign, %{ for a brace",
            )


def has_file_per_day(path: Path) -> bool:
    """Whether each day gets its own file."""
    return any(mark == "date" or code in CODES for mark, code in _MARK.findall(str(path)))


def fixed_folder(path: Path) -> Path:
    """The folder of a path pattern above its first mark."""
    for folder in reversed(path.parents):
        if any(code not in _ITSELF for _, code in _MARK.findall(folder.name)):
            return output_path(folder.parent, date.min)
    return output_path(path.parent, date.min)


def folder_above(path: Path) -> Path | None:
    """The folder above all folders of pages of a pattern; None if they are a single folder."""
    folder = fixed_folder(path / "index.html")
    return None if folder == output_path(path, date.min) else folder


def written_folders(path: Path) -> list[Path]:
    """The folders of pages of a pattern that have an index."""
    folder = fixed_folder(path / "index.html")
    marked = _MARK.sub(lambda match: match[2] if match[2] in _ITSELF else "\0", str(path))
    parts = [escape(part).replace("\0", "*") for part in Path(marked).parts[len(folder.parts) :]]
    return sorted(index.parent for index in folder.glob("/".join([*parts, "index.html"])))


def output_path(path: Path, day: date, system: str = "", name: str = "") -> Path:
    """Fill in a path pattern; names of systems and reports cannot leave its folder."""
    marks = {"date": str(day), "system": _part(system), "name": _part(Path(name).stem)}

    def replacement(match: re.Match[str]) -> str:
        mark, code = match.groups()
        if mark is not None:
            return marks[mark]
        return code if code in _ITSELF else day.strftime(f"%{code}")

    return Path(_MARK.sub(replacement, str(path)))


def _part(text: str) -> str:
    """Escapes a text as one component of a path."""
    escaped = quote(text, safe="@#$+ ")
    return escaped.replace(".", "%2E") if not escaped.strip(".") else escaped
