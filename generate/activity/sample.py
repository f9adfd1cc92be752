"""One sample of the model: who is logged on and online, and results computed once for it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from ..model.processors import Times
from ..model.system import Model
from ..numeric import Bool

Result = TypeVar("Result")


class Sample:
    """What one sample sees: levels at its end, and what the interval before it brought.

    The first sample after an IPL closes no interval; its interval is the one that follows, from
    whose activity the counters' start values are drawn.

    Attributes:
        model: of the whole run.
        number: of the sample.
        interval: number of its interval.
        seconds: nominal length of the interval.
        results: of functions that are computed once for each sample.
        names: values of the names in expressions, as far as they were asked for.
    """

    def __init__(self, model: Model, number: int) -> None:
        self.model = model
        self.number = number
        self.interval = model.timeline.interval_of(number)
        self.seconds = int(model.timeline.seconds[self.interval])
        self.results: dict[Callable[[Sample], Any], Any] = {}
        self.names: dict[str, Any] = {}

    @cached_property
    def present(self) -> Bool:
        """(users,) who is logged on at the sample."""
        return self.model.population.at(self.number)

    @cached_property
    def _at_ends(self) -> tuple[Bool, Bool]:
        """(users,) who is logged on where the interval begins, and where it ends."""
        population, k = self.model.population, self.interval
        return population.at(k), population.at(k + 1)

    @cached_property
    def active(self) -> Bool:
        """(users,) who was logged on during the interval or a part of it."""
        before, after = self._at_ends
        return before | after

    @cached_property
    def arriving(self) -> Bool:
        """(users,) who logged on in the interval."""
        before, after = self._at_ends
        return after & ~before

    @cached_property
    def leaving(self) -> Bool:
        """(users,) who logged off in the interval."""
        before, after = self._at_ends
        return before & ~after

    @cached_property
    def times(self) -> Times:
        """What the processors did in the interval."""
        return self.model.processors.at(self.interval)

    @cached_property
    def volumes_online(self) -> Bool:
        """(volumes,) which were online in the interval."""
        return self.model.volumes.online(self.interval)

    @cached_property
    def volumes_before(self) -> Bool:
        """(volumes,) which were online in the interval before that of this sample."""
        model = self.model
        return model.volumes.online(model.timeline.interval_of(max(self.number - 1, 0)))

    @property
    def varied(self) -> bool:
        """Whether a processor or device was varied on or off, or parked, in the interval."""
        return any(
            each.interval == self.interval
            and each.kind in ("vary-on", "vary-off", "park", "unpark")
            for each in self.model.measurement.disturbances
        )

    @property
    def high_frequency_samples(self) -> int:
        """High-frequency samples in the interval."""
        return max(
            1, round(self.seconds / self.model.measurement.scenario.monitor.high_frequency_s)
        )


def per_sample(function: Callable[[Sample], Result]) -> Callable[[Sample], Result]:
    """Compute a result once for each sample, at its first use."""

    @functools.wraps(function)
    def cached(sample: Sample) -> Result:
        try:
            result: Result = sample.results[function]
        except KeyError:
            result = sample.results[function] = function(sample)
        return result

    return cached
