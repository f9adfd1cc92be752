"""One run about to be generated: scenario, run, number of intervals and seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .hardware import Machine, Storage
from .noise import stream
from .population import Disturbance, UserGroup
from .scenario import DOMAIN_NUMBERS, Run, Scenario
from .tables import ScenarioError
from .targets import Targets

TOD_PER_US = 4096
TOD_PER_S = 1_000_000 * TOD_PER_US
SCM_PER_S = 1_000_000 / 128
"""Units of the channel subsystem's measurement times in a second."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What is generated. Every noun of the model takes its figures and random numbers from here.

    Attributes:
        groups: the user groups with this run's counts.
    """

    scenario: Scenario
    run: Run
    intervals: int
    seed: int
    groups: tuple[UserGroup, ...]

    @classmethod
    def of(
        cls, scenario: Scenario, run_id: str, intervals: int | None, seed: int | None
    ) -> Measurement:
        """A run of a scenario; what is not given comes from the scenario.

        Raises:
            ScenarioError: no such run, no intervals, or a seed below 0.
        """
        run = scenario.run(run_id)
        wanted = (run.intervals or scenario.intervals) if intervals is None else intervals
        if wanted < 1:
            raise ScenarioError(
                "a dump needs an interval", expected="1 or more intervals", found=str(wanted)
            )
        chosen = scenario.seed if seed is None else seed
        if chosen < 0:
            raise ScenarioError(
                "a seed cannot be negative", expected="0 or more", found=str(chosen)
            )
        return cls(scenario, run, wanted, chosen, scenario.groups_of(run))

    def rng(self, noun: str) -> np.random.Generator:
        """The random numbers of one noun of the model in this run."""
        return stream(self.seed, self.scenario.name, self.run.run_id, noun)

    @property
    def targets(self) -> Targets:
        """The figures that the run must show."""
        return self.run.targets

    @property
    def machine(self) -> Machine:
        """The machine of this run."""
        return self.run.machine

    @property
    def storage(self) -> Storage:
        """The storage of this run."""
        return self.run.storage

    @property
    def disturbances(self) -> tuple[Disturbance, ...]:
        """What happens during this run, in order; what comes behind its end does not happen."""
        all_of_them = (*self.scenario.disturbances, *self.run.disturbances)
        happening = [one for one in all_of_them if one.interval < self.intervals]
        return tuple(sorted(happening, key=lambda one: one.interval))

    @property
    def users(self) -> int:
        """Users of all groups."""
        return sum(group.count for group in self.groups)

    @property
    def processors(self) -> int:
        """Processors of this system."""
        return self.machine.processors

    @property
    def sampled(self) -> frozenset[int]:
        """Numbers of the domains that are sampled."""
        return frozenset(DOMAIN_NUMBERS[name] for name in self.scenario.monitor.domains)

    @property
    def warmup(self) -> int:
        """Intervals before the steady state; at least one interval is steady."""
        return min(self.run.warmup_intervals, self.intervals - 1)
