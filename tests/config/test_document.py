"""Typed TOML documents: a mistake anywhere is located by its key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from cpmon.config import Document, Table
from cpmon.config.values import Days, Duration, Names, Number, Release, ZoneName
from cpmon.core.errors import CpmonError


class Leaf(Table, frozen=True):
    kind: Literal["a", "b"]
    share: Annotated[float, Meta(ge=0, le=1)] = 0.5
    waits: Duration | None = None
    tags: Names = Names()


class Branch(Table, frozen=True):
    leaves: dict[str, Leaf] = msgspec.field(default_factory=dict)
    rows: list[Leaf] = msgspec.field(default_factory=list)


class Tree(Table, frozen=True):
    branches: dict[str, Branch] = msgspec.field(default_factory=dict)
    folder: Path | None = None
    count: int = 1


def read(text: str) -> Tree:
    return Document(text, "t.toml", "the tree").read(Tree, Path("site"))


def test_a_document_becomes_typed_tables():
    tree = read('folder = "in"\n[branches.x.leaves."p q"]\nkind = "b"\nwaits = "2m"\ntags = "one"')
    leaf = tree.branches["x"].leaves["p q"]
    assert (tree.folder, leaf.kind, leaf.share) == (Path("site/in"), "b", 0.5)
    assert leaf.waits is not None and leaf.waits.seconds == 120
    assert leaf.tags == ("one",)


@pytest.mark.parametrize(
    ("text", "place", "expected", "found"),
    [
        ("count = 'x'", "count", "a whole number", "'x'"),
        ("branches = 3", "branches", "a table, as [branches]", "3"),
        (
            "[branches.ok.leaves.a]\nkind = 'a'\n[branches.bad.leaves.a]\nkind = 'c'",
            "branches.bad.leaves.a.kind",
            "a, b",
            "'c'",
        ),
        (
            "[branches.x.leaves.\"p q\"]\nkind = 'a'\nshare = 2",
            'branches.x.leaves."p q".share',
            "a number from 0 to 1",
            "2",
        ),
        (
            "[[branches.x.rows]]\nkind = 'a'\n[[branches.x.rows]]\nkind = 'a'\nwaits = '2 m'",
            "branches.x.rows[1].waits",
            "a length of time, as 90s, 15m, 1h or 2d",
            "'2 m'",
        ),
        (
            "[[branches.x.rows]]\nkind = 'a'\ntags = ['q', 'q']",
            "branches.x.rows[0].tags",
            "a text, or a list of texts without repetition",
            "['q', 'q']",
        ),
    ],
)
def test_a_wrong_value_is_located(text: str, place: str, expected: str, found: str):
    with pytest.raises(CpmonError) as caught:
        read(text)
    error = caught.value
    assert (error.place, error.expected, error.found) == (f"t.toml: {place}", expected, found)


@pytest.mark.parametrize(
    ("text", "problem", "place"),
    [
        ("[branches.x.leaves.a]\nknd = 'a'", "there is no key knd", "knd"),
        ("[branches.x.leaves.a]\nshare = 1", "kind is missing", "branches.x.leaves.a"),
        ("[branches.x.leafs.a]\n", "there is no key leafs", "branches.x.leafs"),
    ],
)
def test_a_key_that_is_unknown_or_missing_is_located(text: str, problem: str, place: str):
    with pytest.raises(CpmonError) as caught:
        read(text)
    assert caught.value.problem == problem
    assert (caught.value.place or "").endswith(place)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ZoneName, "../etc/passwd"),
        (ZoneName, "Europe"),
        (Release, "7.\u00b2"),
        (Release, "\u0667.3"),
        (Duration, "\u0663s"),
        (Days, "mon-fry"),
        (Number, float("nan")),
        (Number, True),
        (Names, [""]),
    ],
)
def test_texts_that_only_look_right_are_refused(kind: type, value: object):
    with pytest.raises(ValueError, match=r"[a-z]"):
        kind.parse(value)  # type: ignore[attr-defined]


def test_days_may_go_over_the_weekend():
    assert Days.parse("sat-tue, thu").numbers == (1, 2, 4, 6, 7)
