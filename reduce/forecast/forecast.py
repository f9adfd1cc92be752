"""Forecasts a metric from its kept hours: lines with a band, and when a threshold is met.

`trend.py` has the model. A forecast is printed as a report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from ...config import Settings
from ...config.moments import find_zone
from ...core.errors import CpmonError
from ...core.text import counted
from ...render.printing import Format
from ...store.connection import Connection, point
from ...store.sql.scope import Scope
from ..metrics.metric import TIME, MetricKind, ReportColumn
from ..metrics.report_set import Lines, Report, end_column, metric_of
from ..page.chart import BANDS, POINTS, Chart, Points, with_gaps
from ..page.drawing import over_time
from ..page.plot import drawn_alone
from ..reports.cells import cell_text, utc
from ..reports.narrowing import objects_of
from ..reports.report import ReportResult, whole_span
from ..rules.rule import Comparison, Purpose, load_rules
from .hours import MetricHours, find_metric, is_total, kept_hours
from .trend import DAY_HOURS, FEWEST_OF_AN_HOUR, Fit, Floats, Ints, Paths, fit_hours, simulate

BAND = (0.05, 0.5, 0.95)
"""Quantiles of the band and of the expected value."""
LONGEST = timedelta(days=3 * 366)
"""Longest horizon."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A limit of the busiest hour, in the scale of the views; `name`: what it comes from."""

    value: float
    name: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """A forecast as a report, and what a chart of it draws, in the printed unit of the metric.

    `points` are means and busiest hours of days, measured and expected; `band`: `interval_end`,
    `low` and `high` of the busiest hour.
    """

    result: ReportResult
    column: ReportColumn
    points: Points
    band: pa.Table
    threshold: Threshold | None


def forecast(  # noqa: PLR0913 - each is an option of the command
    con: Connection,
    metric: str,
    *,
    report: str | None = None,
    system: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    horizon: timedelta = timedelta(days=90),
    by: timedelta | None = None,
    threshold: float | None = None,
    objects: Mapping[str, Any] | None = None,
    zone: str | None = None,
    settings: Settings | None = None,
) -> Forecast:
    """Forecast a metric from its roll-ups by hour.

    Args:
        con: a connection on which the reductions are views.
        metric: a column of a report. report: the report; by default one of the whole system.
        system: required if the store has several.
        since: hours before are not used. UTC if without zone.
        until: end of the forecast; by default `horizon` after the last hour.
        by: a day or a week a line; by default weeks, if there are more than 31 days.
        threshold: limit of the busiest hour, in the printed unit; by default that of a rule of
            exceptions about the metric.
        objects: selects objects as for a report.
        zone: of days and hours of the week; default from the settings.

    Raises:
        NothingToReportError: no hours are kept, or too few weeks.
        CpmonError: a name is unknown, the metric is one of several objects, or the forecast would
            end before it begins or be too long.
    """
    site = settings or Settings()
    definition, column = find_metric(metric, report, objects or {})
    span = replace(whole_span(con, None, system), since=utc(since))
    span = replace(span, objects=objects_of(con, definition, objects or {}))
    local = find_zone(zone or site.zone(span.system))
    point(con, Scope(span.system, span.since, None))
    total = is_total(definition, column)
    kept = kept_hours(con, definition, column, span, local, is_total=total)
    table, hours, values = kept.table, kept.hours, kept.values
    left_out = [f"Left out: {kept.left_out}."] if kept.left_out else []
    days = _days(_first(kept), horizon, until, local)
    fit, paths = _simulated(kept, days)
    _, high = _limits(definition, column)
    limit = threshold_of(threshold, definition, column, site)
    by = by or timedelta(days=7 if days > 31 else 1)
    columns = {each.name: each for each in definition.columns}
    lengths = counted(by.days, "day")
    title = f"{metric_of(definition.reduction, column.name).title}, {definition.name}"
    result = ReportResult(
        report=Report("FORECAST", title, definition.reduction, _columns(column, limit, by)),
        system=span.system,
        run_id=None,
        starts=table["begins"][0].as_py(),
        ends=table["ends"][-1].as_py(),
        intervals=int(np.sum(table["intervals"].to_numpy())),
        lines=Lines.TIME,
        table=_lines(paths, by.days, limit, local),
        mean={},
        total={},
        notes=(*_notes(fit, paths, limit, column, hours, values, high), *left_out, *kept.absent),
        zone=local,
        restrictions=(*(each.text(columns) for each in span.objects), f"by {lengths}"),
    )
    points, band = _drawn(paths, hours, values, column, local)
    return Forecast(result, column, points, band, limit)


