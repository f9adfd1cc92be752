"""`cpmon serve` of a day: readers at once, of pages that are ready and of pages that are not."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from html import unescape
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

from cpmon.generate import load_scenario, write_run

from .machine import MEGA
from .process import command
from .reducing import RUN, SCENARIO
from .result import Bar, Row, Section

READERS = 20
PAGES_EACH = 10
MEDIAN_BAR_S = 0.5
IDLE_S = 2
AFTER_INGEST_BAR_S = 1.0
"""Processor time of the server for the index, and for a page of a system that did not change."""
OTHER, OTHER_RUN = "small-lab", "LAB"
PAGE = f"page?run={RUN}"
SQL = "query?sql=" + quote(
    "select interval_end, total_util from system_summary_by_time order by all", safe=""
)
_OBJECT = re.compile(r'href="(object[^"]+)"')


def measure(folder: Path, intervals: int) -> list[Section]:
    """One section. The readers, threads of this process, share the processors with the server.

    Args:
        folder: where the dump and the store are made, and deleted again.

    Raises:
        AssertionError: a request was not answered by status 200.
    """
    place = folder / f"{SCENARIO}-served"
    shutil.rmtree(place, ignore_errors=True)
    dump = write_run(load_scenario(SCENARIO), RUN, place, intervals=intervals).dump
    store, size = place / "store", dump.stat().st_size
    command("ingest", str(dump), "--store", str(store))
    command("reduce", "--store", str(store))
    dump.unlink()
    with _server(store, warm=1) as (address, process):
        _wait_until_idle(process)
        ready = _at_once(address, [[PAGE, *_ready(address)]] * READERS, PAGES_EACH)
        sql = _at_once(address, [[SQL]] * READERS, 1)
    other = write_run(load_scenario(OTHER), OTHER_RUN, place).dump
    with _server(store, warm=0) as (address, process):
        first = _seconds(address, PAGE)
        objects = _links(address)
        cold = _at_once(address, [[link] for link in objects[-READERS:]], 1)
        _get(address, "")
        command("ingest", str(other), "--store", str(store))
        after = {page: _cpu_of(process, address, page) for page in ("", PAGE)}
    shutil.rmtree(place)
    given = (
        f"`{SCENARIO}` of {intervals:,} intervals, {size / MEGA:,.0f} MB, reduced; {READERS} "
        f"readers at once on {os.cpu_count()} processors, which the server shares with them"
    )
    rows = (
        _row(f"the page and its objects, {PAGES_EACH} for each reader", ready, "made by --warm 1"),
        _row("SQL of a day, with its chart", sql),
        _row("pages of other objects, one for each reader", cold, "nobody asked before"),
        Row("the page of the day, first reader", {"median s": first}, "alone"),
    )
    again = "after an ingest of another system, processor s"
    bars = (
        Bar("median page, s", statistics.median(ready), MEDIAN_BAR_S, at_least=False),
        Bar(f"index {again}", after[""], AFTER_INGEST_BAR_S, at_least=False),
        Bar(f"page {again}", after[PAGE], AFTER_INGEST_BAR_S, at_least=False),
    )
    return [Section("Serving a day", given, rows, bars)]


def _row(name: str, seconds: Sequence[float], note: str = "") -> Row:
    figures = {"median s": statistics.median(seconds), "longest s": max(seconds)}
    return Row(name, figures, note)


@contextmanager
def _server(store: Path, warm: int) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    words = ("serve", "--store", str(store), "--port", "0", "--warm", str(warm))
    process = subprocess.Popen(
        [sys.executable, "-m", "cpmon", *words],
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        yield process.stdout.readline().strip(), process
    finally:
        process.terminate()
        process.communicate()


def _wait_until_idle(process: subprocess.Popen[str]) -> None:
    """Waits until it uses no more than a twentieth of a processor."""
    before = -1.0
    while (now := _cpu_seconds(process)) - before > IDLE_S / 20:
        before = now
        time.sleep(IDLE_S)


def _cpu_seconds(process: subprocess.Popen[str]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _cpu_of(process: subprocess.Popen[str], address: str, page: str) -> float:
    """The processor time of the server for an answer."""
    before = _cpu_seconds(process)
    _get(address, page)
    return _cpu_seconds(process) - before


def _links(address: str) -> list[str]:
    """The objects that the page of the day links, in the order of its tables."""
    page = _get(address, PAGE).decode()
    return [*dict.fromkeys(unescape(link) for link in _OBJECT.findall(page))]


def _ready(address: str) -> list[str]:
    """The users at the head of the table that ranks them; their pages were made in advance."""
    page = _get(address, PAGE).decode()
    table = page[page.index('id="t-USER_RESOURCE_UTIL"') :]
    links = dict.fromkeys(unescape(link) for link in _OBJECT.findall(table))
    return [link for link in links if "kind=user" in link][: PAGES_EACH - 1]


def _at_once(address: str, readers: Sequence[Sequence[str]], requests: int) -> list[float]:
    """Seconds of all requests of readers who ask at once, each beginning at another page."""
    with ThreadPoolExecutor(len(readers)) as pool:
        answers = [
            pool.submit(partial(_in_turn, address, pages, n, requests))
            for n, pages in enumerate(readers)
        ]
        return [seconds for answer in answers for seconds in answer.result()]


def _in_turn(address: str, pages: Sequence[str], first: int, requests: int) -> list[float]:
    return [_seconds(address, pages[(first + n) % len(pages)]) for n in range(requests)]


def _seconds(address: str, page: str) -> float:
    started = time.perf_counter()
    _get(address, page)
    return time.perf_counter() - started


def _get(address: str, page: str) -> bytes:
    with urlopen(f"{address}{page}", timeout=600) as answer:
        assert answer.status == 200
        body: bytes = answer.read()
        return body
