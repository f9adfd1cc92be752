"""Dumps in which fields have been set to chosen values, and every command that must survive them.

Records are found by the plain reader of the generator's tests, fields by their layouts; lengths,
headers and frames stay as they are, so that every other byte of the dump still means the same.
"""

from __future__ import annotations

import functools
import io
import random
from collections.abc import Callable, Collection, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from cpmon.cli.main import Status, run
from cpmon.generate import dump_frames, load_scenario
from cpmon.reduce.metrics.report_set import reports
from cpmon.reduce.reductions.reductions import reductions
from cpmon.schemas import HEADER_LENGTH, Layout, layouts
from cpmon.schemas.field import LARGEST_COUNT, LARGEST_LEVEL, Field, Role, Type
from cpmon.schemas.layout import Group
from cpmon.schemas.registry import by_record
from tests.dumps import frame, samples
from tests.generate.plain_reader import FRAME, records, sets

VALUES = {
    "0": 0,
    "2^31": 1 << 31,
    "2^32-1": (1 << 32) - 1,
    "2^53": 1 << 53,
    "2^63-1": (1 << 63) - 1,
    "2^63": 1 << 63,
    "2^64-1": (1 << 64) - 1,
    "NaN": 0x7FF8 << 48,
}
"""Values of 64 bits; a narrower field gets the leftmost bytes of those that need all of them."""

SAMPLES = Path(__file__).resolve().parents[1] / "sample-data" / "small-lab"
RUNS = ("LAB", "LAB52")
"""Runs of small-lab: CP levels 4.3.0, and 5.2.0 with its longer records."""


class Place(NamedTuple):
    """A field of one record or entry, where its bytes are in the dump, and of which sample."""

    layout: Layout
    field: Field
    offset: int
    end: int
    sample: int

    @property
    def name(self) -> str:
        return f"{self.layout.name}.{self.field.name}"


Choice = Callable[[Place], int | None]
"""The value that a field gets, None to leave it as it is."""
Choices = tuple[Choice, Choice]
"""Of each of the two runs."""


@functools.cache
def whole(name: str, intervals: int = 4) -> bytes:
    """A dump of small-lab that has, in every interval, each field of which there is a layout."""
    dump = b"".join(dump_frames(load_scenario("small-lab"), name, intervals=intervals))
    lengths: dict[tuple[int, int], int] = {}
    for record in records(dump):
        key = record.domain, record.number
        lengths[key] = max(len(record.data), lengths.get(key, 0))
    ends = {r.sample: r.tod for r in records(dump) if (r.domain, r.number) == (1, 11)}
    missing: list[bytes] = []
    for made in map(blank_records, layouts()):
        if len(made) > 1 or len(made[0]) > lengths.get(kind(made[0]), 0):
            missing += made
    parts, done, sample = [], 0, -1
    for part in sets(dump):
        if part.flag != 0xE2:
            continue
        sample += 1
        parts += [dump[done : part.control], _set(missing, ends[sample])]
        done = part.control
    return b"".join([*parts, dump[done:]])


def kind(record: bytes) -> tuple[int, int]:
    """Domain and number of a record."""
    return record[4], int.from_bytes(record[6:8])


def blank_records(layout: Layout) -> list[bytes]:
    """Records of a layout: one, or one for each of the groups that exclude each other."""
    either = [group for group in layout.groups if group.when]
    always = [group for group in layout.groups if not group.when]
    return [blank(layout, [*always, group]) for group in either] or [blank(layout, always)]


def blank(layout: Layout, groups: Collection[Group]) -> bytes:
    """A record of a layout, or an entry: zeros, texts of an A, and two entries in each group."""
    body = bytearray(layout.length)
    columns = {field.name: field for field in layout.placed}
    for field in columns.values():
        if field.type in (Type.CHAR, Type.GUEST) and not field.is_open:
            body[field.offset : field.end] = b"\xc1".ljust(field.length, b"\x40")
    body += bytes(4 * any(field.is_open for field in columns.values()))
    for group in groups:
        if group.when and not group.when.negated:
            at = columns[group.when.field].offset
            body[at : at + group.when.reach] = group.when.prefixes[0]
        entry = blank(group.entry, group.entry.groups)
        operands = (group.start, len(body)), (group.stride, len(entry)), (group.count, 2)
        for operand, value in operands:
            if isinstance(operand, str) and operand in columns:
                place = columns[operand]
                body[place.offset : place.end] = value.to_bytes(place.length)
        if not group.end:
            body += entry * 2
    if layout.sequel:
        following = blank(layout.sequel.layout, ())
        operands = (layout.sequel.start, len(body)), (layout.sequel.size, len(following))
        for operand, value in operands if layout.sequel.size else ():
            place = columns[operand]
            body[place.offset : place.end] = value.to_bytes(place.length)
        body += following
    if layout.parent:
        return bytes(body)
    body[:2] = len(body).to_bytes(2)
    body[4] = layout.domain
    body[6:8] = layout.record.to_bytes(2)
    return bytes(body)


