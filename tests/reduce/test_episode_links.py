from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from cpmon.config import Settings
from cpmon.reduce.page.episodes import linked_episodes
from cpmon.reduce.rules.exceptions import SCHEMA
from cpmon.reduce.rules.rule import Purpose, load_rules

HOUR = datetime.fromisoformat("2001-11-13T14:00")
LINKS = {
    ("cpu", 1): "r/cpu-1.html",
    ("device", 0x0A00): "r/device-0a00.html",
    ("user", "LNX1"): "r/user-lnx1.html",
}


def linked(rule: str, text: str | None, begin: int, end: int) -> dict[str, Any]:
    row = {
        "rule": rule,
        "object": text,
        "first_interval": HOUR + timedelta(minutes=begin),
        "last_interval": HOUR + timedelta(minutes=end),
    }
    rules = load_rules(Purpose.EXCEPTIONS, Settings())
    table = pa.Table.from_pylist([row], schema=SCHEMA)
    (found,) = linked_episodes(table, rules, HOUR, HOUR + timedelta(hours=1), LINKS)
    return dict(found)


@pytest.mark.parametrize(
    ("rule", "text", "page"),
    [
        ("processor-busy", "CPU 1", "r/cpu-1.html"),
        ("processor-busy", "CPU 11", ""),
        ("device-response", "device 0A00 VOL001", "r/device-0a00.html"),
        ("device-response", "device 0A00", "r/device-0a00.html"),
        ("device-response", "device 0A01 VOL001", ""),
        ("user-looping", "LNX1 virtual processor 1", "r/user-lnx1.html"),
        ("user-looping", "LNX11 virtual processor 1", ""),
        ("monitor-gap", "LNX1", ""),
        ("spin-time", "all processors", ""),
        ("monitor-gap", None, ""),
    ],
)
def test_an_exception_links_the_page_of_its_object_and_no_other(
    rule: str, text: str | None, page: str
):
    href = linked(rule, text, 20, 30)["href"]
    assert href.partition("#")[0] == page


def test_an_exception_links_its_time_with_some_around_it_within_the_page():
    link = linked("processor-busy", "CPU 1", 20, 40)
    assert link["at"] == "#from=2001-11-13T14:10:00Z&to=2001-11-13T14:50:00Z"
    assert link["href"] == "r/cpu-1.html" + link["at"]
    short = linked("processor-busy", "CPU 1", 2, 2)
    assert short["at"] == "#from=2001-11-13T14:00:00Z&to=2001-11-13T14:07:00Z"
