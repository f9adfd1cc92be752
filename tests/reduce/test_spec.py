"""What a table spec can get wrong, and what the message then names."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.core.errors import CpmonError
from cpmon.reduce.compare import load_spec, parse_spec
from cpmon.reduce.compare.spec import NOT_MEASURED
from tests.reduce.catalogue import empty_catalogue

TEXTS = ("VARCHAR", "TIMESTAMP")
HEAD = 'name = "t"\nruns = ["A", "B"]\n'


def rows(*lines: str) -> str:
    return HEAD + "[[groups]]\nrows = [" + ", ".join(lines) + "]\n"


UTIL = '{ label = "Util", measure = "total_util", scale = 100, digits = 1 }'


def test_a_small_spec_has_sensible_defaults() -> None:
    spec = parse_spec(rows(UTIL), "t.toml")
    assert spec.heading == "t"
    assert spec.bases is None
    assert spec.ratios
    assert spec.header == ("cp_level", "users", "processors")
    assert spec.rows[0].source_tag == "calc"
    assert spec.claims_block == "t_claims"


def test_one_base_stands_for_all_runs() -> None:
    assert parse_spec('base = "B"\n' + rows(UTIL), "t").bases == {"A": "B", "B": "B"}


@pytest.mark.parametrize(
    ("text", "place", "found", "expected"),
    [
        ("runs = ['A']", "t.toml", "runs", "name = ..."),
        (HEAD, "t.toml: groups", "nothing", "at least one group with a row"),
        ('name = "t"\nruns = []\n', "t.toml: runs", "[]", "at least one run"),
        (
            'name = "t"\nruns = ["A", "A"]',
            "t.toml: runs",
            "['A', 'A']",
            "a text, or a list of texts without repetition",
        ),
        ('base = "C"\n' + rows(UTIL), "t.toml: base", "'C'", "one of A, B"),
        ('base = { A = "A" }\n' + rows(UTIL), "t.toml: base", "{'A': 'A'}", "one of A, B"),
        (
            'base = { A = "A", B = ["A"] }\n' + rows(UTIL),
            "t.toml: base",
            "{'A': 'A', 'B': ['A']}",
            "one of A, B",
        ),
        ("ratios = 1\n" + rows(UTIL), "t.toml: ratios", "1", "true or false"),
        (rows("1"), "t.toml: groups[0].rows[0]", "1", "a table, as [groups[0].rows[0]]"),
        (
            rows(UTIL, UTIL),
            "t.toml: groups[0].rows[1].label",
            "'Util'",
            "a label that no row above",
        ),
        (
            rows('{ label = "X", measure = "total_utl" }'),
            "t.toml: groups[0].rows[0].measure",
            "'total_utl'",
            "a column of run_summary that is a number (did you mean total_util?)",
        ),
        (
            rows('{ label = "X", measure = "cp_level" }'),
            "t.toml: groups[0].rows[0].measure",
            "'cp_level'",
            "a column of run_summary that is a number",
        ),
        (
            rows('{ label = "X" }'),
            "t.toml: groups[0].rows[0].measure",
            "nothing",
            "one of measure, samples, total, attribute, plus and minus",
        ),
        (
            rows('{ label = "X", measure = "total_util", source = "z" }'),
            "t.toml: groups[0].rows[0].source",
            "'z'",
            "t, h, v, m",
        ),
        (
            rows('{ label = "X", measure = "total_util", style = "wide" }'),
            "t.toml: groups[0].rows[0].style",
            "'wide'",
            "fixed, kept, thousands",
        ),
        (
            rows('{ label = "X", measure = "total_util", digits = 99 }'),
            "t.toml: groups[0].rows[0].digits",
            "99",
            "a whole number from 0 to 9",
        ),
        (
            rows('{ label = "X", measure = "total_util", scale = 0 }'),
            "t.toml: groups[0].rows[0].scale",
            "0",
            "a number up to 1000000000, not 0",
        ),
        (
            rows('{ label = "X", plus = ["Y"] }'),
            "t.toml: groups[0].rows[0].plus",
            "['Y']",
            "labels of rows above",
        ),
        (
            rows(UTIL) + '[[claims]]\nlabel = "C"\nrow = "Util"\nrun = "Z"\nbase = "A"\n',
            "t.toml: claims[0].run",
            "'Z'",
            "A, B",
        ),
        (
            rows(UTIL) + '[[claims]]\nlabel = "C"\nrow = "Y"\nrun = "A"\nbase = "A"\n',
            "t.toml: claims[0].row",
            "'Y'",
            "the label of a row",
        ),
    ],
)
def test_a_wrong_value_is_named_with_file_key_value_and_what_is_allowed(
    text: str, place: str, found: str, expected: str
) -> None:
    with pytest.raises(CpmonError) as caught:
        parse_spec(text, "t.toml")
    assert caught.value.place == place
    assert caught.value.found == found
    assert (caught.value.expected or "").startswith(expected)


def test_every_number_of_the_run_summary_is_a_measure_and_nothing_else() -> None:
    found = empty_catalogue().sql("FROM run_summary")
    texts = {n for n, kind in zip(found.columns, found.types, strict=True) if str(kind) in TEXTS}
    assert texts == NOT_MEASURED


def test_an_unknown_key_is_an_error_with_the_nearest_known_one() -> None:
    with pytest.raises(CpmonError) as caught:
        parse_spec(rows('{ label = "X", measure = "total_util", digit = 1 }'), "t.toml")
    assert caught.value.place == "t.toml: groups[0].rows[0].digit"
    assert caught.value.remedy == "did you mean digits?"


def test_a_file_that_is_no_toml_says_where() -> None:
    with pytest.raises(CpmonError, match="the table spec cannot be read") as caught:
        parse_spec("name = 1 2\n", "t.toml")
    assert "line 1" in (caught.value.found or "")


def test_an_unknown_table_suggests_the_nearest() -> None:
    with pytest.raises(CpmonError) as caught:
        load_spec("timer_t3")
    assert caught.value.remedy in {"did you mean timer_t1?", "did you mean timer_t2?"}


def test_a_users_file_is_read_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(rows(UTIL), encoding="utf-8")
    assert load_spec(file).name == "t"
    assert load_spec(str(file)).name == "t"
    with pytest.raises(CpmonError, match="cannot be read"):
        load_spec(tmp_path / "other.toml")


def test_names_are_found_in_any_case_and_with_dashes() -> None:
    assert load_spec("Timer-T1").name == "timer_t1"
