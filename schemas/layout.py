"""The vocabulary in which record layouts are written: Layout, Group and Condition, over fields.

No record is named here. A layout is read from a CSV (`loader`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from ..core.errors import LayoutError
from .field import HEADER, HEADER_LENGTH, Field, Provenance, Role, Type
from .release import ends_before, parse_release, release_key


class Kind(StrEnum):
    """Occasion on which CP writes a record."""

    SAMPLE = "sample"
    EVENT = "event"
    CONFIG = "config"


@dataclass(frozen=True, slots=True)
class Condition:
    """Only records whose bytes at `field` begin with one of `prefixes` have a group.

    `negated`: only the other records have it.
    """

    field: str
    prefixes: tuple[bytes, ...]
    negated: bool = False

    def holds(self, found: bytes) -> bool:
        """Whether a record with these bytes at the field has the group."""
        return found.startswith(self.prefixes) is not self.negated

    @property
    def reach(self) -> int:
        """Number of the field's bytes that are compared."""
        return max(map(len, self.prefixes))


@dataclass(frozen=True)
class Group:
    """Entries that repeat inside a record: arrays, counted groups, located tails.

    `start`, `stride` (bytes from one entry to the next) and `count` are numbers, or names of
    fields of the same record that hold them. `start` counts from the first byte of the record.
    `labels` are fields that name single entries, such as the codes of PRCDIA.
    """

    name: str
    start: int | str
    stride: int | str
    count: int | str
    entry: Layout
    when: Condition | None = None
    labels: tuple[Field, ...] = ()
    since: str = ""
    until: str = ""
    provenance: Provenance = Provenance.INFERRED
    meaning: str = ""

    @property
    def offset(self) -> int:
        """Offset of the first entry if it is fixed, else 0."""
        return self.start if isinstance(self.start, int) else 0

    @property
    def end(self) -> int:
        """Offset after the last entry if it is fixed, else 0."""
        numbers = (self.start, self.stride, self.count)
        if all(isinstance(n, int) for n in numbers):
            return int(self.start) + int(self.stride) * int(self.count)
        return 0

    @functools.cached_property
    def codes(self) -> tuple[str | None, ...]:
        """The label of each entry, None for an entry without one; empty without labels."""
        if not self.labels:
            return ()
        labels = {label.offset: label.code or label.name for label in self.labels}
        start, stride = int(self.start), int(self.stride)
        return tuple(labels.get(start + stride * n) for n in range(int(self.count)))


@dataclass(frozen=True, slots=True)
class Sequel:
    """Fields after those of fixed offsets that land in the same row.

    `start` names the counted text that they follow, or the number with their offset; `size` the
    number with their length, empty after a text: then they have the rest of its part. `layout` has
    their fields, with offsets from the first of these bytes.
    """

    start: str
    size: str
    layout: Layout


