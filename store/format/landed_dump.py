"""What is known of a landed dump: one JSON line in the manifest, as it landed in `dump.json`."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import msgspec

from ...core.grace_period import INSIDE

ABOUT = "dump.json"
"""What is known of a dump, beside its tables: for `rebuild` alone, where the manifest is lost."""
MONTHS = "months"
"""Folder of dumps that were merged by month (see `compaction`)."""
_NAME = r"[\w@#$-][\w@#$.-]*"
"""Pattern of dump and table names: no path separators, no leading dot."""
_SYSTEM = r"system=[\w.~%-]*"
_FOLDER = (
    rf"(records/{_SYSTEM}/date=[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}/dump={_NAME}/[0-9a-f]+"
    rf"|{MONTHS}/{_SYSTEM}/[0-9]{{4}}-[0-9]{{2}}\.[0-9]{{4,}}-[0-9a-f]+)"
)
"""Folder of a dump, with a token of its writer, or of a month."""
_Name = Annotated[str, msgspec.Meta(pattern=rf"^{_NAME}\Z")]
Folder = Annotated[str, msgspec.Meta(pattern=rf"^{_FOLDER}\Z")]


class LandedDump(msgspec.Struct, frozen=True, gc=False):
    """Metadata of one landed dump.

    Attributes:
        folder: folder of its tables, below the store; a folder in `MONTHS` holds several dumps.
        system, dump: name of the system, identity of the dump; of a part of one that is followed
            that of the whole, a dot and the number of the part.
        begins: first day that it can contribute to, UTC.
        days: days of the intervals that it closes, see `grace_period`.
        nominal: every interval states its nominal length, so no other dump is needed for it.
        first_end, first_nominal: end of its first interval, and whether it states its length.
        tables: names of its tables, without those that were pruned.
        layouts: fingerprint of the layouts that it was decoded with.
        stored_size: size of the source file in bytes; None for a pipe.
        pruned: its samples were removed; reductions of them remain.
        decoding: what else determines its rows: releases, layouts and version of cpmon.
        decoded_bytes: size of its decoded records.
    """

    folder: str
    system: str
    dump: str
    begins: date
    days: tuple[date, ...]
    nominal: bool
    tables: frozenset[str]
    layouts: str
    stored_size: int | None
    first_end: str | None = None
    first_nominal: bool = True
    pruned: bool = False
    decoding: str = ""
    decoded_bytes: int = 0

    @property
    def is_part(self) -> bool:
        """Whether it is a part of a dump that is followed (see `parts`)."""
        return "." in self.dump

    @property
    def whole(self) -> str:
        """Identity of the dump as readers see it: that of all its parts."""
        return self.dump.partition(".")[0]

    @property
    def is_merged(self) -> bool:
        """Whether it is in the folder of a month, together with other dumps."""
        return self.folder.startswith(f"{MONTHS}/")

    @property
    def month(self) -> str:
        """Month of its first record, UTC, as 2001-12."""
        return self.folder.split("/")[2].removeprefix("date=")[: len("2001-12")]

    @property
    def generation(self) -> int:
        """How often the month of its folder was merged; 0 for a folder of its own."""
        number = self.folder.split("/")[2].partition(".")[2].partition("-")[0]
        return int(number) if self.is_merged else 0


class _Bytes(msgspec.Struct, frozen=True, gc=False):
    """How the bytes of a dump were accounted for."""

    decoded: int = 0


class _Line(msgspec.Struct, gc=False):
    """The part of a line that the store itself reads; `meta.dump` shows the rest.

    Names become parts of paths, and the store may come from elsewhere. `dumps_in` checks the dump
    name itself: in msgspec its pattern takes as long as the rest of the line.
    """

    dump: str
    system: str
    folder: Folder
    landed_on: date
    days: tuple[date, ...]
    nominal: bool
    tables: msgspec.Raw
    layouts: str
    stored_size: int | None
    first_end: str | None = None
    first_nominal: bool = True
    pruned_at: str | None = None
    release: str = ""
    given_release: str = ""
    cpmon: str = ""
    bytes: _Bytes = _Bytes()


_DECODER = msgspec.json.Decoder(_Line)
_is_name = re.compile(rf"{_NAME}\Z").match
_NAMES_DECODER = msgspec.json.Decoder(frozenset[_Name])


def dumps_in(lines: str | bytes) -> tuple[LandedDump, ...]:
    """The dumps that some lines are about.

    Raises:
        MsgspecError, UnicodeDecodeError: a line is none that cpmon wrote, or there is none.
    """
    if not (entries := _DECODER.decode_lines(lines)):
        raise msgspec.DecodeError("there is no line")
    for entry in entries:
        if not (entry.dump.isalnum() or _is_name(entry.dump)):  # most are digests
            raise msgspec.ValidationError(f"{entry.dump!r} is no name of a dump")
    return tuple(map(_dump, entries))


def line(about: Mapping[str, Any]) -> str:
    """What is written about a dump, as a line of the manifest."""
    return f"{json.dumps(about, default=str)}\n"


def days_of(dumps: Iterable[LandedDump]) -> list[date]:
    """All days on which their intervals end, in order."""
    return sorted({day for dump in dumps for day in dump.days})


def dump_folder(system: str, landed_on: date | str, dump: str) -> str:
    """Where the tables of a dump are, below the store."""
    return f"{_folder_of_day(system, landed_on)}/dump={dump}"


def is_folder(name: str) -> bool:
    """Whether it names a folder of a dump or month, below the store."""
    return re.fullmatch(_FOLDER, name) is not None


@functools.lru_cache(maxsize=1024)
def _folder_of_day(system: str, landed_on: date | str) -> str:
    return f"records/system={quote(system, safe='')}/date={landed_on}"


def interval_facts(file: Path) -> dict[str, Any]:
    """What the manifest says of the intervals of a dump, from their table.

    Returns:
        `days` that they count to, in order; `nominal`: whether each says its nominal length;
        `first_end` and `first_nominal`: when the first one ends, and whether it does.
    """
    if not file.exists():
        return {"days": [], "nominal": True, "first_end": None, "first_nominal": True}
    import pyarrow.parquet as pq  # takes 20 ms, which readers do without

    table = pq.ParquetFile(file).read(["interval_end", "nominal_s"])
    # Functions of pyarrow with a scalar import pandas, which takes a third of a second.
    ends, lengths = (table.column(name).to_pylist() for name in table.column_names)
    intervals = [(e, length is not None) for e, length in zip(ends, lengths, strict=True) if e]
    days = sorted({(end - INSIDE).date() for end, _ in intervals})
    first = min((end for end, _ in intervals), default=None)
    return {
        "days": [str(day) for day in days],
        "nominal": None not in lengths,
        "first_end": first and first.isoformat(),
        "first_nominal": any(is_said for end, is_said in intervals if end == first),
    }


def _dump(entry: _Line) -> LandedDump:
    return LandedDump(
        entry.folder,
        entry.system,
        entry.dump,
        min((entry.landed_on, *entry.days)),
        entry.days,
        entry.nominal,
        _names(bytes(entry.tables)),
        entry.layouts,
        entry.stored_size,
        entry.first_end,
        entry.first_nominal,
        entry.pruned_at is not None,
        f"{entry.release}\0{entry.given_release}\0{entry.layouts}\0{entry.cpmon}",
        entry.bytes.decoded,
    )


@functools.lru_cache(maxsize=1024)
def _names(tables: bytes) -> frozenset[str]:
    """The names in a JSON list: most dumps have the same tables."""
    return _NAMES_DECODER.decode(tables)
