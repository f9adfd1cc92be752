"""docs/validation.md, held against the rules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cpmon.reduce.rules.layout_checks import FIGURES, KINDS
from cpmon.reduce.rules.rule import Purpose, load_rules
from tools import check_sql

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
SHIPPED = {rule.id: rule for rule in load_rules(Purpose.VALIDATION)}
LINES = {
    **{name: (r.severity, r.title, r.meaning, r.remedy) for name, r in SHIPPED.items()},
    **{
        f"TABLE.{kind}": (r["severity"], r["title"], r["meaning"], r["remedy"])
        for kind, r in KINDS.items()
        if kind != FIGURES
    },
}


@pytest.mark.parametrize("name", LINES)
def test_the_page_says_of_each_rule_what_the_rule_says(name: str):
    severity, title, meaning, remedy = LINES[name]
    title = title.replace("{table}", "the table")
    assert f"| `{name}` | {severity} | {title} | {meaning} {remedy} |" in PAGE.splitlines()


def test_the_page_names_no_other_rule():
    named = re.findall(r"^\| `([\w.-]+)` \| (?:critical|warning|info) ", PAGE, re.MULTILINE)
    assert sorted(named) == sorted(LINES)


def test_the_page_names_the_keys_of_a_rule_and_the_columns_of_its_sql():
    purpose = Purpose.VALIDATION
    assert all(f"`{name}`" in PAGE for name in (*purpose.keys, *purpose.columns))


@pytest.mark.parametrize("name", SHIPPED)
def test_the_sql_of_a_rule_is_written_like_all_sql(name: str):
    text = f"{SHIPPED[name].sql.unchecked};\n"
    assert [one for check in check_sql.EVERYWHERE for one in check(text)] == []
