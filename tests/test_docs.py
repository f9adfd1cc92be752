"""What the written pages of docs/ say of the catalogue, held against the catalogue."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cpmon.store import Store, connect

STORE_PAGE = Path(__file__).resolve().parents[1] / "docs" / "store.md"
ROW = re.compile(r"^\| `(\w+)` \| each [^|]*\| (.*) \|$", re.M)


@pytest.mark.parametrize("table", ["dump", "interval", "finding", "run", "dictionary"])
def test_the_page_of_the_store_names_the_columns_of_meta_as_they_are(table: str, tmp_path: Path):
    said = dict(ROW.findall(STORE_PAGE.read_text(encoding="utf-8")))
    with connect(Store(tmp_path / "store", create=True)) as connection:
        found = connection.sql(f"FROM meta.{table}").columns
    assert re.findall(r"`(\w+)`", said[table]) == found
