"""Partitions by type of processor, from bytes: weights, entitlements, and what changes in flight.

Percentages are worked out by hand; the examples of IBM and Velocity Software are named.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import duckdb
import pytest

from cpmon.core.errors import CpmonError
from cpmon.generate import write_run
from cpmon.generate.loading import load_scenario
from cpmon.ingest import ingest
from cpmon.reduce.page.chart import CHARTS, read_points
from cpmon.reduce.page.plot import plot_report
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.reduce.reports.report_sql import Span
from cpmon.reduce.reports.report_text import render_report
from cpmon.store import Store, connect
from tests.dumps import dump, fields, frame, frame_end, interval_end, record, samples, tod

TIMER = 0x7FFF_FFFF_0000_0000
SECOND = 4_096_000_000
DEDICATED, CAPPED, ONLINE, CAPPED_204 = 0x80, 0x20, 0x20, 0x40
"""LCUCFLGS as inferred, and as DIAGNOSE X'204' has it."""
POOLS = "PHYSICAL_PROCESSORS"
MINUTES = 4
MIXED = Path(__file__).parents[1] / "generate" / "mixed-engines.toml"


class Engines(NamedTuple):
    """The processors of one type of a partition; each is busy for a share of the time."""

    kind: str
    count: int
    weight: int = 0
    busy: float = 0.5
    flags: int = 0


def partition(
    name: str,
    number: int,
    minute: int,
    *engines: Engines,
    first: int = 0,
    entries: int | None = None,
) -> bytes:
    """SYTCUP of a partition; its counters began at 10**9. Only so many `entries` are in it."""
    rows = [engine for engine in engines for _ in range(engine.count)]
    head = {"lcupname": name, "lcuppnum": number, "lcupcpct": len(rows), "calcpuof": 64}
    written = b""
    for cpu, (kind, _, weight, busy, flags) in enumerate(rows[:entries], first):
        active = 10**9 + round(busy * 60e6 * minute)
        text = kind.ljust(16).encode("cp037")
        written += struct.pack(">HHBxQQ16s2x", cpu, weight, flags, active, active, text)
    row = fields("sytcup", 60 * minute, **head, calcpuln=40, lcutctod=tod(60 * minute), length=64)
    return record(0, 16, row[20:] + written, 60 * minute)


def physical(minute: int, entries: int | None = None, **types: int) -> bytes:
    """SYTCUM: the physical processors by type, none of which manages anything."""
    kinds = [kind.strip("_") for kind, count in types.items() for _ in range(count)]
    row = fields("sytcum", 60 * minute, lcupcpct=len(kinds), calmibof=36, calmibln=28,
                 lcutctod=tod(60 * minute), length=36)  # fmt: skip
    entries = b"".join(
        struct.pack(">HQ16s2x", cpu, 0, kind.ljust(16).encode("cp037"))
        for cpu, kind in enumerate(kinds[:entries])
    )
    return record(0, 17, row[20:] + entries, 60 * minute)


def machine(minute: int, partitions: int, processors: int, own: str = "OWN") -> bytes:
    return fields("sytcug", 60 * minute, lparname=own, lcutnpar=partitions, lcutpcct=processors)


def land(folder: Path, *sets: Sequence[bytes]) -> duckdb.DuckDBPyConnection:
    """A catalogue over a dump with a sample set a minute."""
    config = fields("mtrsys", systmid="VMTEST", hcpcpeid="05030000")
    parts = []
    for minute, records in enumerate(sets):
        frames: list[list[bytes]] = [[] if minute else [config]]
        for row in records:
            if sum(map(len, frames[-1])) + len(row) > 4000:
                frames.append([])
            frames[-1].append(row)
        *full, last = (frame(*rows, frame_end(60 * minute)) for rows in frames[:-1]), frames[-1]
        parts.append(samples(*full[0], frame(*last, interval_end(60 * minute))))
    folder.mkdir(exist_ok=True)
    (folder / "d.mon").write_bytes(dump(*parts))
    store = Store(folder / "store", create=True)
    ingest(folder / "d.mon", store)
    return connect(store, reductions())


def steady(
    folder: Path, engines: dict[str, tuple[Engines, ...]], minutes: int = MINUTES, **types: int
) -> duckdb.DuckDBPyConnection:
    """The same partitions, numbered from 1, in each minute of a machine with these processors."""
    return land(
        folder,
        *(
            [
                machine(minute, len(engines), sum(types.values())),
                *(partition(n, i, minute, *e) for i, (n, e) in enumerate(engines.items(), 1)),
                physical(minute, **types),
            ]
            for minute in range(minutes)
        ),
    )


def lines(con: duckdb.DuckDBPyConnection) -> dict[tuple[str, str | None], dict[str, Any]]:
    """The lines of LPAR by partition and type."""
    table = report(con, "LPAR").table.to_pylist()
    return {(line["partition_name"], line["processor_type"]): line for line in table}


def by_minute(con: duckdb.DuckDBPyConnection, column: str, name: str, kind: str) -> list[Any]:
    """A column of a partition's type, sample by sample."""
    rows = con.execute(
        f"SELECT {column} FROM lpar_by_time WHERE partition_name = ? AND processor_type = ?"
        " ORDER BY interval_end",
        [name, kind],
    ).fetchall()
    return [value for (value,) in rows]


