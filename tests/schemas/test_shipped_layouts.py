"""The shipped layout CSVs, read as plain CSV: shape, coverage, words, agreement with lengths.

Nothing here uses the loader, so a mistake in the loader cannot hide one in the data.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
HEADER = [
    "offset", "length", "count", "type", "name", "of", "code",
    "role", "unit", "since", "until", "provenance", "meaning",
]  # fmt: skip
RECORD_HEADER_BYTES = 20
"""Length of MRRECHDR, which no layout repeats."""

FOLDERS = (
    "d00_system", "d01_monitor", "d02_scheduler", "d03_storage", "d04_user", "d05_processor",
    "d06_io", "d07_seeks", "d08_network", "d09_isfc", "d10_appldata", "d11_ssi",
)  # fmt: skip
ROLES_OF_TYPE = {
    "unsigned": {"key", "counter", "gauge", "flag", "sync"},
    "signed": {"key", "counter", "gauge"},
    "char": {"key", "text"},
    "guest": {"key", "text"},
    "counted": {"key", "text"},
    "clock": {"time"},
    "packed": {"text"},
    "bits": {"flag", "slot"},
    "bit": {"flag"},
    "tod": {"time"},
    "timer": {"counter", "countdown", "gauge"},
}
TYPES = ROLES_OF_TYPE.keys() | {"reserved", "group", "part"}
MEASURED = {"counter", "countdown", "gauge"}
PROVENANCE = ("published", "derived", "inferred")
NAMES_OF_THE_STORE = {
    "system", "dump", "tod", "tod_us", "interval_end", "record_offset", "tail", "seconds", "entry",
    "code", "date",
}  # fmt: skip


class Span(NamedTuple):
    """Bytes [start, end) of a record or entry that one row describes."""

    start: int
    end: int
    name: str
    since: str = ""
    until: str = ""

    def meets(self, other: Span) -> bool:
        """Whether some release has both."""
        return not (self.ends_before(other) or other.ends_before(self))

    def ends_before(self, other: Span) -> bool:
        return bool(self.until and other.since) and (
            release_number(self.until) < release_number(other.since)
        )


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


LAYOUTS = {path.stem: path for path in sorted(SCHEMAS.glob("d??_*/*.csv"))}
ROWS = {name: read_csv(path) for name, path in LAYOUTS.items()}
RECORDS = read_csv(SCHEMAS / "records.csv")
LENGTHS = read_csv(SCHEMAS / "lengths.csv")
RECORD_OF = {row["dsect"]: row for row in RECORDS}
RECORD_LAYOUTS = [name for name in LAYOUTS if name in RECORD_OF]


def of_all(names: Iterable[str]) -> Callable[[Callable[[str], None]], Callable[[], None]]:
    """One test that makes a check of each: thousands of tests cost more than what they check."""

    def looped(check: Callable[[str], None]) -> Callable[[], None]:
        def test() -> None:
            for name in names:
                try:
                    check(name)
                except AssertionError as failure:
                    failure.add_note(name)
                    raise

        return test

    return looped


EVERY_LAYOUT = of_all(LAYOUTS)
EVERY_RECORD = of_all(RECORD_LAYOUTS)


def release_number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def lengths_of(dsect: str) -> list[tuple[tuple[int, ...], int]]:
    """(release, length in bytes) of one record, oldest release first."""
    seen = [
        (release_number(r["release"]), int(r["length"])) for r in LENGTHS if r["dsect"] == dsect
    ]
    return sorted(seen)


def span(row: dict[str, str]) -> Span:
    start = int(row["offset"])
    end = start + int(row["length"]) * int(row["count"] or 1)
    return Span(start, end, row["name"], row["since"], row["until"])


def spans(name: str, views: bool = False, behind: str = "") -> list[Span]:
    """Spans of a layout in order of their offset; what a record locates has no fixed place.

    Views are the rows that share the bytes of another: parts, bits, and labels of entries.
    `behind`: of the rows whose offsets count from that text or part.
    """
    rows = [
        {**row, "offset": row["offset"].removeprefix(f"{behind}+")}
        for row in ROWS[name]
        if row["offset"].rpartition("+")[0] == behind
    ]
    return sorted(
        span(row)
        for row in rows
        if all(re.fullmatch(r"\d*", row[place]) for place in ("offset", "length", "count"))
        and views == (bool(row["of"]) and row["type"] != "group")
    )


def fields(name: str) -> list[dict[str, str]]:
    return [row for row in ROWS[name] if row["type"] not in {"reserved", "group", "part"}]


def groups(name: str) -> list[dict[str, str]]:
    return [row for row in ROWS[name] if row["type"] == "group"]


def entry_of(name: str, group: dict[str, str]) -> str:
    """Name of the file that has the layout of a group's entries."""
    return group["of"] or f"{name}_{group['name']}"


