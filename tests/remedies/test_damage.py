"""`cpmon damage` that cannot do as it was told: what the message says can be done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.remedies.trying import Attempt, tries


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        pytest.param(
            ["truncated:50%"], ["truncate:50%"], marks=tries("name-unknown", "did you mean")
        ),
        pytest.param(["to-ascii:5"], ["to-ascii"], marks=tries("damage-place-missing")),
        pytest.param(
            ["trailing-garbage:5"],
            ["trailing-garbage::5"],
            marks=tries("damage-place-missing"),
        ),
        pytest.param(["truncate:50%:2"], ["truncate:50%"], marks=tries("damage-count-missing")),
        pytest.param(
            ["cut-compressed:50%"],
            ["truncate:50%"],
            marks=tries("damage-needs-compression"),
        ),
        pytest.param(
            ["end-missing", "end-missing"],
            ["end-missing"],
            marks=tries("damage-end-record-missing"),
        ),
        pytest.param(
            ["trailing-garbage", "end-missing"],
            ["end-missing", "trailing-garbage"],
            marks=tries("damage-end-record-missing"),
        ),
        pytest.param(
            ["zero-frames:0x900000"],
            ["zero-frames:0"],
            marks=tries("damage-place-beyond-end"),
        ),
    ],
)
def test_damage_that_is_written_right_is_done(
    wrong: list[str], right: list[str], tried: Attempt, mon: Path, tmp_path: Path
):
    out = tmp_path / "out.mon"
    said = tried.fails("damage", mon, *wrong, "-o", out)
    assert not out.exists() and "No such" not in said
    tried.works("damage", mon, *right, "-o", out)
    assert out.read_bytes() != mon.read_bytes()


@tries("name-unknown", "`cpmon damage --list` explains them")
def test_the_kinds_of_damage_are_listed_as_the_message_says(
    tried: Attempt, mon: Path, tmp_path: Path
):
    said = tried.fails("damage", mon, "zzzzzzzzzz", "-o", tmp_path / "out.mon")
    assert "truncate:PLACE" in tried.as_said(said).text


@tries("damage-needs-compression")
def test_a_dump_is_compressed_to_be_cut(tried: Attempt, mon: Path, tmp_path: Path):
    tried.fails("damage", mon, "cut-compressed:50%", "-o", tmp_path / "out.mon")
    tried.works("damage", mon, "cut-compressed:50%", "-o", tmp_path / "out.mon.gz")


@tries("damage-needs-dump-size")
def test_a_place_in_a_pipe_counts_from_the_front_or_is_one_of_a_file(
    tried: Attempt, mon: Path, tmp_path: Path
):
    out, dump = tmp_path / "out.mon", mon.read_bytes()
    said = tried.fails("damage", "-", "truncate:50%", "-o", out, stdin=dump)
    assert "write truncate:BYTE" in said
    tried.works("damage", "-", "truncate:5000", "-o", out, stdin=dump)
    tried.fails("damage", "-", "truncate:50%", "-o", out, stdin=dump)
    tried.works("damage", mon, "truncate:50%", "-o", out)