def pool(con: duckdb.DuckDBPyConnection, columns: str) -> list[Any]:
    """Columns of the physical CPs, sample by sample."""
    return con.execute(
        f"SELECT {columns} FROM physical_processors_by_time"
        " WHERE processor_type = 'CP' ORDER BY interval_end"
    ).fetchall()


def test_the_example_of_esalpars_prints(tmp_path: Path) -> None:
    dumped = write_run(load_scenario(MIXED), "MIXED", tmp_path, intervals=5)
    store = Store(tmp_path / "store", create=True)
    ingest(dumped.dump, store)
    result = report(connect(store, reductions()), "LPAR")
    # "Total weight for IFL engines is 740, the weight for the VSIVM4 LPAR is 200": 27.03 %; of
    # 4 IFLs that is 108.1 % of one, and 9.01 % for each of its 3.
    shown = {(cells[0], cells[2]): cells for cells in map(str.split, _lines(result))}
    assert shown["VSIVM4", "IFL"][5:9] == ["3", "200", "27.03", "108.1"]
    assert shown["VSIVM1", "IFL"][5:9] == ["2", "300", "40.54", "162.2"]
    assert shown["VSIVM1", "CP"][5:9] == ["1", "400", "40.00", "80.0"]
    assert shown["VSIZOS", "zIIP"][5:9] == ["1", "600", "100.00", "100.0"]
    found = {(r["partition_name"], r["processor_type"]): r for r in result.table.to_pylist()}
    own = found["VSIVM4", "IFL"]
    assert own["weight_share"] / own["logical_processors"] == pytest.approx(0.0901, abs=5e-5)
    # What it is dispatched for is 3 processors times their busy time, in two ways.
    used = own["entitlement_util"] * own["entitlement"]
    assert used == pytest.approx(3 * own["busy_util"]) == pytest.approx(4 * own["physical_util"])


def _lines(result: Any) -> list[str]:
    return [line for line in render_report(result).decode().splitlines() if line.startswith("VSI")]


def test_the_examples_of_the_planning_guide(tmp_path: Path) -> None:
    """Weights 300, 100 and 900 are 23.1, 7.7 and 69.2 % (IBM, PR/SM Planning Guide)."""
    con = steady(
        tmp_path,
        {
            "ZVSE": (Engines("CP", 1, 300),),
            "ZOSTEST": (Engines("CP", 6, 100),),
            "ZVM": (Engines("CP", 2, 900),),
        },
        CP=6,
    )
    found = lines(con)
    shares = {name: round(100 * found[name, "CP"]["weight_share"], 1) for name, _ in found if _}
    assert shares == {"ZVSE": 23.1, "ZOSTEST": 7.7, "ZVM": 69.2}


