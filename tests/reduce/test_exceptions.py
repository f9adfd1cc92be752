"""Episodes by hand: when a rule is met, for how long, and which record says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, time
from typing import Any

import duckdb
import pytest

from cpmon.config import Settings
from cpmon.config.moments import Shift
from cpmon.core.errors import CpmonError
from cpmon.reduce.rules.exceptions import exceptions
from cpmon.reduce.rules.rendering import render_findings
from cpmon.reduce.rules.rule import Comparison, Severity
from tests.reduce.catalogue import insert, minute
from tests.reduce.rules import MINE, asked, busy, catalogue, found, intervals, met, shares


@pytest.fixture(scope="module")
def tables() -> duckdb.DuckDBPyConnection:
    return catalogue()


@pytest.fixture
def con(tables: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """The tables without a row, again for every test."""
    tables.execute("BEGIN")
    yield tables
    tables.execute("ROLLBACK")


def spans(rows: list[dict[str, Any]]) -> list[tuple[str, datetime, datetime]]:
    return [(row["object"], row["first_interval"], row["last_interval"]) for row in rows]


@pytest.mark.slow
def test_an_episode_has_its_ends_the_worst_value_and_the_record_that_says_it(
    con: duckdb.DuckDBPyConnection,
) -> None:
    intervals(con, 6)
    shares(con, [None, 0.92, 0.97, 0.95, 0.5, 0.91])
    shares(con, [None, 0.1, 0.1, 0.1, 0.1, 0.1], cpu=1)
    first, second = met(con, busy())
    assert first.pop("value") == pytest.approx(97)
    assert first == {
        "severity": "warning",
        "rule": "busy",
        "area": "processor",
        "title": "Busy",
        "system": "LAB",
        "object": "CPU 0",
        "first_interval": minute(1),
        "last_interval": minute(3),
        "intervals": 3,
        "minutes": 3.0,
        "worst_interval": minute(2),
        "comparison": "above",
        "limit": 90.0,
        "unit": "%",
        "dump": "a",
        "record_offset": 2000,
    }
    assert spans([second]) == [("CPU 0", minute(5), minute(5))]


def test_a_value_at_its_limit_is_no_exception(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 3)
    shares(con, [None, 0.5, 0.75])
    assert spans(met(con, busy(limit=50.0))) == [("CPU 0", minute(2), minute(2))]


def test_only_as_many_minutes_in_a_row_as_the_rule_says_make_an_episode(
    con: duckdb.DuckDBPyConnection,
) -> None:
    intervals(con, 8)
    shares(con, [None, 0.95, 0.95, 0.2, 0.95, 0.95, 0.95, 0.2])
    assert spans(met(con, busy(for_minutes=3.0))) == [("CPU 0", minute(4), minute(6))]
    assert met(con, busy(for_minutes=4.0)) == []


def test_intervals_that_are_a_little_short_of_a_minute_count_as_minutes(
    con: duckdb.DuckDBPyConnection,
) -> None:
    intervals(con, 4)
    con.execute("UPDATE meta.interval SET seconds = 59.9")
    shares(con, [None, 0.95, 0.95, 0.95])
    (row,) = met(con, busy(for_minutes=3.0))
    assert row["minutes"] == pytest.approx(3 * 59.9 / 60)


def test_a_gap_ends_an_episode(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 6, gaps=(3,))
    shares(con, [None, 0.95, 0.95, 0.95, 0.95, 0.95])
    got = spans(met(con, busy()))
    assert got == [("CPU 0", minute(1), minute(2)), ("CPU 0", minute(3), minute(5))]


def test_an_interval_of_which_nothing_is_known_ends_an_episode(
    con: duckdb.DuckDBPyConnection,
) -> None:
    intervals(con, 5)
    shares(con, [None, 0.95, None, 0.95, 0.95])
    got = spans(met(con, busy()))
    assert got == [("CPU 0", minute(1), minute(1)), ("CPU 0", minute(3), minute(4))]


def test_an_interval_in_two_dumps_counts_once_and_is_found_in_the_first(
    con: duckdb.DuckDBPyConnection,
) -> None:
    intervals(con, 3)
    shares(con, [None, 0.95, 0.97])
    for table in ("meta.interval", "monitor.sytprp"):
        con.execute(f"INSERT INTO {table} (SELECT * REPLACE ('b' AS dump) FROM {table})")
    (row,) = met(con, busy())
    assert (row["intervals"], row["minutes"]) == (2, 2.0)
    assert (row["dump"], row["record_offset"]) == ("a", 2000)


def test_below_a_limit_the_least_value_is_the_worst(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 4)
    shares(con, [None, 0.04, 0.02, 0.6])
    (row,) = met(con, busy(comparison=Comparison.BELOW, limit=5.0))
    assert row["value"] == pytest.approx(2)
    assert (row["comparison"], row["worst_interval"]) == ("below", minute(2))


def test_one_column_over_another_where_there_is_enough_of_a_third(
    con: duckdb.DuckDBPyConnection,
) -> None:
    intervals(con, 3)
    shares(con, [None, 0.25, 0.75])
    # 60 s at 25 % and 75 %: 15 and 45 busy seconds; only the second has 30 or more.
    seconds = {"metric": "busy_tod", "per": "seconds", "scale": 1 / 4096e6, "limit": 0.1}
    least = {"busy_tod": 30 * 4096e6}
    assert len(met(con, busy(**seconds))) == 1
    (row,) = met(con, busy(**seconds, least=least))
    assert row["value"] == pytest.approx(0.75)
    assert spans([row]) == [("CPU 0", minute(2), minute(2))]


def test_an_object_can_be_written_in_hexadecimal_and_lack_a_key(
    con: duckdb.DuckDBPyConnection,
) -> None:
    intervals(con, 2)
    shares(con, [None, 0.95], cpu=26)
    (row,) = met(con, busy(object_name="CPU {cpu:04X} {cpu_type}"))
    assert row["object"] == "CPU 001A"


def test_a_run_a_system_and_a_span_limit_what_is_looked_at(
    con: duckdb.DuckDBPyConnection,
) -> None:
    for system in ("LAB", "OTHER"):
        intervals(con, 6, system=system)
        shares(con, [None, 0.95, 0.95, 0.95, 0.95, 0.95], system=system)
    insert(
        con, "meta.run", {"run_id": "R", "system": "LAB", "since": minute(1), "until": minute(4)}
    )
    assert [row["system"] for row in met(con, busy())] == ["LAB", "OTHER"]
    assert spans(met(con, busy(), run="R")) == [("CPU 0", minute(1), minute(4))]
    later = minute(2).replace(tzinfo=UTC)
    assert spans(met(con, busy(), run="R", since=later)) == [("CPU 0", minute(1), minute(4))]
    (row,) = met(con, busy(), system="OTHER", until=minute(2))
    assert (row["system"], row["last_interval"]) == ("OTHER", minute(2))
    with pytest.raises(CpmonError) as error:
        met(con, busy(), run="R", system="OTHER")
    assert error.value.expected == "LAB"
    for wrong in ({"run": "S"}, {"system": "LAP"}):
        with pytest.raises(CpmonError) as error:
            met(con, busy(), **wrong)
        assert error.value.remedy is None or "did you mean" in error.value.remedy
    with pytest.raises(CpmonError) as error:
        met(con, busy(), since=minute(99))
    assert error.value.problem == "no interval is in that span"


def test_a_rule_can_hold_in_the_hours_of_a_shift_only(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 6)  # from 10:00
    shares(con, [None, 0.95, 0.95, 0.95, 0.95, 0.95])
    late = Shift("late", (1, 2, 3, 4, 5, 6, 7), time(10, 2), time(11, 0))
    got = met(con, busy(shift="late"), settings=Settings(shifts={"late": late}))
    assert spans(got) == [("CPU 0", minute(3), minute(5))]
    with pytest.raises(CpmonError) as error:
        met(con, busy(shift="night", sources={"shift": MINE}))
    assert error.value.place == "mine.toml: exceptions.busy.shift"


def test_rules_below_a_severity_are_not_looked_at(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 2)
    shares(con, [None, 0.95])
    rules = [busy(id=str(severity), severity=severity) for severity in Severity]
    every = exceptions(con, rules)
    assert every.table.column("severity").to_pylist() == ["critical", "warning", "info"]
    assert every.worst is Severity.CRITICAL
    grave = exceptions(con, rules, severity=Severity.CRITICAL)
    assert [rule.id for rule in grave.rules] == ["critical"]
    assert grave.table.column("rule").to_pylist() == ["critical"]
    assert exceptions(con, [busy(limit=99.0)]).worst is None


def test_a_system_without_figures_is_told_and_no_good_news(
    con: duckdb.DuckDBPyConnection,
) -> None:
    intervals(con, 2)
    intervals(con, 2, system="MUTE")
    shares(con, [None, 0.1])
    got = found(con, busy())
    assert [(rule.id, systems) for rule, systems in got.unseen] == [("busy", ("MUTE",))]
    text = render_findings(got).decode()
    assert "No exceptions in what is known." in text
    assert "busy: not known, since the store has no figures for it of MUTE" in text
    assert (
        found(
            con,
            asked(
                "SELECT 'LAB' AS system, now() AS interval_end, 1 AS object, 1 AS value WHERE false"
            ),
        ).unseen
        == ()
    )


def test_sql_says_system_object_value_and_place(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 5)
    rows = ", ".join(
        f"('LAB', TIMESTAMP '{minute(n)}', 'x', {10 * n}, 'd', {n})" for n in (1, 2, 4)
    )
    names = "system, interval_end, object, value, dump, record_offset"
    rule = asked(f"SELECT * FROM (VALUES {rows}) AS t({names}); -- all of it", limit=5.0, scale=2.0)
    first, second = met(con, rule)
    assert spans([first, second]) == [("x", minute(1), minute(2)), ("x", minute(4), minute(4))]
    assert (first["value"], first["dump"], first["record_offset"]) == (40.0, "d", 2)


def test_sql_without_a_limit_is_an_exception_in_every_row(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 3)
    rule = asked("SELECT interval_end, 'x' AS object, 0 AS value FROM meta.interval")
    (row,) = met(con, rule)
    assert (row["system"], row["limit"], row["comparison"]) == ("LAB", None, None)
    assert (row["intervals"], row["dump"], row["record_offset"]) == (3, None, None)


def test_a_value_that_is_no_number_is_no_exception(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 3)
    for value in ("NULL", "CAST('nan' AS DOUBLE)", "CAST('inf' AS DOUBLE)"):
        sql = f"SELECT interval_end, 'x' AS object, {value} AS value FROM meta.interval"
        got = found(con, asked(sql, limit=1.0))
        assert got.table.num_rows == 0
        assert [systems for _, systems in got.unseen] == [("LAB",)]


def test_sql_about_several_systems_must_name_them(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 2)
    intervals(con, 2, system="OTHER")
    rule = asked("SELECT interval_end, 'x' AS object, 0 AS value FROM meta.interval")
    with pytest.raises(CpmonError) as error:
        met(con, rule)
    assert "column system" in str(error.value.expected)


def test_a_time_that_ends_no_interval_stands_alone(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 5)
    odd = ", ".join(f"(TIMESTAMP '{minute(n)}')" for n in (1.5, 2.5, 3))
    got = met(
        con, asked(f"SELECT t AS interval_end, 'x' AS object, 1 AS value FROM (VALUES {odd}) v(t)")
    )
    assert [row["intervals"] for row in got] == [1, 1, 1]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT interval_end, 1 AS value FROM meta.interval", "object"),
        ("SELECT 1; SELECT 2", "one query at a time"),
        ("DROP TABLE meta.interval", "only queries are allowed"),
        ("SELEKT 1", "cannot be read"),
        ("SELECT 1) UNION ALL (SELECT 2", "cannot be read"),
        ("SELECT nothing FROM meta.interval", "nothing"),
        ("SELECT interval_end, 'x' AS object, 'y' AS value FROM meta.interval", "'y'"),
    ],
)
def test_sql_that_is_no_rule_is_refused_with_its_place(
    sql: str, said: str, con: duckdb.DuckDBPyConnection
) -> None:
    intervals(con, 2)
    with pytest.raises(CpmonError) as error:
        met(con, asked(sql))
    assert error.value.place == "mine.toml: exceptions.busy.sql"
    assert said in str(error.value)


def test_sql_that_would_change_something_is_not_run(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 2)
    with pytest.raises(CpmonError):
        met(con, asked("DROP TABLE meta.interval"))
    assert con.execute("SELECT count(*) FROM meta.interval").fetchone() == (2,)


def test_the_text_says_what_was_met_by_how_much_and_where(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 4)
    shares(con, [None, 0.95, 0.973, 0.5])
    text = render_findings(found(con, busy(for_minutes=2.0), system="LAB"), zone="Europe/Vienna")
    head, where, _, names, _, row, _, note = text.decode().splitlines()
    assert head == "Exceptions: 1 by 1 rule"
    span = "2001-11-13 11:00:00 to 2001-11-13 11:03:00 Europe/Vienna, 4 intervals"
    assert where == f"System LAB, {span}"
    assert names.split() == [
        *("Severity", "Rule", "Object", "First", "Last"),
        *("Intervals", "Worst", "Limit", "At", "Dump", "Offset"),
    ]
    assert row.split() == [
        *("warning", "busy", "CPU", "0", "2001-11-13", "11:01:00", "2001-11-13", "11:02:00"),
        *("2", "97.3", "%", ">", "90", "2001-11-13", "11:02:00", "a", "0x7d0"),
    ]
    assert note == "* busy: Busy (above 90 % for 2 minutes)."


def test_a_rule_looks_at_what_it_needs_before_the_span(con: duckdb.DuckDBPyConnection) -> None:
    """The fault: of a loop from minute 1 to 400, the minutes 61 to 119 said "No exceptions"."""
    intervals(con, 450)
    shares(con, [None, *[0.95] * 400, *[0.1] * 49])
    rule = busy(for_minutes=60.0)
    (row,) = met(con, rule, since=minute(60), until=minute(119))
    assert spans([row]) == [("CPU 0", minute(1), minute(119))]
    assert (row["intervals"], row["minutes"]) == (119, 119.0)
    # Half an hour into the loop the rule is met by none of the 89 minutes before it, but by 90.
    (row,) = met(con, rule, since=minute(90), until=minute(91))
    assert spans([row]) == [("CPU 0", minute(1), minute(91))]
    text = render_findings(found(con, rule, since=minute(90), until=minute(91))).decode()
    assert "1 episode began before this span" in text
    assert met(con, rule, since=minute(400), until=minute(449)) == []


def test_the_text_says_what_a_rule_means_and_what_to_do_where_the_rule_does(
    con: duckdb.DuckDBPyConnection,
) -> None:
    intervals(con, 4)
    shares(con, [None, 0.95, 0.973, 0.5])
    text = render_findings(found(con, busy(meaning="Users wait.", remedy="Vary one on."))).decode()
    assert "* busy: Busy (above 90 %). Users wait. Vary one on.\n" in text


def test_what_is_too_short_to_be_judged_at_the_end_of_the_data_is_named(
    con: duckdb.DuckDBPyConnection,
) -> None:
    intervals(con, 31)
    shares(con, [None, *[0.1] * 10, *[0.95] * 20])
    shares(con, [None, *[0.1] * 10, *[0.95] * 10, *[0.1] * 10], cpu=1)
    rule = busy(for_minutes=60.0)
    result = found(con, rule)
    assert result.table.num_rows == 0
    # Processor 1 came to rest again after 10 minutes: that is known.
    assert [(u.object, u.first, u.last, u.minutes) for u in result.unjudged] == [
        ("CPU 0", minute(11), minute(30), 20.0)
    ]
    text = " ".join(render_findings(result).decode().split())
    assert "No exceptions in what is known." in text
    assert "busy: too little data to judge figures above 90 %" in text
    assert "the rule asks for 1 hour: LAB CPU 0 for 20 minutes up to 2001-11-13 10:30:00." in text


def test_what_is_equally_short_is_named_in_the_order_of_objects(
    con: duckdb.DuckDBPyConnection,
) -> None:
    intervals(con, 11)
    for cpu in (2, 0, 1):
        shares(con, [None, *[0.1] * 5, *[0.95] * 5], cpu=cpu)
    text = " ".join(render_findings(found(con, busy(for_minutes=60.0))).decode().split())
    named = re.findall(r"CPU (\d) for 5 minutes", text)
    assert named == ["0", "1", "2"]


def test_what_borders_on_a_gap_may_have_lasted_longer(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 30, gaps=(10,))
    shares(con, [None, *[0.1] * 9, *[0.95] * 5, *[0.1] * 5, *[0.95] * 5, *[0.1] * 5])
    (unjudged,) = found(con, busy(for_minutes=6.0)).unjudged
    # How long the first interval behind a gap lasted is not known.
    assert (unjudged.first, unjudged.last, unjudged.minutes) == (minute(10), minute(14), 4.0)


def test_intervals_without_figures_are_named(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 11)
    shares(con, [None, 0.1, 0.95, None, None, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    result = found(con, busy(for_minutes=2.0))
    assert [(part.system, part.missing, part.measured) for part in result.lacking] == [
        ("LAB", 2, 10)
    ]
    assert [(u.first, u.minutes) for u in result.unjudged] == [(minute(2), 1.0)]
    text = " ".join(render_findings(result).decode().split())
    assert "busy: not known in 2 of 10 intervals of LAB, which have no figures for it." in text
    assert found(con, busy(), since=minute(5)).lacking == ()


def test_what_has_too_little_to_be_looked_at_is_known(con: duckdb.DuckDBPyConnection) -> None:
    intervals(con, 4)
    shares(con, [None, 0.95, 0.2, 0.95])
    least = {"busy_tod": 30 * 4096e6}
    assert found(con, busy(least=least)).lacking == ()
