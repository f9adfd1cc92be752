"""What a metric is: how it is computed from sums, and how it is printed and documented."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...render.printing import Format, Style
from .report_shape import HEX, Kind, ReportColumn, one_line

SHORT = {"pages/s": "/s", "frames/s": "/s", "users": ""}
"""Units as a report prints them below a heading that names what is counted."""


@dataclass(frozen=True, slots=True)
class Compared:
    """How a comparison of runs shows a metric.

    Attributes:
        rank: its place among the metrics compared, from 1; 0 if it is not compared.
        digits: decimals, more where a value would show too little.
        whole: the value is that of the whole run, the intervals are those of its steady state.
    """

    rank: int
    digits: int
    whole: bool


NOT_COMPARED = Compared(0, 0, False)


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of `metrics/*.csv`.

    Attributes:
        name: the column of a view. `views`: the reductions that have it; `*` is every one.
        numerator, denominator: columns that are summed, of a ratio or a total; of a level the
            numerator is the column whose mean it is, if that has another name. A column that a
            view selects by SQL of its own takes them for the samples of a comparison alone.
        factor: what the quotient or sum is multiplied by, as SQL: `1e3`, `1/4096e6`; or empty.
        expression: SQL over the columns of the view, where numerator and denominator are not
            enough; they are then what reports and comparisons sum up. In a summary `f` are its
            facts and `m` its metrics.
        unit: of what is printed. Shares are 0..1 in views and printed in %.
        format: decimals, or a style of `printing.Style`, or hex.
        width, heading: of the column in reports; bars separate the lines of a heading.
        label: its name where there is room, as in comparisons; the heading by default.
        low, high: the least and the greatest possible value, as numbers of the views' scale, or
            columns or metrics of the same row; empty where there is none. What lies outside
            (`is_outside`) is not shown, and takes no part in sums.
        compared: how comparisons of runs show it.
        since, until: the first and the last CP level whose records have it; empty if all have.
        meaning: documentation with range and meaning of NULL; empty where the SQL has it.
        place: file and line of the row, for messages.
    """

    name: str
    views: tuple[str, ...]
    kind: Kind
    numerator: str
    denominator: str
    factor: str
    expression: str
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
        """Whether it is computed from other columns, unless the SQL of a view selects it."""
        return self.kind is Kind.RATIO or (self.kind is Kind.TOTAL and self.numerator != self.name)

    @property
    def sampled(self) -> str:
        """The column that an interval has a sample of: of a ratio over its denominator."""
        return self.numerator or self.name

    @property
    def title(self) -> str:
        """Its name on one line."""
        return self.label or one_line(self.heading)

    @property
    def scale(self) -> int:
        """What values are multiplied by before they are printed."""
        return 100 if self.unit == "%" else 1

    @property
    def whole(self) -> str:
        """The column or metric that it is part of, and never more than; empty if there is none."""
        return self.high if self.high[:1].isalpha() else ""

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers whatever view has it; keys and settings may be texts."""
        return self.kind in (Kind.RATIO, Kind.TOTAL, Kind.LEVEL, Kind.ELAPSED)

    @property
    def possible(self) -> tuple[float | None, float | None]:
        """The least and the greatest value that are not outside, where these are numbers."""
        low = float(self.low) - 0.001 if self.low and not self.low[:1].isalpha() else None
        high = float(self.high) * 1.005 + 0.001 if self.high and not self.whole else None
        return (0.0 if self.kind is Kind.ELAPSED else low), high

    @property
    def multiplier(self) -> float:
        """The factor as a number."""
        above, _, below = self.factor.partition("/")
        return float(above or 1) / float(below or 1)

    def report_column(
        self, heading: str | None = None, width: int | None = None, form: str | None = None
    ) -> ReportColumn:
        """The metric as a column of a report.

        Args:
            heading, width, form: instead of its own.
        """
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
        )

    def row_sql(self, prefix: str = "") -> str:
        """Its expression over the columns of one row.

        Args:
            prefix: qualifies the columns: `s.`.
        """
        value = self._scaled(f"CAST({prefix}{self.numerator} AS DOUBLE)")
        if not self.denominator:
            return value
        return f"{value} / nullif({prefix}{self.denominator}, 0)"

    def outside_sql(self, values: Mapping[str, str]) -> str:
        """Whether its value in a row is not possible, as SQL; empty where any value is.

        Args:
            values: metric that is computed in the same view -> its expression.
        """
        if not self.low and not self.high:
            return ""
        value = values.get(self.name, self.name)
        high = values.get(self.high, self.high)
        outside = f"is_outside({value}, {self.low or 'NULL'}, {high or 'NULL'})"
        if not self.high or not self.denominator or self.whole:
            return outside
        # A part of nothing has no value, but would be in the sum over several rows.
        return f"{outside} OR coalesce({self.denominator} = 0 AND {self.numerator} > 0, FALSE)"

    def aggregate_sql(self) -> str:
        """Its expression over several rows, without those of which a part is not known."""
        if self.kind is Kind.LEVEL:
            return f"AVG({self.numerator or self.name})"
        if not self.denominator:
            return self._scaled(f"CAST(SUM({self.numerator}) AS DOUBLE)")
        known = f"CASE WHEN {self.denominator} IS NOT NULL THEN {self.numerator} END"
        value = self._scaled(f"CAST(SUM({known}) AS DOUBLE)")
        measured = f"CASE WHEN {self.numerator} IS NOT NULL THEN {self.denominator} END"
        return f"{value} / nullif(SUM({measured}), 0)"

    def _scaled(self, value: str) -> str:
        above, _, below = self.factor.partition("/")
        if above not in ("", "1"):
            value = f"{above} * {value}"
        return f"{value} / {below}" if below else value


def print_rule(form: str) -> Format:
    """The print rule that a format names: decimals, a style, or hex."""
    if form.isdigit():
        return Format(int(form))
    return Format(0) if form == "hex" else Format(style=Style(form))