def test_each_type_is_a_line_of_its_own(tmp_path: Path) -> None:
    con = steady(
        tmp_path,
        {
            "OWN": (Engines("CP", 1, 200, 1.0), Engines("IFL", 1, 500, 0.0)),
            "PROD": (Engines("CP", 2, 700, 0.6), Engines("IFL", 1, 100, 0.9)),
            "SPEC": (Engines("IIP", 1, 50, 0.25), Engines("AAP", 1, 50, 0.75)),
        },
        **{"CP": 2, "IFL": 2, "IIP": 1, "AAP": 1},
    )
    found = lines(con)
    assert set(found) == {
        *(("OWN", "CP"), ("OWN", "IFL"), ("PROD", "CP"), ("PROD", "IFL")),
        *(("SPEC", "zIIP"), ("SPEC", "zAAP"), ("*PHYSICAL*", None)),
    }
    cp, ifl = found["OWN", "CP"], found["OWN", "IFL"]
    assert (cp["busy_util"], cp["weight"], cp["weight_share"]) == (1.0, 200, pytest.approx(2 / 9))
    assert (ifl["busy_util"], ifl["weight"], ifl["weight_share"]) == (0, 500, pytest.approx(5 / 6))
    assert cp["entitlement"] == pytest.approx(2 * 2 / 9)
    assert cp["entitlement_util"] == pytest.approx(1 / (4 / 9))
    assert found["PROD", "CP"]["physical_util"] == pytest.approx(1.2 / 2)
    assert found["PROD", "IFL"]["physical_util"] == pytest.approx(0.9 / 2)
    assert found["SPEC", "zAAP"]["entitlement"] == 1
    pools = {row["processor_type"]: row for row in report(con, POOLS).table.to_pylist()}
    assert {
        kind: (row["processors"], row["partitions"], row["busy_processors"], row["pool_util"])
        for kind, row in pools.items()
    } == {
        "CP": (2, 2, None, None),  # more than there are: not known
        "IFL": (2, 2, pytest.approx(0.9), pytest.approx(0.45)),
        "zIIP": (1, 1, pytest.approx(0.25), pytest.approx(0.25)),
        "zAAP": (1, 1, pytest.approx(0.75), pytest.approx(0.75)),
    }
    one = report(con, "LPAR", objects={"partition": "PROD"}, by=None)
    assert one.table.column("processor_type").to_pylist() == ["CP", "IFL"] * 3
    assert one.mean == {}  # of two types there is no mean


def test_a_chart_has_a_series_for_each_partition_and_type(tmp_path: Path) -> None:
    """And for what the machine needs, which has neither number nor type."""
    engines = (Engines("CP", 1, 200, 1.0), Engines("IFL", 1, 500, 0.25))
    con = steady(tmp_path, {"OWN": engines}, CP=2, IFL=1)
    (chart,) = (chart for chart in CHARTS if chart.name == "partitions")
    points = read_points(con, chart, Span("VMTEST"), None, ZoneInfo("UTC"))
    assert points.order == ("OWN 1 CP", "OWN 1 IFL", "*PHYSICAL*")
    values = dict.fromkeys(points.order, 0.0)
    for row in points.table.to_pylist():
        values[row["series"]] = row["value"]
    assert list(values.values()) == pytest.approx([50, 25, 0])


def test_a_partition_of_one_type_has_a_mean_line(tmp_path: Path) -> None:
    own, other = Engines("IFL", 2, 10, 0.25), Engines("IFL", 1, 20)
    con = steady(tmp_path, {"OWN": (own,), "OTHER": (other,)}, IFL=3)
    one = report(con, "LPAR", objects={"partition": "OWN"})
    assert one.mean["busy_util"] == pytest.approx(0.25)
    assert one.mean["entitlement_util"] == pytest.approx(0.5 / (3 * 10 / 30))


@pytest.mark.parametrize(("weight", "flags"), [(0, DEDICATED), (0xFFFF, 0), (0xFFFF, DEDICATED)])
def test_dedicated_processors_take_no_part_in_weights(
    tmp_path: Path, weight: int, flags: int
) -> None:
    """IBM's calculator: 15 IFLs, 7 of them dedicated to two partitions, leave 8."""
    alone = (Engines("IFL", 4, weight, 1.0, flags), Engines("CP", 1, 40))
    con = steady(
        tmp_path,
        {
            "OWN": (Engines("IFL", 6, 381),),
            "OTHER": (Engines("IFL", 6, 419),),
            "ALONE": alone,
            "ALONE2": (Engines("IFL", 3, weight, 1.0, flags),),
        },
        IFL=15,
        CP=1,
    )
    found = lines(con)
    # "An entitlement of 381 % means that it can use 3.81 physical cores' worth of power."
    assert found["OWN", "IFL"]["entitlement"] == pytest.approx(3.81)
    mine = found["ALONE", "IFL"]
    assert (mine["is_dedicated"], mine["weight"]) == (True, 0)
    assert (mine["weight_share"], mine["entitlement"], mine["entitlement_util"]) == (None,) * 3
    assert mine["physical_util"] == pytest.approx(4 / 15)
    shared = found["ALONE", "CP"]
    assert (shared["is_dedicated"], shared["weight_share"], shared["entitlement"]) == (False, 1, 1)


