"""The walk in CONTRIBUTING is true: both commands enter its functions in the order of its stops."""

from __future__ import annotations

import importlib
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from cpmon.cli.main import run
from tests.batch.fleet import hourly

ROOT = Path(__file__).resolve().parents[1]
STOPS = re.findall(
    r"^(\d+)\. `([\w/]+)\.py` `([\w.]+)`",
    (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
    re.M,
)


def function_of(module: str, name: str) -> Callable[..., Any]:
    """The function of a stop."""
    found: Any = importlib.import_module(f"cpmon.{module.replace('/', '.')}")
    return reduce(getattr, name.split("."), found)


@contextmanager
def entered(codes: dict[CodeType, int]) -> Iterator[list[int]]:
    """The stops that are entered, in order, on any thread."""
    stops: list[int] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in codes:
            stops.append(codes[frame.f_code])

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield stops
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def is_walked(stops: list[int], order: range) -> bool:
    """Whether each stop is entered after the one before it."""
    left = iter(stops)
    return all(stop in left for stop in order)


def test_there_are_fifteen_stops_and_each_is_in_its_file():
    assert [int(number) for number, _, _ in STOPS] == [*range(1, 16)]
    for _, module, name in STOPS:
        assert (ROOT / f"{module}.py").exists()
        assert function_of(module, name).__code__.co_filename.endswith(f"{module}.py")


def test_the_commands_come_by_the_stops_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
):
    monkeypatch.chdir(tmp_path)
    Path("quiet-hour.mon").write_bytes(hourly("ALPHA", 0, 0).data)
    codes = {function_of(module, name).__code__: int(n) for n, module, name in STOPS}
    with entered(codes) as ingested:
        assert run(["ingest", "quiet-hour.mon", "--store", "perf"]) == 0
    with entered(codes) as reported:
        assert run(["report", "processors_by_time", "--store", "perf"]) == 0
    assert b"Util" in capfdbinary.readouterr().out
    assert is_walked(ingested, range(1, 11)), ingested
    assert is_walked(reported, range(11, 16)), reported
    assert set(ingested).isdisjoint(reported)