USERS_OF_ENTRY: dict[str, list[str]] = {}
for _name in LAYOUTS:
    for _group in groups(_name):
        USERS_OF_ENTRY.setdefault(entry_of(_name, _group), []).append(_name)


def test_there_is_a_layout_for_every_record_that_is_known() -> None:
    assert set(RECORD_LAYOUTS) == RECORD_OF.keys()


def test_every_other_layout_is_that_of_entries() -> None:
    assert LAYOUTS.keys() - set(RECORD_LAYOUTS) <= USERS_OF_ENTRY.keys()


@EVERY_LAYOUT
def test_a_layout_starts_with_the_agreed_header(name: str) -> None:
    with LAYOUTS[name].open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        assert next(reader) == HEADER
        assert {len(row) for row in reader} <= {len(HEADER)}


@EVERY_RECORD
def test_a_layout_stands_in_the_folder_of_its_domain(name: str) -> None:
    assert LAYOUTS[name].parent.name == FOLDERS[int(RECORD_OF[name]["domain"])]


@EVERY_LAYOUT
def test_bytes_are_covered_once_from_the_header_to_the_end(name: str) -> None:
    position = RECORD_HEADER_BYTES if name in RECORD_OF else 0
    before: list[Span] = []
    for row in spans(name):
        assert row.start <= position, f"{row.name}: starts at {row.start}, not {position}"
        assert not [b.name for b in before if row.start < b.end and row.meets(b)], row
        position, before = max(position, row.end), [*before, row]


@EVERY_LAYOUT
def test_bytes_behind_a_text_or_in_a_part_are_covered_once(name: str) -> None:
    anchors = {row["name"]: row["type"] for row in ROWS[name] if row["type"] in {"counted", "part"}}
    for behind in {row["offset"].rpartition("+")[0] for row in ROWS[name]} - {""}:
        assert behind in anchors, behind
        own = spans(name, behind=behind)
        assert [row.start for row in own] == [0, *(row.end for row in own[:-1])], behind
        texts = [row.name for row in own if anchors.get(row.name) == "counted"]
        assert texts in ([], [own[-1].name]), "nothing of a fixed place stands behind a text"


@EVERY_LAYOUT
def test_a_view_lies_within_the_row_that_it_views(name: str) -> None:
    fixed = {row.name: row for row in spans(name) + spans(name, views=True)}
    target_of = {row["name"]: row["of"] for row in ROWS[name]}
    for view in spans(name, views=True):
        target = fixed[target_of[view.name]]
        assert target.start <= view.start < view.end <= target.end, view


@EVERY_LAYOUT
def test_bits_are_masks_of_one_byte_of_a_field_of_flags(name: str) -> None:
    types = {row["name"]: row["type"] for row in fields(name)}
    taken: dict[str, int] = {}
    for row in (row for row in fields(name) if row["type"] == "bit"):
        assert types[row["of"]] in {"bits", "unsigned"}, row
        assert row["length"] == "1", row
        assert re.fullmatch(r"[0-9A-F]{2}", row["code"]), row
        mask = int(row["code"], 16)
        assert mask, row
        assert not mask & taken.get(row["offset"], 0), f"{row} shares a bit with another"
        taken[row["offset"]] = mask | taken.get(row["offset"], 0)


