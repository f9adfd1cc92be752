"""Runs: named measurements, with a time window, attributes and companion figures.

A run is one JSON file in the store's folder `runs`, so that it and its companion figures are
replaced together. It is made from `X.run.toml` beside a dump, or from the command line.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..schemas.errors import CpmonError
from .companions import COMPANIONS, TABLES, Figures
from .store import Store, replace_durably

KEYS = (
    *("run_id", "system", "base_run_id", "since", "until", "steady_since", "steady_until"),
    *("attributes", "companions"),
)

LONGEST = 240
"""Bytes of a run's name as part of a path."""


@dataclass(frozen=True)
class Run:
    """A named measurement of one system.

    `since` and `until` bound it (UTC; a sample belongs to it when its time stamp is later than
    `since` and not later than `until`). `steady_since` and `steady_until` bound its steady state
    in the same way; None where that begins or ends with the run. `companions` has the rows of each
    companion's table.
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
        """The run as it is stored: JSON, with stable order."""
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
    """The run file beside a dump: `X.run.toml` for `X.mon`, `X.mon.gz` or `X.mon.zst`."""
    name = dump.name
    for suffix in (".gz", ".zst", ".mon"):
        name = name.removesuffix(suffix)
    beside = dump.with_name(f"{name}.run.toml")
    return beside if beside.exists() else None


def read_run(file: Path, system: str, since: datetime, until: datetime) -> Run:
    """A run file, with the dump's system and span where the file says nothing else.

    Raises:
        CpmonError: the file or a companion cannot be read, or has unknown keys.
    """
    try:
        said = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CpmonError(f"{file.name} cannot be read: {error}", place=str(file)) from None
    unknown = sorted(set(said) - set(KEYS))
    if unknown or "run_id" not in said:
        raise CpmonError(
            f"{file.name} has an unknown key" if unknown else f"{file.name} names no run",
            place=str(file),
            expected=", ".join(KEYS),
            found=", ".join(unknown) or "no run_id",
        )
    run = Run(
        run_id=str(said["run_id"]),
        system=str(said.get("system", system)),
        since=_moment(said.get("since", since), file),
        until=_moment(said.get("until", until), file),
        steady_since=_moment(said["steady_since"], file) if "steady_since" in said else None,
        steady_until=_moment(said["steady_until"], file) if "steady_until" in said else None,
        base_run_id=str(said.get("base_run_id", "")),
        attributes={str(k): str(v) for k, v in said.get("attributes", {}).items()},
        companions=_companions(said.get("companions", {}), file),
    )
    _check_steady(run, file)
    return run


def save_run(store: Store, run: Run) -> bool:
    """Put a run into the store; False if it was there exactly so."""
    file = run_path(store, run.run_id)
    text = run.text()
    if file.exists() and file.read_text(encoding="utf-8") == text:
        return False
    store.runs.mkdir(exist_ok=True)
    replace_durably(file, text)
    return True


def run_path(store: Store, run_id: str) -> Path:
    """Where a run of that name is kept; any text is a safe name.

    Raises:
        CpmonError: it is too long for one, or no text.
    """
    try:
        name = quote(run_id, safe="").replace(".", "%2E")
    except UnicodeEncodeError:
        name = ""
    if not 0 < len(name) <= LONGEST:
        raise CpmonError(
            "a run has a name that no file can have",
            expected=f"a text of 1 to {LONGEST} bytes, of which most characters take three or more",
            found=repr(run_id[:80]),
            effect="the run is not defined",
            remedy="give it another run_id",
        )
    return store.runs / f"{name}.json"


def _companions(said: dict[str, Any], file: Path) -> dict[str, Figures]:
    """The rows of every table; tools that report alike share one."""
    unknown = sorted(set(said) - set(COMPANIONS))
    if unknown:
        raise CpmonError(
            f"{file.name} names an unknown companion",
            place=f"{file}, [companions]",
            expected=", ".join(COMPANIONS),
            found=", ".join(unknown),
        )
    found: dict[str, Figures] = {}
    for kind, name in said.items():
        companion = COMPANIONS[kind]
        found.setdefault(companion.table, []).extend(companion.read(file.parent / str(name)))
    return found


def _check_steady(run: Run, file: Path) -> None:
    """A steady state outside of its run would mix rates of one time with totals of another."""
    if not (run.steady_since or run.steady_until):
        return
    since, until = run.steady_since or run.since, run.steady_until or run.until
    if not run.since <= since < until <= run.until:
        raise CpmonError(
            f"{file.name} has a steady state that is no part of its run",
            place=str(file),
            expected=f"steady_since and steady_until from {_iso(run.since)} to {_iso(run.until)}",
            found=f"{_iso(since)} to {_iso(until)}",
            effect="the run is not defined; its dump has landed",
            remedy="correct the times, or leave them out: then the whole run is steady",
        )


def _moment(value: Any, file: Path) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            value = None
    if not isinstance(value, datetime):
        raise CpmonError(
            f"{file.name} has a time that is none",
            place=str(file),
            expected="2001-12-18T10:00:00Z",
            found=str(value),
        )
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _iso(moment: datetime) -> str:
    """Naive UTC with microseconds, as DuckDB reads a TIMESTAMP."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
