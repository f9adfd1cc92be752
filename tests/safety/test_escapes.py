"""Each place where SQL of people becomes a part of a statement, times ways to leave that place."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from cpmon.cli.main import Status
from cpmon.config.definitions import Definitions, use
from cpmon.core.errors import CpmonError
from cpmon.core.sql import UserSql
from cpmon.ingest import ingest
from cpmon.store import Store
from cpmon.store.sandbox.guard import checked_expression, guarded
from tests.cli.answer import Answer, Cpmon
from tests.cli.test_own_reports import DUMP, TABLES, VIEW
from tests.safety.escapes import EXPRESSIONS, HONEST_ENDS, QUERIES
from tools.check_user_sql import taken

SECRET = "4711-do-not-tell"
RUN = {"run_id": "A", "system": "ZVM1", "since": "2006-10-16T00:00:00Z"}


@dataclass(frozen=True)
class Site:
    """A folder with settings, definitions and a store `perf`, in which commands run."""

    folder: Path
    cpmon: Cpmon

    def files(self) -> dict[str, tuple[int, int]]:
        """Size and time of change of all files but definitions and what `reduce` writes."""
        return {
            str(file): (file.stat().st_size, file.stat().st_mtime_ns)
            for place in ("perf/records", "perf/runs", "out")
            for file in (self.folder / place).rglob("*")
            if file.is_file()
        }

    def define(self, name: str, text: str) -> None:
        """Writes a file of definitions, and takes them all into use at the next command."""
        (self.folder / "reports" / name).write_text(text)

    def ask(self, *words: object) -> Answer:
        """What a command answers, with one thread: statements then run as they come."""
        return self.cpmon(*words)


def _metric(site: Site, sql: str) -> Answer:
    (kind, rest) = TABLES.split('numerator = "pages"\ndenominator = "seconds"\n', 1)
    keys = f'numerator = "pages"\ndenominator = "seconds"\nexpression = {json.dumps(sql)}\n'
    site.define("own.toml", kind + keys + rest)
    for words in (("reduce", "moves"), ("query", "FROM moves", "--threads", 1)):
        answer = site.ask(*words)
    return answer


def _reduction(site: Site, sql: str) -> Answer:
    head = VIEW[: VIEW.index("SELECT")]
    site.define("moves.sql", f"{head}{sql}")
    for words in (("reduce", "moves"), ("query", "FROM moves", "--threads", 1)):
        answer = site.ask(*words)
    return answer


def _condition(site: Site, sql: str) -> Answer:
    return site.ask("report", "moves", "--where", sql)


def _query(site: Site, sql: str) -> Answer:
    return site.ask("query", sql, "--threads", 1)


def _saved_query(site: Site, sql: str) -> Answer:
    site.define("saved.sql", f"-- A query\n-- It is kept.\n{sql}")
    return site.ask("query", "saved", "--threads", 1)


def _rule(site: Site, sql: str) -> Answer:
    rule = f'title = "t"\nseverity = "info"\nsql = {json.dumps(sql)}\n'
    rules = site.folder / "rules.toml"
    rules.write_text(f"[validation.bad]\n{rule}needs = []\n")
    for words in (("--rule", "bad"), ("--rows", "bad")):
        answer = site.ask("validate", "--rules", rules, *words)
        if answer.status is not Status.DONE:
            return answer
    rules.write_text(f'[exceptions.bad]\narea = "cpu"\nunit = "s"\n{rule}')
    return site.ask("exceptions", "--rules", rules)


SELECT = (
    "SELECT 'x' AS system, TIMESTAMP '2006-10-16' AS interval_end, 'x' AS object, 1 AS value,"
    " 1 AS least, 2 AS most WHERE false"
)
OF_EXPRESSIONS: dict[str, tuple[Callable[[Site, str], Answer], str]] = {
    "reduce/metrics/report_set.py": (_metric, "pages / nullif(seconds, 0)"),
    "reduce/reports/report.py": (_condition, "move_rate >= 0"),
}
OF_QUERIES: dict[str, tuple[list[Callable[[Site, str], Answer]], str]] = {
    "reduce/reductions/sql_files.py": ([_reduction], VIEW[VIEW.index("SELECT") :].rstrip(";\n")),
    "store/answers.py": ([_query, _saved_query], "SELECT 1 AS a"),
    "reduce/rules/rule.py": ([_rule], SELECT),
}
"""Module where SQL of people comes in -> how it is written there, and honest SQL."""


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("escapes")
    (folder / "out").mkdir()
    (folder / "out/secret.csv").write_text(f"a\n{SECRET}\n")
    (folder / "a.mon").write_bytes(DUMP)
    store = Store(folder / "perf", create=True)
    ingest(folder / "a.mon", store)
    (store.root / "runs").mkdir(exist_ok=True)
    (folder / "cpmon.toml").write_text('store = "perf"\n')
    (folder / "reports").mkdir()
    return folder


@pytest.fixture
def site(landed: Path, cpmon: Cpmon, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.chdir(landed)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(landed / "config"))
    monkeypatch.setitem(os.environ, "CPMON_SECRET", SECRET)
    site = Site(landed, cpmon)
    for file in (landed / "reports").iterdir():
        file.unlink()
    site.define("moves.sql", VIEW)
    site.define("own.toml", TABLES)
    yield site
    use(Definitions())


def _holds(site: Site, ask: Callable[[Site, str], Answer], sql: str) -> None:
    run = next((site.folder / "perf/records").rglob("*.parquet"))
    before = site.files()
    answer = ask(site, sql.format(out=site.folder / "out", run=run))
    assert answer.status is Status.USAGE, (sql, answer)
    assert SECRET not in answer.err and SECRET.encode() not in answer.out
    assert site.files() == before, sql


def test_each_place_of_the_product_is_tried():
    assert taken() == {*OF_EXPRESSIONS, *OF_QUERIES}


def later(*values: str) -> Any:
    """A trial of the slow tests."""
    return pytest.param(*values, marks=pytest.mark.slow)


def trials(places: Iterable[str], texts: Sequence[str]) -> pytest.MarkDecorator:
    """All texts in all modules of some places; of seven trials one is quick, and two are slow.

    The others are long: all places have one guard, and every text is tried on that.
    """
    marks = [(), *[pytest.mark.long] * 2, pytest.mark.slow, *[pytest.mark.long] * 2]
    both = zip(itertools.product(places, texts), itertools.cycle([*marks, pytest.mark.slow]))
    marked = [pytest.param(*each, marks=mark) for each, mark in both]
    return pytest.mark.parametrize(("module", "sql"), marked)


def test_the_guard_of_all_places_refuses_each_text():
    filled = {"out": "/tmp", "run": "/tmp/a.parquet"}
    for text in EXPRESSIONS:
        sql = UserSql(text.format(value="a / nullif(b, 0)", **filled))
        if "query(" not in text:  # no function of expressions, which DuckDB says as it binds
            with pytest.raises(CpmonError):
                checked_expression(sql)
    with duckdb.connect() as connection:
        for text in QUERIES:
            with pytest.raises(CpmonError):
                guarded(connection, UserSql(text.format(select="SELECT 1 AS a", **filled)))


@trials(OF_EXPRESSIONS, EXPRESSIONS)
def test_an_expression_stays_in_its_place(site: Site, module: str, sql: str):
    ask, value = OF_EXPRESSIONS[module]
    _holds(site, ask, sql.replace("{value}", value))


@trials(OF_QUERIES, QUERIES)
def test_a_query_stays_in_its_place(site: Site, module: str, sql: str):
    asks, select = OF_QUERIES[module]
    for ask in asks:
        _holds(site, ask, sql.replace("{select}", select))


@pytest.mark.slow
@pytest.mark.parametrize("end", [HONEST_ENDS[0], *map(later, HONEST_ENDS[1:])])
def test_honest_sql_may_end_in_a_comment(site: Site, end: str):
    for ask, value in OF_EXPRESSIONS.values():
        answer = ask(site, value + end)
        assert answer.status is Status.DONE, answer
    for asks, select in OF_QUERIES.values():
        for each in asks:
            answer = each(site, select + end)
            assert answer.status is Status.DONE, answer


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('numerator = "pages"', 'numerator = "pages) FROM read_text(1"'),
        ('denominator = "seconds"', "denominator = \"1); COPY (SELECT 1) TO 'x'; --\""),
        ('keys = ["cpu"]', 'keys = ["cpu) FROM t; --"]'),
        ('sort = "move_rate"', 'sort = "1; SELECT 2"'),
        ('follows = { cpu = "cpu" }', 'follows = { cpu = "cpu = 1 OR true" }'),
        ('low = "0"', 'low = "(SELECT 1)"'),
        ('name = "move_rate"', 'name = "a, b"'),
        ('kind = "ratio"', 'kind = "ratio"\nfactor = "1e3 + 1"'),
        ('total = ["move_rate"]', 'total = ["1) --"]'),
        ('columns = ["cpu", "move_rate"]', 'columns = ["cpu", "move_rate", "a) --"]'),
    ],
)
def test_a_name_in_definitions_is_a_name(site: Site, old: str, new: str):
    assert old in TABLES
    site.define("own.toml", TABLES.replace(old, new))
    answer = site.ask("report", "moves")
    assert answer.status is Status.USAGE, answer


def test_sql_of_people_is_no_text():
    sql = UserSql("SELECT 1")
    for use_it in (str, "{}".format, lambda sql: f"{sql}", lambda sql: "".join([sql])):
        with pytest.raises(TypeError):
            use_it(sql)
