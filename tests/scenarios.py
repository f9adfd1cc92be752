"""Named dumps for all readers: the bytes, what must land, what must be found."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cpmon.ingest import Code

from .dumps import (
    END,
    FRAME,
    HEADER_LENGTH,
    control,
    dump,
    fields,
    filler,
    frame,
    frame_end,
    interval,
    interval_end,
    record,
    samples,
    tod,
)

Tables = dict[str, dict[str, list[Any]]]


@dataclass(frozen=True)
class Scenario:
    """`tables`: table -> column -> values in the order of the dump. `findings`: exactly these.

    `checked`: findings about values, which only a check has.
    """

    name: str
    data: bytes
    tables: Tables
    findings: set[Code] = field(default_factory=set)
    checked: set[Code] = field(default_factory=set)


SCENARIOS: list[Scenario] = []
CONFIG = fields("mtrsys", systmid="VMTEST")
SAMPLE = fields("sytrsp", 60, pfxcpuad=1, plsmvb2g=700)
LANDED: Tables = {"sytrsp": {"pfxcpuad": [1], "plsmvb2g": [700]}}
LATER = fields("sytrsp", 120, pfxcpuad=1, plsmvb2g=800)
RSP = len(SAMPLE)
LEAD = 0xAA
"""What stands before event data in whole frames; no record begins with it."""


def scenario(
    *findings: Code, captured: bool = True, checked: Code | None = None
) -> Callable[[Callable[[], tuple[bytes, Tables]]], None]:
    """Add a function's dump and tables to the list, under the function's name.

    `captured`: add the monreader capture of the same data as well, which must land the same.
    """

    def add(build: Callable[[], tuple[bytes, Tables]]) -> None:
        data, tables = build()
        values = {checked} if checked else set()
        SCENARIOS.append(Scenario(build.__name__, data, tables, set(findings), values))
        if captured:
            name = f"{build.__name__}_captured"
            SCENARIOS.append(Scenario(name, capture(data), tables, set(findings), values))

    return add


def capture(data: bytes) -> bytes:
    """The record sets of a MONWRITE file as /dev/monreader delivers them.

    Each is its entry of the control record, then the bytes from first to last address.
    """
    parts, at = [], 0
    while at < len(data):
        entries = [data[e : e + 12] for e in range(at + 40, at + FRAME, 12) if data[e]]
        at += FRAME
        for entry in entries:
            first, last = struct.unpack(">II", entry[4:])
            whole = data[at] == LEAD
            begin = at + first % FRAME * whole
            behind = begin + last - first + 1
            parts.append(entry + data[begin:behind])
            at += -(-(behind - at) // FRAME) * FRAME
    return b"".join(parts)


@scenario()
def one_interval() -> tuple[bytes, Tables]:
    return dump(interval(60, CONFIG, SAMPLE)), LANDED


@scenario(Code.LAYOUT_UNKNOWN)
def a_record_ends_on_the_last_byte_of_a_frame() -> tuple[bytes, Tables]:
    full = frame(CONFIG, filler(FRAME - len(CONFIG) - RSP), SAMPLE)
    return dump(samples(full, frame(interval_end(60)))), LANDED


@scenario()
def a_set_of_two_frames() -> tuple[bytes, Tables]:
    second = fields("sytrsp", 60, pfxcpuad=2, plsmvb2g=5)
    data = samples(frame(CONFIG, SAMPLE, frame_end(60)), frame(second, interval_end(60)))
    return dump(data), {"sytrsp": {"pfxcpuad": [1, 2], "plsmvb2g": [700, 5]}}


@scenario()
def event_and_sample_data_under_one_control_record() -> tuple[bytes, Tables]:
    event = fields("mtrepr", 1, config=7)
    start = 0x80000 + 100
    head = control(("E", start, start + len(event) - 1), ("S", 0x40000, 0x40FFF))
    data = head + frame(event) + frame(CONFIG, SAMPLE, interval_end(60))
    return dump(data), LANDED | {"mtrepr": {"config": [7], "interval_end": [None]}}


@scenario()
def event_data_written_from_its_first_byte_on() -> tuple[bytes, Tables]:
    """It starts 200 bytes before a frame of the segment ends; MTREOF skips to that frame."""
    start = 0x80000 + FRAME - 200
    first = (fields("mtrepr", 1, config=1) + frame_end(1)).ljust(200, b"\0")
    second = fields("mtrepr", 2, config=2)
    data = first + second
    head = control(("E", start, start + len(data) - 1))
    events = head + data.ljust(FRAME, b"\0")
    return dump(interval(60, CONFIG, SAMPLE), events), LANDED | {"mtrepr": {"config": [1, 2]}}


@scenario()
def event_data_written_as_whole_frames() -> tuple[bytes, Tables]:
    """Before its first byte stands what an earlier set has delivered already."""
    event = fields("mtrepr", 1, config=3)
    start = 0x80000 + 1000
    head = control(("E", start, start + len(event) - 1))
    events = head + (bytes([LEAD]) * 1000 + event).ljust(FRAME, b"\0")
    return dump(interval(60, CONFIG, SAMPLE), events), LANDED | {"mtrepr": {"config": [3]}}


@scenario(Code.LAYOUT_UNKNOWN)
def a_record_without_layout_is_kept_raw() -> tuple[bytes, Tables]:
    raw = record(9, 42, b"\x01\x02\x03\x04", 60)
    kept = {"domain": [9], "record": [42], "data": [raw]}
    return dump(interval(60, CONFIG, raw, SAMPLE)), LANDED | {"record_raw": kept}


@scenario(Code.RECORD_LONGER)
def bytes_behind_the_last_known_field_are_kept() -> tuple[bytes, Tables]:
    longer = fields("sytrsp", 60, pfxcpuad=1, plsmvb2g=700) + b"NEW!"
    longer = len(longer).to_bytes(2, "big") + longer[2:]
    return dump(interval(60, CONFIG, longer)), {"sytrsp": LANDED["sytrsp"] | {"tail": [b"NEW!"]}}


@scenario()
def a_field_behind_the_end_of_a_shorter_record_is_null() -> tuple[bytes, Tables]:
    short = fields("sytrsp", 60, length=44, pfxcpuad=1)
    both = {"pfxcpuad": [1, 1], "plsmvb2g": [None, 700]}
    return dump(interval(60, CONFIG, short, SAMPLE)), {"sytrsp": both}


@scenario(Code.RECORD_SHORT)
def a_record_shorter_than_its_header_costs_the_rest_of_its_frame() -> tuple[bytes, Tables]:
    bad = record(0, 4, b"x" * 30, claimed=18)
    first = frame(CONFIG, SAMPLE, bad)
    return dump(samples(first, frame(SAMPLE, interval_end(60)))), {
        "sytrsp": {"pfxcpuad": [1, 1], "plsmvb2g": [700, 700]}
    }


@scenario(Code.RECORD_LONG)
def a_record_longer_than_its_frame_costs_the_rest_of_it() -> tuple[bytes, Tables]:
    bad = record(0, 4, b"x" * 30, claimed=4090)
    return dump(samples(frame(CONFIG, SAMPLE, bad), frame(interval_end(60)))), LANDED


@scenario(Code.HEADER_BAD)
def a_header_that_is_none_costs_the_rest_of_its_frame() -> tuple[bytes, Tables]:
    bad = b"\x00\x30\xff\xff" + b"x" * 40
    return dump(samples(frame(CONFIG, SAMPLE, bad), frame(interval_end(60)))), LANDED


@scenario()
def a_frame_without_an_end_record_is_followed_by_zeros() -> tuple[bytes, Tables]:
    return dump(samples(frame(CONFIG, SAMPLE), frame(interval_end(60)))), LANDED


@scenario(Code.TRUNCATED, Code.INTERVAL_OPEN, Code.RECORD_LONG, captured=False)
def a_dump_cut_inside_a_record_keeps_those_before() -> tuple[bytes, Tables]:
    data = samples(frame(CONFIG, SAMPLE, SAMPLE, interval_end(60)))
    cut = FRAME + len(CONFIG) + RSP + 30
    return data[:cut], {"sytrsp": {"plsmvb2g": [700], "interval_end": [None]}}


@scenario(Code.TRUNCATED, captured=False)
def a_dump_cut_between_frames_of_a_set() -> tuple[bytes, Tables]:
    data = samples(frame(CONFIG, SAMPLE, interval_end(60)), frame(SAMPLE))
    return data[: 2 * FRAME], LANDED


@scenario(Code.END_MISSING, captured=False)
def a_dump_without_end_of_data() -> tuple[bytes, Tables]:
    return interval(60, CONFIG, SAMPLE), LANDED


@scenario(Code.FRAME_ORPHAN, Code.CONFIG_MISSING, captured=False)
def a_dump_that_starts_in_mid_stream() -> tuple[bytes, Tables]:
    later = fields("sytrsp", 120, pfxcpuad=1, plsmvb2g=800)
    data = frame(SAMPLE, interval_end(60)) + interval(120, later)
    return dump(data), {"sytrsp": {"pfxcpuad": [1, 1], "plsmvb2g": [700, 800]}}


@scenario(Code.INTERVAL_OPEN)
def samples_whose_interval_is_not_closed() -> tuple[bytes, Tables]:
    late = fields("sytrsp", 120, pfxcpuad=1, plsmvb2g=900)
    data = interval(60, CONFIG, SAMPLE) + samples(frame(late, frame_end(120)))
    return dump(data), {"sytrsp": {"pfxcpuad": [1, 1], "plsmvb2g": [700, 900]}}


@scenario(Code.CONTROL_CUT, captured=False)
def frames_missing_before_the_next_control_record() -> tuple[bytes, Tables]:
    whole = samples(frame(CONFIG, SAMPLE, frame_end(60)), frame(SAMPLE, interval_end(60)))
    later = fields("sytrsp", 120, pfxcpuad=1, plsmvb2g=800)
    data = whole[: 2 * FRAME] + interval(120, later)
    return dump(data), {"sytrsp": {"plsmvb2g": [700, 800]}}


@scenario(Code.FRAME_LOST, Code.FRAME_ORPHAN, captured=False)
def a_damaged_control_record_costs_itself() -> tuple[bytes, Tables]:
    data = dump(interval(60, CONFIG, SAMPLE), b"\x5a" * FRAME, frame(LATER, interval_end(120)))
    return data, {"sytrsp": {"plsmvb2g": [700, 800]}}


@scenario(Code.FRAME_LOST, captured=False)
def a_frame_of_other_data_between_two_sets() -> tuple[bytes, Tables]:
    later = fields("sytrsp", 120, pfxcpuad=1, plsmvb2g=800)
    data = interval(60, CONFIG, SAMPLE) + b"\x5a" * FRAME + interval(120, later)
    return dump(data), {"sytrsp": {"plsmvb2g": [700, 800]}}


@scenario(Code.TRAILING_DATA, captured=False)
def two_dumps_in_one_file() -> tuple[bytes, Tables]:
    later = fields("sytrsp", 120, pfxcpuad=1, plsmvb2g=800)
    data = dump(interval(60, CONFIG, SAMPLE)) + interval(120, later)
    return data + END, {"sytrsp": {"plsmvb2g": [700, 800]}}


@scenario(Code.CONTROL_CUT, Code.TRAILING_DATA, Code.FRAME_ORPHAN, captured=False)
def a_frame_of_the_file_inside_of_an_end_of_data_off_its_frames() -> tuple[bytes, Tables]:
    last = fields("sytrsp", 180, pfxcpuad=1, plsmvb2g=900)
    cut = interval(60, CONFIG, SAMPLE)[:-512] + interval(120, LATER) + END[:512]
    return cut + frame(last, interval_end(180)) + END, {"sytrsp": {"plsmvb2g": [700, 800, 900]}}


@scenario(Code.CONTROL_CUT, Code.TRAILING_DATA, Code.FRAME_ORPHAN, captured=False)
def a_frame_of_the_file_behind_the_records_of_one_off_its_frames() -> tuple[bytes, Tables]:
    third, last = (fields("sytrsp", 60 * n, pfxcpuad=1, plsmvb2g=600 + 100 * n) for n in (3, 4))
    cut = interval(60, CONFIG, SAMPLE)[:-512] + interval(120, LATER) + END
    cut += frame(third, interval_end(180))[:512]
    data = cut + frame(last, interval_end(240)) + END
    return data, {"sytrsp": {"plsmvb2g": [700, 800, 900, 1000]}}


@scenario(Code.TRAILING_DATA, Code.FRAME_LOST, captured=False)
def other_bytes_behind_the_end_of_data() -> tuple[bytes, Tables]:
    return dump(interval(60, CONFIG, SAMPLE)) + b"\x5a" * 5001, LANDED


@scenario(captured=False)
def zeros_behind_the_end_of_data_are_filler() -> tuple[bytes, Tables]:
    return dump(interval(60, CONFIG, SAMPLE)) + bytes(2 * FRAME + 77), LANDED


@scenario(Code.FRAME_EMPTY)
def frames_of_zeros_inside_of_a_set() -> tuple[bytes, Tables]:
    first, last = frame(CONFIG, SAMPLE, frame_end(60)), frame(LATER, interval_end(120))
    return dump(samples(first, bytes(2 * FRAME), last)), {"sytrsp": {"plsmvb2g": [700, 800]}}


@scenario()
def a_configuration_record_that_ends_before_the_time_of_ipl() -> tuple[bytes, Tables]:
    short = fields("mtrsys", length=36)
    landed = LANDED | {"mtrsys": {"systodst": [None, 0], "systmid": [None, "VMTEST"]}}
    return dump(interval(60, short, CONFIG, SAMPLE)), landed


@scenario(Code.GROUP_CUT)
def a_group_that_claims_more_entries_than_fit() -> tuple[bytes, Tables]:
    """Three logical processors of 40 bytes claimed at offset 64, room for two."""
    lpar = fields("sytcup", 60, lcupname="LP1", lcupcpct=3, calcpuof=64, calcpuln=40)
    entries = b"".join(number.to_bytes(2, "big").ljust(40, b"\0") for number in (0, 1))
    whole = lpar + entries
    whole = len(whole).to_bytes(2, "big") + whole[2:]
    cpus = {"lcupname": ["LP1", "LP1"], "entry": [0, 1], "lcucpuid": [0, 1]}
    return dump(interval(60, CONFIG, whole)), {"sytcup_cpu": cpus}


FIRST_SET = capture(interval(60, CONFIG, SAMPLE))
LATER_SET = capture(interval(120, LATER))
BOTH: Tables = {"sytrsp": {"plsmvb2g": [700, 800]}}


def captured(*sets: tuple[str, int, bytes]) -> bytes:
    """A monreader capture: sets of ("S" or "E", first address, data)."""
    return b"".join(
        struct.pack(">BBBxII", kind.encode("cp037")[0], 0xFF, 0, start, start + len(data) - 1)
        + data
        for kind, start, data in sets
    )


@scenario(captured=False)
def a_capture_of_many_small_sets() -> tuple[bytes, Tables]:
    """Event data starts anywhere in a frame of the segment and goes on in the next set."""
    events = [fields("mtrepr", n, config=n) for n in range(50)]
    first, sets = 0x80000 + FRAME - 30 * len(events[0]), []
    for event in events:
        sets.append(("E", first, event))
        first += len(event)
    data = captured(*sets) + FIRST_SET
    return data, LANDED | {"mtrepr": {"config": list(range(50))}}


@scenario(captured=False)
def a_captured_set_that_starts_inside_a_frame() -> tuple[bytes, Tables]:
    """The end-of-frame record skips to where a frame of the segment starts, not of the file."""
    start = 0x80000 + FRAME - 200
    first = (fields("mtrepr", 1, config=1) + frame_end(1)).ljust(200, b"\0")
    full = frame(fields("mtrepr", 2, config=2), frame_end(2))
    data = captured(("E", start, first + full + fields("mtrepr", 3, config=3)))
    return data + FIRST_SET, LANDED | {"mtrepr": {"config": [1, 2, 3]}}


@scenario(Code.TRUNCATED, captured=False)
def a_capture_cut_inside_its_last_set_lands_the_sets_before() -> tuple[bytes, Tables]:
    return FIRST_SET + LATER_SET[:500], LANDED


@scenario(Code.TRUNCATED, captured=False)
def a_capture_cut_inside_a_control_element() -> tuple[bytes, Tables]:
    return FIRST_SET + LATER_SET[:7], LANDED


@scenario(Code.CONTROL_CUT, captured=False)
def a_captured_set_with_bytes_missing_ends_at_the_next_element() -> tuple[bytes, Tables]:
    return FIRST_SET[: 12 + len(CONFIG) + RSP] + LATER_SET, BOTH


@scenario(Code.CONTROL_CUT, captured=False)
def a_control_element_that_claims_too_much() -> tuple[bytes, Tables]:
    liar = FIRST_SET[:8] + b"\x7f\0\0\0" + FIRST_SET[12:]
    return liar + LATER_SET, BOTH


@scenario(Code.FRAME_LOST, captured=False)
def other_bytes_between_two_captured_sets() -> tuple[bytes, Tables]:
    return FIRST_SET + b"\x5a" * 5001 + LATER_SET, BOTH


@scenario(Code.FRAME_LOST, captured=False)
def a_damaged_control_element_costs_its_set() -> tuple[bytes, Tables]:
    return FIRST_SET + b"\0" + LATER_SET[1:] + capture(interval(180, LATER)), BOTH


@scenario(captured=False)
def zeros_behind_a_capture_are_filler() -> tuple[bytes, Tables]:
    return FIRST_SET + LATER_SET + bytes(700), BOTH


def processor(at: float, calls: int, losses: int, number: int = 1) -> bytes:
    return fields("sytrsp", at, pfxcpuad=number, plsprqdf=calls, plsalemp=losses)


def memory_blocks(*stamps: float) -> tuple[bytes, Tables]:
    """Memory blocks of Linux: a clock, two counts, nine levels and counters of 8 bytes."""
    sets = []
    for at, stamp in zip((60, 120), stamps, strict=True):
        block = struct.pack(">QII9Q", tod(stamp), 8, 8, *range(1, 10))
        name = {"userid": "LINUX01", "mdgprod": "LINUXKRNL".encode("cp037") + b"\1" + b"260100"}
        head = fields("aplsdt", at, caldatof=52, caldatln=len(block), **name)[:52]
        whole = head.ljust(52, b"\0") + block
        sets.append(len(whole).to_bytes(2, "big") + whole[2:])
    landed: Tables = {"aplsdt_memory": {"totalram": [6, 6]}}
    return dump(interval(60, CONFIG, sets[0]), interval(120, sets[1])), landed


@scenario(checked=Code.COUNTER_FELL)
def a_counter_that_falls_alone() -> tuple[bytes, Tables]:
    fallen = interval(120, processor(120, 3_000_000_060, 1_999_999_999))
    first = interval(60, CONFIG, processor(60, 3_000_000_000, 2_000_000_000))
    return dump(first, fallen), {"sytrsp": {"plsalemp": [2_000_000_000, 1_999_999_999]}}


@scenario(checked=Code.OWNER_RESTARTED)
def a_user_that_logged_on_again() -> tuple[bytes, Tables]:
    times = [50 * 4096, 2 * 4096]
    sets = [
        fields("useact", 60 * n, vmduser="LINUX01", vmdttime=time)
        for n, time in enumerate(times, start=1)
    ]
    return dump(interval(60, CONFIG, sets[0]), interval(120, sets[1])), {
        "useact": {"vmdttime": times}
    }


@scenario(checked=Code.SAMPLE_MISSING)
def a_processor_without_a_sample() -> tuple[bytes, Tables]:
    first = interval(60, CONFIG, processor(60, 1, 1), processor(60, 1, 1, number=2))
    return dump(first, interval(120, processor(120, 2, 2))), {"sytrsp": {"pfxcpuad": [1, 2, 1]}}


@scenario(checked=Code.OWNER_ENDED)
def a_processor_that_was_varied_off() -> tuple[bytes, Tables]:
    first = interval(60, CONFIG, processor(60, 1, 1), processor(60, 1, 1, number=2))
    second = interval(120, fields("prcvof", 80, pfxcpuad=2), processor(120, 2, 2))
    return dump(first, second), {"sytrsp": {"pfxcpuad": [1, 2, 1]}}


@scenario(checked=Code.BLOCK_STALE)
def a_guest_that_has_written_nothing_new() -> tuple[bytes, Tables]:
    return memory_blocks(59, 59)


@scenario(checked=Code.BLOCK_CLOCK_SET)
def a_guest_whose_clock_was_set_by_an_hour() -> tuple[bytes, Tables]:
    return memory_blocks(59, 119 + 3600)


@scenario(checked=Code.WRAPPED_TWICE)
def a_counter_of_16_bits_that_comes_near_to_its_end() -> tuple[bytes, Tables]:
    first, second = (fields("sytscp", 60 * n, plseqkad=40_000 * n - 39_000) for n in (1, 2))
    landed: Tables = {"sytscp": {"plseqkad": [1_000, 41_000]}}
    return dump(interval(60, CONFIG, first), interval(120, second)), landed


assert HEADER_LENGTH == 20
