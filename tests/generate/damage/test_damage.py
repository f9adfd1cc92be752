"""Damage by the generator: the bytes that it makes, and what it refuses.

What readers make of each kind is looked at in tests/ingest/test_damage_matrix.py.
"""

from __future__ import annotations

import functools
import gzip
import io
import itertools
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpmon.cli.dump.diagnosis import check_dump
from cpmon.core.errors import DumpError
from cpmon.generate import (
    DamageError,
    damaged,
    dump_frames,
    load_scenario,
    parse_damage,
    parse_scenario,
    write_run,
)
from cpmon.generate.damage.kinds import KINDS
from cpmon.ingest import Code
from cpmon.ingest.container.source import Source
from cpmon.ingest.inspect.inventory import take_inventory
from tests.generate.plain_reader import FRAME, Set, records, sets
from tests.generate.scenario.test_scenario import SMALL
from tests.ingest.damaged import FEW
from tests.ingest.reading import deltas_of

HOUR_TOD = 3600 * 4_096_000_000
PIECE = 10_000


@functools.cache
def whole() -> bytes:
    return b"".join(dump_frames(parse_scenario(SMALL, "small.toml"), "A", intervals=3))


def do(*kinds: str, data: bytes | None = None, seed: int = 1) -> bytes:
    """The dump with damage; it comes in pieces that have nothing to do with its frames."""
    data = whole() if data is None else data
    pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
    return b"".join(damaged(pieces, [parse_damage(kind) for kind in kinds], seed, len(data)))


def sample(number: int) -> Set:
    return [part for part in sets(whole()) if part.flag == 0xE2][number]


def test_a_flipped_bit_changes_one_bit():
    place = len(whole()) // 2 + 31
    data = do(f"flip-bits:{place}")
    assert [at for at in range(len(data)) if data[at] != whole()[at]] == [place]
    assert (data[place] ^ whole()[place]).bit_count() == 1


def test_a_missing_end_of_data_is_the_last_frame():
    assert do("end-missing") == whole()[:-FRAME]


def test_a_clock_set_back_is_an_hour_early_from_there_on():
    part = sample(2)
    both = zip(records(whole()), records(do(f"tod-back:{part.control}")), strict=True)
    early = {(was.offset > part.control, was.tod - now.tod) for was, now in both}
    assert early == {(False, 0), (True, HOUR_TOD)}


def test_a_text_transfer_is_what_it_says():
    text = do("to-ascii", "line-ends")
    lines = [text[at : at + FRAME + 2] for at in range(0, len(text), FRAME + 2)]
    assert all(line.endswith(b"\r\n") for line in lines)
    back = b"".join(line[:FRAME] for line in lines).decode("latin-1").encode("cp037")
    assert back == whole()


def test_prefixes_hold_lengths_that_count_themselves():
    data, at, content = do("block-prefixes"), 0, b""
    while at < len(data):
        end = at + int.from_bytes(data[at : at + 2], "big")
        assert end <= len(data) and data[at + 2 : at + 4] == b"\0\0"
        at += 4
        while at < end:
            length = int.from_bytes(data[at : at + 2], "big")
            content += data[at + 4 : at + length]
            at += length
        assert at == end
    assert content == whole()


def test_a_generated_run_is_damaged_as_a_dump_that_is_there(tmp_path: Path):
    damage = [parse_damage(kind) for kind in ("zero-frames:50%:3", "flip-bits", "end-missing")]
    scenario = load_scenario("timer")
    written = write_run(scenario, "2600P", tmp_path, intervals=4, seed=5, damage=damage)
    data = b"".join(dump_frames(scenario, "2600P", intervals=4, seed=5))
    assert written.dump.read_bytes() == b"".join(damaged([data], damage, 5, len(data)))


