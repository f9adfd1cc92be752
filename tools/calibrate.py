"""Calibration of run comparisons: false alarms and power, `python -m tools.calibrate`.

Pairs of runs are simulated without a change and with known ones, and tested as `cpmon compare`
tests them. The table that it prints stands in docs/comparisons.md.

Trend, bursts and noise are those of the generator's model of activity (`Demand` of the scenario
small-lab); it has no autocorrelation besides them, so series with one are a steady load of the
model times an autoregressive process of the first order. A change multiplies the second run.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence

import numpy as np

from cpmon.generate import load_scenario
from cpmon.generate.model.measurement import Allocation, Measurement, Timeline
from cpmon.generate.model.population import Demand, Population
from cpmon.reduce.compare.run_comparison import difference_of_runs
from cpmon.reduce.statistics import SIGNIFICANT_P, Array, adjusted

SEED, PAIRS = 2600, 1000
CHANGES = (1.0, 1.05, 1.1, 1.2)
LENGTHS = (15, 30, 60, 240)
HEAD = "| load | intervals | false alarms | 5 % | 10 % | 20 % |\n|:--|--:|--:|--:|--:|--:|"
SCENARIO = load_scenario("small-lab")
SYSTEM = (
    *("emulation", "cp", "dispatches", "simulations", "diagnoses", "diagnose_44"),
    *("transactions", "volume_load", "resident", "xstor_pages"),
)
"""Series of the model that stand for the metrics of one comparison."""


class SimulatedRun:
    """A run of small-lab: what its users ask of the system, and random numbers beside it."""

    def __init__(self, seed: int, intervals: int) -> None:
        measurement = Measurement(SCENARIO, "LAB", intervals, seed)
        timeline = Timeline(measurement)
        allocation = Allocation(measurement, timeline)
        self.demand = Demand(allocation, Population(measurement, timeline))
        self._groups = [group.name for group in measurement.groups]
        self._steps = np.random.default_rng([SEED, seed]).normal(size=intervals)

    def group(self, name: str) -> Array:
        """(intervals,) load of a group of users."""
        load: Array = self.demand.load[:, self._groups.index(name)]
        return load

    def process(self, correlation: float) -> Array:
        """(intervals,) factor that resembles the one before; its standard deviation is 5 %."""
        process = np.empty(len(self._steps))
        process[0] = self._steps[0]
        for n, step in enumerate(self._steps[1:], start=1):
            process[n] = correlation * process[n - 1] + math.sqrt(1 - correlation**2) * step
        return 1 + 0.05 * process


LOADS: dict[str, Callable[[SimulatedRun], list[Array]]] = {
    "steady": lambda run: [run.group("vse")],
    "trend, 0.5 to 1.4": lambda run: [run.group("web")],
    "bursts, 0.6 and at times 3.5": lambda run: [run.group("mail")],
    "trend and bursts together": lambda run: [run.demand.emulation],
    "autocorrelation 0.5": lambda run: [run.group("vse") * run.process(0.5)],
    "autocorrelation 0.8": lambda run: [run.group("vse") * run.process(0.8)],
    "trend, autocorrelation 0.5": lambda run: [run.group("web") * run.process(0.5)],
    "trend, autocorrelation 0.8": lambda run: [run.group("web") * run.process(0.8)],
    "ten metrics of the system": lambda run: [getattr(run.demand, n) for n in SYSTEM],
}
"""What is simulated, by name. Of several series p is adjusted; one that is found falsely is a false
alarm, of those that changed the share that is found counts."""


def shares(intervals: int, pairs: int) -> dict[str, list[float]]:
    """Load -> how often a change is found, for each of CHANGES; for the first one falsely."""
    found = {name: np.zeros(len(CHANGES)) for name in LOADS}
    for pair in range(pairs):
        base, run = (SimulatedRun(SEED + 2 * pair + n, intervals) for n in range(2))
        for name, series in LOADS.items():
            both = list(zip(series(base), series(run), strict=True))
            for n, change in enumerate(CHANGES):
                p = np.array(adjusted([difference_of_runs(a, b * change).p for a, b in both]))
                called = p <= SIGNIFICANT_P
                found[name][n] += called.any() if change == 1 else called.mean()
    return {name: list(counts / pairs) for name, counts in found.items()}


def table(pairs: int, lengths: Sequence[int] = LENGTHS) -> list[str]:
    """The lines of the Markdown table."""
    by_length = {intervals: shares(intervals, pairs) for intervals in lengths}
    return [HEAD] + [
        f"| {name} | {intervals} | "
        + " | ".join(f"{100 * share:.1f} %" for share in by_length[intervals][name])
        + " |"
        for name in LOADS
        for intervals in lengths
    ]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS, help="pairs of runs for each line")
    print(*table(parser.parse_args().pairs), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
