from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest

from cpmon.cli.output import write_file
from cpmon.config.values import Number
from cpmon.core.errors import CpmonError, NothingToReportError
from cpmon.reduce.metrics.metric import HEX, ReportColumn
from cpmon.reduce.metrics.report_set import reports
from cpmon.reduce.page.chart import (
    BANDS,
    CHARTS,
    POINTS,
    TILES,
    Chart,
    ChartKind,
    Points,
    Series,
    read_points,
    runs_points,
    with_gaps,
)
from cpmon.reduce.page.content import (
    Cell,
    Content,
    Group,
    Head,
    Listing,
    Window,
    file_names,
    listing,
    short_report,
    shown_tiles,
    windows,
)
from cpmon.reduce.page.drawing import (
    CARD,
    COLUMNS,
    HEIGHT,
    SPAN,
    Figure,
    LegendEntry,
    bars,
    drawn_figure,
    over_time,
    runs_figure,
    svg,
    thinned,
)
from cpmon.reduce.page.episodes import MOST_MARKS
from cpmon.reduce.page.index import System, indexed
from cpmon.reduce.page.levels import ABSENT, UNKNOWN, detail, level_data
from cpmon.reduce.page.page import rendered
from cpmon.reduce.page.plot import plot_report
from cpmon.reduce.page.runtime import FILE
from cpmon.reduce.reports.cells import cell_text, page_clock
from cpmon.reduce.reports.report import ReportResult, report
from cpmon.render.html import COLORS
from cpmon.render.printing import Format, Style
from tests.reduce.catalogue import insert, minute

UTC = ZoneInfo("UTC")
VIENNA = ZoneInfo("Europe/Vienna")
STRANGE = "<b>&\"'\nx"


@pytest.fixture
def window(con: duckdb.DuckDBPyConnection) -> Window:
    [found] = windows(con)
    return found


def by_time(con: duckdb.DuckDBPyConnection) -> ReportResult:
    return report(con, "SYSTEM_SUMMARY_BY_TIME", run="R1")


def series(points: Points, name: str) -> list[float | None]:
    rows = points.table.to_pylist()
    return [row["value"] for row in rows if row["series"] == name]


def test_every_chart_and_tile_draws_on_columns_that_reports_have():
    for drawn in (*TILES, *(series for chart in CHARTS for series in chart.series)):
        assert drawn.column in [column.name for column in reports()[drawn.report].columns]


def test_a_run_is_a_window_of_its_measured_intervals(window: Window):
    assert (window.system, window.run_id, window.intervals) == ("LAB", "R1", 2)
    assert (window.first, window.last) == (minute(0), minute(2))
    assert window.title == "Run R1"


def test_a_system_without_runs_is_a_window_too(con: duckdb.DuckDBPyConnection):
    insert(
        con,
        "meta.interval",
        {"system": "A", "interval_end": minute(9), "previous_end": minute(8), "seconds": 60.0},
    )
    assert [w.title for w in windows(con)] == ["System A", "Run R1"]
    assert [w.title for w in windows(con, system="A")] == ["System A"]


def test_a_system_whose_runs_are_outside_of_the_span_is_a_window(con: duckdb.DuckDBPyConnection):
    interval = {"interval_end": minute(9), "previous_end": minute(8), "seconds": 60.0}
    insert(con, "meta.interval", {"system": "LAB", **interval})
    assert [w.title for w in windows(con)] == ["Run R1"]
    [later] = windows(con, since=minute(2))
    assert (later.title, later.first, later.intervals) == ("System LAB", minute(8), 1)
    with pytest.raises(NothingToReportError):
        windows(con, run="R1", since=minute(2))


def test_a_window_is_narrowed_and_one_that_is_empty_then_is_an_error(
    con: duckdb.DuckDBPyConnection,
):
    [late] = windows(con, since=minute(1))
    assert (late.first, late.last, late.intervals) == (minute(1), minute(2), 1)
    with pytest.raises(CpmonError, match="no measured interval"):
        windows(con, since=minute(2))
    with pytest.raises(CpmonError, match="R2"):
        windows(con, run="R2")
    with pytest.raises(CpmonError, match="LOB"):
        windows(con, system="LOB")


