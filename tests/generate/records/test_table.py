"""Tables of records: what is wrong in one is refused when it is read, with its place."""

from __future__ import annotations

import pytest

from cpmon.core.errors import CpmonError
from cpmon.generate.records.table import read_records, records

RIGHT = """
[shared.processor]
rows = "len(cpus)"
values.pfxcpuad = "cpus"

[sytscp]
use = ["processor"]
let.twice = "2 * activity.dispatches"
values.plsdspcn = "twice"
"""


def test_a_record_has_the_fields_of_the_tables_that_it_uses():
    assert list(read_records({"a.toml": RIGHT})) == ["sytscp"]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("plsdspcn", "plsdspcx", "plsdspcx"),
        ("2 * activity", "2 * activities", "activities"),
        ('"twice"', '"thrice"', "thrice"),
        ('["processor"]', '["processors"]', "processors"),
        ("rows =", "row =", "row"),
        ("sytscp", "sytxyz", "sytxyz"),
        ("2 * activity.dispatches", "2 *", "2 *"),
    ],
)
def test_what_means_nothing_is_refused_with_its_place(old: str, new: str, found: str):
    with pytest.raises(CpmonError) as refused:
        read_records({"a.toml": RIGHT.replace(old, new)})
    assert found in str(refused.value)


def test_records_are_in_the_order_in_which_cp_writes_them():
    keys = [(each.layout.domain, each.layout.record) for each in records().values()]
    assert keys == sorted(keys)
