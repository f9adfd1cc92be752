"""Parses requests of damage, KIND[:PLACE[:COUNT]], and applies them in order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from pathlib import Path

import numpy as np

from ...core.errors import nearest
from ..numeric import random_stream
from ..sink import Chunk
from .kinds import CUT_COMPRESSED, KINDS, DamageError, DamageKind, DumpStream, Spot


@dataclass(frozen=True, slots=True)
class Damage:
    """One requested damage.

    `place`: a byte, counted from the end if negative; a share of the dump; or None: the seed
    picks one in the first half. `count`: None for the default.
    """

    kind: DamageKind
    place: int | Fraction | None = None
    count: int | None = None

    @property
    def needs_size(self) -> bool:
        """Whether the place depends on the size of the dump."""
        is_fixed = isinstance(self.place, int) and self.place >= 0
        return self.kind.placed and not is_fixed and self.kind.apply is not None


def parse_damage(text: str) -> Damage:
    """Parse KIND[:PLACE[:COUNT]]; PLACE may be empty.

    Raises:
        DamageError: no such kind, or it has no place or count; the error names the allowed ones.
    """
    name, _, rest = text.partition(":")
    place, _, count = rest.partition(":")
    if name not in KINDS:
        near = nearest(name, KINDS)
        raise DamageError(
            f"there is no damage {name}",
            code="name-unknown",
            expected=", ".join(KINDS),
            found=name,
            remedy=f"did you mean {near}?" if near else "`cpmon damage --list` explains them",
        )
    kind = KINDS[name]
    if place and not kind.placed:
        raise DamageError(
            f"{name} has no place",
            code="damage-place-missing",
            found=text,
            remedy=f"write {_usage(kind)}",
        )
    if count and kind.count is None:
        raise DamageError(
            f"{name} has no count",
            code="damage-count-missing",
            found=text,
            remedy=f"write {_usage(kind)}",
        )
    return Damage(kind, _place(place, text), _count(count, kind, text))


def damaged(
    dump: Iterable[Chunk], damages: Sequence[Damage], seed: int, size: int | None = None
) -> Iterator[Chunk]:
    """Apply damages to a dump in order; yields the damaged dump in pieces.

    Damage to the compressed file is skipped; see `cut_file`.

    Args:
        dump: its bytes in pieces, decompressed.
        size: of the dump in bytes, if known; needed where `needs_size`.
        seed: chooses places and bits.

    Raises:
        DamageError: a damage needs the size, or finds nothing to damage.
    """
    for number, damage in enumerate(damages):
        if damage.kind.apply is None:
            continue
        rng = random_stream(seed, "damage", str(number))
        spot = Spot(_resolved(damage, size, rng), damage.count or damage.kind.count or 0, rng)
        stream = DumpStream(dump)
        dump = chain(damage.kind.apply(stream, spot), stream.rest())
    return iter(dump)


def cut_file(path: Path, damages: Sequence[Damage], seed: int) -> None:
    """Cut a compressed file: cut-compressed is applied, other damages are ignored.

    Raises:
        DamageError: the place is past the end of the file.
    """
    for number, damage in enumerate(damages):
        if damage.kind.name == CUT_COMPRESSED:
            size = path.stat().st_size
            place = _resolved(damage, size, random_stream(seed, "damage", str(number)))
            if place >= size:
                raise DamageError(
                    f"the compressed dump has {size:,} bytes only, so it cannot be cut",
                    expected=f"a place before byte {size:,}",
                    found=f"{place:,}",
                    effect="no dump was written",
                )
            os.truncate(path, place)


def check_compressed(damages: Iterable[Damage], *, compressed: bool) -> None:
    """Check that no damage needs a compressed file where there is none.

    Raises:
        DamageError: one does.
    """
    if not compressed and any(damage.kind.name == CUT_COMPRESSED for damage in damages):
        raise DamageError(
            f"{CUT_COMPRESSED} is for a compressed file, and this dump would be written plain",
            code="damage-needs-compression",
            remedy="compress it, or use truncate",
        )


def _resolved(damage: Damage, size: int | None, rng: np.random.Generator) -> int:
    place = damage.place
    if not damage.kind.placed:
        return 0
    if isinstance(place, int) and place >= 0:
        return place
    if size is None:
        raise DamageError(
            f"{damage.kind.name} needs the size of the dump, and a pipe does not tell it",
            code="damage-needs-dump-size",
            expected="a place that counts bytes from the front",
            remedy=f"write {damage.kind.name}:BYTE, or save the dump to a file",
        )
    if place is None:
        return int(rng.integers(0, max(size // 2, 1)))
    return max(size + place, 0) if isinstance(place, int) else int(size * place)


def _place(text: str, whole: str) -> int | Fraction | None:
    try:
        if not text.endswith("%"):
            return int(text, 0) if text else None
        share = Fraction(text[:-1]) / 100
        if not 0 <= share <= 1:
            raise ValueError
        return share
    except (ValueError, ZeroDivisionError):
        raise DamageError(
            f"{text!r} is no place",
            expected="a byte (5000, 0x1388), bytes before the end (-100), "
            "or a share of the dump (50%)",
            found=whole,
        ) from None


def _count(text: str, kind: DamageKind, whole: str) -> int | None:
    if not text:
        return None
    try:
        count = int(text, 0)
    except ValueError:
        count = 0
    if not count or count < kind.least:
        least = f"at least {kind.least}" if kind.least > 0 else "not 0"
        raise DamageError(
            f"{text!r} is no count of {kind.counts}",
            expected=f"a whole number, {least}",
            found=whole,
        )
    return count


def _usage(kind: DamageKind) -> str:
    place = ":PLACE" if kind.placed else ":" if kind.count is not None else ""
    return f"{kind.name}{place}{':COUNT' if kind.count is not None else ''}"