@dataclass(frozen=True, eq=False)
class Layout:
    """The layout of one record, or of one entry of a group, which has no header.

    `keys` identify a row together with its time stamp. `length` is the end of the last known byte.
    Layouts are compared by identity: the registry holds one of each.
    """

    name: str
    fields: tuple[Field, ...]
    domain: int = 0
    record: int = 0
    kind: Kind = Kind.SAMPLE
    grain: str = ""
    until: str = ""
    """The last release that writes the record; empty if it is still written."""
    title: str = ""
    provenance: Provenance = Provenance.INFERRED
    groups: tuple[Group, ...] = ()
    bits: tuple[Field, ...] = ()
    """Rows that name bits of fields; they are columns of views, not of files."""
    codes: tuple[Field, ...] = ()
    """Rows that name values of fields, for the dictionary."""
    lengths: tuple[tuple[str, int], ...] = ()
    """Published lengths, as (release, bytes), oldest release first."""
    parent: str = ""
    """Table of the record or entries that contain this layout's entries; empty for a record."""
    labelled: bool = False
    """Whether entries have a code as well as a position."""
    sequel: Sequel | None = None

    def __str__(self) -> str:
        """Name, for test ids and messages."""
        return self.name

    @functools.cached_property
    def columns(self) -> tuple[Field, ...]:
        """The fields that land: those of fixed offsets, then those of the sequel."""
        return (*self.placed, *(self.sequel.layout.columns if self.sequel else ()))

    @functools.cached_property
    def placed(self) -> tuple[Field, ...]:
        """The fields of fixed offsets that land, by offset, without reserved ones."""
        return tuple(f for f in self.fields if f.type is not Type.RESERVED)

    @functools.cached_property
    def text(self) -> Field | None:
        """The counted text that ends the fields of fixed offsets; None without one."""
        return next((f for f in self.placed if f.type is Type.COUNTED), None)

    @functools.cached_property
    def keys(self) -> tuple[Field, ...]:
        """The key fields; together with the time stamp they identify a row."""
        return tuple(f for f in self.columns if f.role is Role.KEY)

    @functools.cached_property
    def syncs(self) -> tuple[Field, ...]:
        """The fields that differ if a block was being written."""
        return tuple(f for f in self.columns if f.role is Role.SYNC)

    @functools.cached_property
    def slots(self) -> tuple[Field, ...]:
        """The fields that distinguish several rows of one key and time stamp."""
        return tuple(f for f in self.columns if f.role is Role.SLOT)

    @functools.cached_property
    def length(self) -> int:
        """Bytes up to the end of the last field or fixed group, at least the header's."""
        ends = [f.end for f in self.fields]
        ends += [g.end for g in self.groups if g.when is None]
        return max(ends, default=0 if self.parent else HEADER_LENGTH)

    @functools.cached_property
    def dtype(self) -> np.dtype[np.void]:
        """The packed big-endian dtype of a record, header included, of `length` bytes.

        A field up to the end of the record is excluded, since it has no fixed length.
        """
        header = () if self.parent else HEADER
        fields = [*header, *(f for f in self.placed if not f.is_open)]
        return np.dtype(
            {
                "names": [f.name for f in fields],
                "formats": [f.wire for f in fields],
                "offsets": [f.offset for f in fields],
                "itemsize": max(self.length, 0 if self.parent else HEADER_LENGTH),
            }
        )

    def field(self, name: str) -> Field:
        """The field of that name.

        Raises:
            LayoutError: there is none.
        """
        for field in self.columns:
            if field.name == name:
                return field
        raise LayoutError(
            f"{self.name} has no field {name}",
            expected=", ".join(f.name for f in self.columns),
            found=name,
        )

    def bits_of(self, field: Field) -> tuple[Field, ...]:
        """The named bits of a field, from left to right."""
        return tuple(bit for bit in self.bits if bit.of == field.name)

    def codes_of(self, field: Field) -> tuple[Field, ...]:
        """The named values of a field."""
        return tuple(code for code in self.codes if code.of == field.name)

    def at(self, release: str) -> Layout:
        """The layout of a release, without fields that it does not have.

        Returns this object if nothing differs; see `absent`.

        Raises:
            LayoutError: the release is not made of numbers and points.
        """
        gone = self.absent(release)
        if not gone:
            return self
        return replace(
            self,
            fields=tuple(f for f in self.fields if f.name not in gone or f.type is Type.RESERVED),
            groups=tuple(g for g in self.groups if g.name not in gone),
            bits=tuple(b for b in self.bits if b.of not in gone),
            codes=tuple(c for c in self.codes if c.of not in gone),
        )

    def absent(self, release: str) -> frozenset[str]:
        """Names of the fields and groups whose bytes have another meaning in a release.

        Fields appended by later releases are not among them: the length of a record shows which
        of them it has.

        Raises:
            LayoutError: the release is not made of numbers and points.
        """
        if not release:
            return frozenset()
        now = parse_release(release)
        rows: list[Field | Group] = [*self.columns, *self.groups]
        ended = {r.name for r in rows if r.until and now.is_behind(parse_release(r.until))}
        later = {r.name for r in rows if r.since and now.is_before(parse_release(r.since))}
        lengths = [n for r, n in self.lengths if release_key(r) <= now.key]
        ends = [
            s.end for s in self._spans if not s.since or not now.is_before(parse_release(s.since))
        ]
        # Bytes that the release certainly has; later fields inside them were reserved there.
        reach = max([*lengths, *ends], default=0)
        inside = {s.name for s in self._spans if s.offset < s.end <= reach}
        return frozenset(ended | (later & (self.replacing | inside)))

    @functools.cached_property
    def replacing(self) -> frozenset[str]:
        """Names of the fields and groups at bytes that have another meaning in an earlier release.

        Located entries of the earlier release can be at such bytes, too.
        """
        old = [s for s in self._spans if s.until]
        newer = {
            s.name
            for s in self._spans
            if any(
                s.offset < o.end and o.offset < s.end and ends_before(o.until, s.since) for o in old
            )
        }
        if any(isinstance(group.start, str) for group in self.groups):
            newer |= {field.name for field in self.columns if field.since}
        return frozenset(newer)

    @functools.cached_property
    def _spans(self) -> tuple[Field | Group, ...]:
        """Fields, reserved bytes, and groups of fixed offsets."""
        return (*self.fields, *(group for group in self.groups if group.end))

    def length_at(self, release: str) -> int:
        """Bytes that a release writes: the published length nearest above or at it, else below.

        At most `length`, since later bytes are unknown.
        """
        key = release_key(release)
        later = [n for r, n in self.lengths if release_key(r) >= key]
        earlier = [n for r, n in self.lengths if release_key(r) < key]
        nearest = later[0] if later else max(earlier, default=self.length)
        return min(nearest, self.length)

    def written_at(self, release: str) -> int:
        """Length of a record in a release, without located groups.

        Unlike `length_at`, it is the full published length, even if the last bytes are unknown. A
        release between two published ones has the fields known by then; unknown bytes belong to
        the release that they are published for.
        """
        key = release_key(release)
        before = [n for r, n in self.lengths if release_key(r) <= key]
        behind = [n for r, n in self.lengths if release_key(r) > key]
        least = max(before, default=0)
        if not behind or any(release_key(r) == key for r, _ in self.lengths):
            return least or self.length
        later = [s.offset for s in self._spans if s.since and release_key(s.since) > key]
        most = min([behind[0], self.length, *(at for at in later if at >= least)])
        return max(least, most)

    def tables(self) -> Iterator[Layout]:
        """This layout and those of its groups: all tables that its records land in."""
        yield self
        for group in self.groups:
            yield from group.entry.tables()
