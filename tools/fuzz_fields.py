"""Random changes to what records say: values, names, times and releases that no system has.

The frames stay good, so that the values reach everything that is computed of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cpmon.schemas import by_record
from cpmon.schemas.field import Field
from cpmon.schemas.layout import Layout

from .fuzz_mutations import MUTATIONS, Bent, Mutations
from .fuzz_seeds import header

TEXTS = (
    "<img src=x>", "../../..", "'; DROP", "=1+1", "\x1b[2J", "-h", "%s%d", "a b", "ÄÖÜ", "", "{}",
    "NULL", "NaN", "a\nb", 'x"y', "\\", ",;\t", "GUEST001", "VMFUZZ", "~",
)  # fmt: skip
RELEASES = ("04030001", "99999999", "00000000", "05030000", "07030000", "4.3.0   ", "-1-1-1-1",
            "0403    ", "        ", "00010000", "ABCDEFGH")  # fmt: skip
DAY = 86_400 * 1_000_000 << 12
"""A day, as a time-of-day clock counts it."""
STEPS = (-36_500 * DAY, -366 * DAY, -DAY, -(DAY // 24), -1, 1, DAY // 24, DAY, 31 * DAY, 9999 * DAY)
TIMES = (1, 1 << 52, 1 << 63, (1 << 64) - 1, 0x7FFF << 48)


def change_field(bent: Bent) -> None:
    """A field of a record, or of all records of its kind, has a value at an edge of its range."""
    if (chosen := _field(bent)) is None:
        return
    field, records = chosen
    bits = 8 * field.length
    edges = [0, 1, 2, 1 << 31, (1 << 32) - 1, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1]
    edge = int(bent.rng.choice(len(edges)))
    step = int(bent.rng.integers(0, 2))
    for number, at in enumerate(records):
        value = (edges[edge] + number * step) % (1 << bits)
        bent.write(at + field.offset, value.to_bytes(field.length, "big"))


def change_bytes(bent: Bent) -> None:
    """A field of all records of a kind is noise."""
    if (chosen := _field(bent)) is not None:
        field, records = chosen
        for at in records:
            bent.write(at + field.offset, bent.rng.bytes(field.length))


def change_name(bent: Bent) -> None:
    """A text is markup, a path, SQL, a control character, a name that another has, or noise."""
    if (chosen := _field(bent, texts=True)) is None:
        return
    field, records = chosen
    text = TEXTS[int(bent.rng.integers(len(TEXTS)))].encode("cp037", "replace")
    raw = [text.ljust(field.length, b"\x40"), bent.rng.bytes(field.length), bytes(field.length)]
    name = raw[int(bent.rng.choice(3, p=[0.6, 0.3, 0.1]))][: field.length]
    for at in records:
        bent.write(at + field.offset, name)


def change_time(bent: Bent) -> None:
    """A record, or everything from one on, was written at another time."""
    records = sorted(at for at, _ in _records(bent))
    if not records:
        return
    first = int(bent.rng.integers(len(records)))
    behind = first + 1 if bent.rng.random() < 0.5 else len(records)
    fixed = int(TIMES[int(bent.rng.integers(len(TIMES)))]) if bent.rng.random() < 0.3 else None
    step = STEPS[int(bent.rng.integers(len(STEPS)))]
    for at in records[first:behind]:
        before = int.from_bytes(bent.data[at + 8 : at + 16].tobytes(), "big")
        after = (before + step) % (1 << 64) if fixed is None else fixed
        bent.write(at + 8, after.to_bytes(8, "big"))


def change_release(bent: Bent) -> None:
    """The system is of another release, or of none."""
    for at, layout in _records(bent):
        if layout.name == "mtrsys":
            release = RELEASES[int(bent.rng.integers(len(RELEASES)))].encode("cp037")
            odd = bytes(bent.rng.choice([0xF0, 0xF1, 0xFA, 0xEA, 0xB2, 0x40, 0x00], 8).tolist())
            bent.write(at + layout.field("hcpcpeid").offset, odd if at % 2 else release)


def _field(bent: Bent, *, texts: bool = False) -> tuple[Field, list[int]] | None:
    """A field of a kind of record that is in the dump, and where such records start."""
    records = list(_records(bent))
    if not records:
        return None
    at, layout = records[int(bent.rng.integers(len(records)))]
    fields = [f for f in layout.placed if f.length and f.is_text >= texts]
    if not fields:
        return None
    field = fields[int(bent.rng.integers(len(fields)))]
    same = [start for start, kind in records if kind is layout]
    return field, [at] if bent.rng.random() < 0.4 else same


def _records(bent: Bent) -> Iterator[tuple[int, Layout]]:
    """Where records of the seed start whose headers are as they were, and what they are."""
    data = bent.data.tobytes()
    kinds = by_record()
    starts = [start for unit in bent.seed.units for start in unit.records]
    for at in np.flatnonzero(np.isin(bent.home, starts)).tolist():
        if (found := header(data, at)) and found[1] in kinds:
            yield at, kinds[found[1]]


FIELD_MUTATIONS: Mutations = (
    *((mutation, weight / 3) for mutation, weight in MUTATIONS),
    (change_field, 6),
    (change_bytes, 2),
    (change_name, 3),
    (change_time, 3),
    (change_release, 1),
)
"""With how often each is picked: mostly, the frames stay good."""
