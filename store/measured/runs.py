"""Runs: named measurements, with a time window, attributes and companion figures.

A run is one JSON file in the store's folder `runs`, so that it and its companion figures are
replaced atomically. It is defined by `X.run.toml` beside a dump, or on the command line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, unquote

import msgspec
from msgspec.structs import replace

from ...config import Document, Table
from ...config.values import Moment
from ...core.errors import CpmonError, UnreadableError, unknown
from ...schemas.unplaced import AssumedPlace, Places, still_unplaced
from ..format.store import Store
from .companions import COMPANIONS, DERIVED, TABLES, Figures

FOLDER = "runs"
_Time = Annotated[str, msgspec.Meta(pattern=r"^\d{4,}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?$")]
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
LONGEST = 240
"""Maximum length of a run's name in a path, in bytes."""


@dataclass(frozen=True)
class Run:
    """A named measurement of one system.

    `since` and `until` bound it (UTC): a sample belongs to it if its time stamp is later than
    `since` and not later than `until`. `steady_since` and `steady_until` bound its steady state in
    the same way; None if the steady state begins or ends with the run. `companions`: table -> rows.
    """

    run_id: str
    system: str
    since: datetime
    until: datetime
    base_run_id: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    companions: dict[str, Figures] = field(default_factory=dict)
    steady_since: datetime | None = None
    steady_until: datetime | None = None

    def text(self) -> str:
        """The run as stored: JSON with a stable key order."""
        return json.dumps(
            {
                "run_id": self.run_id,
                "system": self.system,
                "since": _iso(self.since),
                "until": _iso(self.until),
                "steady_since": self.steady_since and _iso(self.steady_since),
                "steady_until": self.steady_until and _iso(self.steady_until),
                "base_run_id": self.base_run_id or None,
                "attributes": self.attributes,
                **{name: self.companions.get(name, []) for name in TABLES},
            },
            indent=1,
        )


def run_file(dump: Path) -> Path | None:
    """The run file beside a dump, if any: `X.run.toml` for `X.mon`, `X.mon.gz` or `X.mon.zst`."""
    name = dump.name
    for suffix in (".gz", ".zst", ".mon"):
        name = name.removesuffix(suffix)
    beside = dump.with_name(f"{name}.run.toml")
    return beside if beside.exists() else None


CompanionFiles: Any = msgspec.defstruct(
    "CompanionFiles",
    [(name, str | None, None) for name in COMPANIONS],
    bases=(Table,),
    module=__name__,
    frozen=True,
)
"""Files of companions, relative to the run file."""


class RunTable(Table, frozen=True):
    """The settings of a run file."""

    run_id: str | int
    system: str | int | None = None
    base_run_id: str | int = ""
    since: Moment | None = None
    until: Moment | None = None
    steady_since: Moment | None = None
    steady_until: Moment | None = None
    attributes: dict[str, Any] = msgspec.field(default_factory=dict)
    companions: CompanionFiles = CompanionFiles()
    assumed: tuple[AssumedPlace, ...] = ()


def assumed_places(file: Path) -> Places:
    """The assumed places of unplaced fields, for the dump beside a run file.

    Raises:
        CpmonError: a place is invalid.
    """
    try:
        document = Document.load(file, "the run file")
    except CpmonError:  # `read_run` raises it after the dump has landed
        return ()
    listed = document.values.get("assumed", [])
    places = document.read_part(listed, "assumed", tuple[AssumedPlace, ...])
    named = (replace(place, source=place.source or file.name) for place in places)
    return still_unplaced(named, document.place)


def read_run(file: Path, system: str, since: datetime, until: datetime) -> Run:
    """Reads a run file; system and time range default to those of the dump.

    Raises:
        CpmonError: the file or a companion cannot be read or is invalid.
    """
    document = Document.load(file, "the run file")
    table = document.read(RunTable)
    run = Run(
        run_id=str(table.run_id),
        system=system if table.system is None else str(table.system),
        since=table.since or since,
        until=table.until or until,
        steady_since=table.steady_since,
        steady_until=table.steady_until,
        base_run_id=str(table.base_run_id),
        attributes={key: str(value) for key, value in table.attributes.items()},
        companions=_figures(document.values.get("companions", {}), file.parent),
    )
    _check_steady(run, document)
    return run