@pytest.mark.parametrize(
    ("hours", "intervals", "step"),
    [(6, 360, None), (24, 1440, 5), (24 * 7, 10_080, 30), (24 * 30, 43_200, 180)],
)
def test_points_are_thinned_to_at_most_400(hours: int, intervals: int, step: int | None):
    begin = datetime(2006, 10, 16)  # noqa: DTZ001  (the catalogue has UTC without zone)
    long = Window("S", None, None, None, intervals, begin, begin + timedelta(hours=hours))
    assert long.step() == (timedelta(minutes=step) if step else None)
    if step:
        assert hours * 60 / step <= 400


def test_files_are_named_for_runs_as_far_as_files_can_be(window: Window):
    names = ["a/b", "A-b", "..", "<x>"]
    assert file_names([replace(window, run_id=name) for name in names]) == [
        "run-a-b.html",
        "run-A-b-2.html",
        "run-page.html",
        "run-x.html",
    ]


def test_a_chart_of_processors_shows_all_of_them_by_sums(
    con: duckdb.DuckDBPyConnection, window: Window
):
    chart = next(chart for chart in CHARTS if chart.name == "utilization")
    points = read_points(con, chart, window.span, None, UTC)
    assert points.order == ("Emulation", "CP for users", "CP for the system", "Wait")
    # Minute 1: 12 + 30 of 2 x 60 s under SIE; minute 2: 1.5 + 6 of 2 x 30 s.
    assert series(points, "Emulation") == pytest.approx([35.0, 12.5])
    assert series(points, "Wait") == pytest.approx([25.0, 70.0])
    together = read_points(con, chart, window.span, timedelta(minutes=15), UTC)
    assert series(together, "Emulation") == pytest.approx([100 * 49.5 / 180])
    assert len(points.bands) == 0
    row = together.bands.to_pylist()[0]
    assert row["series"] == "Emulation"
    assert (row["low"], row["high"]) == pytest.approx((12.5, 35.0))
    assert (points.length, together.length) == ("one interval", "15 minutes")


def test_a_chart_of_the_greatest_objects_has_a_line_for_each_by_rank(
    con: duckdb.DuckDBPyConnection, window: Window
):
    chart = Chart("top", "", "", (Series("PROCESSORS_BY_TIME", "total_util", ""),), top=1)
    points = read_points(con, chart, window.span, None, UTC)
    # Processor 1 ran for 54 of 60 and 15 of 30 s, processor 0 for 36 and 3.
    assert points.order == ("1",)
    assert series(points, "1") == pytest.approx([90.0, 50.0])


def test_a_band_of_objects_is_of_their_own_intervals(
    con: duckdb.DuckDBPyConnection, window: Window
):
    chart = Chart("top", "", "", (Series("PROCESSORS_BY_TIME", "total_util", ""),), top=2)
    bands = read_points(con, chart, window.span, timedelta(hours=1), UTC).bands.to_pylist()
    ends = {row["series"]: (row["low"], row["high"]) for row in bands}
    assert ends == {"1": pytest.approx((50.0, 90.0)), "0": pytest.approx((10.0, 60.0))}


