"""docs/scenario-format.md alone is enough to write a scenario."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from cpmon.generate import (
    dump_frames,
    load_scenario,
    parse_scenario,
    scenario_names,
)
from cpmon.generate.loading import RunTable, ScenarioTable
from cpmon.generate.scenario.scenario import (
    Event,
    FileSystem,
    GuestProcess,
    Machine,
    Monitor,
    Partition,
    Storage,
    Targets,
    Transactions,
    UserGroup,
    VolumeGroup,
    Workload,
)
from cpmon.schemas.unplaced import AssumedPlace
from tests.generate.plain_reader import records

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "scenario-format.md").read_text(encoding="utf-8")
TABLES = (
    ScenarioTable,
    Monitor,
    Machine,
    Partition,
    Storage,
    VolumeGroup,
    UserGroup,
    FileSystem,
    GuestProcess,
    Workload,
    Transactions,
    Event,
    RunTable,
    Targets,
    AssumedPlace,
)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_every_key_is_described(table: type):
    keys = {f.name for f in msgspec.structs.fields(table)}
    assert keys <= set(re.findall(r"[`.\[](\w+)[`.\]]", TEXT))


def test_the_example_is_a_scenario_that_generates():
    (example,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    office = parse_scenario(example, "office.toml")
    dump = b"".join(dump_frames(office, "MONDAY"))
    users = [r for r in records(dump) if (r.domain, r.number) == (4, 3)]
    assert len(users) == 25 * 40 + 6 * 39
    assert users[0].text(20, 8) == "STAFF001"


def test_the_scenarios_and_their_runs_are_described():
    overview = (DOCS / "generate.md").read_text(encoding="utf-8").partition("\n## ")[0]
    told = dict(re.findall(r"^\| `([\w-]+)` \|.*\| (\d+) \|$", overview, re.MULTILINE))
    assert told == {name: str(len(load_scenario(name).runs)) for name in scenario_names()}
