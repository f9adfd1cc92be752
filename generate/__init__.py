"""A model of the hardware and CP that writes records, dumps and companion files."""

from .damaging import Damage, damaged, parse_damage
from .files import Compression
from .run import WrittenRun, dump_frames, write_run
from .scenario import Scenario
from .scenario_file import load_scenario, parse_scenario, scenario_names
from .tables import ScenarioError
from .tape import DamageError

__all__ = [
    "Compression",
    "Damage",
    "DamageError",
    "Scenario",
    "ScenarioError",
    "WrittenRun",
    "damaged",
    "dump_frames",
    "load_scenario",
    "parse_damage",
    "parse_scenario",
    "scenario_names",
    "write_run",
]