def test_a_page_has_finer_points_where_values_vary():
    """Of three points of five minutes the second has a peak in its third minute."""
    ends = [minute(5), minute(10), minute(15)]
    values = [[2.0, 4.0, 2.0], [2.0, 2.0, 2.0], [2.04, 12.0, 2.04]]
    coarse = pa.table([ends, ["a"] * 3, values[0]], schema=POINTS)
    bands = pa.table([ends, ["a"] * 3, *values[1:]], schema=BANDS)
    minutes = [2.0] * 7 + [12.0] + [2.0] * 7
    fine = pa.table([[minute(n) for n in range(1, 16)], ["a"] * 15, minutes], schema=POINTS)
    drawn = Points(coarse, ("a",), bands=bands, length="5 minutes")
    mixed = detail(drawn, Points(fine, ("a",)))
    assert series(mixed, "a") == [2.0, 2.0, 2.0, 12.0, 2.0, 2.0, 2.0]
    assert mixed.length == "one interval, or 5 minutes where values hardly vary"
    figure = drawn_figure(Chart("c", "C", "", (), axis="%"), drawn, UTC, detail=mixed)
    first, second = figure.data["levels"]
    assert (first["low"], first["high"]) == ([values[1]], [values[2]])
    assert "low" not in second
    assert [len(each["times"]) for each in (first, second)] == [3, 7]
    assert figure.svg.count("mark-area") == 1
    stack = Chart("c", "C", "", (), ChartKind.STACK, axis="%")
    assert len(over_time(stack, drawn, UTC)["layer"]) == 1


def test_no_line_crosses_a_gap():
    times = [minute(n) for n in (1, 2, 3, 7, 8)]
    made = pa.table([times, ["a"] * 5, [1.0, 2, 3, 7, 8]], schema=POINTS)
    assert with_gaps(made).column("value").to_pylist() == [1, 2, 3, None, 7, 8]


def test_a_figure_has_its_points_once_with_the_offset_of_its_zone():
    times = [minute(1), minute(2), minute(3), minute(2)]
    made = pa.table([times, ["a", "a", "a", "b"], [1.23456, 2.0, None, 3.0]], schema=POINTS)
    figure = drawn_figure(Chart("c", "C", "", (), axis="%"), Points(made, ("a", "b")), VIENNA)
    [data] = figure.data["levels"]
    # 10:01 UTC on 2001-11-13, 10:02 and 10:03; Vienna is an hour ahead.
    assert data["times"] == [1005645660000, 60_000, 60_000]
    assert data["offsets"] == [[0, 3_600_000]]
    assert figure.data["names"] == ["a", "b"]
    assert data["values"] == [[1.235, 2.0, UNKNOWN], [ABSENT, 3.0, ABSENT]]
    assert figure.data["spec"]["datasets"] == {}
    assert "config" not in figure.data["spec"]
    assert [(each.name, each.color) for each in figure.legend] == [("a", "c1"), ("b", "c2")]
    assert "legend" not in figure.svg


def test_a_figure_over_a_change_of_clocks_has_the_offset_of_each_time():
    """Clocks go forward at 1:00 UTC; set back, all times keep the first offset."""
    for first, offsets in (
        ("2001-03-25T00:30", [[0, 3_600_000], [1, 7_200_000]]),
        ("2001-10-28T00:30", [[0, 7_200_000]]),
    ):
        begin = datetime.fromisoformat(first)
        times = [begin, begin + timedelta(hours=1)]
        made = pa.table([times, ["a", "a"], [1.0, 2.0]], schema=POINTS)
        figure = drawn_figure(Chart("c", "C", "", (), axis="%"), Points(made, ("a",)), VIENNA)
        [data] = figure.data["levels"]
        assert data["offsets"] == offsets
        assert figure.legend == ()


def test_charts_and_tables_show_an_hour_that_occurs_twice_with_its_offset():
    """Clocks go back from 3:00 to 2:00 at 1:00 UTC; a chart keeps its first offset for drawing."""
    begin = datetime.fromisoformat("2001-10-28T00:30")
    times = [begin + timedelta(minutes=30 * n) for n in range(4)]
    made = pa.table([times, ["a"] * 4, [1.0] * 4], schema=POINTS)
    data = level_data(Points(made, ("a",)), VIENNA)
    assert data["offsets"] == [[0, 7_200_000]]
    assert data["clocks"] == [[0, 7_200_000], [1, 3_600_000]]
    back = int(datetime(2001, 10, 28, 1, tzinfo=UTC).timestamp() * 1000)
    assert data["repeated"] == [[back - 3_600_000, back + 3_600_000]]
    shown = [page_clock(time, VIENNA) for time in times]
    assert shown == [
        "2001-10-28 02:30:00 +02",
        "2001-10-28 02:00:00 +01",
        "2001-10-28 02:30:00 +01",
        "2001-10-28 03:00:00",
    ]
    utc_level = level_data(Points(made, ("a",)), UTC)
    assert "clocks" not in utc_level and "repeated" not in utc_level