def save_run(store: Store, run: Run) -> bool:
    """Writes a run to the store; False if it was already there unchanged.

    Raises:
        CpmonError: see `name_of_new`.
    """
    name, text = name_of_new(run.run_id), run.text()
    store.clean()
    with suppress(FileNotFoundError):
        if store.files.read(name).decode() == text:
            return False
    store.files.replace(name, text.encode())
    return True


class StoredRun(msgspec.Struct):
    """The part of a stored run that Python code reads; `meta.run` has the rest.

    Times are as in `Run`: naive UTC with microseconds.
    """

    run_id: str
    system: str
    since: _Time
    until: _Time
    base_run_id: str | None
    attributes: dict[str, str]
    steady_since: _Time | None = None
    steady_until: _Time | None = None


_DECODER = msgspec.json.Decoder(StoredRun)


def stored_run(store: Store, name: str) -> StoredRun:
    """Reads the file of a run.

    Raises:
        FileNotFoundError: there is no such file.
        UnreadableError: it is damaged, or written by another version of cpmon.
    """
    data = store.files.read(name)
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableError(
            "a run cannot be read",
            code="run-damaged",
            place=store.files.uri(name),
            expected="JSON as written by cpmon",
            found=str(error),
            effect="nothing was changed",
            remedy="restore it from a backup, define it again with cpmon runs --define, or remove"
            " it with cpmon runs --delete",
        ) from None


def damaged_runs(store: Store, names: Iterable[str]) -> dict[str, str]:
    """File of a run that cannot be read -> problem."""
    damaged = {}
    for name in names:
        try:
            stored_run(store, name)
        except FileNotFoundError:  # removed meanwhile
            continue
        except UnreadableError as error:
            damaged[name] = error.found or ""
    return damaged


def find_run(store: Store, run_id: str) -> StoredRun | None:
    """A stored run by its id; None if there is none, or its file cannot be read."""
    try:
        return stored_run(store, run_name(run_id))
    except (OSError, UnreadableError):
        return None


def system_of_run(store: Store, run_id: str) -> str | None:
    """The system of a run; None if there is no such run."""
    run = find_run(store, run_id)
    return None if run is None else run.system


def measured_system(
    store: Store, system: str | None = None, run_id: str | None = None
) -> str | None:
    """The given system, that of a run, or the only one of a store; None if it has several."""
    if system or run_id:
        return system or system_of_run(store, run_id or "")
    systems = store.files.inside("records").folders
    return unquote(systems[0].rpartition("=")[2]) if len(systems) == 1 else None


def delete_runs(store: Store, run_ids: Iterable[str]) -> None:
    """Deletes runs with their companion figures; dumps are not affected.

    Raises:
        CpmonError: there is no such run; nothing is deleted.
    """
    names = {run_name(run_id): run_id for run_id in run_ids}
    if not names:
        return
    present = run_names(store)
    for name in names.keys() - set(present):
        runs = (unquote(Path(file).stem) for file in present)
        raise unknown("run", names[name], runs, place=store.files.location)
    store.clean()
    store.files.delete(names)


def part_of_run(store: Store, run_id: str, since: datetime | None, until: datetime | None) -> str:
    """The JSON text of a stored run, limited to a part of its steady state, for `Connection`.

    Figures of companions remain if most of what they cover lies in the part.

    Args:
        since, until: bounds of the part, without zone in UTC; None for that of the steady state.

    Raises:
        CpmonError: the steady state of the run is outside of the span.
    """
    run = json.loads(store.files.read(run_name(run_id)))
    begins, ends = (_utc(run[f"steady_{bound}"] or run[bound]) for bound in ("since", "until"))
    since, until = (bound and _aware(bound) for bound in (since, until))
    first, last = max(begins, since or begins), min(ends, until or ends)
    if first >= last:
        raise CpmonError(
            f"run {run_id} has no steady state in the span",
            code="run-outside-span",
            expected=f"a part of {_iso(begins)} to {_iso(ends)} UTC",
            found=f"{_iso(since or begins)} to {_iso(until or ends)} UTC",
            effect="nothing was compared",
            remedy="name a span that its steady state overlaps (cpmon runs lists the runs)",
        )
    for bound, moment in (("since", first), ("until", last)):
        run[bound] = run[f"steady_{bound}"] = _iso(moment)
    for table in TABLES:
        run[table] = [row for row in run[table] if _mostly_in(row, first, last)]
    return json.dumps(run)