@pytest.mark.slow
def test_without_the_types_of_all_physical_processors_nothing_is_a_share_of_them(
    tmp_path: Path,
) -> None:
    """Two of the four are IFLs that no partition has: 4 would be the whole, not the CPs."""
    two = {"OWN": (Engines("CP", 1, 200),), "PROD": (Engines("CP", 2, 540),)}
    known = lines(steady(tmp_path / "known", two, CP=2, IFL=2))["OWN", "CP"]
    assert known["entitlement"] == pytest.approx(2 * 200 / 740)
    assert known["physical_util"] == pytest.approx(0.25)
    for name, kinds in (("none", {}), ("some", {"CP": 2}), ("unnamed", {"CP": 2, "_": 2})):
        con = land(
            tmp_path / name,
            *(
                [
                    machine(minute, 2, 4),
                    partition("OWN", 1, minute, *two["OWN"]),
                    partition("PROD", 2, minute, *two["PROD"]),
                    *([physical(minute, **kinds)] if kinds else []),
                ]
                for minute in range(3)
            ),
        )
        line = lines(con)["OWN", "CP"]
        assert line["weight_share"] == pytest.approx(200 / 740)
        assert (line["entitlement"], line["entitlement_util"], line["physical_util"]) == (None,) * 3
        assert line["busy_util"] == pytest.approx(0.5)


@pytest.mark.parametrize("counted", [2, 1])
def test_without_a_record_of_every_partition_no_weight_is_a_share(
    tmp_path: Path, counted: int
) -> None:
    """As where the machine gives away performance data of this partition alone.

    Whether it counts the others then is not public.
    """
    con = land(
        tmp_path,
        *(
            [
                machine(m, counted, 2),
                partition("OWN", 1, m, Engines("CP", 1, 200)),
                physical(m, CP=2),
            ]
            for m in range(3)
        ),
    )
    line = lines(con)["OWN", "CP"]
    assert line["weight"] == 200
    assert (line["weight_share"], line["entitlement"], line["entitlement_util"]) == (None,) * 3
    assert line["physical_util"] == pytest.approx(0.25)
    (pool,) = report(con, POOLS).table.to_pylist()
    assert (pool["partitions"], pool["busy_processors"], pool["pool_util"]) == (None,) * 3
    assert pool["processors"] == 2


def changing(folder: Path, *weights: tuple[int, int]) -> duckdb.DuckDBPyConnection:
    """Two partitions on two CPs whose weights are set from time to time."""
    return land(
        folder,
        *(
            [
                machine(minute, 2, 2),
                partition("OWN", 1, minute, Engines("CP", 1, own, 0.5)),
                partition("PROD", 2, minute, Engines("CP", 2, other, 0.25)),
                physical(minute, CP=2),
            ]
            for minute, (own, other) in enumerate(weights)
        ),
    )


def test_a_weight_that_is_set_in_flight(tmp_path: Path) -> None:
    con = changing(tmp_path, (200, 800), (200, 800), (200, 800), (500, 500), (500, 500))
    assert by_minute(con, "entitlement", "OWN", "CP") == pytest.approx([0.4, 0.4, 0.4, 1, 1])
    # In minute 3 it had one of the two for a time that nothing tells.
    used = by_minute(con, "entitlement_util", "OWN", "CP")
    assert used == [None, pytest.approx(1.25), pytest.approx(1.25), None, pytest.approx(0.5)]
    line = lines(con)["OWN", "CP"]
    assert (line["weight"], line["entitlement"]) == (500, 1)
    # 90 seconds were used of 24 + 24 + 60 that it was entitled to.
    assert line["entitlement_util"] == pytest.approx(90 / 108)
    assert line["busy_util"] == pytest.approx(0.5)