def test_a_chart_whose_values_are_not_known_does_not_say_that_nothing_was_measured():
    times, chart = [minute(1), minute(2)], Chart("c", "C", "", (), axis="%")
    unknown_values = Points(
        pa.table([times, ["a"] * 2, [None] * 2], schema=POINTS), ("a",), ("why",)
    )
    figure = drawn_figure(chart, unknown_values, UTC)
    assert (figure.missing, figure.notes) == ("its values are not known", ("why",))
    assert drawn_figure(chart, Points(POINTS.empty_table(), ()), UTC).missing == ""


def test_a_limit_is_in_the_specification_that_is_drawn_again():
    made = pa.table([[minute(1), minute(2)], ["a", "a"], [40.0, 60.0]], schema=POINTS)
    figure = drawn_figure(Chart("c", "C", "", (), axis="%"), Points(made, ("a",)), UTC, limit=90)
    lines, rule = figure.data["spec"]["layer"]
    assert lines["encoding"]["x"]["scale"]["domain"] == {"expr": SPAN}
    assert figure.data["spec"]["datasets"][rule["data"]["name"]] == [{"limit": 90}]


def test_a_drawing_has_title_and_description_and_its_names_are_escaped():
    columns = [[minute(1), minute(2)] * 2, [STRANGE, STRANGE, "b", "b"], [1.0, 2, 3, 4]]
    points = Points(pa.table(columns, schema=POINTS), (STRANGE, "b"))
    drawn = svg(over_time(Chart("c", "", "", (), axis="%"), points, UTC), STRANGE, "about", "c")
    assert '<title id="c-title">&lt;b&gt;&amp;' in drawn
    assert '<desc id="c-desc">about</desc>' in drawn
    assert "<b>" not in drawn
    assert COLORS["c1"] in drawn and COLORS["c2"] in drawn
    assert "http" not in drawn.replace("http://www.w3.org/", "")


@pytest.mark.parametrize("name", ["a", "LINUX001 of the second floor"])
def test_a_drawing_fits_a_card_whatever_stands_in_it(name: str):
    """Its texts are then as large on every page; alone, a drawing is as wide as it needs to be."""
    chart, names = Chart("c", "", "", (), axis="pages/s"), [f"{name} {n}" for n in range(6)]
    rows = [(minute(m), one, 123_456.0 * m) for one in names for m in (1, 2)]
    lines = Points(pa.table(list(zip(*rows, strict=True)), schema=POINTS), tuple(names))
    objects = [{"object": one, "series": "b", "value": 1.0} for one in names]
    bar = Points(pa.Table.from_pylist(objects), ("b",))
    for make in (partial(over_time, chart, lines, UTC), partial(bars, chart, bar)):
        assert re.search(r'viewBox="0 0 ([\d.]+)', svg(make(), "t", "a", "c"))[1] == str(CARD)
        assert f'width="{CARD}"' not in svg(make(alone=True), "t", "a", "c")
    [layer] = over_time(chart, lines, UTC)["layer"]
    assert layer["encoding"]["color"]["legend"] is None
    [layer] = over_time(chart, lines, UTC, alone=True)["layer"]
    assert layer["encoding"]["color"]["legend"]["columns"] == (11 if len(name) == 1 else 2)


