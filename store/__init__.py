"""The folder of landed dumps and the DuckDB catalogue over it."""

from .catalogue.catalogue import connect
from .dumps.staging import Staging
from .dumps.store import Store
from .runs.classes import class_rules, deciding_rule, save_classes
from .runs.runs import Run, read_run, run_file, save_run
from .views.view import View

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
