"""The index of pages: what it finds, its hours, and an index over those of several folders."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import duckdb
import msgspec

from cpmon.reduce.page.content import Window, by_day, file_names, windows
from cpmon.reduce.page.index import (
    NEWEST,
    Exceeded,
    Index,
    IndexedPage,
    comparisons_of,
    hour_cells,
    indexed,
    load_index,
    merged,
    read_index,
    with_comparison,
)
from cpmon.reduce.page.page import render_index
from tests.reduce.catalogue import insert, minute

VIENNA = ZoneInfo("Europe/Vienna")
HOUR = timedelta(hours=1)


def page(first: datetime, hours: float, href: str = "a.html") -> IndexedPage:
    window = Window("S", None, None, None, 4, first, first + timedelta(hours=hours))
    return indexed(window, href, VIENNA)


def local_hours(day: datetime, count: int) -> dict[datetime, float]:
    """So many hours from local midnight, busy by their number."""
    begin = day.replace(tzinfo=VIENNA).astimezone(UTC).replace(tzinfo=None)
    return {begin + n * HOUR: float(n) for n in range(1, count + 1)}


def test_a_day_of_25_hours_has_a_cell_for_each_and_links_each():
    hours = local_hours(datetime(2026, 10, 25), 25)  # noqa: DTZ001  (clocks go back at 03:00)
    hours |= local_hours(datetime(2026, 10, 26), 24)  # noqa: DTZ001
    first = min(hours) - HOUR
    heads, days = hour_cells(hours, [page(first, 49)], VIENNA)
    assert heads[1:5] == ["01", "02", "02 again", "03"]
    long, usual = days["2026-10-25"], days["2026-10-26"]
    assert [cell.load for cell in long] == [float(n) for n in range(1, 26)]
    assert long[2].href == "a.html#from=2026-10-25T00:00:00Z&to=2026-10-25T01:00:00Z"
    assert long[3].href == "a.html#from=2026-10-25T01:00:00Z&to=2026-10-25T02:00:00Z"
    assert [n for n, cell in enumerate(usual) if cell.load is None] == [3]
    assert usual[3].is_skipped and not any(cell.is_skipped for cell in long)


def test_a_day_of_23_hours_marks_the_hour_that_no_clock_showed():
    hours = local_hours(datetime(2026, 3, 29), 23)  # noqa: DTZ001
    heads, days = hour_cells(hours, [], VIENNA)
    [cells] = days.values()
    assert len(heads) == 24
    assert [heads[n] for n, cell in enumerate(cells) if cell.is_skipped] == ["02"]
    assert [cell.load for cell in cells if not cell.is_skipped] == [float(n) for n in range(1, 24)]


def test_an_hour_leads_to_the_page_that_covers_most_of_it_the_shortest_of_several():
    begin = datetime(2026, 6, 1)  # noqa: DTZ001
    pages = [
        page(begin, 24, "day.html"),
        page(begin, 1, "run.html"),
        page(begin + HOUR, 0.25, "part.html"),
    ]
    _, days = hour_cells({begin + HOUR: 1.0, begin + 2 * HOUR: 2.0}, pages, VIENNA)
    one, two = (cell.href for cells in days.values() for cell in cells if cell.load)
    assert one == "run.html#from=2026-06-01T00:00:00Z&to=2026-06-01T01:00:00Z"
    assert two.startswith("day.html#from=")
    _, days = hour_cells({begin + 30 * HOUR: 1.0}, pages, VIENNA)
    assert [cell.href for cell in days["2026-06-02"] if cell.load] == [""]


def test_an_index_is_read_again_from_its_page(con: duckdb.DuckDBPyConnection):
    [window] = windows(con)
    strange = replace(window, run_id="</script><b>", attributes={"cp_level": "<!--"})
    index = read_index(con, [indexed(strange, "a.html", VIENNA, objects=[("User <i>", "u.html")])])
    assert load_index(render_index(con, index)) == index
    assert load_index(b"<html>a page of somebody") is None
    # 36 + 54 of 120 s and 3 + 15 of 60 s.
    assert index.hours == {"LAB": {datetime(2001, 11, 13, 11): 60.0}}  # noqa: DTZ001


def test_an_index_above_has_all_pages_and_the_newest_exceptions_of_each_system():
    begin = datetime(2026, 6, 1)  # noqa: DTZ001
    days = []
    for n in range(3):
        exceptions = tuple(
            Exceeded(
                "warning", f"{n}-{k}", "", begin, begin + (24 * n + k) * HOUR, "", "a.html#from=x"
            )
            for k in range(NEWEST)
        )
        own = msgspec.structs.replace(
            page(begin + 24 * n * HOUR, 24),
            exceptions=exceptions,
            objects=(("User A", "a/u.html"),),
        )
        other = msgspec.structs.replace(own, system="T")
        days.append(Index((own, other), {"S": {begin + n * HOUR: 1.0}}, {"LPAR": "Partitions"}))
    both = merged({f"day-{n}/": day for n, day in reversed(list(enumerate(days)))})
    assert [one.href for one in both.pages] == [f"day-{n}/a.html" for n in (0, 1, 2)] * 2
    assert [len(one.exceptions) for one in both.pages] == [0, 0, NEWEST] * 2
    assert both.pages[2].exceptions[0].href == "day-2/a.html#from=x"
    assert both.pages[2].objects == (("User A", "day-2/a/u.html"),)
    assert len(both.hours["S"]) == 3 and both.titles == {"LPAR": "Partitions"}


def test_a_system_without_runs_has_a_page_for_each_local_day(con: duckdb.DuckDBPyConnection):
    ends = [datetime(2026, 10, 24, 21) + n * HOUR for n in range(27)]  # noqa: DTZ001
    late = timedelta(microseconds=300_000)  # the last interval of a day ends just after midnight
    for end in ends:
        row = {"system": "A", "interval_end": end + late, "previous_end": end + late - HOUR}
        insert(con, "meta.interval", {**row, "seconds": 3600.0})
    [whole] = windows(con, system="A")
    days = by_day(con, whole, VIENNA)
    assert [(day.title, day.intervals) for day in days] == [
        ("System A, 2026-10-24", 2),  # until 22:00 UTC, midnight in Vienna
        ("System A, 2026-10-25", 25),
    ]
    assert days[1].first == ends[1] + late and days[1].last == ends[-1] + late
    assert file_names(days)[1] == "system-A-2026-10-25.html"
    assert indexed(days[1], "", VIENNA).days == ("2026-10-25",)
    [short] = windows(con, system="A", since=ends[3])
    assert by_day(con, short, VIENNA) == [short]
    assert indexed(short, "", VIENNA).title == "System A, 2026-10-25"
    [run] = windows(con, run="R1")
    long = replace(run, last=minute(9_000))
    assert by_day(con, long, VIENNA) == [long]


def test_an_index_links_comparisons_once_and_keeps_them(con: duckdb.DuckDBPyConnection):
    [window] = windows(con)
    index = read_index(con, [indexed(window, "a.html", VIENNA)])
    page = render_index(con, index)
    assert comparisons_of(page) == ""
    linked = with_comparison(page, "<b>", "R2.html")
    assert comparisons_of(linked) == '<li><a href="R2.html">&lt;b&gt;</a></li>'
    assert with_comparison(linked, "<b>", "R2.html") == linked
    assert render_index(con, index, comparisons=comparisons_of(linked)) == linked
    assert load_index(linked) == index