def spikes(count: int) -> Points:
    """A series of minutes at 0.09, every tenth at 10 to 99, and one that lacks the middle."""
    times = [minute(n) for n in range(count)]
    values = [float(10 + n % 90) if n % 10 == 0 else 0.09 for n in range(count)]
    gap = [None if n == count // 2 else value for n, value in enumerate(values)]
    names = ["a"] * count + ["b"] * count
    return Points(pa.table([times * 2, names, values + gap], schema=POINTS), ("a", "b"))


def test_a_day_is_thinned_to_what_can_be_seen_and_keeps_its_extremes():
    points, drawn = spikes(1433), thinned(spikes(1433))
    assert series(thinned(spikes(600)), "a") == series(spikes(600), "a")
    for name in ("a", "b"):
        values = series(drawn, name)
        assert len(values) <= 2 * COLUMNS + 1
        known = [value for value in values if value is not None]
        assert (min(known), max(known)) == (0.09, 90.0)
    assert series(drawn, "b").count(None) == 1
    times = [row["interval_end"] for row in drawn.table.to_pylist() if row["series"] == "a"]
    assert times == sorted(times)
    # Each of 320 columns has 4.5 minutes: the least and the greatest of the first five.
    assert drawn.table.to_pylist()[:2] == points.table.to_pylist()[:2]


def test_a_long_series_without_any_value_is_kept_as_it_is():
    times = [minute(n) for n in range(1433)]
    points = Points(pa.table([times, ["a"] * 1433, [None] * 1433], schema=POINTS), ("a",))
    assert thinned(points).table.equals(points.table)


def test_a_line_never_goes_below_zero():
    """The fault: joins of spikes reached up to nine units below the axis."""
    drawn = svg(over_time(Chart("c", "", "", (), axis="%"), spikes(1433), UTC), "t", "a", "c")
    lines = re.findall(r'<path[^>]* d="(M0,[^"]{500,})"[^>]*>', drawn)
    assert len(lines) == 2
    for line in lines:
        assert set(re.findall("[A-Za-z]", line)) == {"M", "L"}
        heights = [float(y) for y in re.findall(r"[ML][\d.]+,([\d.-]+)", line)]
        assert min(heights) >= 0 and max(heights) <= HEIGHT
    assert drawn.count('stroke-linejoin="round"') >= 2


def test_a_line_that_hides_another_is_drawn_in_dashes():
    chart = Chart("c", "", "", (), axis="%")
    made = over_time(chart, spikes(30), UTC)
    [layer] = made["layer"]
    assert layer["encoding"]["strokeDash"]["scale"]["range"] == [[1, 0], [5, 4]]
    columns = [[minute(1), minute(2)] * 2, ["a", "a", "b", "b"], [1.0, 2, 3, 4]]
    apart = over_time(chart, Points(pa.table(columns, schema=POINTS), ("a", "b")), UTC)
    assert "strokeDash" not in apart["layer"][0]["encoding"]


def test_words_of_a_heading_are_whole_again(con: duckdb.DuckDBPyConnection):
    column = ReportColumn("runnable", "Run-|nable")
    assert column.heading == "Runnable"
    made = listing_of_one(con, "Run-|nable")
    assert made.heads[0].parts == ("Runnable",)


def test_the_body_of_a_table_has_its_lines_as_escaped_markup():
    heads = (Head(("A",), "", "", True), Head(("B",), "", "", False))
    lines = ((Cell('<"b">', href="x?a&b"), Cell("1k", "1000")), (Cell("c"), Cell("2")))
    assert Listing("X", "T", heads=heads).body == ""
    assert Listing("X", "T", heads=heads, rows=lines).body == (
        '<tr><td class="t" data-t><a href="x?a&amp;b">&lt;&#34;b&#34;&gt;</a></td>'
        '<td data-v="1000">1k</td></tr>\n<tr><td class="t" data-t>c</td><td>2</td></tr>\n'
    )


def test_one_line_is_no_lines():
    window = Window("S", None, None, None, 1, minute(0), minute(1))
    for count, words in ((1, "1 line</output>"), (2, "2 lines</output>")):
        system = System("S", UTC, [indexed(window, "f.html", UTC)] * count)
        page = rendered(
            "index.html",
            measures=(),
            systems=[system],
            figures=[""],
            data={},
            query="",
            above="",
            comparisons="",
        ).decode()
        assert words in page


def test_a_limit_is_drawn_where_values_come_near_it():
    made = pa.table([[minute(1), minute(2)], ["a", "a"], [40.0, 60.0]], schema=POINTS)
    points, chart = Points(made, ("a",)), Chart("c", "", "", (), axis="%")
    near = over_time(chart, points, UTC, limit=Number(90))  # as settings have it
    assert len(near["layer"]) == 2
    assert COLORS["bad"] in svg(near, "", "", "c")
    assert len(over_time(chart, points, UTC, limit=900)["layer"]) == 1


def test_a_tile_has_the_mean_the_worst_interval_and_a_verdict(con: duckdb.DuckDBPyConnection):
    results = {"SYSTEM_SUMMARY_BY_TIME": by_time(con)}
    tile, *_ = shown_tiles(results, {"processor-busy": 70.0}, VIENNA)
    # 36 + 54 of 120 s and 3 + 15 of 60 s: 75 %, 30 %, together 60 %.
    assert (tile.label, tile.value, tile.unit) == ("Processor utilization", "60.0", "%")
    assert tile.detail == "highest 75.0 at 11:01:00"
    assert (tile.state, tile.verdict) == ("bad", "over 70 % in 1 of 2 intervals")
    tile, *_ = shown_tiles(results, {"processor-busy": 90.0})
    assert (tile.state, tile.verdict) == ("good", "never over 90 %")
    tile, *_ = shown_tiles(results, {})
    assert (tile.state, tile.verdict) == ("", "")


def test_a_table_has_the_texts_of_the_report_and_numbers_to_sort_by(
    con: duckdb.DuckDBPyConnection,
):
    made = listing(by_time(con), {"total_util": "Share of processor time."})
    assert made.covers == "2001-11-13 10:00:00 to 2001-11-13 10:02:00 UTC, 2 intervals"
    assert [row[2] for row in made.rows] == [Cell("75.0"), Cell("30.0")]
    assert made.below[0][0] == Cell("Mean") and made.below[0][2] == Cell("60.0")
    assert made.heads[2].about == "Share of processor time."
    assert made.heads[0].is_text and not made.heads[2].is_text


def test_a_text_that_abbreviates_carries_its_number(con: duckdb.DuckDBPyConnection):
    found = by_time(con)
    table = found.table.set_column(
        found.table.column_names.index("xstor_page_rate"),
        "xstor_page_rate",
        pa.array([101_234.5, None]),
    )
    column = found.table.column_names.index("xstor_page_rate")
    made = listing(replace(found, table=table), {})
    assert [row[column] for row in made.rows] == [Cell("101k", "101234.5"), Cell("")]


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        (ReportColumn("d", "D", base=HEX), 0x1A2F, "1A2F"),
        (ReportColumn("d", "D", form=Format(1), scale=100), 0.1234, "12.3"),
        (ReportColumn("d", "D", form=Format(style=Style.KEPT)), 7.2541, "7.254"),
        (ReportColumn("d", "D"), True, "yes"),
        (ReportColumn("d", "D"), minute(1), "2001-11-13 11:01:00"),
        (ReportColumn("d", "D"), STRANGE, STRANGE),
        (ReportColumn("d", "D"), None, ""),
    ],
)
def test_cells_are_printed_by_their_column(column: ReportColumn, value: object, text: str):
    assert cell_text(column, value, VIENNA) == text


