"""`cpmon damage` that cannot do as it was told: what the message says can be done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.remedies.trying import Attempt, tries

DAMAGING = "generate/damage/requests.py"
NONE = (DAMAGING, "there is no damage {}")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        pytest.param(["truncated:50%"], ["truncate:50%"], marks=tries(*NONE, "did you mean {}?")),
        pytest.param(["to-ascii:5"], ["to-ascii"], marks=tries(DAMAGING, "{} has no place")),
        pytest.param(
            ["trailing-garbage:5"],
            ["trailing-garbage::5"],
            marks=tries(DAMAGING, "{} has no place"),
        ),
        pytest.param(
            ["truncate:50%:2"], ["truncate:50%"], marks=tries(DAMAGING, "{} has no count")
        ),
        pytest.param(
            ["cut-compressed:50%"],
            ["truncate:50%"],
            marks=tries(
                DAMAGING, "{} is for a compressed file, and this dump would be written plain"
            ),
        ),
        pytest.param(
            ["end-missing", "end-missing"],
            ["end-missing"],
            marks=tries(
                "generate/damage/kinds.py",
                "the dump has no end-of-data record, so none can be left out",
            ),
        ),
        pytest.param(
            ["trailing-garbage", "end-missing"],
            ["end-missing", "trailing-garbage"],
            marks=tries(
                "generate/damage/kinds.py",
                "the dump has no end-of-data record, so none can be left out",
            ),
        ),
        pytest.param(
            ["zero-frames:0x900000"],
            ["zero-frames:0"],
            marks=tries(
                "generate/damage/stream.py",
                "there is no {} from byte {} on, so nothing was damaged",
            ),
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


@tries(*NONE, "`cpmon damage --list` explains them")
def test_the_kinds_of_damage_are_listed_as_the_message_says(
    tried: Attempt, mon: Path, tmp_path: Path
):
    said = tried.fails("damage", mon, "zzzzzzzzzz", "-o", tmp_path / "out.mon")
    assert "truncate:PLACE" in tried.as_said(said).text


@tries(DAMAGING, "{} is for a compressed file, and this dump would be written plain")
def test_a_dump_is_compressed_to_be_cut(tried: Attempt, mon: Path, tmp_path: Path):
    tried.fails("damage", mon, "cut-compressed:50%", "-o", tmp_path / "out.mon")
    tried.works("damage", mon, "cut-compressed:50%", "-o", tmp_path / "out.mon.gz")


@tries(DAMAGING, "{} needs the size of the dump, and a pipe does not tell it")
def test_a_place_in_a_pipe_counts_from_the_front_or_is_one_of_a_file(
    tried: Attempt, mon: Path, tmp_path: Path
):
    out, dump = tmp_path / "out.mon", mon.read_bytes()
    said = tried.fails("damage", "-", "truncate:50%", "-o", out, stdin=dump)
    assert "write truncate:BYTE" in said
    tried.works("damage", "-", "truncate:5000", "-o", out, stdin=dump)
    tried.fails("damage", "-", "truncate:50%", "-o", out, stdin=dump)
    tried.works("damage", mon, "truncate:50%", "-o", out)
