"""Multithreading, from bytes: threads beside their cores, and the three sets of processor times.

The pages that place the fields are invented; none of IBM's has been seen in full.
"""

from __future__ import annotations

import struct
from pathlib import Path

import duckdb
import pytest

from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.schemas import layout
from cpmon.store import Store, connect
from tests.dumps import dump, fields, frame, frame_end, interval_end, record, samples, tod
from tests.pages import Line, grown, import_pages

pytestmark = pytest.mark.usefixtures("shipped_again")

SECOND = 4_096_000_000
TIMER = 0x7FFF_FFFF_0000_0000


def land(folder: Path, *sets: list[bytes], sysmt: int | None = None) -> duckdb.DuckDBPyConnection:
    """A catalogue over a dump of 7.3.0: a sample set a minute, in as many frames as needed."""
    mode = {} if sysmt is None else {"sysmt": sysmt}
    config = fields("mtrsys", 60, systmid="VMTEST", hcpcpeid="07030000", **mode)
    parts = []
    for n, records in enumerate(sets, 1):
        frames: list[list[bytes]] = [[config]] if n == 1 else [[]]
        for row in records:
            if sum(map(len, frames[-1])) + len(row) > 4000:
                frames.append([])
            frames[-1].append(row)
        *others, last = frames
        parts.append(
            samples(
                *(frame(*rows, frame_end(60 * n)) for rows in others),
                frame(*last, interval_end(60 * n)),
            )
        )
    folder.mkdir(exist_ok=True)
    (folder / "d.mon").write_bytes(dump(*parts))
    store = Store(folder / "store", create=True)
    ingest(folder / "d.mon", store)
    return connect(store, reductions())


def thread(cpu: int, second: float, busy: float) -> bytes:
    """SYTPRP of a thread that ran for a share of the time, all of it under SIE."""
    ran, waited = round(busy * second * SECOND), round((1 - busy) * second * SECOND)
    times = {"pfxprbtm": TIMER - ran, "pfxtmsys": TIMER, "pfxutime": ran, "pfxtotwt": waited}
    return fields("sytprp", second, pfxcpuad=cpu, **times)


def partition(name: str, second: float, cores: dict[int, float]) -> bytes:
    """SYTCUP of some cores of a partition, each dispatched for a share of the time."""
    head = {"lcupname": name, "lcuppnum": 1, "lcupcpct": len(cores), "calcpuof": 64}
    entries = b"".join(
        struct.pack(">HHBxQQ16s2x", core, 100, 0, round(busy * 1e6 * second), 0, b"\x40" * 16)
        for core, busy in cores.items()
    )
    row = fields("sytcup", second, **head, calcpuln=40, lcutctod=tod(second), length=64)
    return record(0, 16, row[20:] + entries, second)


def machine(second: float, cores: int) -> bytes:
    return fields("sytcug", second, lparname="PROD", lcutpcct=cores)


def two_by_two(second: float) -> list[bytes]:
    """Two cores of two threads, and a partition of the same numbers that is none of ours."""
    threads = [thread(n, second, busy) for n, busy in enumerate((0.5, 0.3, 0.2, 0.0))]
    ours, other = partition("PROD", second, {0: 0.7, 1: 0.2}), partition("TEST", second, {0: 0.9})
    return [*threads, machine(second, 4), ours, other]


def notes(con: duckdb.DuckDBPyConnection, name: str) -> str:
    return "\n".join(report(con, name).notes)


@pytest.mark.slow
def test_two_cores_of_two_threads(tmp_path: Path) -> None:
    without = land(tmp_path / "without", two_by_two(60), two_by_two(120))
    found = report(without, "PROCESSORS_BY_TIME")
    assert {"core", "core_util"}.isdisjoint(c.name for c in found.report.columns)
    assert "if the system runs multithreaded" in notes(without, "PROCESSORS_BY_TIME")
    assert "MTRSYS_SYSMT; IBM's pages bring it: MRMTRSYS" in notes(without, "PROCESSORS_BY_TIME")

    flag = Line(184, "Bitstring", 1, "SYSMT", "Threads.", bits=[("1.......", "MTRSYS_MTON", "")])
    import_pages(tmp_path / "own", grown("mtrsys", "7.3.0", flag))
    con = land(tmp_path / "with", two_by_two(60), two_by_two(120), sysmt=0x80)
    found = report(con, "PROCESSORS_BY_TIME")
    lines = [
        (line["cpu"], line["core"], round(line["total_util"], 6), round(line["core_util"], 6))
        for line in found.table.to_pylist()
    ]
    # 42 of 60 seconds of core 0 were dispatched; its threads ran 30 and 18 seconds.
    assert lines == [(0, 0, 0.5, 0.7), (1, 0, 0.3, 0.7), (2, 1, 0.2, 0.2), (3, 1, 0.0, 0.2)]
    said = notes(con, "PROCESSORS_BY_TIME")
    assert "Processor times are raw times of threads: two threads share a core" in said
    assert "Core disp is the time for which the machine dispatched the core" in said
    assert "MRMTRSYS" not in said
    off = land(tmp_path / "off", two_by_two(60), two_by_two(120), sysmt=0)
    assert "threads" not in notes(off, "PROCESSORS_BY_TIME")
    (line,) = report(con, "PROCESSORS_BY_TIME", by=None, objects={"cpu": 1}).table.to_pylist()
    assert (line["core"], round(line["core_util"], 6)) == (0, 0.7)

    settings = {
        s["label"]: s["setting_value"] for s in report(con, "SYSTEM_CONFIG").table.to_pylist()
    }
    assert settings["Multithreading"] == "enabled"

    off = land(tmp_path / "off", two_by_two(60), two_by_two(120), sysmt=0)
    assert "core" not in report(off, "PROCESSORS_BY_TIME").table.column_names


