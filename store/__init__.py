"""The folder of landed dumps and the DuckDB catalogue over it."""

from .catalogue import View, connect
from .runs import Run, read_run, run_file, save_run
from .store import Staging, Store

__all__ = ["Run", "Staging", "Store", "View", "connect", "read_run", "run_file", "save_run"]