def test_a_compressed_run_is_cut_as_it_is_stored(tmp_path: Path):
    scenario, cut = load_scenario("timer"), parse_damage("cut-compressed:60%")
    complete, stored = (
        write_run(
            scenario, "2600P", tmp_path / str(n), intervals=1, compression="gzip", damage=kinds
        ).dump.read_bytes()
        for n, kinds in enumerate(([], [cut]))
    )
    assert stored == complete[: len(complete) * 60 // 100]


def test_a_capture_is_damaged_in_its_bytes_and_not_in_frames(tmp_path: Path):
    scenario = load_scenario("timer")

    def write(*kinds: str) -> bytes:
        run = write_run(
            scenario,
            "2600P",
            tmp_path,
            intervals=1,
            container="monreader",
            damage=[parse_damage(kind) for kind in kinds],
        )
        return run.dump.read_bytes()

    assert write("truncate:20000") == write()[:20000]
    file = tmp_path / "2600P.mon"
    file.unlink()
    with pytest.raises(DamageError, match="no control record"):
        write("control-missing:0")
    assert not file.exists()


COMMON = [f"{name}:{'30%' if kind.placed else ''}" for name, kind in KINDS.items() if kind.apply]


@pytest.mark.parametrize("kind", COMMON)
def test_the_same_seed_does_the_same_damage_whatever_the_pieces(kind: str):
    damage, data = [parse_damage(kind)], whole()
    once = b"".join(damaged([data], damage, 3, len(data)))
    pieces = (data[at : at + 1000] for at in range(0, len(data), 1000))
    assert b"".join(damaged(pieces, damage, 3, len(data))) == once
    assert once != data


def test_the_seed_picks_places_that_are_not_named():
    assert do("truncate", seed=4) == do("truncate", seed=4)
    assert len({len(do("truncate", seed=seed)) for seed in range(8)}) == 8
    assert max(len(do("truncate", seed=seed)) for seed in range(8)) <= len(whole()) // 2
    assert do("flip-bits:100:50", seed=1) != do("flip-bits:100:50", seed=2)


@pytest.mark.generator
@pytest.mark.parametrize("kind", COMMON)
def test_memory_does_not_grow_with_the_dump(kind: str):
    """A dump of some 18 MB made of one sample again and again."""
    part = sample(2)
    interval = whole()[part.control : part.offset + part.end - part.start + 1]
    times = 18_000_000 // len(interval)

    def pieces() -> Iterator[bytes]:
        yield from itertools.repeat(interval, times)
        yield bytes(FRAME)

    size = times * len(interval) + FRAME
    tracemalloc.start()
    try:
        for _ in damaged(pieces(), [parse_damage(kind)], 1, size):
            pass
        assert tracemalloc.get_traced_memory()[1] < 9 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("tuncate", "did you mean truncate"),
        ("truncate:half", "is no place"),
        ("truncate:120%", "is no place"),
        ("end-missing:5", "has no place"),
        ("truncate:5:6", "has no count"),
        ("zero-frames:5:0", "is no count of frames"),
        ("zero-frames:5:-1", "at least 1"),
        ("control-lies:5:0", "not 0"),
    ],
)
def test_damage_that_cannot_be_meant_is_refused_with_what_can(kind: str, words: str):
    with pytest.raises(DamageError) as caught:
        parse_damage(kind)
    assert words in str(caught.value)


def test_the_page_says_of_every_kind_what_is_told_of_it():
    page = Path(__file__).parents[3] / "docs" / "generate.md"
    rows = [row for row in page.read_text(encoding="utf-8").splitlines() if row.startswith("| `")]
    for name, kind in KINDS.items():
        form = name + (":PLACE" if kind.placed else ":" if kind.count else "")
        form += ":COUNT" if kind.count else ""
        (row,) = [row for row in rows if row.startswith(f"| `{form}` |")]
        told = row.split("|")[3]
        words = told.replace("`", " ").replace(",", " ").split()
        named = {word for word in words if "_" in word or word == Code.UNWRAPPED.name}
        assert named - {"TOD_"} <= {code.name for code in Code}
        assert named or "refused" in told


def test_a_place_without_anything_to_damage_is_told():
    with pytest.raises(DamageError, match="no control record from byte"):
        do("control-missing:-5000")
    with pytest.raises(DamageError, match="no record from byte"):
        do("wrong-domain:100%")
    with pytest.raises(DamageError, match="no end-of-data record"):
        do("end-missing", "end-missing")
    with pytest.raises(DamageError, match="a pipe does not tell"):
        b"".join(damaged([whole()], [parse_damage("truncate:50%")], 1))


def checked(data: bytes) -> dict[str, int] | None:
    """The books of a check, which must balance; None for what is refused with a remedy."""
    refused: DumpError | None = None
    parts: dict[str, int] = {}
    try:
        with deltas_of(*FEW):
            parts = check_dump(Source(io.BytesIO(data), "a.mon")).bytes.as_dict()
    except DumpError as error:
        refused = error
    if refused is not None:
        assert refused.remedy
        return None
    assert parts["size"] == sum(parts.values()) - parts["size"]
    return parts


def survives(data: bytes) -> None:
    """Check and list end with findings, or refuse both."""
    parts = checked(data)
    if parts is None:
        with pytest.raises(DumpError):
            take_inventory(Source(io.BytesIO(data), "a.mon"))
        return
    source = Source(io.BytesIO(data), "a.mon")
    assert take_inventory(source).size == parts["size"]
    assert source.wrapping or parts["size"] == len(data)


@pytest.mark.generator
@settings(max_examples=15)
@given(data=st.data(), seed=st.integers(0, 99))
def test_no_damage_upon_damage_fells_a_reader(data: st.DataObject, seed: int):
    dump = whole()
    for kind in data.draw(st.lists(st.sampled_from(sorted(KINDS)), max_size=5)):
        place = data.draw(st.integers(0, len(dump))) if KINDS[kind].placed else ""
        try:
            dump = do(f"{kind}:{place}", data=dump, seed=seed)
        except DamageError:
            continue
    survives(dump)


@pytest.mark.generator
@settings(max_examples=15)
@given(place=st.integers(0, 2**14), bits=st.integers(0, 20), seed=st.integers(0, 99))
def test_no_damaged_compression_fells_a_reader(place: int, bits: int, seed: int):
    stored = gzip.compress(whole(), mtime=0)
    place = place % len(stored)
    broken = do(f"truncate:{-place or len(stored)}", data=stored)
    if bits:
        broken = do(f"flip-bits:{len(broken) // 2}:{bits}", data=broken, seed=seed)
    checked(broken)
