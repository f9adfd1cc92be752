"""A model of the hardware and CP that writes records, dumps and companion files."""

from .damage.kinds import DamageError
from .damage.requests import Damage, damaged, parse_damage
from .loading import load_scenario, parse_scenario, scenario_names
from .run import WrittenRun, dump_frames, stream_run, write_run
from .scenario.scenario import Scenario
from .sink import Compression

__all__ = [
    "Compression",
    "Damage",
    "DamageError",
    "Scenario",
    "WrittenRun",
    "damaged",
    "dump_frames",
    "load_scenario",
    "parse_damage",
    "parse_scenario",
    "scenario_names",
    "stream_run",
    "write_run",
]