def test_processors_with_several_weights_have_none(tmp_path: Path) -> None:
    mixed = (Engines("CP", 1, 200), Engines("CP", 1, 300))
    con = steady(tmp_path, {"OWN": mixed, "PROD": (Engines("CP", 1, 100),)}, CP=4)
    found = lines(con)
    assert found["OWN", "CP"]["weight"] is None
    assert found["PROD", "CP"]["weight_share"] is None
    assert found["PROD", "CP"]["physical_util"] == pytest.approx(0.125)


def test_a_partition_that_is_activated_and_deactivated(tmp_path: Path) -> None:
    """Minutes 2 to 4 of 6; before and behind it is defined, without a processor."""
    con = land(
        tmp_path,
        *(
            [
                machine(minute, 2, 2),
                partition("OWN", 1, minute, Engines("CP", 1, 100, 0.5)),
                partition("GUEST", 2, minute, *[Engines("CP", 1, 300, 0.5)] * (2 <= minute <= 4)),
                physical(minute, CP=2),
            ]
            for minute in range(7)
        ),
    )
    found = lines(con)
    active, defined = found["GUEST", "CP"], found["GUEST", None]
    # Of minute 2 it is not known how long it was active.
    assert (active["seconds"], active["busy_util"]) == (120, pytest.approx(0.5))
    assert (defined["logical_processors"], defined["seconds"]) == (0, 180)
    assert (defined["weight"], defined["busy_util"], defined["entitlement"]) == (None,) * 3
    entitlement = by_minute(con, "entitlement", "OWN", "CP")
    # Minute 5 alone does not tell a partition that is gone from a record that is missing.
    assert entitlement == pytest.approx([2, 2, 0.5, 0.5, 0.5, None, 2])
    used = by_minute(con, "entitlement_util", "OWN", "CP")
    expected = [None, 0.25, None, 1, 1, None, None]
    assert used == [value and pytest.approx(value) for value in expected]
    assert by_minute(con, "active_us", "GUEST", "CP") == [None, 30_000_000, 30_000_000]
    followed = report(con, "LPAR", objects={"partition": "GUEST"})
    drawn = plot_report(followed, "svg", ["busy_util"]).decode()
    assert "Partition GUEST Number 2 Type CP" in drawn


@pytest.mark.parametrize(
    ("before", "after"), [(("OLD", 2), ("NEW", 2)), (("SAME", 2), ("SAME", 3))]
)
def test_another_name_or_number_is_another_partition(
    tmp_path: Path, before: tuple[str, int], after: tuple[str, int]
) -> None:
    """The counters of the second one are those of the first with 500 s more."""
    later = Engines("CP", 1, 300, 3.0)
    con = land(
        tmp_path,
        *(
            [
                machine(minute, 2, 2),
                partition("OWN", 1, minute, Engines("CP", 1, 100)),
                partition(*before, minute, Engines("CP", 1, 300, 0.25))
                if minute < 3
                else partition(*after, minute, later._replace(busy=0.75)),
                physical(minute, CP=2),
            ]
            for minute in range(6)
        ),
    )
    table = report(con, "LPAR").table.to_pylist()
    shown = {(line["partition_name"], line["partition_number"]): line for line in table}
    assert shown[before]["busy_util"] == pytest.approx(0.25)
    assert shown[after]["busy_util"] == pytest.approx(0.75)
    assert (shown[before]["seconds"], shown[after]["seconds"]) == (120, 120)


def test_no_delta_spans_the_change_of_a_processors_type(tmp_path: Path) -> None:
    """Processor 1 is a CP for three minutes, then an IFL, then a CP again."""
    con = land(
        tmp_path,
        *(
            [
                machine(minute, 1, 4),
                partition(
                    *("OWN", 1, minute),
                    Engines("CP", 1, 100, 0.5),
                    Engines("IFL" if 3 <= minute < 6 else "CP", 1, 100, 0.25),
                ),
                physical(minute, CP=2, IFL=2),
            ]
            for minute in range(8)
        ),
    )
    assert by_minute(con, "active_us", "OWN", "IFL") == [None, 15_000_000, 15_000_000]
    both, one = 45_000_000, 30_000_000
    # In minute 3 the second CP left and in minute 6 it came: the sum of both is not known.
    expected = [None, both, both, None, one, one, None, both]
    assert by_minute(con, "active_us", "OWN", "CP") == expected
    line = lines(con)["OWN", "CP"]
    assert line["busy_util"] == pytest.approx((3 * 45 + 4 * 30) / (3 * 120 + 4 * 60))
    assert line["physical_util"] == pytest.approx((3 * 45 + 2 * 30) / (5 * 120))


