"""Samples of a scenario, read and checked."""

from __future__ import annotations

import json
from typing import Any

from cpmon.generate import parse_scenario
from cpmon.generate.scenario.repetitions import Repetitions

SYSTEM = """
name = "repeated"
title = "One guest, many samples"
system = "LAB"
seed = 1
machine = { type = "2064", model = "102", processors = 2 }
storage = { central_mib = 1024 }
users = [{ name = "guests", prefix = "GUEST", count = 1 }]
"""


def read_repetitions(runs: dict[str, Any], differences: Any, file: str) -> Repetitions | None:
    """The repetitions of a scenario whose runs have these tables of samples."""
    tables = [
        f"[run.{run_id}]\ncp_level = '4.3.0'\nstart = 2003-03-03T10:00:00Z\nsamples = {_toml(keys)}"
        for run_id, keys in runs.items()
    ]
    text = "\n".join([SYSTEM, f"differences = {_toml(differences)}", *tables])
    return parse_scenario(text, file).repetitions


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)
