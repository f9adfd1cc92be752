"""The SQL lint: one good file of each kind, and the smallest text that breaks each rule."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from cpmon.reduce.reductions.sql_files import ordered, parse
from tools import check_sql

GOOD_REDUCTION = """\
-- Seconds per processor, private to this file.
CREATE OR REPLACE VIEW _busy AS
SELECT * FROM interval.sytprp;

-- Processor utilisation, one row per processor and interval.
CREATE OR REPLACE VIEW cpu_utilization AS
WITH b AS (SELECT * FROM _busy WHERE left(system, 2) = 'VM')
SELECT interval_end,
       -- Logical processor address.
       cpu,
       -- Share of the interval spent running, 0..1; NULL at a first sample.
       busy_us / nullif(seconds, 0) AS busy,
       busy_us / 1000000
         / seconds -- non-zero: _busy keeps rows of positive length only
         AS busy_per_s
FROM b;
"""

GOOD_QUESTION = """\
-- Busiest users
-- Users by processor time, the busiest first.
-- param: top = 10 -- how many users to show
SELECT userid, sum(vmdttime) / 1e6 AS cpu_s
FROM interval.useact
GROUP BY userid
ORDER BY cpu_s DESC
LIMIT $top;
"""


def rules(text: str, path: str = "reduce/reductions/sql/a.sql") -> list[tuple[int, str]]:
    """Lines and rules of the complaints about `text`."""
    return [(one.line, one.rule) for one in check_sql.check_text(dedent(text), path)]


def view_of(body: str) -> str:
    """A view with a comment; its body starts on line 3."""
    return f"-- A view.\nCREATE OR REPLACE VIEW v AS\n{body}"


def test_a_good_reduction_and_a_good_question_pass():
    assert rules(GOOD_REDUCTION) == []
    assert rules(GOOD_QUESTION, "queries/a.sql") == []


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("SELECT x / y FROM t;", (3, "divisor")),
        ("SELECT x // 0 FROM t;", (3, "divisor")),
        ("SELECT x / (y + 1) FROM t;", (3, "divisor")),
        ("select x FROM t;", (3, "keyword-case")),
        ("SELECT sum(x) over (ORDER BY y) FROM t;", (3, "keyword-case")),
        ("SELECT CAST(x AS bigint) FROM t;", (3, "keyword-case")),
        ("SELECT * FROM t;", (3, "select-star")),
        ("SELECT t.* FROM t;", (3, "select-star")),
        ("SELECT x FROM t UNION ALL SELECT * FROM u;", (3, "select-star")),
        ("FROM t;", (3, "select-star")),
        ("SELECT date_diff('second', x, y) FROM t;", (3, "portable")),
        ("SELECT epoch_us(tod) FROM t;", (3, "portable")),
        ("SELECT date_part('epoch', tod) FROM t;", (3, "portable")),
        ("SELECT hash(x) FROM t;", (3, "portable")),
        ("SELECT format('{:04X}', x) FROM t;", (3, "portable")),
        ("SELECT x >> 32 FROM t;", (3, "portable")),
        ("SELECT x * 0.5 FROM t;", (3, "portable")),
        ("SELECT 1,\n  CAST(x AS VARCHAR) || ' s' FROM t;", (4, "portable")),
        ("SELECT list_aggregate(x, 'min') FROM t;", (3, "portable")),
        ("SELECT time_bucket(w, tod) FROM t;", (3, "portable")),
        ("SELECT quantile_cont(x, 5e-1) FROM t;", (3, "portable")),
        ("SELECT x FROM t QUALIFY row_number() OVER (ORDER BY x) = 1;", (3, "portable")),
        ("SELECT x FROM t ASOF JOIN u USING (x);", (3, "portable")),
        ("SELECT x FROM t POSITIONAL JOIN u;", (3, "portable")),
        ("SELECT columns('x') FROM t;", (3, "portable")),
        ("SELECT CAST(SUM(x) AS BIGINT) FROM t;", (3, "overflow")),
        ("SELECT CAST(SUM(CAST(x AS DOUBLE) + 1) AS INTEGER) FROM t;", (3, "overflow")),
        (f"SELECT {'x' * 80} FROM t;", (3, "line-length")),
        ("SELECT x FROM FROM t;", (3, "parse")),
    ],
)
def test_a_broken_rule_is_named_with_its_line(body: str, complaint: tuple[int, str]):
    assert rules(view_of(body)) == [complaint]


@pytest.mark.parametrize(
    "body",
    [
        "SELECT x * y FROM t;",
        "SELECT TRY_CAST(SUM(x) AS BIGINT) FROM t;",
        "SELECT CAST(SUM(CAST(x AS BIGINT)) AS DOUBLE) FROM t;",
        "SELECT count(*) FROM t;",
        "SELECT a FROM (SELECT * FROM t);",
        "SELECT x / 60 FROM t;",
        "SELECT CAST(NULL AS VARCHAR) AS a, CAST(x AS VARCHAR) AS b FROM t;",
        "SELECT date_diff('microsecond', x, y) / 1e6 FROM t;",
        "SELECT x / nullif(y, 0) FROM t;",
        "SELECT x / y -- non-zero: y counts processors\nFROM t;",
        "SELECT 'select from a / b' FROM t; -- in lower case: select",
        'SELECT "select" FROM interval.t;',
        "SELECT t.columns FROM t;",
        "SELECT left(x, 2) FROM t LEFT JOIN u USING (x);",
    ],
)
def test_what_only_looks_like_a_broken_rule_passes(body: str):
    assert rules(view_of(body)) == []


def test_a_view_needs_a_comment_right_above_it():
    assert rules("CREATE OR REPLACE VIEW _v AS SELECT 1;") == [(1, "view-comment")]
    assert rules("-- The file.\n\nCREATE OR REPLACE VIEW _v AS SELECT 1;") == [(3, "view-comment")]


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ("SELECT interval_end,\n       -- One.\n       1 AS userId", "name"),
        (
            "SELECT interval_end,\n       -- One.\n       1 AS a,\n       -- Two.\n       2 AS a",
            "name",
        ),
        ("SELECT interval_end, 1 AS a", "column-comment"),
    ],
)
def test_columns_need_a_comment_and_a_name_in_snake_case(
    columns: str, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "v.sql"
    file.write_text(f"-- A view.\nCREATE OR REPLACE VIEW v AS\n{columns}\nFROM meta.run;\n")
    monkeypatch.setattr(check_sql, "ROOT", tmp_path)
    view = parse(file.name, file.read_text())
    monkeypatch.setattr(check_sql, "reductions", lambda: ordered([view]))
    assert {one.rule for one in check_sql.views_with_metrics(tmp_path)} == {rule}


def test_a_reduction_holds_views_only():
    assert rules("-- A.\nCREATE TABLE t AS SELECT 1;") == [(2, "form")]
    assert rules("-- Nothing here.\n") == [(1, "form")]


def test_a_view_must_not_read_one_that_is_made_further_down():
    text = """\
        -- Reads too early.
        CREATE OR REPLACE VIEW _a AS
        SELECT x FROM _b;
        -- Made too late.
        CREATE OR REPLACE VIEW _b AS
        SELECT x FROM t;
        """
    assert rules(text) == [(3, "order")]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("SELECT 1;", (1, "header")),
        ("-- Title only\nSELECT 1;", (1, "header")),
        ("-- Title\n-- Text.\nSELECT $top;", (3, "param")),
        ("-- Title\n-- Text.\n-- param: top = 1 -- rows\nSELECT 1;", (3, "param")),
        ("-- Title\n-- Text.\n-- param: top\nSELECT 1;", (3, "param")),
        ("-- Title\n-- Text.\nSELECT * FROM t;", (3, "select-star")),
        ("-- Title\n-- Text.\nSELECT 1; SELECT 2;", (1, "form")),
        ("-- Title\n-- Text.\nDROP TABLE t;", (1, "form")),
    ],
)
def test_a_question_without_its_header_or_with_more_than_a_select_is_refused(
    text: str, complaint: tuple[int, str]
):
    assert rules(text, "queries/a.sql") == [complaint]


def test_questions_may_use_all_of_duckdb():
    text = "-- Title\n-- Text.\nSELECT time_bucket(INTERVAL 15 MINUTE, tod) FROM t;"
    assert rules(text, "queries/a.sql") == []