_EPOCH = date(1970, 1, 1).toordinal()


def day_met(kept: MetricHours, limit: Threshold, horizon: timedelta) -> date | None:
    """The day by which the busiest hour has met a threshold with probability 50 %, if any.

    Raises:
        NothingToReportError: too few weeks are known.
    """
    _, paths = _simulated(kept, _days(_first(kept), horizon, None, kept.zone))
    return _day_met(paths, limit, 0.5)


def _first(kept: MetricHours) -> int:
    """The first day of a forecast."""
    return int(kept.hours.max()) // DAY_HOURS + 1


def _simulated(kept: MetricHours, days: int) -> tuple[Fit, Paths]:
    rng = np.random.default_rng(0)  # the same hours give the same forecast
    fit = fit_hours(kept.hours, kept.values, rng)
    return fit, simulate(fit, _first(kept), days, rng, *_limits(kept.definition, kept.column))


def _share_met(paths: Paths, limit: Threshold) -> Floats:
    """(days,) share of the paths that have met a threshold by the end of each day."""
    share: Floats = (np.maximum.accumulate(paths.peak, axis=1) >= limit.value).mean(axis=0)
    return share


def _day_met(paths: Paths, limit: Threshold, share: float) -> date | None:
    """The first day by which that share of the paths has met a threshold."""
    met = _share_met(paths, limit) >= share
    return _date(paths.first + int(np.argmax(met))) if met.any() else None


def _limits(definition: Report, column: ReportColumn) -> tuple[float | None, float | None]:
    """The least and greatest possible value, where these are numbers; a total has no greatest."""
    metric = metric_of(definition.reduction, column.name)
    low = float(metric.low) if metric.low and not metric.low[:1].isalpha() else None
    is_part = metric.high and not metric.whole
    is_total = definition.lines is Lines.OBJECT and column.name in definition.total
    return low, float(metric.high) if is_part and not is_total else None


