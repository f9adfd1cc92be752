"""Repetitions: the samples of a scenario's runs, and the files that tell of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...schemas.lookup import nearest
from ..noise import stream
from ..tables import ScenarioError
from .check import check
from .exerciser import exerciser
from .indicate_user import indicate_user
from .query_time import query_time
from .scores import scores
from .session import Session
from .solve import durations, samples_of
from .spec import RATES, SCORES, Difference, Samples, read_differences, read_samples
from .totals import sums


@dataclass(frozen=True, slots=True)
class Repetitions:
    """The samples of all runs that have any, and the differences that tie them together."""

    file: str
    runs: tuple[Samples, ...]
    differences: tuple[Difference, ...] = ()

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The runs that have samples."""
        return tuple(run.run_id for run in self.runs)

    def run(self, run_id: str) -> Samples:
        """The samples of a run.

        Raises:
            ScenarioError: it has none.
        """
        for run in self.runs:
            if run.run_id == run_id:
                return run
        near = nearest(run_id, self.run_ids)
        raise ScenarioError(
            f"run {run_id} has no samples",
            place=self.file,
            expected=", ".join(self.run_ids),
            found=run_id,
            remedy=f"did you mean {near}?" if near else f"add [run.{run_id}.samples]",
        )

    def together(self, run_id: str, measure: str) -> tuple[str, ...]:
        """The runs, in the order of the file, that differences of a measure tie to a run."""
        tied = {run_id}
        for _ in self.differences:
            for difference in self.differences:
                ends = {difference.of, difference.less}
                if difference.has(measure) and ends & tied:
                    tied |= ends
        return tuple(each for each in self.run_ids if each in tied)

    def sums(self, run_ids: tuple[str, ...], measure: str) -> dict[str, int] | None:
        """Sums of the samples of runs that print as they do, differences included.

        Rates do not subtract, so no difference ties their sums together.

        Returns:
            None if no sums go together.
        """
        series = {run_id: self.run(run_id).statistic(measure, self.file) for run_id in run_ids}
        count = next(iter(series.values())).count
        tied = [
            (difference, difference.statistic(measure, count, self.file))
            for difference in self.differences
            if difference.of in run_ids and difference.has(measure) and measure not in RATES
        ]
        return sums(series, tied)

    def samples(self, run_id: str, measure: str, seed: int) -> tuple[int, ...]:
        """The samples of one measure of a run; of `thrasher` and `burner`, those of its periods.

        Raises:
            ScenarioError: the run has no samples, or none print the figures of the scenario.
        """
        return samples_of(self, run_id, measure, seed)

    def files(
        self, run_id: str, start: dt.datetime, user: str, seed: int
    ) -> Iterator[tuple[str, str, str]]:
        """Kind, end of the file name, and text of each companion file of a run.

        Args:
            start: when the run begins; the first sample begins some seconds later.
            user: user id of the guest that is measured.
            seed: the same seed gives the same files.

        Raises:
            ScenarioError: no samples print the figures of the scenario.
        """
        if run_id not in self.run_ids:
            return
        run = self.run(run_id)
        series = {m: samples_of(self, run_id, m, seed) for m in run.measures}
        lengths = durations(self, run_id, seed)
        session = Session.of(run, series, lengths, start, stream(seed, "session", run_id))
        yield "query_time", "query-time.txt", query_time(session)
        if run.has("virtual_ios"):
            yield "indicate_user", "indicate-user.txt", indicate_user(session, user)
        if any(run.has(measure) for measure in RATES):
            yield "exerciser", "exerciser.txt", exerciser(run, series)
        for tool in SCORES:
            if run.has(tool):
                yield tool, f"{tool}.txt", scores(series[tool], run.period_s)


def read_repetitions(runs: Mapping[str, Any], differences: Any, file: str) -> Repetitions | None:
    """The repetitions of a scenario, or None if it has none.

    Args:
        runs: run id -> the table `[run.NAME.samples]`, of the runs that have one.
        differences: the list `[[differences]]`.
        file: name of the scenario file, for messages.

    Raises:
        ScenarioError: with the key whose value cannot be, and what could.
    """
    samples = tuple(read_samples(run_id, values, file) for run_id, values in runs.items())
    rows = read_differences(differences, file)
    if not samples and not rows:
        return None
    repetitions = Repetitions(file, samples, rows)
    check(repetitions)
    return repetitions
