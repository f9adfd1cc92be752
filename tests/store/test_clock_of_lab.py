"""A generated dump whose clock is set, or runs past 2042: its figures stay what they were."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpmon.generate import load_scenario, write_run
from cpmon.ingest import Code, ingest
from cpmon.ingest.container.monwrite import Framer
from cpmon.ingest.container.source import open_source
from cpmon.ingest.container.windows import windows
from cpmon.ingest.findings import Findings
from cpmon.schemas import layout
from cpmon.store import Store
from tests.store.test_intervals import ask

INTERVALS = 9
CLOCK = 4096
TABLES = ("sytprp", "sytrsg", "useact", "ioddev", "sytsyp", "sytrsp")
Figures = dict[tuple[str, int], dict[str, Any]]


@dataclass(frozen=True)
class Lab:
    """A dump as it was generated: its bytes, and where the clock of each record stands.

    Attributes:
        interval: (records,) number of the interval that each record is in.
        figures: deltas of its records, by table and place in the dump.
    """

    data: bytes
    clocks: np.ndarray
    interval: np.ndarray
    ipl: np.ndarray
    figures: Figures

    def moved(self, shifts: dict[int, int]) -> bytes:
        """The dump with the clock set by so many microseconds in some intervals."""
        data = np.frombuffer(self.data, np.uint8).copy()
        steps = np.zeros(self.interval.max() + 2, np.int64)
        for number, shift in shifts.items():
            steps[number:] += shift
        places = [(self.clocks, steps[self.interval])]
        if 0 in shifts:
            places.append((self.ipl, np.full(len(self.ipl), shifts[0])))
        for where, by in places:
            at = where[:, None] + np.arange(8)
            clock = data[at].copy().view(">u8")[:, 0].astype(np.uint64)
            clock += by.astype(np.uint64) * np.uint64(CLOCK)
            data[at] = clock.astype(">u8")[:, None].view(np.uint8)
        return data.tobytes()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    folder = tmp_path_factory.mktemp("lab")
    write_run(load_scenario("small-lab"), "LAB", folder, intervals=INTERVALS)
    (file,) = folder.glob("*.mon")
    starts, ends, ipls = [], [], []
    with open_source(file) as source:
        for window in windows(source, Framer(Findings())):
            index = window.index
            starts.append(index.start + window.base)
            ends.append(np.isin(np.arange(len(index)), index.interval_ends))
            ipls.append((index.start + window.base)[index.where(1, 4)])
    start, end = np.concatenate(starts), np.concatenate(ends)
    store = Store(folder / "store", create=True)
    ingest(file, store)
    return Lab(
        file.read_bytes(),
        start + 8,
        np.cumsum(end) - end,
        np.concatenate(ipls) + layout("mtrsys").field("systodst").offset,
        figures(store),
    )


def figures(store: Store) -> Figures:
    """The deltas of some tables: (table, place) -> column -> value."""
    found: Figures = {}
    for table in TABLES:
        counters = [f.name for f in layout(table).columns if f.is_cumulative and f.is_number]
        names = ", ".join(f'"{name}"' for name in ["seconds", *counters])
        rows = ask(store, f"SELECT record_offset, {names} FROM interval.{table}")
        for offset, *values in rows:
            found[table, offset] = dict(zip(["seconds", *counters], values, strict=True))
    return found


def landed(data: bytes, folder: Path) -> tuple[Store, Findings]:
    file, store = folder / "moved.mon", Store(folder / "store", create=True)
    file.write_bytes(data)
    return store, ingest(file, store).findings


def known(found: Figures) -> int:
    return sum(row["seconds"] is not None for row in found.values())


@pytest.mark.slow
@settings(max_examples=12)
@given(
    sets=st.dictionaries(
        st.sampled_from([2, 5, 8]),
        st.one_of(st.integers(-200, 200), st.integers(-40_000, 40_000)).filter(
            lambda s: abs(s) > 2
        ),
        min_size=1,
    )
)
def test_figures_of_a_dump_whose_clock_was_set_are_the_true_ones_or_none(
    sets: dict[int, int], lab: Lab, tmp_path_factory: pytest.TempPathFactory
):
    moved = lab.moved({n: s * 1_000_000 + 123_457 for n, s in sets.items()})
    store, findings = landed(moved, tmp_path_factory.mktemp("moved"))
    codes = findings.counts
    assert codes[Code.TOD_BACK] + codes[Code.CLOCK_SET] + codes[Code.INTERVAL_GAP] >= len(sets)

    found = figures(store)
    assert found.keys() == lab.figures.keys()
    for place, row in found.items():
        if row["seconds"] is not None:
            assert row == pytest.approx(lab.figures[place], abs=1e-6), place
    if len(sets) == 1 and abs(next(iter(sets.values()))) > 3600:  # no two stretches at a time
        crossed = sum(row["seconds"] is not None for row in lab.figures.values()) / (INTERVALS)
        assert known(found) == pytest.approx(known(lab.figures) - crossed, abs=1)


@pytest.mark.slow
def test_a_dump_of_the_night_in_which_the_clock_starts_again_at_0(lab: Lab, tmp_path: Path):
    """2042-09-17 23:53:47: three intervals end before, the others behind."""
    first = ask_first(lab)
    wrap = (1 << 52) - (0x7D91048BCA000000 >> 12)
    store, findings = landed(lab.moved({0: wrap - first - 150_000_000}), tmp_path)

    assert not findings.counts[Code.TOD_BACK] + findings.counts[Code.INTERVAL_GAP]
    assert figures(store) == lab.figures
    ends = ask(store, "SELECT min(interval_end)::VARCHAR, max(interval_end)::VARCHAR"
                      " FROM meta.interval")  # fmt: skip
    assert ends == [("2042-09-17 23:51:17.370496", "2042-09-18 00:00:17.370496")]
    ((ipl,),) = ask(store, "SELECT DISTINCT systodst_at::VARCHAR FROM monitor.mtrsys")
    assert ipl.startswith("2042-09-16 21:2")


def ask_first(lab: Lab) -> int:
    """When the first interval ends, microseconds since 1970."""
    closing = lab.clocks[np.flatnonzero(np.diff(lab.interval, append=-1))[0]]
    clock = int.from_bytes(lab.data[closing : closing + 8], "big")
    return (clock >> 12) - (0x7D91048BCA000000 >> 12)