def _set(made: list[bytes], tod: int) -> bytes:
    """Records of one time in frames of sample data, in a set of their own."""
    stamp = tod.to_bytes(8)
    end = HEADER_LENGTH.to_bytes(2) + bytes((0, 0, 1, 0, 0, 13)) + stamp + bytes(4)
    frames: list[list[bytes]] = [[]]
    for record in made:
        stamped = record[:8] + stamp + record[16:]
        if sum(map(len, frames[-1])) + len(stamped) + len(end) > FRAME:
            frames.append([])
        frames[-1].append(stamped)
    return samples(*(frame(*inside, end) for inside in frames))


def places(dump: bytes) -> Iterator[Place]:
    """Every field of every record that has a layout, in the order of the dump."""
    for record in records(dump):
        layout = by_record().get((record.domain, record.number))
        if layout is not None:
            yield from _places(layout, record.data, record.offset, record.sample)


def _places(layout: Layout, data: bytes, offset: int, sample: int) -> Iterator[Place]:
    for field in layout.placed:
        if field.is_inside(len(data)):
            end = offset + field.end_in(len(data))
            yield Place(layout, field, offset + field.offset, end, sample)
    if layout.sequel:
        start = layout.text.end if layout.text else layout.length
        yield from _places(layout.sequel.layout, data[start:], offset + start, sample)
    for group in layout.groups:
        start, stride, count = _operands(layout, group, data)
        for number in range(count):
            at = start + number * stride
            if stride <= 0 or at + stride > len(data):
                break
            yield from _places(group.entry, data[at : at + stride], offset + at, sample)


def _operands(layout: Layout, group: Group, data: bytes) -> tuple[int, int, int]:
    """First byte, distance and number of a group's entries in a record."""
    if group.when:
        at = layout.field(group.when.field).offset
        if not group.when.holds(data[at:]):
            return 0, 0, 0

    def value(operand: int | str) -> int:
        if isinstance(operand, int):
            return operand
        if operand not in {f.name for f in layout.columns}:
            return -1
        field = layout.field(operand)
        return int.from_bytes(data[field.offset : field.end])

    start, stride, count = map(value, (group.start, group.stride, group.count))
    return start, (len(data) - start) // max(count, 1) if stride < 0 else stride, count


def is_structure(place: Place) -> bool:
    """Whether other fields are found by this one, or rows told apart: lengths, counts, keys.

    A stated length of the intervals makes gaps of all that are longer: nothing would be measured.
    """
    layout, name = place.layout, place.field.name
    operands = {o for g in layout.groups for o in (g.start, g.stride, g.count)}
    conditions = {g.when.field for g in layout.groups if g.when}
    if layout.sequel:
        operands |= {layout.sequel.start, layout.sequel.size}
    is_length = (layout.name, name) == ("mtrspr", "interval")
    is_key = place.field.role is Role.KEY or place.field.is_text
    return name in operands | conditions or is_length or is_key


def changed(dump: bytes, choose: Choice) -> bytes:
    """The dump with each field set to the value chosen for it."""
    after = bytearray(dump)
    for place in places(dump):
        value = choose(place)
        if value is not None:
            width = place.end - place.offset
            number = value >> max(64 - 8 * width, 0) if value >> 33 else value
            raw = (number & ((1 << 8 * width) - 1)).to_bytes(width)
            after[place.offset : place.end] = raw
    return bytes(after)


NOTHING = "there is nothing to report"
BLANK = {"LINUX_GUESTS", "VIRTUAL_DISKS", "VIRTUAL_ADAPTERS"}
"""Reports that may answer so: on guests whose clocks cannot be, and on what belongs to the user A,
who logs on and off in every interval, as there is a record of every layout in each. Other reports
have lines whatever."""
ENDS = {Status.DONE, Status.WARNINGS, Status.INVALID, Status.DAMAGED}
"""How commands may end because of values in a dump."""


def constant(value: int) -> Choice:
    """Every figure has this value."""
    return lambda place: None if is_structure(place) else value


