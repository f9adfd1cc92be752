"""What a measurement says: figures in a table, and the bars that they must reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One line of a table: what was measured, and its figures by heading (unit included)."""

    name: str
    figures: dict[str, float]
    note: str = ""


@dataclass(frozen=True)
class Bar:
    """A figure with the value that it must reach, or must not exceed."""

    label: str
    value: float
    limit: float
    at_least: bool = True

    @property
    def holds(self) -> bool:
        """Whether the figure is on the right side of the limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@dataclass(frozen=True)
class Section:
    """One measurement: on which input, with which figures and bars."""

    title: str
    given: str
    rows: tuple[Row, ...]
    bars: tuple[Bar, ...] = ()
    remarks: tuple[str, ...] = field(default=())

    def lines(self) -> Iterator[str]:
        """The section as text, a table with right-aligned figures."""
        yield f"== {self.title}"
        yield f"   {self.given}"
        headings = list(dict.fromkeys(h for row in self.rows for h in row.figures))
        width = max((len(row.name) for row in self.rows), default=0)
        yield "   " + " " * width + "".join(f"{h:>14}" for h in headings)
        for row in self.rows:
            cells = [_number(row.figures[h]) if h in row.figures else "" for h in headings]
            line = "   " + f"{row.name:<{width}}" + "".join(f"{c:>14}" for c in cells)
            yield f"{line}  {row.note}".rstrip()
        for remark in self.remarks:
            yield f"   note: {remark}"
        for bar in self.bars:
            sign = "at least" if bar.at_least else "at most"
            verdict = "holds " if bar.holds else "MISSED"
            found, limit = _number(bar.value), _number(bar.limit)
            yield f"   {verdict} {bar.label}: {found}, bar {sign} {limit}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON, each bar with its verdict."""
        return {**asdict(self), "bars": [{**asdict(b), "holds": b.holds} for b in self.bars]}


def _number(value: float) -> str:
    """Three significant digits or whole numbers, whichever says more."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