def test_the_figure_of_runs_sets_master_beside_average(con: duckdb.DuckDBPyConnection):
    rows = runs_points(con, ["R1", "NONE"]).table.to_pylist()
    # The master, processor 1, ran for 69 of 90 s, both for 108 of 180.
    assert [(r["object"], r["series"], round(r["value"], 6)) for r in rows] == [
        ("R1", "Master processor", 76.666667),
        ("R1", "Average", 60.0),
    ]
    assert runs_figure(con, ["R1"]).count('aria-roledescription="bar"') == 2
    assert runs_figure(con, ["NONE"]) == ""


def page(window: Window, **parts: object) -> str:
    """The page of a content of which only some parts are given."""
    empty = Content(window, (), (), (), (), (), (), (), ())
    return rendered("page.html", content=replace(empty, **parts), zone=UTC).decode()


def test_a_page_says_that_not_all_events_may_be_marked():
    window = Window("S", None, None, None, 9, minute(0), minute(9))
    mark = {"begin": 0, "end": 0, "kind": "event", "text": "IPL"}
    said = "Marked are at most the first 100 exceptions and the first 100 events."
    assert said in page(window, marks=(mark,) * MOST_MARKS)
    assert said not in page(window, marks=(mark,) * (MOST_MARKS - 1))


