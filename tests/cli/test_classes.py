"""`cpmon classes`: set, shown, and asked for one user."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.ingest import ingest
from cpmon.store import Store
from tests.cli.answer import Cpmon

FILE = b"ONE  ANN?\nFEW  TIMER000*\n"


@pytest.fixture
def lab(tmp_path: Path, dumps: list[Path]) -> Path:
    store = Store(tmp_path / "perf", create=True)
    ingest(dumps[0], store)
    return store.root


def userids(cpmon: Cpmon, store: Path) -> list[str]:
    sql = "SELECT userid FROM meta.user_class ORDER BY userid"
    return [row["userid"] for row in cpmon("query", sql, "--store", store, "--format", "json").rows]


def test_classes_are_set_from_a_file_or_a_pipe_and_shown(cpmon: Cpmon, lab: Path, tmp_path: Path):
    names = userids(cpmon, lab)
    file = tmp_path / "uclass.txt"
    file.write_text(f"ONE {names[0]}\nFEW {names[1][:6]}*\n")

    assert cpmon("classes", "set", file, "--store", lab).text == "classes: 2, patterns: 2\n"

    few = sum(name.startswith(names[1][:6]) for name in names[1:])
    assert cpmon("classes", "show", "--store", lab, "--format", "json").rows == [
        {"class": "ONE", "users": 1, "patterns": names[0]},
        {"class": "FEW", "users": few, "patterns": f"{names[1][:6]}*"},
        *(
            [{"class": "OTHER", "users": rest, "patterns": ""}]
            if (rest := len(names) - 1 - few)
            else []
        ),
    ]
    assert cpmon("classes", "set", "-", "--store", lab, stdin=b"ALL *").status is Status.DONE
    (row,) = cpmon("classes", "show", "--store", lab, "--format", "json").rows
    assert row == {"class": "ALL", "users": len(names), "patterns": "*"}


def test_a_user_is_told_with_the_line_that_decides(cpmon: Cpmon, lab: Path):
    cpmon("classes", "set", "-", "--store", lab, stdin=FILE)
    of = ("classes", "of")
    assert cpmon(*of, "timer000", "--store", lab).text == "TIMER000: FEW (line 2: TIMER000*)\n"
    assert cpmon(*of, "BERT", "--store", lab).text == "BERT: OTHER (no pattern matches)\n"


def test_a_wrong_file_changes_nothing(cpmon: Cpmon, lab: Path):
    cpmon("classes", "set", "-", "--store", lab, stdin=b"A A*")
    answer = cpmon("classes", "set", "-", "--store", lab, stdin=b"B")
    assert answer.status is Status.USAGE
    assert "class B has no users" in answer.err
    assert "CLASS PATTERN" in answer.err
    assert cpmon("classes", "of", "ABC", "--store", lab).text == "ABC: A (line 1: A*)\n"
