"""User classes: which pattern decides, and that nothing made with other classes is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.config import Settings
from cpmon.core.errors import CpmonError
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, class_rules, connect, deciding_rule, save_classes
from cpmon.store.measured.classes import parse_classes
from cpmon.store.results.reduced import kept
from tests.dumps import dump, fields, interval
from tests.scenarios import CONFIG

FILE = """# class  users
web      LXWEB* lxfr*   # Linux
STAFF    STAFF??? ANNA
ODD      A_* A#B*
WEB      OLDWEB
"""
USERS = ("LXWEB001", "STAFF001", "STAFF01", "ANNA", "AXB", "A_B", "A#BC", "OLDWEB", "TCPIP")


def class_of(userid: str) -> str | None:
    rule = deciding_rule(parse_classes(FILE, "f"), userid)
    return rule.name if rule else None


def users(*names: str) -> bytes:
    """Two samples of users who each have used a second more than the one before."""
    return dump(
        *(
            interval(
                s,
                CONFIG,
                *(
                    fields("useact", s, vmduser=name, vmdttime=s * (n + 1) << 20)
                    for n, name in enumerate(names)
                ),
            )
            for s in (60, 120)
        )
    )


def test_the_first_pattern_that_matches_decides():
    found = {name: class_of(name) for name in USERS}
    assert found == {
        "LXWEB001": "WEB",
        "STAFF001": "STAFF",
        "STAFF01": None,  # ? is one character, not none
        "ANNA": "STAFF",
        "AXB": None,  # _ stands for itself
        "A_B": "ODD",
        "A#BC": "ODD",
        "OLDWEB": "WEB",
        "TCPIP": None,
    }
    assert class_of("anna") == "STAFF"
    rules = parse_classes("A  X*\nB  XY\n", "f")
    assert (deciding_rule(rules, "XY"), rules[1].line) == (rules[0], 2)


def test_the_catalogue_decides_as_python_does(store: Store, tmp_path: Path):
    (tmp_path / "a.mon").write_bytes(users(*USERS))
    ingest(tmp_path / "a.mon", store)
    save_classes(store, FILE, "f")
    with connect(store, reductions()) as con:
        found = dict(con.sql("SELECT userid, class FROM meta.user_class").fetchall())
    assert found == {name: class_of(name) or "OTHER" for name in USERS}


def test_without_a_file_everybody_is_of_class_other(store: Store, tmp_path: Path):
    (tmp_path / "a.mon").write_bytes(users("ANNA"))
    ingest(tmp_path / "a.mon", store)
    assert class_rules(store) == ()
    with connect(store, reductions()) as con:
        assert con.sql("FROM meta.user_class").fetchall() == [("ANNA", "OTHER")]


def test_other_classes_show_at_once(store: Store, tmp_path: Path):
    (tmp_path / "a.mon").write_bytes(users("ANNA", "BERT"))
    ingest(tmp_path / "a.mon", store)
    classes = "SELECT DISTINCT class FROM user_classes_by_time ORDER BY class"
    for text, want in (("X ANNA\nY BERT", ["X", "Y"]), ("", ["OTHER"])):
        save_classes(store, text, "f")
        with connect(store, reductions()) as con:
            assert [name for (name,) in con.sql(classes).fetchall()] == want


@pytest.mark.slow
def test_results_kept_with_other_classes_are_not_read(store: Store, tmp_path: Path):
    (tmp_path / "a.mon").write_bytes(users("ANNA", "BERT"))
    ingest(tmp_path / "a.mon", store)
    save_classes(store, "X *", "f")
    for name in ("user_classes_by_time", "users_by_time"):
        reduce(store, [name], Settings())
    assert {"user_classes_by_time", "users_by_time"} <= kept(store, reductions()).keys()

    save_classes(store, "Y *", "f")

    found = kept(store, reductions())
    assert "user_classes_by_time" not in found
    assert "users_by_time" in found  # classes have nothing to do with it
    with connect(store, reductions()) as con:
        assert con.sql("SELECT DISTINCT class FROM user_classes_by_time").fetchall() == [("Y",)]


@pytest.mark.parametrize(
    ("text", "problem", "place"),
    [
        ("A X*\nLONELY\n", "class LONELY has no users", "f, line 2"),
        ("A X* ABCDEFGHI", "a pattern matches no user id", "f, line 1"),
        ("A 'X'", "a pattern matches no user id", "f, line 1"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_replaced(
    store: Store, text: str, problem: str, place: str
):
    save_classes(store, FILE, "f")
    with pytest.raises(CpmonError, match=problem) as caught:
        save_classes(store, text, "f")
    assert caught.value.place == place
    assert (store.root / "classes.txt").read_text() == FILE


def test_a_file_that_is_no_text_is_refused(store: Store):
    (store.root / "classes.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(CpmonError, match="the classes of the store cannot be read"):
        class_rules(store)