def test_where_all_processors_have_the_bit_it_does_not_say_that_they_are_capped(
    tmp_path: Path,
) -> None:
    capped = ONLINE | CAPPED_204
    everyone = {
        "OWN": (Engines("CP", 1, 100, 0.5, ONLINE),),
        "HELD": (Engines("CP", 1, 100, 0.5, capped), Engines("CP", 1, 100, 0.0, 0)),
    }
    found = lines(steady(tmp_path / "online", everyone, CP=4))
    assert found["OWN", "CP"]["is_capped"] is None
    assert found["HELD", "CP"]["is_capped"] is True
    one = {"OWN": (Engines("CP", 1, 100),), "HELD": (Engines("CP", 1, 100, 0.5, CAPPED),)}
    found = lines(steady(tmp_path / "one", one, CP=4))
    assert (found["OWN", "CP"]["is_capped"], found["HELD", "CP"]["is_capped"]) == (False, True)


def processor(cpu: int, minute: int, kind: int, busy: float, waits: float) -> bytes:
    """SYTPRP of a processor that ran and waited for a share of the time."""
    ran, waited = round(busy * 60 * minute * SECOND), round(waits * 60 * minute * SECOND)
    times = {"pfxprbtm": TIMER - ran, "pfxtmsys": TIMER, "pfxutime": ran, "pfxtotwt": waited}
    return fields("sytprp", 60 * minute, pfxcpuad=cpu, pfxcputy=kind, **times)


def suspended(folder: Path, *kinds: int) -> dict[str, float | None]:
    """By type, of a partition with a CP, which waits, and two IFLs, which others hold up."""
    con = land(
        folder,
        *(
            [
                *(
                    processor(cpu, minute, kind, 0.5, 0.5 if kind == 0 else 0.3)
                    for cpu, kind in enumerate(kinds)
                ),
                machine(minute, 1, 4),
                partition("OWN", 1, minute, Engines("CP", 1, 100), Engines("IFL", 2, 100)),
                physical(minute, CP=2, IFL=2),
            ]
            for minute in range(3)
        ),
    )
    return {
        kind: line["suspended_util"]
        for (name, kind), line in lines(con).items()
        if kind and name == "OWN"
    }


@pytest.mark.slow
def test_the_time_that_the_own_partition_was_not_dispatched_is_of_its_types(
    tmp_path: Path,
) -> None:
    expected = {"CP": pytest.approx(0, abs=1e-9), "IFL": pytest.approx(0.2)}
    assert suspended(tmp_path / "cores", 0, 3, 3) == expected
    # With threads SYTPRP has two for each IFL, and one for a CP.
    assert suspended(tmp_path / "threads", 0, 3, 3, 3, 3) == expected
    # SYTPRP calls all of them CPs: which are the IFLs is not known.
    assert suspended(tmp_path / "apart", 0, 0, 0) == {"CP": None, "IFL": None}


def test_processors_show_the_same_names(tmp_path: Path) -> None:
    con = land(
        tmp_path, *([processor(n, m, n, 0.5, 0.5) for n in (0, 2, 3, 5, 9)] for m in range(2))
    )
    table = report(con, "PROCESSORS_BY_TIME").table
    assert table.column("cpu_type").to_pylist() == ["CP", "zAAP", "IFL", "zIIP", "9"]


@pytest.mark.parametrize("minute", [2, pytest.param(3, marks=pytest.mark.long)])
@pytest.mark.parametrize("place", range(5))
def test_a_lost_record_changes_no_figure_but_to_blank(
    tmp_path: Path, minute: int, place: int
) -> None:
    """Each interval is like the others, so that a share of any of them is that of all."""
    every = {
        "OWN": (Engines("CP", 1, 200), Engines("IFL", 1, 50)),
        "PROD": (Engines("CP", 2, 540),),
    }
    sets = [
        [
            machine(m, 2, 4),
            partition("OWN", 1, m, *every["OWN"][:1]),
            partition("OWN", 1, m, *every["OWN"][1:], first=1),  # continues the one before it
            partition("PROD", 2, m, *every["PROD"]),
            physical(m, CP=2, IFL=2),
        ]
        for m in range(4)
    ]
    del sets[minute][place]
    found = lines(land(tmp_path, *sets))
    expected = {
        ("OWN", "CP"): (2 * 200 / 740, 0.25, 1 * 0.5 / (2 * 200 / 740)),
        ("OWN", "IFL"): (2, 0.25, 0.25),
        ("PROD", "CP"): (2 * 540 / 740, 0.5, 1 / (2 * 540 / 740)),
    }
    for key, wanted in expected.items():
        line = found[key]
        values = (line["entitlement"], line["physical_util"], line["entitlement_util"])
        for value, right in zip(values, wanted, strict=True):
            assert value is None or value == pytest.approx(right)


