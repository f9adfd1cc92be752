"""The folder of landed dumps and the DuckDB catalogue over it."""

from .catalogue import View, connect
from .classes import class_rules, deciding_rule, save_classes
from .runs import Run, read_run, run_file, save_run
from .staging import Staging
from .store import Store

__all__ = [
    "Run",
    "Staging",
    "Store",
    "View",
    "class_rules",
    "connect",
    "deciding_rule",
    "read_run",
    "run_file",
    "save_classes",
    "save_run",
]