def _days(first: int, horizon: timedelta, until: datetime | None, zone: ZoneInfo) -> int:
    """The number of days from the first on, up to the horizon or the day of `until`."""
    end = utc(until)
    days = -(-horizon // timedelta(days=1))
    if end is not None:
        days = end.replace(tzinfo=UTC).astimezone(zone).date().toordinal() - _EPOCH - first
    if not 1 <= days <= LONGEST.days:
        begin = _date(first)
        raise CpmonError(
            "the forecast has no day" if days < 1 else "the forecast is too long",
            expected=f"an end later than {begin}, up to {begin + LONGEST}",
            found=f"{begin + timedelta(days=days)}",
            effect="nothing is forecast",
        )
    return days


def threshold_of(
    given: float | None, definition: Report, column: ReportColumn, settings: Settings
) -> Threshold | None:
    """The limit that was given, or that of the gravest rule about the highest values."""
    if given is not None:
        return Threshold(given / column.scale, "--threshold")
    rules = [
        rule
        for rule in load_rules(Purpose.EXCEPTIONS, settings)
        if (rule.reduction, rule.metric) == (definition.reduction, column.name)
        and rule.limit is not None
        and rule.comparison is Comparison.ABOVE
        and not (rule.per or rule.shift)
    ]
    if not rules:
        return None
    rule = max(rules, key=lambda rule: rule.severity.rank)
    return Threshold(float(rule.limit or 0) / float(rule.scale), f"rule {rule.id}")


def _columns(
    column: ReportColumn, limit: Threshold | None, by: timedelta
) -> tuple[ReportColumn, ...]:
    """The columns of a forecast, with the unit and print rule of the metric."""
    figure = replace(
        column,
        kind=MetricKind.KEY,
        numerator="",
        denominator="",
        whole="",
        is_optional=False,
        width=8,
    )
    names = {
        "mean": "Mean",
        "mean_low": "Mean|5 %",
        "mean_high": "Mean|95 %",
        "peak": "Busiest|hour",
        "peak_low": "Busiest|5 %",
        "peak_high": "Busiest|95 %",
    }
    figures = [replace(figure, name=name, label=label) for name, label in names.items()]
    if limit is None:
        return (end_column(by), *figures)
    percent = {"met": "Met|in it", "met_by": "Met|by then"}
    chances = [ReportColumn(name, label, "%", 7, Format(1), 100) for name, label in percent.items()]
    return (end_column(by), *figures, *chances)


def _lines(paths: Paths, length: int, limit: Threshold | None, zone: ZoneInfo) -> pa.Table:
    """The lines of a forecast, `length` days each: a day, or a week from Monday on."""
    days = paths.first + np.arange(len(paths.hours))
    starts = np.flatnonzero(np.append(True, (days[1:] + 3) % length == 0))
    ends = np.append(starts[1:], len(days))
    hours = np.add.reduceat(paths.hours, starts)
    mean = np.add.reduceat(np.nan_to_num(paths.mean) * paths.hours, starts, axis=1)
    with np.errstate(invalid="ignore"):
        mean /= hours
    peak = np.maximum.reduceat(paths.peak, starts, axis=1)
    use = hours > 0
    columns: dict[str, Any] = {TIME: [_midnight(int(days[e - 1]) + 1, zone) for e in ends[use]]}
    for name, values in (("mean", mean), ("peak", peak)):
        low, middle, high = np.quantile(values[:, use], BAND, axis=0)
        columns |= {name: middle, f"{name}_low": low, f"{name}_high": high}
    if limit is not None:
        columns["met"] = (peak[:, use] >= limit.value).mean(axis=0)
        columns["met_by"] = (np.maximum.accumulate(peak, axis=1)[:, use] >= limit.value).mean(
            axis=0
        )
    times = pa.array(columns.pop(TIME), pa.timestamp("us"))
    return pa.table({TIME: times, **columns})


def _date(day: int) -> date:
    return date.fromordinal(_EPOCH + day)


def _midnight(day: int, zone: ZoneInfo) -> datetime:
    """UTC without zone of the local midnight that a day begins with."""
    midnight = datetime.combine(_date(day), datetime.min.time(), zone)
    return midnight.astimezone(UTC).replace(tzinfo=None)


def _notes(
    fit: Fit,
    paths: Paths,
    limit: Threshold | None,
    column: ReportColumn,
    hours: Ints,
    values: Floats,
    high: float | None,
) -> Iterator[str]:
    unit = f" {column.unit}" if column.unit else ""
    slopes = np.quantile(paths.slopes, [BAND[0], BAND[2]])
    low, middle, above = (f"{x * column.scale:+.3g}" for x in (slopes[0], fit.slope, slopes[1]))
    yield (
        f"Trend: {middle}{unit} a week, from {low} to {above} with probability 90 %; from"
        f" {counted(len(fit.blocks), 'week')}."
    )
    greatest, least = (
        f"{WEEKDAYS[h // DAY_HOURS]} {h % DAY_HOURS:02d}:00"
        f" ({fit.season[h] * column.scale:+.3g}{unit})"
        for h in (int(np.nanargmax(fit.season)), int(np.nanargmin(fit.season)))
    )
    if np.nanmax(np.abs(fit.season)) > 0:
        yield f"Weekly season: highest in the hour from {greatest}, lowest from {least}."
    else:
        yield "No weekly season: hours of the week differ by no more than their noise."
    if limit is None:
        yield "No threshold: no rule of exceptions limits this metric, and none was given."
    else:
        share = _share_met(paths, limit)
        parts = [
            f"{percent} % by {day}"
            for percent in (10, 50, 90)
            if (day := _day_met(paths, limit, percent / 100))
        ]
        parts.append(f"{100 * share[-1]:.0f} % by the end, {_date(paths.first + len(share) - 1)}")
        days = hours // DAY_HOURS
        recent = days > days.max() - 28
        beyond = len(np.unique(days[recent & (values >= limit.value)]))
        text = f"{cell_text(column, limit.value)}{unit} ({limit.name})"
        yield f"Threshold {text}: probability that the busiest hour has met it: {', '.join(parts)}."
        yield f"It was met on {beyond} of the {len(np.unique(days[recent]))} last measured days."
    yield from _doubt_notes(fit, paths, hours, column, high)


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _doubt_notes(
    fit: Fit, paths: Paths, hours: Ints, column: ReportColumn, high: float | None
) -> Iterator[str]:
    """What weakens the forecast: unknown hours of the week, its length, the end of the scale."""
    if absent := int(np.isnan(fit.season).sum()):
        yield (
            f"{counted(absent, 'hour')} of the week not forecast: measured fewer than"
            f" {FEWEST_OF_AN_HOUR} times."
        )
    days, history = len(paths.hours), int(hours.max() - hours.min()) // DAY_HOURS + 1
    if days > history:
        yield f"It looks farther ahead ({days} days) than back ({history} days)."
    often = np.flatnonzero(paths.capped >= 0.5)
    if len(often) and high is not None:
        yield (
            f"From {_date(paths.first + int(often[0]))} on the busiest hour is more likely than not"
            f" at the greatest possible value, {cell_text(column, high)} {column.unit}: demand"
            " beyond cannot be seen."
        )


def _drawn(
    paths: Paths, hours: Ints, values: Floats, column: ReportColumn, zone: ZoneInfo
) -> tuple[Points, pa.Table]:
    measured, starts, counts = np.unique(hours // DAY_HOURS, return_index=True, return_counts=True)
    past = [_midnight(int(day), zone) for day in measured]
    use = paths.hours > 0
    future = [_midnight(int(day), zone) for day in paths.first + np.flatnonzero(use)]
    peak, mean = paths.peak[:, use], paths.mean[:, use]
    low, middle, high = np.quantile(peak, BAND, axis=0) * column.scale
    series = {
        "Busiest hour, measured": (past, np.maximum.reduceat(values, starts) * column.scale),
        "Mean, measured": (past, np.add.reduceat(values, starts) / counts * column.scale),
        "Mean, expected": (future, np.median(mean, axis=0) * column.scale),
        "Busiest hour, expected": (future, middle),
    }
    tables = [
        with_gaps(pa.table([times, [name] * len(times), values], schema=POINTS))
        for name, (times, values) in series.items()
    ]
    band = pa.table({TIME: pa.array(future, pa.timestamp("us")), "low": low, "high": high})
    return Points(pa.concat_tables(tables), tuple(series)), band


def plot_forecast(found: Forecast, form: str) -> bytes:
    """A chart of a forecast, svg or png: days as measured and as expected, band and threshold."""
    result, limit = found.result, found.threshold
    axis = found.column.unit or found.column.heading
    chart = Chart("forecast", result.report.title, "", (), axis=axis)
    line = None if limit is None else limit.value * found.column.scale
    expected = pa.repeat(found.points.order[-1], len(found.band))
    bands = found.band.add_column(1, "series", expected).cast(BANDS)
    points = replace(found.points, bands=bands)
    spec = over_time(chart, points, result.zone, limit=line, alone=True)
    return drawn_alone(result, spec, form)
