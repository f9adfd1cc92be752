"""What is not known of a dump, in the same words by check, validate, reports and pages.

Records of an hour of the small laboratory are changed as they are on ordinary days: a counter
slips, a user logs on again, a disk is varied, a processor or a guest is not sampled.
"""

from __future__ import annotations

import functools
import html
import json
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cpmon.generate import dump_frames, load_scenario
from cpmon.reduce.page import content
from cpmon.schemas import layout
from tests.cli.answer import Cpmon
from tests.cli.conftest import cpmon  # noqa: F401 - the fixture that runs a command line
from tests.dumps import control, fields, frame
from tests.examples import some_of_all
from tests.generate.plain_reader import Record, records, sets

REPORTS = ("PROCESSORS_BY_TIME", "USER_RESOURCE_UTIL", "DASD_BY_ACTIVITY", "LINUX_GUESTS")
SAID = re.compile(
    r"[A-Z_]+(?:\.[A-Z0-9_]+)? (?:fell|is not possible|may have wrapped more than once"
    r"|was not sampled before|began anew|began|is older than the interval|is missing)\b"
)
"""What is said of a record or field, wherever it is said."""
THIRD, FOURTH = 3, 4
SECOND = 4096 * 1_000_000


@functools.cache
def whole() -> bytes:
    return b"".join(dump_frames(load_scenario("small-lab"), "LAB", intervals=6))


@dataclass
class Damage:
    """A dump whose records are changed in place, and get events behind the third sample."""

    data: bytearray

    def rows(self, table: str, **keys: object) -> Iterator[tuple[int, Record]]:
        """The records of a table, each with the number of its sample from 0 on."""
        kind = layout(table)
        for record in records(bytes(self.data)):
            is_of_table = (record.domain, record.number) == (kind.domain, kind.record)
            if is_of_table and all(self.value(table, record, k) == v for k, v in keys.items()):
                yield record.sample - 1, record  # the first set is the configuration

    def value(self, table: str, record: Record, name: str) -> object:
        field = layout(table).field(name)
        raw = record.data[field.offset : field.offset + field.length]
        return raw.decode("cp037").rstrip() if field.is_text else int.from_bytes(raw, "big")

    def put(self, table: str, record: Record, name: str, value: int) -> None:
        field = layout(table).field(name)
        at = record.offset + field.offset
        self.data[at : at + field.length] = value.to_bytes(field.length, "big")

    def add(self, table: str, name: str, delta: int, *, to: set[int], **keys: object) -> None:
        """Change a field in the records of some samples."""
        for sample, record in self.rows(table, **keys):
            if sample in to:
                found = self.value(table, record, name)
                assert isinstance(found, int)
                self.put(table, record, name, found + delta)

    def restart(self, table: str, **keys: object) -> None:
        """Let all counters begin at 0 in the middle of the fourth interval."""
        counters = [f for f in layout(table).columns if f.is_cumulative and not f.of]
        kept: dict[str, tuple[int, int]] = {}
        for sample, record in self.rows(table, **keys):
            for field in counters:
                if field.end > len(record.data):
                    continue
                value = int(str(self.value(table, record, field.name)))
                if sample == THIRD:
                    kept[field.name] = value, value
                elif sample == FOURTH:
                    kept[field.name] = kept[field.name][0], (kept[field.name][0] + value) // 2
                if sample >= FOURTH:
                    self.put(table, record, field.name, value - kept[field.name][1])

    def remove(self, record: Record) -> None:
        """Make a record one that nobody knows."""
        self.data[record.offset + 4] = 9
        self.data[record.offset + 6 : record.offset + 8] = (99).to_bytes(2, "big")

    def insert(self, *events: tuple[str, dict[str, object]]) -> None:
        """Put events, 10 s apart, behind the third sample."""
        samples = [part for part in sets(bytes(self.data)) if part.flag == 0xE2]
        last = max(r.tod for r in records(bytes(self.data)) if r.sample == THIRD + 1)
        written = b""
        for number, (table, values) in enumerate(events, start=1):
            event = bytearray(fields(table, **values))
            struct.pack_into(">Q", event, 8, last + 10 * number * SECOND)
            written += event
        start = 0x80000
        events_set = control(("E", start, start + len(written) - 1)) + frame(written)
        self.data[samples[FOURTH + 1].control : samples[FOURTH + 1].control] = events_set


def slip(dump: Damage) -> None:
    dump.add("sytprp", "pfxtotwt", -90 * SECOND, to={FOURTH}, pfxcpuad=1)


