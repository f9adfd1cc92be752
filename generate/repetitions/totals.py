"""Sums of samples: which whole numbers print as the means do, those of differences included.

Ten samples have one sum that prints a mean with one decimal; more samples have several, and not
each of them goes with the others.
"""

from __future__ import annotations

from collections.abc import Mapping

from .spec import Difference
from .statistic import Statistic

Differences = list[tuple[Difference, Statistic]]


def sums(
    series: Mapping[str, Statistic],
    differences: Differences,
    chosen: Mapping[str, int] | None = None,
) -> dict[str, int] | None:
    """A sum for each run's samples of one measure, or None if no sums go together.

    Args:
        series: run id -> what is printed of its samples.
        differences: those between these runs, with what is printed of them.
        chosen: sums that are chosen already.
    """
    found = dict(chosen or {})
    if len(found) == len(series):
        return found
    run_id = next(each for each in series if each not in found)
    for total in series[run_id].totals:
        tried = {**found, run_id: total}
        if series[run_id].has_squares(total) and _go_together(tried, run_id, differences):
            whole = sums(series, differences, tried)
            if whole is not None:
                return whole
    return None


def _go_together(tried: Mapping[str, int], run_id: str, differences: Differences) -> bool:
    """Whether the differences of a run from those before it can print as they do."""
    return all(
        statistic.prints(apart) and statistic.has_squares(apart)
        for difference, statistic in differences
        if run_id in (difference.of, difference.less)
        and difference.of in tried
        and difference.less in tried
        for apart in [tried[difference.of] - tried[difference.less]]
    )