@pytest.mark.slow
def test_a_report_with_too_many_lines_is_thinned_and_then_cut_with_a_note(
    con: duckdb.DuckDBPyConnection, window: Window
):
    def processors(most: int) -> ReportResult:
        return short_report(
            partial(report, con, run="R1"), window, reports()["PROCESSORS_BY_TIME"], most
        )

    assert processors(4).table.num_rows == 4  # two intervals, two processors
    assert processors(3).restrictions == ("by 2 minutes",)
    # 36 and 3, 54 and 15 of 90 seconds.
    utilization = processors(3).table.column("total_util").to_pylist()
    assert utilization == pytest.approx([39 / 90, 69 / 90])
    cut = processors(1)
    assert cut.table.num_rows == 1
    assert cut.notes[0] == "Only the first 1 of 2 lines; cpmon report has all."


def test_names_from_data_are_escaped_wherever_they_stand(
    con: duckdb.DuckDBPyConnection, window: Window
):
    shown = listing_of_one(con, STRANGE)
    text = page(
        replace(window, run_id=STRANGE, system=STRANGE),
        facts=((STRANGE, STRANGE),),
        groups=(Group("users", "Users", (shown,)),),
        figures=(
            Figure(
                CHARTS[0],
                "<svg></svg>",
                {"names": [STRANGE + "</script><!--"], "spec": {"title": STRANGE + "</script>"}},
                (LegendEntry(STRANGE, "c1", is_dashed=False),),
            ),
        ),
        dumps=(
            {
                "dump": "d",
                "source": STRANGE,
                "release": STRANGE,
                "intervals": 1,
                "first_tod": minute(0),
                "last_tod": minute(1),
            },
        ),
        findings=({"severity": "info", "code": "X", "count": 1, "meaning": STRANGE, "remedy": ""},),
        episodes=(
            {
                "severity": "warning",
                "title": STRANGE,
                "object": STRANGE,
                "intervals": 1,
                "first_interval": minute(0),
                "last_interval": None,
                "value": 1.0,
                "limit": None,
                "unit": STRANGE,
                "at": "#from=" + STRANGE,
                "href": STRANGE,
            },
        ),
        unknowns=(STRANGE,),
        marks=({"begin": 0, "end": 1, "kind": "event", "text": STRANGE + "</script>"},),
    )
    assert "<b>" not in re.sub(r"<b>(?:info)</b>", "", text)
    assert text.count("&lt;b&gt;&amp;") >= 10
    assert text.count("\\u003c/script\\u003e") == 3
    assert "<!--" not in text


def listing_of_one(con: duckdb.DuckDBPyConnection, text: str) -> Listing:
    found = by_time(con)
    table = found.table.slice(0, 1).append_column("userid", pa.array([text]))
    columns = (ReportColumn("userid", text),)
    shown = replace(found, report=replace(found.report, columns=columns), table=table, mean={})
    return listing(replace(shown, notes=(text,)), {"userid": text})


