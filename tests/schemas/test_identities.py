"""What identifies the rows of every record: the page that says so, and the keys that hold it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cpmon.schemas import layout, layouts
from cpmon.schemas.arrow import owner_keys, told_apart
from cpmon.schemas.owners import owner_of
from cpmon.schemas.registry import record_names

PAGE = Path(__file__).resolve().parents[2] / "docs" / "what-reports-assume.md"


def test_the_page_tells_of_every_record_what_identifies_its_rows():
    _, section = PAGE.read_text(encoding="utf-8").split("## What a row is about")
    first = [row.split("|")[1] for row in section.splitlines() if row.startswith("| ")]
    named = [
        word for cell in first if " of L" not in cell for word in re.findall(r"[A-Z0-9]+", cell)
    ]

    assert sorted(named) == sorted(name.upper() for name in record_names().values())


@pytest.mark.parametrize(
    ("table", "keys"),
    [
        ("aplsdt_os_cpu", "userid product function blockno cpu_id"),
        ("aplsdt_fs", "userid product function blockno fs_name fs_dir"),
        ("aplsdt_process", "userid product function blockno pid"),
        ("sytcup_cpu", "lcupname lcuppnum lcucpuid lcxcptyp"),
        ("sytlck_lock", "callckid"),
        ("iodszi_pth", "rdevdev pthid entry"),
        ("prcdia_diagnose", "pfxcpuad entry"),
    ],
)
def test_entries_belong_to_what_they_name_and_not_to_their_place(table: str, keys: str):
    assert owner_keys(layout(table)) == tuple(keys.split())


def test_buffers_tell_rows_apart_and_own_nothing():
    assert told_apart(layout("aplsdt")) == (*owner_keys(layout("aplsdt")), "mdgprod")
    assert told_apart(layout("aplsdt_process"))[-1] == "mdgprod"


def test_what_identifies_an_owner_is_a_column_of_its_table():
    for record in layouts():
        for table in record.tables():
            columns = {field.name for field in table.columns}
            assert set(owner_of(table).identity) <= columns, table.name
