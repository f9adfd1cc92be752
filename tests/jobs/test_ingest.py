"""`cpmon ingest` of several dumps at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.cli.main import Status, run
from cpmon.store import Store
from tests.faults.conftest import dump_of


@pytest.mark.slow
def test_dumps_land_at_once_as_they_do_one_by_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    dumps = [tmp_path / f"{number}.mon" for number in range(4)]
    for number, dump in enumerate(dumps):
        dump.write_bytes(dump_of(number) if number != 2 else b"nothing of that kind")
    stores, told = [tmp_path / "one", tmp_path / "two"], []
    for store, jobs in zip(stores, ("1", "2"), strict=True):
        words = ["ingest", *map(str, dumps), "--store", str(store), "--jobs", jobs]
        assert run(words) == Status.DAMAGED
        told.append(capsys.readouterr())
    landed = [[dump.dump for dump in Store(store).dumps()] for store in stores]
    assert landed[0] == landed[1] and len(landed[0]) == 3
    assert "2.mon failed\ncpmon: 2.mon is no monitor data" in told[1].err
    names = [line.split(":")[0] for line in told[1].out.splitlines() if ".mon: landed" in line]
    assert names == [str(dumps[number]) for number in (0, 1, 3)]
    assert told[1].out.splitlines()[-1].startswith("4 dumps landed by 2 processes in ")
    for name in ("useact", "interval"):
        (first, second) = (
            sorted(store.glob(f"records/*/*/*/*/{name}.parquet")) for store in stores
        )
        assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]


def test_standard_input_lands_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["ingest", "-", "--store", str(tmp_path / "store"), "--jobs", "2"]
    assert run(words) == Status.USAGE
    assert "standard input (-) lands alone" in capsys.readouterr().err