def climbing(place: Place) -> int | None:
    """Levels as high as they can be, and counters that grow as much as they can."""
    if is_structure(place):
        return None
    step = LARGEST_LEVEL
    if place.field.role is Role.COUNTDOWN:
        return (LARGEST_COUNT // step - place.sample) * step
    return place.sample * step if place.field.is_cumulative else step


def mixed(seed: int, *, structure: bool) -> Choice:
    """A value for each field and sample by chance; `structure`: keys, lengths and counts too."""

    def choose(place: Place) -> int | None:
        if is_structure(place) and not structure:
            return None
        chance = random.Random(f"{seed} {place.name} {place.sample}")
        return chance.choice([None, *VALUES.values()])

    return choose


def landed(folder: Path, choices: Choices) -> list[Path]:
    """Both runs with some fields set, as dumps with their run files."""
    made = []
    for name, choose in zip(RUNS, choices, strict=True):
        file = folder / f"{name}.mon"
        file.write_bytes(changed(whole(name), choose))
        about = (SAMPLES / f"{name}.run.toml").read_text(encoding="utf-8")
        (folder / f"{name}.run.toml").write_text(about, encoding="utf-8")
        made.append(file)
    return made


def commands(dumps: list[Path], folder: Path, *, every: bool) -> Iterator[list[str]]:
    """Command lines from the dumps to reports and comparisons; `every`: rules and pages as well."""
    table = folder / "all.toml"
    table.write_text(_table(), encoding="utf-8")
    for dump in map(str, dumps):
        yield ["list", dump]
        yield ["check", dump]
        yield ["show", dump, "--limit", "300"]
    yield ["ingest", *map(str, dumps), "--system", "SMALLLAB"]
    yield ["reduce"]
    some = reports() if every else ("PAGING_BY_TIME", "SYSTEM_CONFIG", "EVENTS")
    yield ["report", *(name for name in some if name not in BLANK)]  # which read much in common
    for name in BLANK.intersection(some):
        yield ["report", name]
    for name in ("SYSTEM_SUMMARY_BY_TIME", "USER_RESOURCE_UTIL", "EVENTS"):
        yield ["report", name, "--run", "LAB52", "--format", "json"]
    yield ["report", "PAGING_BY_TIME", "--by", "1m"]
    if every:
        yield ["report", "--html", "-o", str(folder / "pages")]
        yield ["validate"]
    yield ["exceptions"]
    yield ["compare", "--base", "LAB", "--run", "LAB52"]
    yield ["compare", str(table)]
    yield ["compare", str(table), "--html", "-o", str(folder / "pages")]


def _table() -> str:
    """A comparison table with every number of a run."""
    rows = "".join(
        f'  {{ label = "{name}", source = "v", measure = "{name}", digits = 3 }},\n'
        for name in _measures()
    )
    return (
        'name = "all"\ntitle = "Every figure"\nruns = ["LAB", "LAB52"]\nbase = "LAB"\n'
        f"ratios = true\n\n[[groups]]\nrows = [\n{rows}]\n"
    )


def _measures() -> list[str]:
    """The figures of a run."""
    (summary,) = (made for made in reductions() if made.name == "run_summary")
    names = [column.name for column in summary.columns]
    return names[names.index("intervals") :]


def faults(
    choices: Choices, folder: Path, *, every: bool = True, ends: Collection[int] = ENDS
) -> list[str]:
    """What went wrong on the way from dumps with some fields set to what is printed of them.

    Args:
        every: with all reports, rules and pages.
        ends: how a command may end.
    """
    store, found = str(folder / "store"), []
    for arguments in commands(landed(folder, choices), folder, every=every):
        reads_dump = arguments[0] in ("list", "check", "show")
        said = io.StringIO()
        with redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")), redirect_stderr(said):
            status = run([*arguments, *([] if reads_dump else ["--store", store])])
        is_blank = not BLANK.isdisjoint(arguments) and NOTHING in said.getvalue()
        if not (status in ends or is_blank) or "failure of cpmon" in said.getvalue():
            found.append(f"cpmon {' '.join(arguments)}: status {status}: {said.getvalue()}")
    return found


def culprit(names: Collection[str], fails: Callable[[Collection[str]], bool]) -> str:
    """The field without which commands would not have failed, found by halving.

    Empty where neither half fails alone.
    """
    rest = sorted(names)
    while len(rest) > 1:
        half = len(rest) // 2
        rest = next((part for part in (rest[:half], rest[half:]) if fails(part)), [])
    return "".join(rest)
