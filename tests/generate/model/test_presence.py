"""Existence of objects over a run: shares of intervals, beginnings and endings within them."""

from __future__ import annotations

import numpy as np
import pytest

from cpmon.generate import parse_scenario
from cpmon.generate.model.measurement import TOD_PER_S, Measurement, Timeline
from cpmon.generate.model.presence import Presence, Switch
from tests.generate.eventful import SYSTEM


@pytest.fixture(scope="module")
def line() -> Timeline:
    """Intervals of 30 s."""
    return Timeline(Measurement(parse_scenario(SYSTEM, "eventful.toml"), "A", 6, None))


def switch(second: int, objects: list[bool], on: bool) -> Switch:
    return Switch(second * TOD_PER_S, np.array(objects), on)


def test_an_object_exists_for_a_share_of_the_interval_in_which_it_ends(line: Timeline):
    stay = Presence(line, 2, [switch(36, [True, False], False)]).during(1)
    assert stay.share.tolist() == [0.2, 1.0]
    assert (stay.before.tolist(), stay.now.tolist()) == ([True, True], [False, True])
    (ending,) = stay.ends
    assert (ending.moment, ending.share[0], ending.fresh[0]) == (36 * TOD_PER_S, 1.0, False)


def test_one_that_ends_and_begins_again_has_the_work_of_both_parts(line: Timeline):
    switches = [switch(36, [True], False), switch(48, [True], True)]
    stay = Presence(line, 1, switches).during(1)
    assert stay.share.tolist() == [pytest.approx(18 / 30)]
    assert stay.began.tolist() == [True]
    assert stay.last.tolist() == [pytest.approx(12 / 18)]
    assert stay.first.tolist() == [pytest.approx(6 / 18)]


def test_one_that_begins_and_ends_within_an_interval_is_in_no_sample(line: Timeline):
    switches = [switch(36, [True], True), switch(48, [True], False)]
    presence = Presence(line, 1, switches)
    assert not any(presence.at(sample)[0] for sample in range(7))
    stay = presence.during(1)
    assert stay.share.tolist() == [pytest.approx(12 / 30)]
    (ending,) = stay.ends
    assert ending.fresh.tolist() == [True]
    assert ending.share.tolist() == [1.0]


def test_the_first_switch_tells_what_was_before_it(line: Timeline):
    presence = Presence(line, 2, [switch(40, [True, False], True)])
    assert presence.at(1).tolist() == [False, True]
    assert presence.at(2).tolist() == [True, True]
    assert presence.since(1).tolist() == [-1, -1]
    assert presence.since(2).tolist() == [40 * TOD_PER_S, -1]


def test_an_object_exists_while_it_is_on_in_all_layers(line: Timeline):
    sessions = [switch(10, [True], False), switch(50, [True], True)]
    defined = [switch(20, [True], False), switch(80, [True], True)]
    presence = Presence(line, 1, sessions, defined)
    assert [bool(presence.at(sample)[0]) for sample in range(5)] == [True, False, False, True, True]
    assert presence.during(0).share.tolist() == [pytest.approx(10 / 30)]
    assert presence.during(1).share.tolist() == [0.0]
