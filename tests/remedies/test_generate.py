"""Scenarios that cannot be: what the message says makes them ones that can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cpmon.generate.encode.encoder import Encoding
from cpmon.schemas import layout
from tests.generate.scenario.test_scenario import SMALL, event
from tests.remedies.trying import Attempt, tries

Change = tuple[str, str]

ONLY = ("[[users]]", '[[users]]\nname = "others"\nprefix = "OTHER"\ncount = 1\n\n[[users]]')
TWICE = SMALL[SMALL.index("[[volumes]]") : SMALL.index("[run.A]")]
SHARED = ("[run.A]", f"{TWICE}[run.A]")
MOVED = ("[run.A]", f"{TWICE.replace('0500', '0600').replace('PAG', 'PAH')}[run.A]")
INTERVAL = 'kind = "interval"\nat_s = 163'


def assumed(at: int) -> Change:
    """The small scenario with a field at an assumed place."""
    place = f'[[assumed]]\nrecord = "useact"\nfield = "vmdctpvg"\noffset = {at}\nlength = 4\n'
    return ("[run.A]", f"{place}\n[run.A]")


def wrong(*changes: Change) -> str:
    text = SMALL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


WRONG: list[Any] = [
    pytest.param(
        [assumed(at=68)],
        [[assumed(at=92)]],
        marks=tries("assumed-field-not-reserved"),
        id="an assumed place that is taken",
    ),
    pytest.param(
        [("dasd_pages_per_user = 500", "dasd_pages_per_user = 500000")],
        [
            [("dasd_pages_per_user = 500", "dasd_pages_per_user = 600")],
            [
                ("dasd_pages_per_user = 500", "dasd_pages_per_user = 500000"),
                ("count = 1", "count = 20"),
            ],
        ],
        marks=tries("scenario-target-infeasible"),
        id="too many slots",
    ),
    pytest.param(
        [("resident_pages_per_user = 2000", "resident_pages_per_user = 99000")],
        [
            [("resident_pages_per_user = 2000", "resident_pages_per_user = 3000")],
            [
                ("resident_pages_per_user = 2000", "resident_pages_per_user = 99000"),
                ("central_mib = 1024", "central_mib = 2000"),
            ],
        ],
        marks=tries("scenario-target-infeasible"),
        id="too many frames",
    ),
    pytest.param(
        [("dasd_page_rate = 10", "xstor_page_rate = 10")],
        [[("dasd_page_rate = 10", "xstor_page_rate = 10"), ("1024", "1024\nexpanded_mib = 64")]],
        marks=tries("scenario-target-infeasible"),
        id="no expanded storage",
    ),
    pytest.param(
        [("emul_util = 12.0", "emul_util = 20.0")],
        [[("emul_util = 12.0", "emul_util = 19.0")]],
        marks=tries("scenario-target-infeasible"),
        id="too much emulation",
    ),
    pytest.param(
        [("emul_util = 12.0", "emul_util = 12.0\nmaster_emul_util = 12.0")],
        [
            [
                (
                    "emul_util = 12.0",
                    "emul_util = 12.0\nmaster_emul_util = 12\nmaster_total_util = 20",
                )
            ],
            [],
        ],
        marks=tries("scenario-target-incomplete"),
        id="half a target",
    ),
    pytest.param(
        [('"PAG"', '"PAGES"'), ("count = 1\n", "count = 10\n")],
        [[("count = 1\n", "count = 10\n")]],
        marks=tries("scenario-serial-too-long"),
        id="long serials",
    ),
    pytest.param([SHARED], [[MOVED]], marks=tries("scenario-device-shared"), id="shared device"),
    pytest.param(
        [('"GUEST"', '"GUESTXY"'), ("count = 3", "count = 30")],
        [[("count = 3", "count = 30")]],
        marks=tries("scenario-user-id-too-long"),
        id="long user ids",
    ),
    pytest.param(
        [ONLY, ('"OTHER"', '"GUEST"')],
        [[ONLY]],
        marks=tries("scenario-prefix-duplicate"),
        id="shared prefix",
    ),
    pytest.param(
        [("seed = 1", "seeed = 1")],
        [[]],
        marks=tries("name-unknown", "did you mean"),
        id="misspelt key",
    ),
    pytest.param([("seed = 1\n", "")], [[]], marks=tries("key-missing"), id="missing key"),
    pytest.param(
        [(SMALL[SMALL.index("[[users]]") : SMALL.index("[[volumes]]")], "")],
        [[]],
        marks=tries("scenario-incomplete"),
        id="nobody",
    ),
    pytest.param(
        [(SMALL[SMALL.index("[run.A]") :], "")],
        [[]],
        marks=tries("scenario-incomplete"),
        id="no run",
    ),
    pytest.param(
        [("[run.A]", event(INTERVAL))],
        [[("[run.A]", event(f"{INTERVAL}\ninterval_s = 30"))]],
        marks=tries("scenario-interval-missing"),
        id="no length",
    ),
    pytest.param(
        [("processors = 2", "processors = 2\nthreads = 2")],
        [
            [("processors = 2", "processors = 2\nthreads = 2"), ("4.3.0", "6.3.0")],
            [],
        ],
        marks=tries("scenario-cp-level-mismatch"),
        id="threads before 6.3.0",
    ),
    pytest.param(
        [("1024", "1024\nexpanded_mib = 64"), ("4.3.0", "6.4.0")],
        [
            [("1024", "1024\nexpanded_mib = 64"), ("4.3.0", "6.3.0")],
            [("4.3.0", "6.4.0")],
        ],
        marks=tries("scenario-cp-level-mismatch"),
        id="expanded storage behind 6.3.0",
    ),
    pytest.param(
        [("[run.A]", '[run.A]\ndamage = ["truncated:50%"]')],
        [[("[run.A]", '[run.A]\ndamage = ["truncate:50%"]')]],
        marks=tries("name-unknown", "did you mean"),
        id="misspelt damage",
    ),
]


@pytest.mark.parametrize(("changes", "mended"), WRONG)
def test_a_scenario_that_is_mended_is_written(
    changes: list[Change], mended: list[list[Change]], tried: Attempt, tmp_path: Path
):
    file = tmp_path / "small.toml"
    words = ("generate", file, "--intervals", 1, "-o", tmp_path / "dumps")
    for right in mended:
        file.write_text(wrong(*changes), encoding="utf-8")
        tried.fails(*words)
        file.write_text(wrong(*right), encoding="utf-8")
        tried.works(*words)


@tries("monitor-segment-too-small")
def test_the_monitor_segment_is_made_larger(tried: Attempt, tmp_path: Path):
    file = tmp_path / "small.toml"
    words = ("generate", file, "--intervals", 1, "-o", tmp_path / "dumps")
    many = [("GUEST", "G"), ("count = 3\n", "count = 3000\n"), ("user = 500", "user = 5")]
    for mib in (1, 8):
        segment = ("[machine]", f"[monitor]\nsegment_mib = {mib}\n\n[machine]")
        file.write_text(wrong(*many, ("user = 2000", "user = 5"), segment), encoding="utf-8")
        (tried.fails if mib == 1 else tried.works)(*words)


NAMES = [
    pytest.param(("small-lap",), ("small-lab",), marks=tries("name-unknown")),
    pytest.param(
        ("timer", "--run", "2600NQ"),
        ("timer", "--run", "2600NP"),
        marks=tries("name-unknown"),
    ),
]


@pytest.mark.parametrize(("misspelt", "right"), NAMES)
def test_the_name_that_is_suggested_is_one(
    misspelt: tuple[str, ...], right: tuple[str, ...], tried: Attempt, tmp_path: Path
):
    words = ("--intervals", 1, "-o", tmp_path)
    said = tried.fails("generate", *misspelt, *words)
    assert f"did you mean {right[-1]}?" in said
    tried.works("generate", *right, *words)


@tries("record-part-missing")
def test_a_group_is_written_that_is_asked_for(tried: Attempt):
    cup = layout("sytcup")
    group = next(group.name for group in cup.groups)
    name = f"{group}.{cup.groups[0].entry.fields[0].name}"
    tried.raises(lambda: Encoding(cup, "5.3.0").place(name))
    assert tried.returns(lambda: Encoding(cup, "5.3.0", {group: 2}).place(name)) is not None


@tries("entry-sizes-missing")
def test_an_entry_without_a_length_is_given_one(tried: Attempt):
    """Data of an unknown product, as a block of application data."""
    tried.raises(lambda: Encoding(layout("aplsdt"), "5.3.0", {"data": 1}))
    tried.returns(lambda: Encoding(layout("aplsdt"), "5.3.0", {"data": 1}, {"data": 3}))
