"""`cpmon damage` and `cpmon generate --damage`: what is written, what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.generate.damage.kinds import KINDS
from tests.cli.answer import Cpmon
from tests.dumps import FRAME, dump, fields, frame, frame_end, interval, interval_end, samples
from tests.scenarios import CONFIG

FIRST = samples(frame(CONFIG, frame_end()), frame(fields("sytrsp"), interval_end(0)))
WHOLE = dump(FIRST, *[interval(60 * n, fields("sytrsp", 60 * n)) for n in range(1, 6)])


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    file = tmp_path / "whole.mon.gz"
    file.write_bytes(gzip.compress(WHOLE))
    return file


def test_kinds_are_done_one_after_the_other(cpmon: Cpmon, tmp_path: Path, whole: Path):
    out = tmp_path / "out.mon"
    answer = cpmon("damage", whole, "zero-frames:4096", "end-missing", "truncate:-1", "-o", out)
    assert (answer.status, answer.out, answer.err) == (Status.DONE, b"", "")
    wanted = WHOLE[:FRAME] + bytes(FRAME) + WHOLE[2 * FRAME : -FRAME]
    # The place of truncate counts from the end of the dump as it was: of the end of data.
    assert out.read_bytes() == wanted


def test_a_share_of_a_compressed_dump_is_one_of_its_content(
    cpmon: Cpmon, tmp_path: Path, whole: Path
):
    out = tmp_path / "out.mon"
    assert cpmon("damage", whole, "truncate:25%", "-o", out).status is Status.DONE
    assert out.read_bytes() == WHOLE[: len(WHOLE) // 4]


def test_a_damaged_dump_goes_through_pipes(cpmon: Cpmon):
    answer = cpmon("damage", "-", "truncate:5000", "-o", "-", stdin=gzip.compress(WHOLE))
    assert answer.out == WHOLE[:5000]
    refused = cpmon("damage", "-", "truncate:50%", "-o", "-", stdin=WHOLE)
    assert refused.status is Status.USAGE and refused.out == b""
    assert "write truncate:BYTE, or save the dump to a file" in refused.err


def test_a_cut_compressed_file_is_the_front_of_a_whole_one(
    cpmon: Cpmon, tmp_path: Path, whole: Path
):
    cut, out = tmp_path / "cut.mon.gz", tmp_path / "out.mon.gz"
    assert cpmon("damage", whole, "cut-compressed:-50", "-o", cut).status is Status.DONE
    assert cpmon("damage", whole, "truncate:10000000", "-o", out).status is Status.DONE
    assert cut.read_bytes() == out.read_bytes()[:-50]
    assert cpmon("check", cut).status is Status.WARNINGS


def test_damage_that_cannot_be_done_leaves_no_file(cpmon: Cpmon, tmp_path: Path, whole: Path):
    out = tmp_path / "out.mon"
    for kind, words in {
        "tuncate": "did you mean truncate",
        "control-missing:-100": "no control record from byte",
        "cut-compressed": "is for a compressed file",
    }.items():
        answer = cpmon("damage", whole, kind, "-o", out)
        assert answer.status is Status.USAGE and words in answer.err
        assert list(tmp_path.iterdir()) == [whole]


def test_the_list_has_every_kind(cpmon: Cpmon):
    lines = cpmon("damage", "--list").text.splitlines()
    assert [line.split()[0].partition(":")[0] for line in lines] == list(KINDS)
    (zeros,) = [line for line in lines if line.startswith("zero-frames:PLACE:COUNT")]
    assert zeros.endswith("COUNT: frames, 1 by default.")


def test_a_run_is_generated_damaged(cpmon: Cpmon, tmp_path: Path):
    command = ("generate", "timer", "--run", "2600P", "--intervals", 1, "-o", tmp_path)
    assert cpmon(*command, "--damage", "line-ends").status is Status.DONE
    answer = cpmon("list", tmp_path / "2600P.mon")
    assert answer.status is Status.DAMAGED
    assert "was transferred as text" in answer.err
    refused = cpmon(*command, "--damage", "cut-compressed")
    assert refused.status is Status.USAGE and "compress it" in refused.err
