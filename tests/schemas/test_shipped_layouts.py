"""The shipped layout CSVs, read as plain CSV: shape, coverage, words, agreement with lengths.

Nothing here uses the loader, so a mistake in the loader cannot hide one in the data.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
HEADER = [
    "offset", "length", "count", "type", "name", "of",
    "role", "unit", "since", "until", "provenance", "meaning",
]  # fmt: skip
RECORD_HEADER_BYTES = 20
"""Length of MRRECHDR, which no layout repeats."""

FOLDERS = (
    "d00_system", "d01_monitor", "d02_scheduler", "d03_storage", "d04_user", "d05_processor",
    "d06_io", "d07_seeks", "d08_virtual_network", "d09_isfc", "d10_appldata", "d11_ssi",
)  # fmt: skip
TYPES = {"unsigned", "signed", "char", "bits", "packed", "tod", "timer", "reserved", "group"}
ROLES_OF_TYPE = {
    "unsigned": {"key", "counter", "gauge", "flag"},
    "signed": {"key", "counter", "gauge"},
    "char": {"key", "text"},
    "packed": {"text"},
    "bits": {"flag"},
    "tod": {"time"},
    "timer": {"counter", "countdown", "gauge"},
}
MEASURED = {"counter", "countdown", "gauge"}
PROVENANCE = ("published", "derived", "inferred")
NAMES_OF_THE_STORE = {
    "system", "dump", "tod", "tod_us", "interval_end", "record_offset", "tail", "seconds", "entry",
}  # fmt: skip

# Record length in z/VM 5.3.0, header included.
LENGTH_530 = {
    "sytsyp": 116, "sytprp": 108, "sytrsg": 492, "sytrsp": 72, "sytxsp": 56, "sytasg": 84,
    "sytshs": 68, "sytusr": 104, "sytscg": 148, "sytcom": 272, "sytuwt": 160, "sytscp": 40,
    "sytxsg": 188, "sytcug": 56, "sytcup": 64, "sytsyg": 112, "mtrepr": 24, "mtrsys": 184,
    "mtrprp": 44, "mtrmem": 144, "mtrpag": 48, "mtrspr": 36, "mtrend": 20, "mtreof": 20,
    "mtrusr": 116, "storsg": 352, "storsp": 364, "stoasp": 172, "prcprp": 384, "ioddev": 260,
}  # fmt: skip
# The last byte of the proposed USEACT rows; the length of 5.3.0 itself has not been seen.
LENGTH_PROPOSED = {"useact": 196}
# Bytes of one entry of a group.
LENGTH_OF_ENTRY = {"sytcup_cpu": 40, "prcprp_stlnu": 2, "prcprp_stlct": 4}


class Span(NamedTuple):
    """Bytes [start, end) of a record or entry that one row describes."""

    start: int
    end: int
    name: str


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


LAYOUTS = {path.stem: path for path in sorted(SCHEMAS.glob("d??_*/*.csv"))}
ROWS = {name: read_csv(path) for name, path in LAYOUTS.items()}
RECORDS = read_csv(SCHEMAS / "records.csv")
LENGTHS = read_csv(SCHEMAS / "lengths.csv")
RECORD_OF = {row["dsect"]: row for row in RECORDS}
EVERY_LAYOUT = pytest.mark.parametrize("name", LAYOUTS)


def release_number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def lengths_of(dsect: str) -> list[tuple[tuple[int, ...], int]]:
    """(release, length in bytes) of one record, oldest release first."""
    seen = [
        (release_number(r["release"]), int(r["length"])) for r in LENGTHS if r["dsect"] == dsect
    ]
    return sorted(seen)


def spans(name: str, views: bool = False) -> list[Span]:
    """Spans of a layout in order of their offset; located groups have no fixed place."""
    found = []
    for row in ROWS[name]:
        if not row["offset"].isdigit() or bool(row["of"]) != views:
            continue
        start = int(row["offset"])
        found.append(Span(start, start + int(row["length"]) * int(row["count"] or 1), row["name"]))
    return sorted(found)


def fields(name: str) -> list[dict[str, str]]:
    return [row for row in ROWS[name] if row["type"] not in {"reserved", "group"}]


def test_there_is_a_layout_for_every_record_of_the_main_path() -> None:
    expected = LENGTH_530.keys() | LENGTH_PROPOSED.keys() | LENGTH_OF_ENTRY.keys()
    assert LAYOUTS.keys() == expected


@EVERY_LAYOUT
def test_a_layout_starts_with_the_agreed_header(name: str) -> None:
    with LAYOUTS[name].open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        assert next(reader) == HEADER
        assert {len(row) for row in reader} <= {len(HEADER)}


@EVERY_LAYOUT
def test_a_layout_stands_in_the_folder_of_its_domain(name: str) -> None:
    dsect = name.partition("_")[0]
    assert LAYOUTS[name].parent.name == FOLDERS[int(RECORD_OF[dsect]["domain"])]


@EVERY_LAYOUT
def test_bytes_are_covered_once_from_the_header_to_the_end(name: str) -> None:
    position = 0 if name in LENGTH_OF_ENTRY else RECORD_HEADER_BYTES
    for span in spans(name):
        assert span.start == position, f"{span.name}: starts at {span.start}, not {position}"
        position = span.end
    assert position == (LENGTH_530 | LENGTH_PROPOSED | LENGTH_OF_ENTRY)[name]


@EVERY_LAYOUT
def test_a_view_lies_within_the_field_that_it_views(name: str) -> None:
    fixed = {span.name: span for span in spans(name)}
    target_of = {row["name"]: row["of"] for row in ROWS[name] if row["of"]}
    for view in spans(name, views=True):
        target = fixed[target_of[view.name]]
        assert target.start <= view.start < view.end <= target.end, view


@EVERY_LAYOUT
def test_names_are_unique_lower_case_and_none_of_the_stores_own(name: str) -> None:
    names = [row["name"] for row in ROWS[name] if row["type"] != "reserved"]
    assert [n for n, times in Counter(names).items() if times > 1] == []
    assert [n for n in names if not re.fullmatch(r"[a-z][a-z0-9_]*", n)] == []
    assert not NAMES_OF_THE_STORE & set(names)


@EVERY_LAYOUT
def test_every_field_has_a_role_that_fits_its_type(name: str) -> None:
    for row in fields(name):
        assert row["type"] in ROLES_OF_TYPE, row
        assert row["role"] in ROLES_OF_TYPE[row["type"]], row


@EVERY_LAYOUT
def test_everything_measured_has_a_unit(name: str) -> None:
    for row in fields(name):
        assert bool(row["unit"]) == (row["role"] in MEASURED), row
        if row["type"] == "timer":
            assert row["unit"] == "tod", row


@EVERY_LAYOUT
def test_reserved_rows_and_groups_have_neither_role_nor_unit(name: str) -> None:
    for row in ROWS[name]:
        assert (row["name"] == "*") == (row["type"] == "reserved"), row
        if row["type"] in {"reserved", "group"}:
            assert row["role"] == row["unit"] == row["of"] == "", row
        assert bool(row["count"]) == (row["type"] == "group"), row


@EVERY_LAYOUT
def test_numbers_and_clocks_have_lengths_that_can_be_read(name: str) -> None:
    for row in fields(name):
        if row["type"] in {"unsigned", "signed"}:
            assert row["length"] in {"1", "2", "4", "8"}, row
        if row["type"] in {"tod", "timer"}:
            assert row["length"] == "8", row


@EVERY_LAYOUT
def test_every_row_says_where_it_comes_from_and_in_which_releases_it_is(name: str) -> None:
    for row in ROWS[name]:
        assert row["provenance"] in PROVENANCE, row
        for release in (row["since"], row["until"]):
            assert re.fullmatch(r"(\d\.\d+\.\d+)?", release), row
        assert row["type"] in TYPES, row


@EVERY_LAYOUT
def test_a_group_has_an_entry_layout_and_is_located_by_fields_of_its_record(name: str) -> None:
    names = {row["name"] for row in fields(name)}
    for group in (row for row in ROWS[name] if row["type"] == "group"):
        entry = LAYOUTS[f"{name}_{group['name']}"]
        assert entry.parent == LAYOUTS[name].parent
        for place in ("offset", "length", "count"):
            assert group[place].isdigit() or group[place] in names, group
        if group["length"].isdigit():
            assert int(group["length"]) == max(span.end for span in spans(entry.stem))


@pytest.mark.parametrize("name", LENGTH_530)
def test_a_record_of_an_earlier_release_ends_between_two_fields(name: str) -> None:
    ends = {RECORD_HEADER_BYTES} | {span.end for span in spans(name)}
    for release, length in lengths_of(name):
        if release <= (5, 3, 0):
            assert length in ends, (release, length)


@pytest.mark.parametrize("name", LENGTH_530)
def test_a_field_past_the_length_of_a_release_is_newer_than_that_release(name: str) -> None:
    rows = {row["name"]: row for row in ROWS[name] if row["type"] != "reserved"}
    for span in spans(name) + spans(name, views=True):
        if span.name not in rows:
            continue
        since = rows[span.name]["since"]
        for release, length in lengths_of(name):
            if release < (5, 3, 0) and span.end > length:
                assert since and release_number(since) > release, span
            if release <= (5, 3, 0) and span.end <= length and since:
                assert release_number(since) <= release, span


def test_the_only_lengths_of_530_on_record_agree_with_the_layouts() -> None:
    for dsect, length in LENGTH_530.items():
        assert dict(lengths_of(dsect)).get((5, 3, 0), length) == length, dsect


def test_replaced_fields_end_with_the_release_before_their_replacement() -> None:
    until = {
        (name, row["name"]): row["until"]
        for name, rows in ROWS.items()
        for row in rows
        if row["until"]
    }
    assert until == {
        ("sytrsg", "rsafstor"): "5.1.0",
        ("mtrprp", "pfxvfst"): "5.2.0",
        ("prcprp", "stlnu"): "5.2.0",
        ("prcprp_stlnu", "stlnu"): "5.2.0",
    }


def test_only_times_that_run_backwards_are_countdowns() -> None:
    backwards = {
        row["name"] for rows in ROWS.values() for row in rows if row["role"] == "countdown"
    }
    assert backwards == {"pfxprbtm", "pfxtmsys"}


def test_record_numbers_and_dsects_are_unique() -> None:
    assert list(RECORDS[0]) == [
        "domain", "record", "dsect", "kind", "grain", "keys", "title", "provenance",
    ]  # fmt: skip
    numbers = [(int(row["domain"]), int(row["record"])) for row in RECORDS]
    assert numbers == sorted(set(numbers))
    assert len(RECORD_OF) == len(RECORDS)


def test_records_speak_the_agreed_words() -> None:
    for row in RECORDS:
        assert row["dsect"] == row["dsect"].lower(), row
        assert row["kind"] in {"sample", "event", "config"}, row
        assert row["provenance"] in PROVENANCE, row
        assert row["title"], row
        assert bool(row["grain"]) == (row["dsect"] in LAYOUTS), row


def test_a_record_is_trusted_no_more_than_the_weakest_row_of_its_layout() -> None:
    for row in RECORDS:
        if rows := ROWS.get(row["dsect"]):
            weakest = max(PROVENANCE.index(r["provenance"]) for r in rows)
            assert PROVENANCE.index(row["provenance"]) == weakest, row


def test_the_keys_of_a_record_are_exactly_the_key_fields_of_its_layout() -> None:
    for row in RECORDS:
        keys = [f["name"] for f in ROWS.get(row["dsect"], []) if f["role"] == "key"]
        assert Counter(row["keys"].split()) == Counter(keys), row


def test_a_record_without_keys_is_about_the_whole_system() -> None:
    for row in RECORDS:
        if row["dsect"] in LAYOUTS:
            assert (row["grain"] == "system") == (not row["keys"]), row


def test_lengths_name_known_records_and_one_length_a_release() -> None:
    assert list(LENGTHS[0]) == ["dsect", "release", "length"]
    pairs = Counter((row["dsect"], row["release"]) for row in LENGTHS)
    assert max(pairs.values()) == 1
    for row in LENGTHS:
        assert row["dsect"] in RECORD_OF, row
        assert re.fullmatch(r"\d\.\d\.0", row["release"]), row
        assert int(row["length"]) >= RECORD_HEADER_BYTES, row
