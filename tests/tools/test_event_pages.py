"""docs/events.md has every event record once, and every kind of event that a scenario can name."""

from __future__ import annotations

from typing import get_args

from cpmon.generate.scenario.scenario import EventKind
from tools.event_pages import happenings, missing


def test_every_event_record_has_one_line():
    assert not missing()
    records = [each.record for each in happenings() if each.record]
    assert len(records) == len(set(records))


def test_every_kind_of_event_is_described():
    told = {kind for each in happenings() for kind in each.kinds.split()}
    assert told == _kinds(EventKind)


def test_what_is_not_modelled_has_a_reason_and_what_is_modelled_an_effect():
    for each in happenings():
        assert bool(each.reason) != bool(each.changes), each
        assert each.record or each.does, each


def _kinds(literal: object) -> set[str]:
    parts = get_args(literal)
    return {kind for part in parts for kind in ({part} if isinstance(part, str) else _kinds(part))}
