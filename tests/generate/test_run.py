"""Files of a run: repeatable, complete or absent, the same dump in every compression."""

from __future__ import annotations

import gzip
import tomllib
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest

from cpmon.generate import (
    Compression,
    dump_frames,
    load_scenario,
    parse_scenario,
    stream_run,
    write_run,
)
from tests.generate.figures import dump_of
from tests.generate.plain_reader import records
from tests.generate.scenario.test_scenario import SMALL


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    scenario = load_scenario("timer")
    again = b"".join(dump_frames(scenario, "2600NP", intervals=3))
    assert again == dump_of("timer", "2600NP")
    other = b"".join(dump_frames(scenario, "2600NP", intervals=3, seed=1))
    assert len(other) == len(again)
    assert other != again


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_compressed_files_hold_the_same_dump_and_repeat_byte_for_byte(
    compression: Compression, tmp_path: Path
):
    scenario, seen = load_scenario("timer"), []
    first, second = (
        write_run(
            scenario,
            "2600NP",
            tmp_path / name,
            intervals=3,
            compression=compression,
            progress=seen.append,
        )
        for name in ("a", "b")
    )
    content = first.dump.read_bytes()
    assert content == second.dump.read_bytes()
    assert first.bytes == len(content)
    assert sum(seen) == 2 * len(dump_of("timer", "2600NP"))
    plain = content
    if compression == "gzip":
        plain = gzip.decompress(content)
    elif compression == "zstd":
        plain = pa.CompressedInputStream(pa.BufferReader(content), "zstd").read()
    assert plain == dump_of("timer", "2600NP")


def test_a_run_writes_its_dump_its_run_file_and_its_companions(tmp_path: Path):
    written = write_run(load_scenario("timer"), "3600P1", tmp_path, intervals=1)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["3600P1.hardware.csv", "3600P1.mon", "3600P1.run.toml"]
    about = tomllib.loads(written.run_file.read_text(encoding="utf-8"))
    assert about["run_id"] == "3600P1"
    assert about["system"] == "TIMER"
    assert about["base_run_id"] == "2600P"
    assert about["attributes"]["users"] == 600
    assert about["attributes"]["cp_level"] == "4.3.0"
    assert about["companions"] == {"hardware": "3600P1.hardware.csv"}


def test_the_span_of_the_run_file_holds_all_records_and_companion_rows(tmp_path: Path):
    write_run(load_scenario("large-storage"), "E01307E0", tmp_path, intervals=1)
    about = tomllib.loads((tmp_path / "E01307E0.run.toml").read_text(encoding="utf-8"))
    dump = (tmp_path / "E01307E0.mon").read_bytes()
    since, until = (about[key].timestamp() for key in ("since", "until"))
    unix = [r.tod / 4096e6 - 2_208_988_800 for r in records(dump)]
    assert since < min(unix) <= max(unix) <= until


def test_a_run_that_fails_leaves_no_dump(tmp_path: Path):
    big = SMALL.replace("count = 3", "count = 9000").replace('"GUEST"', '"GST"')
    small = parse_scenario(big.replace("= 2000\n", "= 2\n").replace("= 500\n", "= 5\n"), "x.toml")

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_run(small, "A", tmp_path, intervals=2, progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_intervals_are_deltas_so_a_dump_has_one_sample_more():
    for intervals in (1, 2, 5):
        dump = b"".join(dump_frames(load_scenario("timer"), "2600P", intervals=intervals))
        assert sum(r[2:4] == (1, 11) for r in records(dump)) == intervals + 1


@pytest.mark.generator
def test_memory_does_not_grow_with_the_number_of_intervals():
    def peak(intervals: int) -> int:
        tracemalloc.start()
        for _ in dump_frames(load_scenario("large-storage"), "E12187E0", intervals=intervals):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    few, many = peak(2), peak(8)
    assert many < few * 1.1
    assert many < 100 << 20


def test_a_paced_dump_is_the_same_each_interval_at_its_time():
    lab, waits = load_scenario("small-lab"), list[float]()
    paced = stream_run(lab, "LAB", intervals=3, pace=1e6, sleep=waits.append)

    assert b"".join(paced) == b"".join(map(bytes, dump_frames(lab, "LAB", intervals=3)))
    assert len(waits) == 4

    slow = stream_run(lab, "LAB", intervals=3, pace=60, sleep=waits.append)
    assert len(list(slow)) > 4
    assert waits[4] == 0 and [round(wait) for wait in waits[5:]] == [1, 2, 3]  # nobody slept
