"""docs/generate.md alone is enough to write a scenario."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from cpmon.generate import dump_frames, parse_scenario, scenario
from tests.generate.plain_reader import records

TEXT = (Path(__file__).parents[2] / "docs" / "generate.md").read_text(encoding="utf-8")
TABLES = (
    scenario.Scenario,
    scenario.Monitor,
    scenario.Machine,
    scenario.Storage,
    scenario.UserGroup,
    scenario.VolumeGroup,
    scenario.Transactions,
    scenario.Run,
    scenario.Targets,
)
SECTIONS = {"machine", "storage", "users", "volumes", "runs", "monitor", "transactions", "targets"}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_every_key_is_described(table: type):
    keys = {f.name for f in dataclasses.fields(table)} - SECTIONS - {"run_id"}
    assert keys <= set(re.findall(r"`(\w+)`", TEXT))


def test_the_example_is_a_scenario_that_generates():
    (example,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    office = parse_scenario(example, "office.toml")
    dump = b"".join(dump_frames(office, "MONDAY", intervals=2))
    users = [r for r in records(dump) if (r.domain, r.number) == (4, 3)]
    assert len(users) == 3 * 40
    assert users[0].text(20, 8) == "STAFF001"
