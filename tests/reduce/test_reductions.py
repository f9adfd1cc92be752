"""Reading the SQL files: names, docs, order, and what a wrong file is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cpmon.core.errors import CpmonError
from cpmon.reduce.metrics.report_set import reports
from cpmon.reduce.reductions.reductions import reduction, reductions
from cpmon.reduce.reductions.sql_files import ordered, parse
from cpmon.schemas import tables
from tests.reduce.catalogue import META

SHARES = ("_util", "_busy", "pct_spin")


def test_every_reduction_stands_behind_those_it_reads() -> None:
    seen: set[str] = set()
    for r in reductions():
        assert {name for name in r.reads if "." not in name} <= seen
        seen.add(r.name)


def test_every_relation_that_is_read_exists() -> None:
    for r in reductions():
        for schema, _, table in (name.partition(".") for name in r.reads):
            if schema == "meta":
                assert f"meta.{table}" in META
            elif table:
                assert schema in {"interval", "monitor"}
                assert table in tables()


def test_public_reductions_are_the_reports_and_what_tables_read() -> None:
    of_reports = {known.reduction for known in reports().values()}
    of_tables = {"run_sample_summary", "run_samples", "run_summary"}
    assert {r.name for r in reductions() if not r.is_private} == of_reports | of_tables


def test_docs_are_taken_from_the_comments() -> None:
    column = reduction("system_summary2_by_time").column("spin_time_us")
    assert column.doc == "Microseconds per spin, all locks together. NULL without spins."
    assert column.absence == "without spins"
    assert reduction("run_summary").column("system").absence == ""
    assert reduction("run_summary").doc.startswith("Every measured run in one row")


def test_columns_of_shares_say_their_range() -> None:
    for r in reductions():
        for column in r.columns:
            if column.name.endswith(SHARES):
                said = re.search(r"0\.\.1|0 to|0 or more", column.doc)
                assert said, f"{r.name}.{column.name}"


def test_an_unknown_reduction_or_column_suggests_the_nearest() -> None:
    with pytest.raises(CpmonError) as caught:
        reduction("run_sumary")
    assert caught.value.remedy == "did you mean run_summary?"
    with pytest.raises(CpmonError) as caught:
        reduction("run_summary").column("total_utl")
    assert caught.value.remedy == "did you mean total_util?"


def written(_folder: Path, name: str, text: str) -> tuple[str, str]:
    return f"{name}.sql", text


GOOD = """\
-- A thing.
CREATE OR REPLACE VIEW thing AS
WITH other AS (SELECT name FROM meta.run)
SELECT
  -- Its name.
  name
FROM other JOIN _base USING (name);
"""


def test_a_file_is_read_for_what_it_reads(tmp_path: Path) -> None:
    thing = parse(*written(tmp_path, "thing", GOOD))
    assert thing.reads == ("meta.run", "_base")
    assert thing.select.startswith("WITH other")
    assert not thing.select.endswith(";")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("thing", GOOD.replace("-- A thing.\n", ""), "not one documented view"),
        ("other", GOOD, "not called as its view"),
    ],
)
def test_a_file_of_another_shape_is_an_error(
    tmp_path: Path, name: str, text: str, problem: str
) -> None:
    with pytest.raises(CpmonError, match=problem) as caught:
        parse(*written(tmp_path, name, text))
    assert caught.value.place == f"{name}.sql"


BASE = """\
-- What things are made of.
CREATE OR REPLACE VIEW _base AS
SELECT
  -- Name of the part.
  part AS name
FROM meta.run;
"""


def test_a_column_without_a_comment_inherits_one_or_is_an_error(tmp_path: Path) -> None:
    plain = (
        "-- A thing.\nCREATE OR REPLACE VIEW thing AS\nSELECT b.name AS called FROM _base AS b;\n"
    )
    base = parse(*written(tmp_path, "_base", BASE))
    *_, thing = ordered([parse(*written(tmp_path, "thing", plain)), base])
    assert [(column.name, column.doc) for column in thing.columns] == [
        ("called", "Name of the part.")
    ]
    computed = parse(*written(tmp_path, "thing", plain.replace("b.name", "b.name || '!'")))
    with pytest.raises(CpmonError, match="has no comment") as caught:
        ordered([computed, base])
    assert (caught.value.place, caught.value.found) == ("thing.sql", "called")


def test_a_missing_view_and_a_ring_are_errors(tmp_path: Path) -> None:
    thing = parse(*written(tmp_path, "thing", GOOD))
    with pytest.raises(CpmonError, match="no reduction _base"):
        ordered([thing])
    ring = GOOD.replace("VIEW thing", "VIEW _base").replace("_base USING", "thing USING")
    with pytest.raises(CpmonError, match="ring"):
        ordered([thing, parse(*written(tmp_path, "_base", ring))])
