"""docs/validation.md, held against the rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.reduce.validation.layout_rules import KINDS, Kind
from cpmon.reduce.validation.rule import Rule
from cpmon.reduce.validation.site_rules import NewRule
from cpmon.reduce.validation.written import COLUMNS, written_rules
from tools import check_sql

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
FILES = sorted((ROOT / "reduce" / "validation" / "rules").glob("*.sql"))


def line(rule: Rule | Kind) -> str:
    """The line of a rule in a table of the page."""
    name = rule.id if isinstance(rule, Rule) else f"TABLE.{rule.name}"
    title = rule.title.replace("{table}", "the table")
    said = f"{rule.meaning} {rule.remedy}".replace("\n", " ")
    return f"| `{name}` | {rule.severity} | {title} | {said} |"


@pytest.mark.parametrize("rule", [*KINDS, *written_rules()], ids=lambda r: line(r).split("`")[1])
def test_the_page_says_of_each_rule_what_the_rule_says(rule: Rule | Kind):
    assert line(rule) in PAGE.splitlines()


def test_the_page_names_the_keys_of_a_rule_and_the_columns_of_its_sql():
    assert all(f"`{name}`" in PAGE for name in (*NewRule.__struct_fields__, *COLUMNS))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_sql_of_a_rule_is_written_like_all_sql(file: Path):
    text = file.read_text(encoding="utf-8")
    assert [one for check in check_sql.EVERYWHERE for one in check(text)] == []