def test_a_time_in_a_text_is_marked_and_the_text_still_escaped(window: Window):
    text = page(window, unknowns=(f"{STRANGE}, up to 2001-11-13 14:03:00.",))
    assert "<time>2001-11-13 14:03:00</time>." in text
    assert "<b>" not in text


def test_names_of_lines_stay_in_sight_unless_they_would_fill_a_phone(window: Window):
    for name, pinned in (("LINUX001", True), ("a process with a long name", False)):
        shown = Listing("X", "T", heads=(Head(("N",), "", "", True),), rows=((Cell(name),),))
        text = page(window, groups=(Group("users", "Users", (shown,)),))
        assert ('<table class="data pinned" id="t-X">' in text) is pinned


def test_a_page_says_where_there_is_nothing_to_show(window: Window):
    text = page(
        window,
        figures=(Figure(CHARTS[0], ""), Figure(CHARTS[1], "", missing="no such days")),
        groups=(Group("users", "Users", (Listing("X", "Title", missing="no records"),)),),
    )
    assert "Nothing was measured." in text
    assert "Nothing to show: no records" in text
    assert "Nothing to show: no such days" in text


def test_a_page_refers_to_nothing_outside(window: Window):
    text = page(window)
    assert re.findall(r'(?:src|href)="(?!#|index\.html|data:)[^"]*"', text) == []
    assert "@import" not in text and "url(" not in text
    assert "default-src 'none'" in text


def test_a_report_is_plotted_with_a_panel_for_each_unit(con: duckdb.DuckDBPyConnection):
    drawn = plot_report(by_time(con), "svg", ["total_util", "emul_util", "ssch_rate"]).decode()
    assert drawn.startswith("<svg ")
    assert "Total Util/ Proc" in drawn and "SSCH+ RSCH /s" in drawn
    assert drawn.count('aria-roledescription="line mark container"') >= 3


def test_a_report_by_time_and_object_is_plotted_with_a_line_for_each_object(
    con: duckdb.DuckDBPyConnection,
):
    found = report(con, "PROCESSORS_BY_TIME", run="R1")
    drawn = plot_report(found, "svg", ["total_util"]).decode()
    assert "CPU 0" in drawn and "CPU 1" in drawn
    png = plot_report(found, "png", ["total_util"])
    assert png.startswith(b"\x89PNG") and len(png) > 5_000


def test_a_plot_of_what_is_not_there_says_what_is(con: duckdb.DuckDBPyConnection):
    with pytest.raises(CpmonError, match="nothing_util") as error:
        plot_report(by_time(con), "svg", ["nothing_util"])
    assert "SYSTEM_SUMMARY_BY_TIME" in str(error.value)
    with pytest.raises(CpmonError, match="format") as error:
        plot_report(by_time(con), "gif")
    assert ".svg or .png" in str(error.value)


@pytest.mark.slow
def test_every_report_has_a_place_on_the_page(tmp_path: Path):
    """Pages of a real store, small as it is: all reports, whether or not they have lines."""
    from cpmon.config import Settings
    from cpmon.ingest import ingest
    from cpmon.reduce.engine.reducing import reduce
    from cpmon.reduce.page.page import write_pages
    from cpmon.reduce.reductions.reductions import reductions
    from cpmon.store import Store, connect

    samples = Path(__file__).resolve().parents[2] / "sample-data"
    store = Store(tmp_path / "store", create=True)
    ingest(samples / "small-lab" / "LAB.mon.zst", store)
    reduce(store, [], Settings())
    with connect(store, reductions()) as connection:
        written = write_pages(connection, tmp_path / "pages", write_file)
    assert [file.name for file in written] == [FILE, "run-LAB.html", "index.html"]
    text = written[1].read_text(encoding="utf-8")
    assert [name for name in reports() if f'id="r-{name}"' not in text] == []
    assert text.count("<figure") == len(CHARTS)
    assert written[1].stat().st_size < 5_000_000
