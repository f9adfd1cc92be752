"""The encoding of a record in a release: the place of each field, also in entries of groups.

A field of a group is called `group.field`, one of a group in a group's entry `group.inner.field`.
A label of a group (`plsdgx44` of PRCDIA) names one entry.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.errors import LayoutError
from ...schemas import HEADER, HEADER_LENGTH, Field, Group, Layout, Type, release_key
from ...schemas.field import COUNT_LENGTH, REST
from ...schemas.layout import Sequel
from ...schemas.release import LATEST, is_within
from ...schemas.unplaced import unplaced
from ..numeric import U8
from ..records.table import Counts, named_rows
from .container import LARGEST_RECORD

BLANK = b"\x40"
"""A blank in EBCDIC."""

UNDESCRIBED = 64
"""Length of a record of which only the header is known. Invented."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a field in a record: its first byte and, in entries, their number and distance.

    `wire` is its NumPy format; `entries` is 0 for a field outside of entries.
    """

    field: Field
    offset: int
    wire: str
    entries: int = 0
    stride: int = 0

    def shape(self, rows: int) -> tuple[int, ...]:
        """Shape of the field's values: (rows,) or (rows, entries)."""
        return (rows, self.entries) if self.entries else (rows,)

    def view(self, records: U8) -> npt.NDArray[Any]:
        """A writable view of the field in all records, (rows, length) and contiguous."""
        rows, length = records.shape
        strides = (length, self.stride) if self.entries else (length,)
        return np.ndarray(self.shape(rows), self.wire, records, self.offset, strides)


_HEADER = {field.name: Place(field, field.offset, field.wire) for field in HEADER}
TIME = _HEADER["mrhdrtod"]
"""The time stamp in the header of every record."""


