"""One run about to be generated: scenario, run, number of intervals and seed, with its spans."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .noise import stream
from .scenario import Run, Scenario, Targets, UserGroup
from .tables import ScenarioError

TOD_PER_US = 4096
TOD_PER_S = 1_000_000 * TOD_PER_US
SCM_PER_S = 1_000_000 / 128
"""Units of the channel subsystem's measurement times in a second."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What is generated. Every noun of the model takes its figures and random numbers from here."""

    scenario: Scenario
    run: Run
    intervals: int
    seed: int

    @classmethod
    def of(
        cls, scenario: Scenario, run_id: str, intervals: int | None, seed: int | None
    ) -> Measurement:
        """A run of a scenario; what is not given comes from the scenario.

        Raises:
            ScenarioError: no such run, no intervals, or a seed below 0.
        """
        wanted = scenario.intervals if intervals is None else intervals
        if wanted < 1:
            raise ScenarioError(
                "a dump needs an interval", expected="1 or more intervals", found=str(wanted)
            )
        chosen = scenario.seed if seed is None else seed
        if chosen < 0:
            raise ScenarioError(
                "a seed cannot be negative", expected="0 or more", found=str(chosen)
            )
        return cls(scenario, scenario.run(run_id), wanted, chosen)

    def rng(self, noun: str) -> np.random.Generator:
        """The random numbers of one noun of the model in this run."""
        return stream(self.seed, self.scenario.name, self.run.run_id, noun)

    @property
    def targets(self) -> Targets:
        """The figures that the run must show."""
        return self.run.targets

    @property
    def groups(self) -> tuple[UserGroup, ...]:
        """The user groups with this run's counts."""
        return self.scenario.groups_of(self.run)

    @property
    def users(self) -> int:
        """Users logged on."""
        return sum(group.count for group in self.groups)

    @property
    def processors(self) -> int:
        """Online processors."""
        return self.scenario.machine.processors

    @property
    def interval_tod(self) -> int:
        """Nominal length of an interval, TOD units."""
        return self.scenario.monitor.interval_s * TOD_PER_S

    @property
    def seconds(self) -> int:
        """Length of the run, first sample to last."""
        return self.intervals * self.scenario.monitor.interval_s

    @property
    def high_frequency_samples(self) -> int:
        """High-frequency samples in an interval."""
        monitor = self.scenario.monitor
        return max(1, round(monitor.interval_s / monitor.high_frequency_s))

    def count(self, rate: float) -> int:
        """Events of the whole run at a rate per second."""
        return round(rate * self.seconds)