@pytest.mark.slow
def test_160_threads_of_80_cores_that_a_second_record_continues(tmp_path: Path) -> None:
    import_pages(
        tmp_path / "own", grown("mtrsys", "7.3.0", Line(184, "Unsigned", 1, "SYSMT", "Threads."))
    )

    def every(second: float) -> list[bytes]:
        busy = {core: (core + 10) / 100 for core in range(80)}
        halves = [{c: busy[c] for c in part} for part in (range(40), range(40, 80))]
        threads = [thread(cpu, second, cpu / 200) for cpu in range(160)]
        cores = [partition("PROD", second, half) for half in halves]
        return [*threads, machine(second, 80), *cores]

    con = land(tmp_path / "d", every(60), every(120), sysmt=1)
    lines = report(con, "PROCESSORS_BY_TIME").table.to_pylist()
    assert [line["cpu"] for line in lines] == list(range(160))
    for line in lines:
        core = line["cpu"] // 2
        assert line["core"] == core
        assert line["total_util"] == pytest.approx(line["cpu"] / 200, abs=1e-9)
        assert line["core_util"] == pytest.approx((core + 10) / 100)
    (line,) = report(con, "LPAR").table.to_pylist()
    assert (line["logical_processors"], line["seconds"]) == (80, 60)
    assert line["busy_util"] == pytest.approx(sum(range(10, 90)) / 100 / 80)
    (line,) = report(con, "SYSTEM_SUMMARY_BY_TIME").table.to_pylist()
    assert line["total_util"] == pytest.approx(159 / 2 / 200)


@pytest.mark.slow
def test_the_three_sets_of_times_of_users(tmp_path: Path) -> None:
    def user(second: float, name: str, cpu: int, raw: float, mt1: float, pro: float) -> bytes:
        """USEACT of a virtual processor: seconds in each set since second 60."""
        known = layout("useact").dtype.names or ()
        sets = {"vmdttime": raw, "vmdvtime": raw, "vmdttime_mt1": mt1, "vmdttime_pro": pro}
        values = {k: round(v * SECOND) for k, v in sets.items() if k in known}
        return fields("useact", second, vmduser=name, vmdcpuad=cpu, **values)

    def all_users(second: float) -> list[bytes]:
        share = second - 60
        return [
            # ANNA: 0.6 and 0.3 of a thread, 0.5 and 0.2 alone, 0.4 and 0.1 of a core.
            user(second, "ANNA", 0, 0.6 * share, 0.5 * share, 0.4 * share),
            user(second, "ANNA", 1, 0.3 * share, 0.2 * share, 0.1 * share),
            # BERT: CP keeps no prorated time. CARL: idle, so that 0 is 0 in every set.
            user(second, "BERT", 0, 0.2 * share, 0.1 * share, 0),
            user(second, "CARL", 0, 0, 0, 0),
        ]

    without = land(tmp_path / "without", all_users(60), all_users(120))
    said = notes(without, "USER_RESOURCE_UTIL")
    for missing in ("USEACT_VMDTTIME_MT1", "USEACT_VMDTTIME_PRO", "MRMTRSYS, MRUSELOF, MRUSEACT"):
        assert missing in said
    assert "cpu_util_mt1" not in report(without, "USER_RESOURCE_UTIL").table.column_names

    pages = []
    for dsect in ("useact", "uselof"):
        end = layout(dsect).length
        names = ("VMDTTIME_MT1", "VMDTTIME_PRO")
        new = [Line(end + 8 * n, "Character", 8, name) for n, name in enumerate(names)]
        pages.append(grown(dsect, "7.3.0", *new))
    import_pages(tmp_path / "own", *pages)
    con = land(tmp_path / "with", all_users(60), all_users(120))
    lines = {line["userid"]: line for line in report(con, "USER_RESOURCE_UTIL").table.to_pylist()}
    sets = ("cpu_util", "cpu_util_mt1", "cpu_util_prorated")
    assert [lines["ANNA"][name] for name in sets] == pytest.approx([0.9, 0.7, 0.5])
    assert [lines["BERT"][name] for name in sets] == [pytest.approx(0.2), pytest.approx(0.1), None]
    assert [lines["CARL"][name] for name in sets] == [0, 0, 0]
    said = notes(con, "USER_RESOURCE_UTIL")
    assert "%CPU MT-1 is what CP estimates for one thread on each core" in said
    assert "VMDTTIME" not in said
