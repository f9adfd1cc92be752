"""Single samples of runs: their mean and deviation, differences sample by sample.

All is decimal, so that what is printed can be computed again by hand from the samples. The standard
deviation divides by N, as in the published tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from statistics import mean, pstdev

import duckdb

from ...render.printing import Printed, exact, fixed, significant

MEASURES = (
    *("duration_s", "virtual_cpu_cs", "cp_cpu_cs", "total_cpu_cs"),
    *("virtual_ios", "page_reads", "page_writes", "resident_pages", "working_set_pages"),
    *("read_kb_per_s", "read_kb", "read_passes", "read_s"),
    *("write_kb_per_s", "write_kb", "write_passes", "write_s"),
    *("thrasher_score", "burner_score"),
)
"""Measures of the view run_samples."""

SD_DIGITS = 4
SIGNIFICANT_P = 0.05
"""A difference that chance alone would show more often than this counts for nothing."""

Samples = Mapping[int, Decimal]
"""Number of the sample -> its value."""


def read_samples(
    con: duckdb.DuckDBPyConnection, runs: Iterable[str], measures: Iterable[str]
) -> dict[tuple[str, str], Samples]:
    """(run, measure) -> its samples; a pair without samples is missing."""
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
    """N/mean/sd of at least one value: `10/38.9/1.221`. The mean is what arithmetic goes on with.

    Args:
        values: of the samples.
        whole: mean and deviation are printed as integers. Else the mean has at most one decimal,
            and the deviation four significant digits, more if they stand before the point.
        padded: zeros at the end of the deviation stay (2.410).
    """
    middle = fixed(mean(values), 0 if whole else 1)
    spread = fixed(pstdev(values), 0) if whole else significant(pstdev(values), SD_DIGITS)
    sd = f"{spread:f}" if padded else _trimmed(spread)
    return Printed(f"{len(values)}/{_trimmed(middle)}/{sd}", middle)


def difference(samples: Samples, less: Samples) -> Samples:
    """Sample by sample, of two runs that have the same samples."""
    return {sample: value - less[sample] for sample, value in samples.items()}


def quotient(amounts: Samples, times: Samples) -> Samples:
    """Sample by sample; a sample without time has none, so it is left out."""
    return {
        sample: amount / times[sample]
        for sample, amount in amounts.items()
        if sample in times and not times[sample].is_zero()
    }


def _trimmed(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
