"""The whole system during one run: every noun of the model, built in the order of its causes."""

from __future__ import annotations

from dataclasses import dataclass

from .activity import Activity, Transactions
from .clock import Clock
from .dasd import Volumes
from .machine import Processors
from .measurement import TOD_PER_S, Measurement
from .scheduler import Lists
from .storage import Flows, Levels
from .users import Held, Used, Users


@dataclass(frozen=True, slots=True)
class Model:
    """What happens in a run. Interval k lies between the samples k and k + 1."""

    measurement: Measurement
    clock: Clock
    processors: Processors
    levels: Levels
    flows: Flows
    volumes: Volumes
    users: Users
    lists: Lists
    activity: Activity
    transactions: Transactions

    @classmethod
    def of(cls, measurement: Measurement) -> Model:
        """The system of a run."""
        processors = Processors.of(measurement)
        flows = Flows.of(measurement, processors)
        volumes = Volumes.of(measurement, flows)
        return cls(
            measurement=measurement,
            clock=Clock.of(measurement),
            processors=processors,
            levels=Levels.of(measurement),
            flows=flows,
            volumes=volumes,
            users=Users.of(measurement),
            lists=Lists.of(measurement, processors),
            activity=Activity.of(measurement, processors, volumes),
            transactions=Transactions.of(measurement, processors),
        )

    @property
    def ipl_tod(self) -> int:
        """TOD clock at IPL."""
        return self.clock.origin - int(self.measurement.run.ipl_hours_before * 3600) * TOD_PER_S

    @property
    def intervals_since_ipl(self) -> float:
        """How many intervals' worth the counters hold at the first sample."""
        return (self.clock.origin - self.ipl_tod) / self.measurement.interval_tod

    def sample(self, number: int) -> Sample:
        """Sample `number`, 0 to the number of intervals.

        The first sample closes no interval; its interval is the one that follows, from whose
        activity the counters' start values are drawn.
        """
        interval = max(number - 1, 0)
        return Sample(
            model=self,
            number=number,
            interval=interval,
            used=self.users.used(interval, self.processors, self.flows, self.volumes),
            held=self.users.held(number, self.levels, int(self.lists.dispatched[number])),
        )


@dataclass(frozen=True, slots=True)
class Sample:
    """What one sample sees: levels at its end, and what the interval before it brought."""

    model: Model
    number: int
    interval: int
    used: Used
    held: Held
