"""The dumps that are measured on: a large-storage run with as many intervals as it takes."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from cpmon.generate import Scenario, load_scenario, write_run

from .machine import MEGA

SCENARIO, RUN = "large-storage", "E12187E0"
SLACK = 16 * MEGA
"""A dump that is no larger than asked for plus this is taken as it is: intervals are whole."""


@dataclass(frozen=True)
class Dumps:
    """Generated dumps in a folder of their own; made when first asked for."""

    folder: Path

    def of_size(self, size_bytes: int) -> Path:
        """A dump of at least that many bytes, an interval more at most; one that is there stays."""
        folder = self.folder / f"{size_bytes // MEGA}mb"
        dump = folder / f"{RUN}.mon"
        if dump.exists() and size_bytes <= dump.stat().st_size <= size_bytes + SLACK:
            return dump
        scenario = load_scenario(SCENARIO)
        write_run(scenario, RUN, folder, intervals=self._intervals(scenario, size_bytes))
        return dump

    def remove(self) -> None:
        """Delete what `of_size` made or found, and nothing else."""
        for dump in self.folder.glob(f"*mb/{RUN}.mon"):
            shutil.rmtree(dump.parent)

    def _intervals(self, scenario: Scenario, size_bytes: int) -> int:
        """Every sample but the first is of one size: two small dumps tell it."""
        probe = self.folder / "probe"
        one, two = (write_run(scenario, RUN, probe, intervals=count).bytes for count in (1, 2))
        shutil.rmtree(probe)
        return max(1, 1 + -(-(size_bytes - one) // (two - one)))
