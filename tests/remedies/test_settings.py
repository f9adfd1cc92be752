"""Settings and rules that are wrong: what the message says mends them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.remedies.trying import Attempt, tries

MINE = """[exceptions.mine]
title = "Mine"
severity = "info"
area = "user"
unit = "pages"
limit = 1
sql = "SELECT system, interval_end, vmduser AS object, {} AS value FROM monitor.useact"
"""
OURS = """[validation.mine]
title = "Mine"
severity = "info"
sql = "SELECT system, interval_end, vmduser AS object, {} AS value, 0 AS least, 9 AS most
FROM monitor.useact"
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(MINE, ("exceptions",), marks=tries("rule-failed")),
        pytest.param(
            OURS.replace("\nFROM", " FROM"),
            ("validate", "--rule", "mine"),
            marks=[tries("rule-failed")],
        ),
    ],
)
@pytest.mark.slow
@pytest.mark.parametrize("off", [True, False])
def test_a_rule_that_does_not_work_is_switched_off_or_corrected(
    off: bool, text: str, words: tuple[str, ...], tried: Attempt, landed: Path, tmp_path: Path
):
    file = tmp_path / "cpmon.toml"
    command = (*words, "--store", landed, "--config", file)
    file.write_text(text.format("no_such_column"), encoding="utf-8")
    said = tried.fails(*command)
    found = re.search(r"switch it off: (.*) in (\[.*\])\n", said)
    assert found is not None
    head, table = text.partition("\n")[0], found[2].replace("'", "")
    assert head == table
    right = text.format("no_such_column" if off else "vmdttime")
    file.write_text(right.replace(head, f"{head}\n{found[1]}") if off else right, encoding="utf-8")
    if words[0] == "validate" and off:
        command = ("validate", "--store", landed, "--config", file, "--rule", "useact.keys")
    tried.works(*command)


@tries("rules-disabled")
def test_a_rule_is_switched_on_again(tried: Attempt, landed: Path, tmp_path: Path):
    file = tmp_path / "cpmon.toml"
    command = ("exceptions", "--list", "--store", landed, "--config", file)
    file.write_text("", encoding="utf-8")
    rules = [rule["rule"] for rule in tried.works(*command, "--format", "json").rows]
    off = "".join(f"[exceptions.{rule}]\nenabled = false\n" for rule in rules)
    file.write_text(off, encoding="utf-8")
    tried.fails(*command)
    file.write_text(off.replace("enabled = false", "", 1), encoding="utf-8")
    (one,) = tried.works(*command, "--format", "json").rows
    assert one["rule"] == rules[0]


@tries("rule-incomplete")
def test_rules_of_validation_are_listed_as_the_message_says(
    tried: Attempt, landed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CPMON_STORE", str(landed))
    file = tmp_path / "cpmon.toml"
    file.write_text("[validation.useact]\nenabled = false\n", encoding="utf-8")
    said = tried.fails("validate", "--list", "--config", file)
    assert "useact.keys" in tried.as_said(said).text


@tries("name-unknown")
def test_the_rule_that_is_suggested_is_one(tried: Attempt, landed: Path):
    said = tried.fails("validate", "--rows", "useact.key", "--store", landed)
    assert "did you mean useact.keys?" in said
    tried.works("validate", "--rows", "useact.keys", "--store", landed)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ('timezon = "UTC"', 'timezone = "UTC"'),
        ("[retention]\nrau = '30d'", "[retention]\nraw = '30d'"),
        ("[shifts.prime]\ndayz = 'mon'", "[shifts.prime]\ndays = 'mon'"),
        ("[batch]\nquarantin = 'bad'", "[batch]\nquarantine = 'bad'"),
        ("[[inbox]]\nfoldr = 'in'", "[[inbox]]\nfolder = 'in'"),
        ("[exceptions.spin-time]\nlimitt = 3", "[exceptions.spin-time]\nlimit = 3"),
        ("[validation.device-busy]\nenable = true", "[validation.device-busy]\nenabled = true"),
    ],
)
@tries("name-unknown", "did you mean")
def test_a_key_is_spelt_as_suggested(wrong: str, right: str, tried: Attempt, tmp_path: Path):
    file = tmp_path / "cpmon.toml"
    inbox = "" if "inbox" in wrong else "[[inbox]]\nfolder = 'in'\n"
    times = "from = '08:00'\nto = '18:00'\n" if "shifts" in wrong else ""
    file.write_text(f"{wrong}\n{times}{inbox}", encoding="utf-8")
    said = tried.fails("config", "check", file)
    misspelt, key = (text.rpartition("\n")[2].partition(" =")[0] for text in (wrong, right))
    place = said.partition("\n  at ")[2].partition("\n")[0]
    assert str(file) in place and place.endswith(misspelt)
    assert f"did you mean {key}?" in said
    file.write_text(f"{right}\n{times}{inbox}", encoding="utf-8")
    tried.works("config", "check", file)


@tries("key-missing")
def test_a_key_that_must_be_there_is_added(tried: Attempt, tmp_path: Path):
    file = tmp_path / "cpmon.toml"
    file.write_text("[[inbox]]\nrecursive = true\n", encoding="utf-8")
    assert "add folder = ... there" in tried.fails("config", "check", file)
    file.write_text("[[inbox]]\nrecursive = true\nfolder = 'in'\n", encoding="utf-8")
    tried.works("config", "check", file)
