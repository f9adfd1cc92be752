"""Samples of runs: read, taken together as they are printed, and compared by a t-test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from statistics import fmean, mean, pstdev, stdev

import duckdb

from ...render.printing import Printed, exact, fixed, significant
from ..statistics import level

MEASURES = (
    *("duration_s", "virtual_cpu_cs", "cp_cpu_cs", "total_cpu_cs"),
    *("virtual_ios", "page_reads", "page_writes", "resident_pages", "working_set_pages"),
    *("read_kb_per_s", "read_kb", "read_s"),
    *("write_kb_per_s", "write_kb", "write_s"),
    *("thrasher_score", "burner_score"),
)
"""Measures of the view `run_samples` that tables can have."""

Samples = Mapping[int, Decimal]
"""Sample number -> value."""


def read_samples(
    con: duckdb.DuckDBPyConnection, runs: Iterable[str], measures: Iterable[str]
) -> dict[tuple[str, str], Samples]:
    """(run, measure) -> its samples; pairs without samples are absent."""
    parameters = list(runs), list(measures)
    if not all(parameters):
        return {}
    rows = con.execute(
        "SELECT run_id, measure, sample, value FROM run_samples WHERE value IS NOT NULL "
        "AND list_contains($1, run_id) AND list_contains($2, measure) ORDER BY ALL",
        parameters,
    ).fetchall()
    samples: defaultdict[tuple[str, str], dict[int, Decimal]] = defaultdict(dict)
    for run, measure, sample, value in rows:
        samples[run, measure][sample] = exact(value)
    return dict(samples)


def statistic(values: Sequence[Decimal], *, whole: bool = False, padded: bool = False) -> Printed:
    """N/mean/sd of at least one value: `10/38.9/1.221`. Later arithmetic uses the printed mean.

    Args:
        values: of the samples.
        whole: mean and deviation are printed as integers. Otherwise the mean has at most one
            decimal, and the deviation four significant digits, or more before the point.
        padded: keeps trailing zeros of the deviation (2.410).
    """
    middle = fixed(mean(values), 0 if whole else 1)
    spread = fixed(pstdev(values), 0) if whole else significant(pstdev(values), 4)
    sd = f"{spread:f}" if padded else _trimmed(spread)
    return Printed(f"{len(values)}/{_trimmed(middle)}/{sd}", middle)


def difference(samples: Samples, less: Samples) -> Samples:
    """Subtract two runs with the same sample numbers, sample by sample."""
    return {sample: value - less[sample] for sample, value in samples.items()}


def quotient(amounts: Samples, times: Samples) -> Samples:
    """Divide sample by sample; samples with time 0 are left out."""
    return {
        sample: amount / times[sample]
        for sample, amount in amounts.items()
        if sample in times and not times[sample].is_zero()
    }


def _trimmed(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def confidence(samples: Sequence[Decimal], base_samples: Sequence[Decimal]) -> int | None:
    """The confidence level, in whole percent, at which the means of two lists of values differ.

    Two-sided t-test of Welch; each list has two or more values. None if the difference is not
    significant.
    """
    from scipy.stats import ttest_ind_from_stats

    sides = [(fmean(v), float(stdev(v)), len(v)) for v in (samples, base_samples)]
    if not any(deviation for _, deviation, _ in sides):
        return level(float(sides[0][0] == sides[1][0]))
    return level(float(ttest_ind_from_stats(*sides[0], *sides[1], equal_var=False).pvalue))