class Encoding:
    """The places of the fields of one record type in one release.

    Args:
        layout: what the bytes mean.
        release: CP level, which determines the length and the fields of records and entries.
        entries: number of entries of each group that the record locates; groups that are not
            named are not written. Groups at fixed offsets are always written.
        sizes: bytes of parts without a length of their own: a text up to the end of the record,
            an entry without fields of known length.

    Attributes:
        length: bytes of a record.
        places: of the fields that the release has, by name.
        blank: (length,) a record without values: header, blanks, and locators of its entries.

    Raises:
        LayoutError: no such group, an entry without a size, a record longer than a frame.
    """

    def __init__(
        self,
        layout: Layout,
        release: str,
        entries: Counts | None = None,
        sizes: Counts | None = None,
    ) -> None:
        self.layout = layout
        self.release = release
        self.places: dict[str, Place] = {}
        self._entries, self._sizes = dict(entries or {}), dict(sizes or {})
        self._requested = tuple(self._entries)
        self._located: dict[str, int] = {}
        self._texts: dict[int, int] = {}
        rows = list(named_rows(layout))
        self._named = {name: row for name, row in rows if isinstance(row, Field)}
        self._groups = {name: row for name, row in rows if isinstance(row, Group)}
        length = layout.written_at(release)
        self._is_later = release_key(release) > release_key(LATEST)
        if self._is_later and layout.length == HEADER_LENGTH and not layout.lengths:
            length = UNDESCRIBED
        self._unknown = slice(layout.length, length)
        self.length = self._lay(layout.at(release), "", 0, length)
        unknown = {*self._entries, *self._sizes}
        if unknown:
            raise LayoutError(
                f"{layout.name} has no such groups in {release}", found=", ".join(sorted(unknown))
            )
        if self.length > LARGEST_RECORD:
            raise LayoutError(
                f"a record {layout.name} is longer than a frame has room for",
                expected=f"at most {LARGEST_RECORD} bytes",
                found=str(self.length),
            )
        self.blank = self._blank()

    def field(self, name: str) -> Field:
        """The field of that name, whether or not the release has it.

        Raises:
            LayoutError: no release has one.
        """
        field = self._named.get(name)
        if field is None:
            group = name.rpartition(".")[0]
            beside = [other for other in self._named if other.rpartition(".")[0] == group]
            raise LayoutError(
                f"{self.layout.name} has no field {name}",
                expected=", ".join(beside or self._named),
                found=name,
            )
        return field

    def place(self, name: str) -> Place | None:
        """The place of a field; None if the release does not have it, or it is unknown.

        Raises:
            LayoutError: no release has it, or its group or size was not requested.
        """
        place = self.places.get(name)
        if place is None and name in {row.name for row in unplaced(self.layout)}:
            return None
        if place is None:
            field, group = self.field(name), name.rpartition(".")[0]
            if field.is_open or (group in self._groups and not self._groups[group].end):
                raise LayoutError(
                    f"this {self.layout.name} is written without {name}",
                    code="record-part-missing",
                    remedy="name its group in `entries`, or its length in `sizes`",
                )
        return place

    def check_conditions(self, records: U8) -> None:
        """Check that the values of records do not exclude a requested group.

        Raises:
            LayoutError: a reader would take a record for one without its entries.
        """
        for name in self._requested:
            when = self._groups[name].when
            if when is None:
                continue
            owner = name.removesuffix(self._groups[name].name)
            at = self.places[owner + when.field].offset
            found = np.unique(records[:, at : at + when.reach], axis=0)
            others = [row for row in map(bytes, found) if not when.holds(row)]
            if others:
                prefixes = " or ".join(prefix.hex() for prefix in when.prefixes)
                raise LayoutError(
                    f"{self.layout.name} has its group {name} in other records",
                    expected=f"{when.field}{' not' * when.negated} from {prefixes} on",
                    found=others[0].hex(),
                )

    def _lay(self, table: Layout, prefix: str, base: int, length: int, count: int = 0) -> int:
        """Find the places in a record, or in entries of `length` bytes.

        Args:
            base: first byte of the record or of the first entry.
            count: of entries, or 0 outside of entries.

        Returns:
            The length with appended groups.
        """
        stride = length if count else 0
        for field in (f for f in table.placed if f.type is not Type.COUNTED):
            size = field.length
            if field.is_open:
                size = self._sizes.pop(prefix + field.name, 0) or max(length - field.offset, 0)
                length = max(length, field.offset + size)
            if size and field.offset + size <= length:
                wire = f"V{size}" if field.is_open else field.wire
                place = Place(field, base + field.offset, wire, count, stride)
                self.places[prefix + field.name] = place
        for group in table.groups:
            if group.end:
                self._fixed(group, prefix, base, length)
        for group in table.groups:
            if prefix + group.name in self._entries:
                length = self._append(group, prefix, base, length)
        if table.sequel:
            length = max(length, self._follow(table, table.sequel, prefix, base))
        return length

    def _follow(self, table: Layout, sequel: Sequel, prefix: str, base: int) -> int:
        """Find the places in a part after the fields or after a text; returns the length so far."""
        begin = table.length
        if table.text is not None:
            name = prefix + table.text.name
            size = self._sizes.pop(name, 0)
            self._texts[base + table.text.offset] = size
            if size:
                self.places[name] = Place(table.text, base + begin, f"V{size}")
            begin += size
        size = self._lay(sequel.layout, prefix, base + begin, sequel.layout.length)
        if sequel.size:
            self._located |= {prefix + sequel.start: begin, prefix + sequel.size: size}
        return begin + size

    def _fixed(self, group: Group, prefix: str, base: int, length: int) -> None:
        """Find the places in entries at fixed offsets, up to the end of the record."""
        start, stride = int(group.start), int(group.stride)
        count = min(int(group.count), (length - start) // stride)
        if count > 0:
            self._lay(group.entry, f"{prefix}{group.name}.", base + start, stride, count)
        for label in group.labels:
            if label.is_inside(length):
                self.places[prefix + label.name] = Place(label, base + label.offset, label.wire)

    def _append(self, group: Group, prefix: str, base: int, length: int) -> int:
        """Find the places in appended entries; returns the length with them."""
        name = prefix + group.name
        start = length if isinstance(group.start, str) else group.start
        count = self._entries.pop(name)
        entry = group.entry.at(self.release)
        size = self._sizes.pop(name, 0) or _written_length(entry, self.release)
        if count:
            size = self._lay(
                entry, f"{name}.", base + start, size, 0 if group.count == 1 else count
            )
        if not size:
            raise LayoutError(
                f"entries of {entry.name} have no length",
                code="entry-sizes-missing",
                remedy="give their sizes",
            )
        located = zip((group.start, group.stride, group.count), (start, size, count), strict=True)
        self._located |= {prefix + at: n for at, n in located if isinstance(at, str) and at != REST}
        return start + size * count

    def _blank(self) -> U8:
        """A record with its header, blank texts, and locators of its entries.

        Bytes of unknown fields of later releases are not zero.
        """
        record = np.zeros((1, self.length), dtype=np.uint8)
        if self._is_later:
            behind = record[0, self._unknown]
            noise = hashlib.shake_128(self.layout.name.encode()).digest(len(behind))
            behind[...] = np.frombuffer(noise, dtype=np.uint8)
        _HEADER["mrhdrlen"].view(record)[...] = self.length
        _HEADER["mrhdrdm"].view(record)[...] = self.layout.domain
        _HEADER["mrhdrrc"].view(record)[...] = self.layout.record
        for place in self.places.values():
            # A field over the bytes of another one has no value of its own.
            if place.field.type is Type.CHAR and not place.field.of:
                place.view(record)[...] = np.void(BLANK * int(place.wire[1:]))
        for offset, size in self._texts.items():
            record[0, offset : offset + COUNT_LENGTH] = divmod(size, 256)
        for name, value in self._located.items():
            self.places[name].view(record)[...] = value
        return record.reshape(-1)


def _written_length(entry: Layout, release: str) -> int:
    """Bytes of an entry in a release: up to its last field of known length."""
    rows: list[Field | Group] = [*entry.fields, *entry.groups]
    written = [row for row in rows if is_within(release, row.since, "")]
    return max((row.end for row in written), default=0)
