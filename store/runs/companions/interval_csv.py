"""Throughput (load generator) and hardware instrumentation: a line an interval, as CSV.

Neither has a public text form, so each has a small one of ours, with times in ISO 8601 UTC.
"""

from __future__ import annotations

from pathlib import Path

from ....schemas.errors import CpmonError
from .lines import Figures

THROUGHPUT = {"interval_end": "str", "seconds": "f64", "transactions": "f64"}
"""interval_end; seconds of the interval; transactions that ended in it."""

HARDWARE = {"interval_end": "str", "seconds": "f64", "busy_s": "f64", "emulation_s": "f64"}
"""interval_end; seconds of the interval; busy and emulation seconds, summed over processors."""


def read_throughput(file: Path) -> Figures:
    """The log of a load generator: one line an interval.

    Raises:
        CpmonError: the file is missing, or a column or value is.
    """
    return _read(file, THROUGHPUT)


def read_hardware(file: Path) -> Figures:
    """The figures of the hardware instrumentation: one line an interval.

    Raises:
        CpmonError: the file is missing, or a column or value is.
    """
    return _read(file, HARDWARE)


def _read(file: Path, columns: dict[str, str]) -> Figures:
    import polars as pl

    kinds = {"str": pl.String(), "f64": pl.Float64()}
    try:
        frame = pl.read_csv(file, schema_overrides={n: kinds[k] for n, k in columns.items()})
        rows = frame.select(
            pl.col("interval_end")
            .str.to_datetime(time_unit="us", time_zone="UTC")
            .dt.strftime("%Y-%m-%d %H:%M:%S%.6f"),
            *(pl.col(n) for n in columns if n != "interval_end"),
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise CpmonError(
            f"companion {file.name} cannot be read: {str(error).splitlines()[0]}",
            place=str(file),
            expected=f"a CSV with the columns {', '.join(columns)}; times in ISO 8601 UTC",
        ) from None
    if rows.null_count().sum_horizontal().sum():
        raise CpmonError(
            f"companion {file.name} has empty values", place=str(file), expected="none"
        )
    return rows.to_dicts()