def test_a_partition_that_is_not_there_cannot_be_followed(tmp_path: Path) -> None:
    con = steady(tmp_path, {"OWN": (Engines("CP", 1, 100),)}, CP=1)
    with pytest.raises(CpmonError):
        report(con, "LPAR", objects={"partition": "NOBODY"})


def test_entries_that_a_record_states_and_has_not_belong_to_the_partition(tmp_path: Path) -> None:
    """LCUPCPCT says four; two entries fit into the record of minute 2 and of all after it."""
    whole = (Engines("CP", 4, 100, 0.5),)
    con = land(
        tmp_path,
        *(
            [
                machine(minute, 2, 4, own="P1"),
                partition("P1", 1, minute, *whole, entries=4 if minute < 2 else 2),
                partition("P2", 2, minute, Engines("CP", 1, 100, 0.0)),
                physical(minute, CP=4),
            ]
            for minute in range(5)
        ),
    )
    assert by_minute(con, "logical_processors", "P1", "CP")[-4:] == [4, None, None, None]
    assert by_minute(con, "active_us", "P1", "CP")[-4:] == [120_000_000, None, None, None]
    assert by_minute(con, "dispatched_us", "P1", "CP")[-4:] == [120_000_000, None, None, None]
    assert pool(con, "partitions, active_us")[-4:] == [(2, 120_000_000), *[(None, None)] * 3]
    (note,) = [note for note in report(con, "LPAR").notes if note.startswith("Blank, left out")]
    assert "processors of a partition are missing (3)" in note


def test_a_partition_that_states_processors_and_has_no_entry_is_not_without_any(
    tmp_path: Path,
) -> None:
    """Nor are the weights of the others all that share the processors."""
    con = land(
        tmp_path,
        *(
            [
                machine(minute, 2, 4, own="P1"),
                partition("P1", 1, minute, Engines("CP", 2, 100)),
                partition("P2", 2, minute, Engines("CP", 2, 300), entries=2 if minute < 2 else 0),
                physical(minute, CP=4),
            ]
            for minute in range(5)
        ),
    )
    assert by_minute(con, "entitlement", "P1", "CP")[-4:] == [1, None, None, None]
    assert by_minute(con, "logical_processors", "P1", "CP")[-4:] == [2] * 4
    found = con.execute(
        "SELECT logical_processors, active_us FROM lpar_by_time"
        " WHERE partition_name = 'P2' ORDER BY interval_end"
    ).fetchall()
    assert found[-4:] == [(2, 60_000_000), (None, None), (None, None), (None, None)]
    assert pool(con, "partitions, logical_processors, active_us")[-4:] == [
        (2, 4, 120_000_000),
        *[(None, None, None)] * 3,
    ]
    (note,) = [note for note in report(con, "LPAR").notes if note.startswith("Blank, left out")]
    assert "processors of a partition are missing (3)" in note


def test_physical_processors_that_sytcum_states_and_has_not_belong_to_their_sum(
    tmp_path: Path,
) -> None:
    con = land(
        tmp_path,
        *(
            [
                machine(minute, 1, 4, own="P1"),
                partition("P1", 1, minute, Engines("CP", 2, 100)),
                physical(minute, entries=4 if minute < 2 else 2, CP=4),
            ]
            for minute in range(5)
        ),
    )
    found = con.execute(
        "SELECT active_us, doubts FROM lpar_by_time"
        " WHERE partition_name = '*PHYSICAL*' ORDER BY interval_end"
    ).fetchall()
    missing = "SYTCUM_CPU is missing"
    assert found[-4:] == [(0, None), (None, missing), (None, missing), (None, missing)]