def restart(dump: Damage) -> None:
    dump.restart("useact", vmduser="STAFF001")


def restart_with_events(dump: Damage) -> None:
    restart(dump)
    dump.insert(("uselof", {"vmduser": "STAFF001"}), ("uselon", {"vmduser": "STAFF001"}))


def device_varied(dump: Damage) -> None:
    _, first = next(dump.rows("ioddev"))
    number = dump.value("ioddev", first, "rdevdev")
    dump.restart("ioddev", rdevdev=number)
    dump.insert(("iodvof", {"rdevdev": number}), ("iodvon", {"rdevdev": number}))


def processor_missing(dump: Damage) -> None:
    for sample, record in dump.rows("sytprp", pfxcpuad=1):
        if sample == FOURTH:
            dump.remove(record)


def block_stale(dump: Damage) -> None:
    """The block of operating system data is that of the sample before, clock and all."""
    kept = b""
    for sample, record in dump.rows("aplsdt", userid="LXDB0001", blockno=2):
        begin = record.offset + record.u2(20)
        end = begin + record.u2(22)
        if sample == FOURTH:
            dump.data[begin:end] = kept
        kept = bytes(dump.data[begin:end])


def value_impossible(dump: Damage) -> None:
    dump.add("sytprp", "pfxutime", 1 << 50, to={FOURTH}, pfxcpuad=1)


CASES: dict[str, tuple[tuple[Callable[[Damage], None], ...], set[str]]] = {
    "sound": ((), set()),
    "slip, restart, stale block": (
        (slip, restart, block_stale),
        {
            "SYTPRP.PFXTOTWT fell",
            "USEACT began anew",
            "APLSDT_OS_CPU is older than the interval",
        },
    ),
    "impossible value, restart and device with events": (
        (value_impossible, restart_with_events, device_varied),
        {"SYTPRP.PFXUTIME is not possible", "USEACT began anew", "IODDEV began anew"},
    ),
    "processor missing": (
        (processor_missing,),
        {"SYTPRP is missing", "SYTPRP was not sampled before"},
    ),
}
"""What is done to a dump, to different records of it, and what must be said of that."""


@some_of_all("case", CASES, some=("sound", "slip, restart, stale block"))
def test_check_validate_reports_and_pages_say_the_same(
    case: str,
    cpmon: Cpmon,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    damages, expected = CASES[case]
    dump = Damage(bytearray(whole()))
    for damage in damages:
        damage(dump)
    file, store = tmp_path / "lab.mon", tmp_path / "store"
    file.write_bytes(dump.data)
    cpmon("ingest", file, "--store", store)
    said = {
        "check": checked(cpmon, file),
        "validate": validated(cpmon, store),
        "reports": reported(cpmon, store),
        "pages": shown(cpmon, store, tmp_path / "pages", monkeypatch),
    }
    for reader, words in said.items():
        assert expected <= words, reader
    assert said["check"] == said["validate"] >= said["reports"] == said["pages"]
    assert expected or not said["check"]


def words_of(text: str) -> set[str]:
    return set(SAID.findall(" ".join(html.unescape(text).split())))


def checked(cpmon: Cpmon, file: Path) -> set[str]:  # noqa: F811
    """What findings say."""
    (found,) = cpmon("check", file, "--format", "json").rows
    return {word for one in found["findings"] for word in words_of(one["detail"])}


def validated(cpmon: Cpmon, store: Path) -> set[str]:  # noqa: F811
    """What the rows say that break rules."""
    words: set[str] = set()
    found = json.loads(cpmon("validate", "--store", store, "--format", "json").text)
    for rule in found["rules"]:
        if rule["status"] == "failed":
            rows = cpmon("validate", "--store", store, "--rows", rule["rule"], "--format", "csv")
            words |= words_of(rows.text)
    return words


def reported(cpmon: Cpmon, store: Path) -> set[str]:  # noqa: F811
    """What the notes of reports say."""
    return {
        word
        for name in REPORTS
        for word in words_of(cpmon("report", name, "--store", store, "--format", "text").text)
    }


def shown(
    cpmon: Cpmon,  # noqa: F811
    store: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> set[str]:
    """What a page with the same reports says."""
    few = {name: one for name, one in content.reports().items() if name in REPORTS}
    monkeypatch.setattr(content, "reports", lambda: few)
    cpmon("report", "--html", "--store", store, "-o", folder)
    pages = (page.read_text(encoding="utf-8") for page in folder.glob("*.html"))
    return {word for page in pages for word in words_of(re.sub(r"<[^>]*>", "", page))}