def _mostly_in(row: Mapping[str, Any], since: datetime, until: datetime) -> bool:
    """Whether more than half of the time that a companion's figures cover is in a span."""
    if "interval_end" not in row or row.get("seconds") is None:
        return False
    length, end = timedelta(seconds=row["seconds"]), _utc(row["interval_end"])
    return min(end, until) - max(end - length, since) > length / 2


def _utc(moment: str) -> datetime:
    return _aware(datetime.fromisoformat(moment))


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def run_names(store: Store) -> list[str]:
    """The files of all runs, sorted."""
    names = (file.name for file in store.files.inside(FOLDER).files)
    return [name for name in names if name.endswith(".json")]


def run_name(run_id: str) -> str:
    """The file of a run, below the store: its id, URL-quoted.

    Raises:
        CpmonError: the id is empty, too long, or not valid Unicode.
    """
    try:
        name = quote(run_id, safe="").replace(".", "%2E")
    except UnicodeEncodeError:
        name = ""
    if not 0 < len(name) <= LONGEST:
        raise CpmonError(
            "a run has an id that cannot be a file name",
            code="run-name-invalid",
            expected=f"1 to {LONGEST} bytes when URL-quoted: 3 or more for most special characters",
            found=repr(run_id[:80]),
            effect="the run is not defined",
            remedy="give it another run_id",
        )
    return f"{FOLDER}/{name}.json"


def name_of_new(run_id: str) -> str:
    """The file of a run that is to be defined.

    Raises:
        CpmonError: as `run_name`, or the id has control characters.
    """
    if _CONTROL.search(run_id):
        raise CpmonError(
            "a run has an id with control characters",
            code="run-name-invalid",
            expected="one line of text",
            found=repr(run_id[:80]),
            effect="the run is not defined",
            remedy="give it another run_id",
        )
    return run_name(run_id)


def _figures(files: Mapping[str, str], folder: Path) -> dict[str, Figures]:
    """Rows by companion table, in the order of the files.

    Raises:
        CpmonError: a file is wrong, or two of them give the same measure.
    """
    figures: dict[str, Figures] = {}
    for kind, name in files.items():
        companion = COMPANIONS[kind]
        figures[companion.table] = companion.read(folder / name)
    given = {row["measure"] for row in figures.get("run_sample", ())}
    if doubled := given & {m for table in figures for m in DERIVED.get(table, ())}:
        raise CpmonError(
            f"companion {files['samples']} has measures that other figures of the run give",
            code="companion-measure-doubled",
            place=str(folder / files["samples"]),
            found=", ".join(sorted(doubled)),
            effect="the run and its companions are not stored",
            remedy="remove these lines, or the other companion",
        )
    return figures


def _check_steady(run: Run, document: Document) -> None:
    """Checks that the steady state is in its run: else rates and totals cover different times."""
    if not (run.steady_since or run.steady_until):
        return
    since, until = run.steady_since or run.since, run.steady_until or run.until
    if not run.since <= since < until <= run.until:
        raise CpmonError(
            f"{Path(document.file).name} has a steady state outside of its run",
            code="steady-state-outside-run",
            place=document.place("steady_since" if run.steady_since else "steady_until"),
            expected=f"steady_since and steady_until from {_iso(run.since)} to {_iso(run.until)}",
            found=f"{_iso(since)} to {_iso(until)}",
            effect="the run is not defined; its dump has landed",
            remedy="correct the times, or omit them: the whole run is then steady",
        )


def _iso(moment: datetime) -> str:
    """Naive UTC with microseconds, in DuckDB's format of a TIMESTAMP."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
