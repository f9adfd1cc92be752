"""What the written pages of docs/ say of a store, compared with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cpmon.cli.store.store_command import prune
from cpmon.store import Store, connect
from cpmon.store.results.reduced import LEVELS

DOCS = Path(__file__).resolve().parents[1] / "docs"
STORE_PAGE = DOCS / "store.md"
ROW = re.compile(r"^\| `(\w+)` \| each [^|]*\| (.*) \|$", re.M)


@pytest.mark.parametrize(
    "table", ["dump", "interval", "finding", "run", "user_class", "reduced", "dictionary"]
)
def test_the_page_of_the_store_names_the_columns_of_meta_as_they_are(table: str, tmp_path: Path):
    said = dict(ROW.findall(STORE_PAGE.read_text(encoding="utf-8")))
    with connect(Store(tmp_path / "store", create=True)) as connection:
        found = connection.sql(f"FROM meta.{table}").columns
    assert re.findall(r"`(\w+)`", said[table]) == found


def test_retention_is_offered_for_the_levels_that_are_kept():
    (keep,) = [option for option in prune.params if option.name == "keep"]
    assert f"results of {', '.join(LEVELS)} are kept" in keep.help
    (settings,) = re.findall(
        r"^\[retention\]\n(.*?)^```",
        (DOCS / "keeping-a-store.md").read_text(encoding="utf-8"),
        re.M | re.S,
    )
    assert re.findall(r"^(\w+) =", settings, re.M) == [*LEVELS, "raw"]


def test_each_promise_of_the_page_of_security_names_a_test_that_there_is():
    page = (DOCS / "security.md").read_text(encoding="utf-8")
    sections = re.split(r"^##+ ", page, flags=re.M)[1:]
    assert len(sections) > 10
    for section in sections:
        title, _, body = section.partition("\n")
        named = re.findall(r"`(tests/[\w/]+\.py)`", body)
        assert named, title
        assert [name for name in named if not (DOCS.parent / name).is_file()] == []


SPARK = "cpmon.spark"
"""The views of a store in a session of Spark: an interface of its own, with an extra."""


def test_programs_on_pages_import_cpmon_alone():
    """Its other modules may change; who copies from a page must not depend on them."""
    pages = [DOCS.parent / "README.md", *DOCS.rglob("*.md")]
    named = {
        (page.name, module)
        for page in pages
        for module in re.findall(r"^\W*(?:from|import) (cpmon[\w.]*)", page.read_text(), re.M)
    }
    assert ("README.md", "cpmon") in named
    assert {module for _, module in named} == {"cpmon", SPARK}
