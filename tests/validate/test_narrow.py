"""Validation of spans, each by the dumps that it rests on, in one catalogue."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from pathlib import Path

import duckdb
import pytest

from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.validation import (
    Scope,
    Validation,
    find_rule,
    load_rules,
    offending,
    validate_span,
    validate_spans,
)
from cpmon.reduce.validation.narrow import narrowed
from cpmon.store import Store, connect
from tests.batch.fleet import BEGIN, hourly

FIRST = datetime.combine(BEGIN, time.min)
RULES = {
    "never-busy": {
        "title": "No processor is busy",
        "severity": "info",
        "sql": "SELECT system, interval_end, cpu AS object, total_util AS value, NULL AS least,"
        " 0.01 AS most FROM processors_by_time",
    }
}
SITE = Settings(validation=RULES)
"""A rule over a reduction, which nobody needs but a site."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two systems on three days; a dump of one was cut and lacks an interval."""
    folder = tmp_path_factory.mktemp("narrow")
    made = Store(folder / "store", create=True)
    for number, system in enumerate(("ALPHA", "BETA")):
        for hour in (0, 1, 24, 25, 48, 49):
            one = hourly(system, number, hour, "cut" if (system, hour) == ("ALPHA", 25) else "")
            (folder / one.name).write_bytes(one.data)
            ingest(folder / one.name, made, system=system)
    return made


def day(system: str, number: int) -> Scope:
    since = FIRST + timedelta(days=number)
    return Scope(system, since, since + timedelta(days=1))


def figures(found: Validation) -> dict[str, tuple[object, int, int]]:
    return {one.rule.id: (one.status, one.checked, one.bad) for one in found.outcomes}


@pytest.mark.slow
def test_spans_of_several_systems_are_validated_as_each_by_itself(store: Store):
    scopes = [day("ALPHA", 1), day("BETA", 2)]
    together = list(validate_spans(store, scopes, SITE))
    assert [found.coverage.scope for found in together] == scopes
    for scope, found in zip(scopes, together, strict=True):
        assert figures(found) == figures(validate_span(store, scope, SITE))
    of_users = [figures(found)["useact.keys"][1] for found in together]
    assert of_users == [5 * 3, 6 * 3]  # intervals, users


def test_a_rule_over_a_reduction_finds_in_a_span_what_it_finds_in_the_store(store: Store):
    scope = day("BETA", 1)
    with narrowed(store, scope) as (con, landed):
        rule = find_rule(load_rules(landed, SITE), "never-busy")
        found = offending(con, rule, landed, scope)
    with connect(store, reductions()) as con:
        expected = offending(con, rule, store.tables(), scope)
    assert len(found) and found.equals(expected)


def test_what_rules_do_not_read_is_not_made(store: Store):
    with narrowed(store, day("BETA", 1)) as (con, landed):
        offending(con, find_rule(load_rules(landed, SITE), "never-busy"), landed, day("BETA", 1))
        sql = "SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal"
        made = {name for (name,) in con.execute(sql).fetchall()}
        assert "processors_by_time" in made and "users_by_time" not in made


def test_a_span_is_sealed_like_any_connection(store: Store, tmp_path: Path):
    (tmp_path / "other.csv").write_text("a\n1\n", encoding="utf-8")
    with narrowed(store, day("BETA", 1)) as (con, _), pytest.raises(duckdb.PermissionException):
        con.execute(f"SELECT * FROM read_csv('{tmp_path / 'other.csv'}')")
