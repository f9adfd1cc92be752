"""Rules from files: what a site says over what is shipped, and how a wrong rule is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cpmon.config import Settings
from cpmon.core.errors import CpmonError
from cpmon.reduce.reductions.reductions import inferred_records
from cpmon.reduce.rules.rule import Purpose, Rule, Severity, load_rules

MINE = """
[exceptions.mine]
title = "Mine"
severity = "info"
area = "processor"
"""


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        file = tmp_path / "rules.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return write


def by_id(settings: dict[str, Any] | None = None, file: Path | None = None) -> dict[str, Rule]:
    return {
        rule.id: rule
        for rule in load_rules(Purpose.EXCEPTIONS, Settings(exceptions=settings or {}), file)
    }


def test_the_shipped_rules_look_for_what_is_promised() -> None:
    found = by_id()
    limits = {name: (rule.limit, rule.for_minutes) for name, rule in found.items()}
    assert limits == {
        "processor-busy": (90, 5),
        "spin-time": (10, 5),
        "page-volume-busy": (40, 5),
        "available-list-empty": (0, 0),
        "device-response": (30, 5),
        "user-looping": (90, 60),
        "monitor-data-lost": (None, 0),
        "monitor-events-lost": (None, 0),
        "monitor-gap": (None, 0),
    }
    for rule in found.values():
        assert rule.severity is not Severity.INFO
        assert rule.written_in == "shipped rules"


def test_a_site_changes_single_keys_and_a_file_wins_over_the_settings(
    written: Callable[[str], Path],
) -> None:
    shipped = by_id()
    settings = {"processor-busy": {"limit": 95, "for": 15}, "spin-time": {"enabled": False}}
    found = by_id(settings)
    changed = found["processor-busy"]
    assert (changed.limit, changed.for_minutes) == (95, 15)
    assert changed.title == shipped["processor-busy"].title
    assert changed.place("limit") == "cpmon.toml: exceptions.processor-busy.limit"
    assert changed.place("metric") == "shipped rules: exceptions.processor-busy.metric"
    assert set(shipped) - set(found) == {"spin-time"}

    file = written(
        "[exceptions.processor-busy]\nlimit = 99\n[exceptions.spin-time]\nenabled = true"
    )
    found = by_id(settings, file)
    assert (found["processor-busy"].limit, found["processor-busy"].for_minutes) == (99, 15)
    assert "spin-time" in found


def test_another_source_of_values_leaves_the_old_one_behind() -> None:
    sql = "SELECT interval_end, 'x' AS object, 1 AS value FROM meta.interval"
    found = by_id({"processor-busy": {"sql": sql}})["processor-busy"]
    assert (found.sql.unchecked, found.reduction, found.metric, found.record) == (sql, "", "", "")
    assert found.limit == 90
    other = {"reduction": "paging_by_time", "metric": "empty_below_2g", "object": "all"}
    found = by_id({"available-list-empty": other})["available-list-empty"]
    assert (found.sql.unchecked, found.metric) == ("", "empty_below_2g")


def test_a_new_rule_stands_beside_the_shipped_ones(written: Callable[[str], Path]) -> None:
    rule = """reduction = "processors_by_time"
        metric = "spin_tod"
        per = "busy_tod"
        comparison = "below"
        limit = 0.5
        shift = "prime"
        object = "CPU {cpu}"
        least = { busy_tod = 1 }"""
    found = by_id(file=written(MINE + rule))
    assert len(found) == len(by_id()) + 1
    mine = found["mine"]
    assert (mine.keys, mine.least, mine.shift) == (("cpu",), {"busy_tod": 1.0}, "prime")
    assert mine.comparison == "below"


SOURCE = 'reduction = "processors_by_time"\nmetric = "total_util"\nlimit = 1\n'
SQL = 'sql = "SELECT 1"\n'


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("[exceptions.mine]\nsql = 'x'\ntitle = 'x'", "exceptions.mine", "severity is missing"),
        (MINE, "exceptions.mine", "it has no sql or reduction to be a new one"),
        (MINE + SOURCE + SQL, "exceptions.mine", "either reduction and metric, or sql"),
        (MINE + SOURCE + "limt = 1", "exceptions.mine.limt", "did you mean limit?"),
        (MINE + SOURCE + "for = -1", "exceptions.mine.for", "minutes, 0 or more"),
        (MINE + SOURCE + "for = true", "exceptions.mine.for", "True"),
        (MINE + SOURCE + "scale = nan", "exceptions.mine.scale", "a number"),
        (MINE + SOURCE + "unit = 5", "exceptions.mine.unit", "a text"),
        (MINE + SOURCE + "enabled = 1", "exceptions.mine.enabled", "true or false"),
        (MINE + SOURCE + "comparison = 'over'", "exceptions.mine.comparison", "above, below"),
        (MINE + SOURCE + "object = 'CPU {cpuu}'", "exceptions.mine.object", "did you mean cpu?"),
        (MINE + SOURCE + "per = 'secnds'", "exceptions.mine.per", "did you mean seconds?"),
        (MINE + SOURCE + "least = { wait = 1 }", "exceptions.mine.least", "wait_util"),
        (MINE + SOURCE + "least = { cpu = 'x' }", "exceptions.mine.least.cpu", "a number"),
        (MINE + SOURCE + "record = 'sytpr'", "exceptions.mine.record", "sytprp"),
        (
            MINE + SOURCE + "record = 'sytprp'\nrecord_keys = { cpu = 'cpu' }",
            "exceptions.mine.record_keys",
            "pfxcpuad",
        ),
        (
            MINE + "reduction = 'processor_by_time'\nmetric = 'x'\nlimit = 1",
            "exceptions.mine.reduction",
            "did you mean processors_by_time?",
        ),
        (MINE + "reduction = 'processors_by_time'\nlimit = 1", "exceptions.mine.metric", "column"),
        (
            MINE + "reduction = 'processors_by_time'\nmetric = 'cpu'",
            "exceptions.mine.limit",
            "a number",
        ),
        (
            MINE + "reduction = 'run_summary'\nmetric = 'users'\nlimit = 1",
            "exceptions.mine.reduction",
            "lines by time",
        ),
        (MINE + SQL + "object = 'CPU {cpu}'", "exceptions.mine.object", "the sql says it"),
        (MINE.replace('"info"', '"bad"') + SQL, "exceptions.mine.severity", "info, warning, crit"),
        ("[exceptions]\nmine = 3", "exceptions.mine", "a table"),
        ("[rules.mine]\nx = 1", "rules", "exceptions"),
        ("exceptions = [", "", "cannot be read"),
    ],
)
def test_a_rule_that_is_wrong_is_refused_with_file_key_found_and_allowed(
    text: str, place: str, said: str, written: Callable[[str], Path]
) -> None:
    file = written(text)
    with pytest.raises(CpmonError) as error:
        load_rules(Purpose.EXCEPTIONS, file=file)
    assert error.value.place == (f"{file}: {place}" if place else str(file))
    assert error.value.found
    assert said in str(error.value)


def test_rules_of_settings_are_refused_alike() -> None:
    with pytest.raises(CpmonError) as error:
        load_rules(Purpose.EXCEPTIONS, Settings(exceptions={"processor-busy": {"limit": "much"}}))
    assert error.value.place == "cpmon.toml: exceptions.processor-busy.limit"
    assert (error.value.found, error.value.expected) == ("'much'", "a number")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CpmonError) as error:
        load_rules(Purpose.EXCEPTIONS, file=tmp_path / "none.toml")
    assert error.value.place == str(tmp_path / "none.toml")


def test_rules_say_on_which_inferred_layouts_they_rest() -> None:
    found = by_id()
    assert inferred_records(found["user-looping"].tables) == ("USEACT (4.3)",)
    assert inferred_records(found["available-list-empty"].tables) == ()
    assert "IODDEV (6.3)" in inferred_records(found["device-response"].tables)


def test_the_page_names_every_key_and_rule_and_its_example_is_read(
    written: Callable[[str], Path],
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "exceptions.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE))
    assert named == Purpose.EXCEPTIONS.keys | set(by_id())
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    found = by_id(file=written(example))
    assert set(found) == set(by_id()) - {"spin-time"} | {"master-busy", "many-users"}