@EVERY_LAYOUT
def test_labels_stand_on_entries_of_their_group(name: str) -> None:
    by_name = {group["name"]: group for group in groups(name)}
    for row in (row for row in fields(name) if row["of"] in by_name):
        group = by_name[row["of"]]
        assert (int(row["offset"]) - int(group["offset"])) % int(group["length"]) == 0, row
        assert row["length"] == group["length"], row


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
        if row["type"] in {"reserved", "group", "part"}:
            assert row["role"] == row["unit"] == "", row
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
    for group in groups(name):
        entry = LAYOUTS[entry_of(name, group)]
        for place in ("offset", "length", "count"):
            known = names | ({"rest"} if place == "length" else set())
            assert group[place].isdigit() or group[place] in known, group
        if group["length"].isdigit():
            assert int(group["length"]) == max(row.end for row in spans(entry.stem))
        prefix = r"(?:[0-9A-F]{2})+"
        condition = re.fullmatch(rf"(?:(\w+)!?={prefix}(?:/{prefix})*)?", group["code"])
        assert condition, group
        assert condition[1] is None or condition[1] in names, group


@EVERY_RECORD
def test_a_record_ends_between_two_fields_up_to_530(name: str) -> None:
    ends = {RECORD_HEADER_BYTES} | {row.end for row in spans(name)}
    for release, length in lengths_of(name):
        if release <= (5, 3, 0):
            assert length in ends or length > max(ends), (release, length)


@EVERY_RECORD
def test_a_field_past_the_length_of_a_release_is_newer_than_that_release(name: str) -> None:
    """Bits may come into use within bytes that older releases have."""
    aside = {span(row) for row in ROWS[name] if row["type"] in {"reserved", "bit"}}
    for row in (row for row in spans(name) + spans(name, views=True) if row not in aside):
        for release, length in lengths_of(name):
            if release < (5, 3, 0) and row.end > length:
                assert row.since, (row, release)
                assert release_number(row.since) > release, (row, release)
            if release <= (5, 3, 0) and row.end <= length and row.since:
                assert release_number(row.since) <= release, (row, release)


def test_no_record_gets_shorter_with_a_later_release() -> None:
    for dsect in RECORD_OF:
        lengths = [length for _, length in lengths_of(dsect)]
        assert lengths == sorted(lengths), dsect


def test_replaced_fields_end_with_the_release_before_their_replacement() -> None:
    until = {
        (name, row["name"]): row["until"]
        for name, rows in ROWS.items()
        for row in rows
        if row["until"]
    }
    names = {"vmdctxbk", "calxstor", "calcpmig", "calcpxwt", "calcpxrd", "srmxpctg"}
    expanded_storage = {field for field in until if field[0] == "sytxsg" or field[1] in names}
    assert {until.pop(field) for field in expanded_storage} == {"6.3.0"}
    assert until == {
        ("sytrsg", "rsafstor"): "5.1.0",
        ("mtrprp", "pfxvfst"): "5.2.0",
        ("prcprp", "stlnu"): "5.2.0",
        ("prcprp_stlnu", "stlnu"): "5.2.0",
        ("prcprp", "stlct"): "6.4.0",
        ("prcprp_stlct", "stlct"): "6.4.0",
    }


def test_only_times_that_run_backwards_are_countdowns() -> None:
    backwards = {
        row["name"] for rows in ROWS.values() for row in rows if row["role"] == "countdown"
    }
    assert backwards == {"pfxprbtm", "pfxtmsys"}


def test_record_numbers_and_dsects_are_unique() -> None:
    assert list(RECORDS[0]) == [
        "domain", "record", "dsect", "kind", "grain", "keys", "until", "title", "provenance",
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
        assert bool(row["grain"]) == bool(ROWS[row["dsect"]]), row


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
        if row["grain"]:
            assert (row["grain"] == "system") == (not row["keys"]), row


def test_lengths_name_known_records_and_one_length_a_release() -> None:
    assert list(LENGTHS[0]) == ["dsect", "release", "length"]
    pairs = Counter((row["dsect"], row["release"]) for row in LENGTHS)
    assert max(pairs.values()) == 1
    for row in LENGTHS:
        assert row["dsect"] in RECORD_OF, row
        assert re.fullmatch(r"\d\.\d\.0", row["release"]), row
        assert int(row["length"]) >= RECORD_HEADER_BYTES, row
