"""A metric: how it is computed from sums, printed and documented."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from ...core.sql import UserSql, exact
from ...render.printing import Format, Style

TIME = "interval_end"
"""The column with the end of the interval, UTC; every reduction has it."""
WEIGHT = exact("seconds", "1024e0")
"""SQL: the weight of an interval in the mean of a level: its seconds, to the millisecond."""
WHOLE = Format(0)
HEX = 16


class MetricKind(StrEnum):
    """How a column aggregates several rows of a view."""

    KEY = "key"
    """Not aggregated: a key that identifies objects or times."""
    RATIO = "ratio"
    """The sum of the numerator over the sum of the denominator, times a factor."""
    LEVEL_RATIO = "level_ratio"
    """A level over another one: a ratio in which both weigh as much as the interval is long."""
    TOTAL = "total"
    """The sum of the numerator, times a factor."""
    LEVEL = "level"
    """The mean over time: a sample weighs as much as its interval is long."""
    ELAPSED = "elapsed"
    """The sum of seconds; in a mean line the mean length of an interval."""
    LATEST = "latest"
    """The value of the last interval: names, types, settings."""


RATIOS = (MetricKind.RATIO, MetricKind.LEVEL_RATIO)
FIGURES = (*RATIOS, MetricKind.TOTAL, MetricKind.LEVEL)
"""Kinds of what is measured."""
STATISTICS = ("max", "p95")
"""What a line can say of its intervals beside their mean."""


@dataclass(frozen=True, slots=True)
class ReportColumn:
    """A column of a reduction as a report shows it.

    Attributes:
        label: heading; bars separate stacked lines. `unit` is printed below it.
        width: characters of the column. form: print rule.
        scale: factor applied to values before they are printed (100 for shares).
        kind: how intervals aggregate. Ratio: factor * sum(numerator) / sum(denominator). Total:
            factor * sum(numerator).
        base: HEX for hexadecimal numbers (device numbers).
        is_optional: the column is hidden if it is NULL in all lines.
        whole: the column that it is part of.
        calendar: what times are printed as, which end it: Day, Week or Month; empty for the time.
        part: the column that is part of it.
        of: the column whose intervals it is a statistic of: their maximum (`max`), its time (`at`)
            or 95th percentile (`p95`).
    """

    name: str
    label: str
    unit: str = ""
    width: int = 7
    form: Format = WHOLE
    scale: int = 1
    kind: MetricKind = MetricKind.KEY
    numerator: str = ""
    denominator: str = ""
    factor: float = 1.0
    base: int = 10
    is_optional: bool = False
    whole: str = ""
    calendar: str = ""
    part: str = ""
    of: ReportColumn | None = None
    statistic: str = ""

    def with_statistics(self, names: Collection[str]) -> Iterator[ReportColumn]:
        """The column, and behind it statistics of the intervals of a line: `max`, `p95`."""
        yield self
        if self.kind not in FIGURES:
            return
        of_it = replace(self, of=self, kind=MetricKind.LEVEL, whole="", part="")
        for name in (name for name in STATISTICS if name in names):
            yield replace(
                of_it, name=f"{self.name}_{name}", label=f"{self.label}|{name}", statistic=name
            )
            if name == "max":
                time = replace(of_it, name=f"{self.name}_max_at", label=f"{self.label}|max at")
                plain = replace(time, unit="", width=19, form=WHOLE, scale=1, statistic="at")
                yield replace(plain, kind=MetricKind.LATEST)

    @property
    def heading(self) -> str:
        """The label on one line."""
        return one_line(self.label)

    @property
    def terms(self) -> tuple[str, str]:
        """SQL of what a ratio sums, dividend and divisor."""
        return terms_of(self.kind, self.numerator, self.denominator)


def terms_of(kind: MetricKind, numerator: str, denominator: str) -> tuple[str, str]:
    """SQL of what a ratio sums over intervals, dividend and divisor."""
    if kind is MetricKind.LEVEL_RATIO:
        return weighted(numerator), weighted(denominator)
    return numerator, denominator


def one_line(label: str) -> str:
    """A label on one line, without line breaks and the hyphens before them."""
    return label.replace("-|", "").replace("|", " ")


SHORT = {"pages/s": "/s", "frames/s": "/s", "users": ""}
"""Short units for report headings that already name what is counted."""


@dataclass(frozen=True, slots=True)
class Compared:
    """How run comparisons show a metric.

    Attributes:
        rank: position among the compared metrics, from 1; 0 if it is not compared.
        digits: decimals; small values get more.
        whole: the value covers the whole run, while intervals cover its steady state.
    """

    rank: int = 0
    digits: int = 0
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of `metrics/*.csv`.

    Attributes:
        name: column of the views. `views`: the reductions that have it; `*` means all.
        numerator, denominator: columns to sum, for a ratio or a total; for a level the numerator
            is the column to average, if it has another name; for the latest value it is the column
            that has one in its place, of two kinds of a setting. If a view selects the column with
            its own SQL, they only define the samples of a comparison.
        factor: multiplies the quotient or sum, as SQL: `1e3`, `1/4096e6`; or empty.
        expression: SQL over the columns of the view, where numerator and denominator are not
            enough; they then define the sums of reports and comparisons. In a summary `f` are its
            facts and `m` its metrics.
        unit: printed unit. Shares are 0..1 in views and printed in %.
        format: decimals, or a style of `printing.Style`, or hex.
        width, heading: of the report column; bars separate the lines of a heading.
        label: longer name for comparisons; the heading by default.
        low, high: least and greatest possible value: numbers in the scale of the views, or columns
            or metrics of the same row; empty for no limit. Values outside (`is_outside`) are
            neither shown nor summed.
        compared: how comparisons of runs show it.
        since, until: first and last CP level whose records have it; empty for no limit.
        meaning: documentation with range and meaning of NULL; empty if the SQL documents it.
        place: file and line of the row, for messages.
    """

    name: str
    views: tuple[str, ...]
    kind: MetricKind
    numerator: str
    denominator: str
    factor: str
    expression: str | UserSql
    unit: str
    format: str
    width: int
    heading: str
    label: str
    low: str
    high: str
    compared: Compared
    since: str
    until: str
    meaning: str
    place: str

    @property
    def is_computed(self) -> bool:
        """Whether it is generated from other columns, unless a view selects it with its own SQL."""
        return self.kind in RATIOS or (
            self.kind is MetricKind.TOTAL and self.numerator != self.name
        )

    @property
    def sampled(self) -> str:
        """The column whose samples it averages; the dividend of a ratio."""
        return self.numerator or self.name

    @property
    def title(self) -> str:
        """Its label on one line."""
        return self.label or one_line(self.heading)

    @property
    def scale(self) -> int:
        """Factor applied to values before they are printed."""
        return 100 if self.unit == "%" else 1

    @property
    def whole(self) -> str:
        """The column or metric that it is part of, which limits it; empty if there is none."""
        return self.high if self.high[:1].isalpha() else ""

    @property
    def part(self) -> str:
        """The column or metric that is part of it, which it cannot be below; empty if none is."""
        return self.low if self.low[:1].isalpha() else ""

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers whatever view has it; keys and settings may be texts."""
        return self.kind not in (MetricKind.KEY, MetricKind.LATEST)

    @property
    def possible(self) -> tuple[float | None, float | None]:
        """The least and the greatest value that are not outside, where these are numbers."""
        low = float(self.low) - 0.001 if self.low and not self.low[:1].isalpha() else None
        high = float(self.high) * 1.005 + 0.001 if self.high and not self.whole else None
        return (0.0 if self.kind is MetricKind.ELAPSED else low), high

    @property
    def multiplier(self) -> float:
        """The factor as a number."""
        above, _, below = self.factor.partition("/")
        return float(above or 1) / float(below or 1)

    def report_column(
        self, heading: str | None = None, width: int | None = None, form: str | None = None
    ) -> ReportColumn:
        """The metric as a column of a report; the arguments replace what the metric has."""
        form = form or self.format
        return ReportColumn(
            self.name,
            heading or self.heading,
            SHORT.get(self.unit, self.unit),
            width or self.width,
            print_rule(form),
            self.scale,
            self.kind,
            self.numerator,
            self.denominator,
            self.multiplier,
            HEX if form == "hex" else 10,
            whole=self.whole,
            part=self.part,
        )

    def row_sql(self) -> str:
        """Its expression over the columns of one row."""
        value = self._scaled(f"CAST({self.numerator} AS DOUBLE)")
        return f"{value} / nullif({self.denominator}, 0)" if self.denominator else value

    def outside_sql(self, values: Mapping[str, str]) -> str:
        """SQL condition: its value is not possible; empty if any is. `values`: metric -> SQL."""
        if not self.low and not self.high:
            return ""
        value = values.get(self.name, self.name)
        low, high = values.get(self.low, self.low), values.get(self.high, self.high)
        outside = f"is_outside({value}, {low or 'NULL'}, {high or 'NULL'})"
        if not self.high or not self.denominator or self.whole:
            return outside
        # A part of an empty whole has no value, but would be in the sum over several rows.
        return f"{outside} OR coalesce({self.denominator} = 0 AND {self.numerator} > 0, FALSE)"

    def aggregate_sql(self) -> str:
        """Its expression over several rows, skipping rows in which a term is NULL."""
        if self.kind is MetricKind.LEVEL:
            known = f"CASE WHEN {self.sampled} IS NOT NULL THEN {WEIGHT} END"
            return f"SUM({weighted(self.sampled)}) / nullif(SUM({known}), 0)"
        if not self.denominator:
            return self._scaled(f"CAST(SUM({self.numerator}) AS DOUBLE)")
        numerator, denominator = terms_of(self.kind, self.numerator, self.denominator)
        known = f"CASE WHEN {self.denominator} IS NOT NULL THEN {numerator} END"
        value = self._scaled(f"CAST(SUM({known}) AS DOUBLE)")
        measured = f"CASE WHEN {self.numerator} IS NOT NULL THEN {denominator} END"
        return f"{value} / nullif(SUM({measured}), 0)"

    def _scaled(self, value: str) -> str:
        above, _, below = self.factor.partition("/")
        if above not in ("", "1"):
            value = f"{above} * {value}"
        return f"{value} / {below}" if below else value


def latest_sql(column: str, instead: str = "") -> str:
    """SQL: the last known value of a column; NULL if another one has had one in its place since."""
    value = f"arg_max({column}, {TIME})"
    if not instead:
        return value
    own, other = (f"max(CASE WHEN {c} IS NOT NULL THEN {TIME} END)" for c in (column, instead))
    return f"CASE WHEN NOT coalesce({other} > {own}, false) THEN {value} END"


def weighted(level: str) -> str:
    """SQL: a level times the weight of its interval."""
    return exact(f"{level} * {WEIGHT}")


def print_rule(form: str) -> Format:
    """The print rule for a format: decimals, a style, or hex."""
    if form.isdigit():
        return Format(int(form))
    return Format(0) if form == "hex" else Format(style=Style(form))
