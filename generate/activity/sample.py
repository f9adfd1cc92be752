"""One sample of the model: users logged on, devices online, and results cached for it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..model.system import Model

Result = TypeVar("Result")


class Sample:
    """State of the model at one sample: levels at its end, activity of the interval before it.

    The first sample after an IPL closes no interval; its interval is the following one, whose
    activity gives the counters' start values.

    Attributes:
        model: of the whole run.
        number: of the sample.
        interval: number of its interval.
        seconds: nominal length of the interval.
        high_frequency_samples: in the interval.
        present: (users,) who is logged on at the sample.
        active: (users,) who was logged on during the interval or a part of it.
        arriving, leaving: (users,) who logged on or off in the interval.
        times: processor times of the interval.
        volumes_online, volumes_before: (volumes,) which were online in the interval, and in that
            of the sample before.
        varied: whether a processor or device was varied on or off, or parked, in the interval.
        results: cache of `per_sample` functions.
        names: cache of the values of names in expressions.
    """

    def __init__(self, model: Model, number: int) -> None:
        self.model, self.number = model, number
        measurement, timeline, population = model.measurement, model.timeline, model.population
        self.interval = k = timeline.interval_of(number)
        self.seconds = int(timeline.seconds[k])
        high_frequency_s = measurement.scenario.monitor.high_frequency_s
        self.high_frequency_samples = max(1, round(self.seconds / high_frequency_s))
        before, after = population.at(k), population.at(k + 1)
        self.present = population.at(number)
        self.active = before | after
        self.arriving, self.leaving = after & ~before, before & ~after
        self.times = model.processors.at(k)
        self.volumes_online = model.volumes.online(k)
        self.volumes_before = model.volumes.online(timeline.interval_of(max(number - 1, 0)))
        kinds = {each.kind for each in measurement.disturbances if each.interval == k}
        self.varied = not kinds.isdisjoint({"vary-on", "vary-off", "park", "unpark"})
        self.results: dict[Callable[[Sample], Any], Any] = {}
        self.names: dict[str, Any] = {}


def per_sample(function: Callable[[Sample], Result]) -> Callable[[Sample], Result]:
    """Caches the result of a function for each sample."""

    @functools.wraps(function)
    def cached(sample: Sample) -> Result:
        try:
            result: Result = sample.results[function]
        except KeyError:
            result = sample.results[function] = function(sample)
        return result

    return cached
