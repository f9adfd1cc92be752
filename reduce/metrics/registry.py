"""The rows of `*.csv`, checked when they are read."""

from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from importlib.resources import files
from importlib.resources.abc import Traversable

from ...core.errors import CpmonError
from ...core.names import unknown
from ...render.printing import Style
from .metric import NOT_COMPARED, Compared, Metric
from .report_shape import Kind

HEADER = tuple(
    {"compared": "compare"}.get(field.name, field.name)
    for field in fields(Metric)
    if field.name != "place"
)
EVERY = "*"
"""Stands for all views."""

_FACTOR = re.compile(r"|\d+(e-?\d+)?|1/\d+e\d+")
_FORMATS = frozenset({"hex", *(str(style) for style in Style)})
_BOUND = re.compile(r"|-?\d+(\.\d+)?|[a-z_][a-z0-9_]*")
_LEVEL = re.compile(r"|\d+\.\d+\.\d+")
_COMPARE = re.compile(r"(?P<rank>\d+) (?P<digits>\d)(?P<whole> whole)?")


@functools.cache
def metrics() -> tuple[Metric, ...]:
    """All rows, file by file in order of their names.

    Raises:
        CpmonError: a row is wrong: file and line, what is expected, what was found.
    """
    folder = files(__package__)
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".csv"))
    rows = [metric for name in names for metric in read_metrics(folder / name)]
    _check_unique(rows)
    return tuple(rows)


@functools.cache
def metrics_of(view: str) -> Mapping[str, Metric]:
    """Name -> metric of all that a view has, in the order of its columns."""
    return {m.name: m for m in metrics() if view in m.views or EVERY in m.views}


def metric_of(view: str, name: str, place: str | None = None) -> Metric:
    """The metric of a view.

    Args:
        place: what names it, for the message.

    Raises:
        CpmonError: the view has no such metric.
    """
    if name in metrics_of(view):
        return metrics_of(view)[name]
    raise unknown(f"metric of {view}", name, metrics_of(view), place=place)


@functools.cache
def compared_metrics() -> tuple[Metric, ...]:
    """The metrics that runs are compared on, in the order of a reader."""
    compared = (metric for metric in metrics() if metric.compared.rank)
    return tuple(sorted(compared, key=lambda metric: metric.compared.rank))


def read_metrics(file: Traversable) -> Iterator[Metric]:
    """The rows of one file.

    Raises:
        CpmonError: a row is wrong.
    """
    reader = csv.reader(io.StringIO(file.read_text(encoding="utf-8")))
    header = tuple(next(reader, ()))
    if header != HEADER:
        raise _wrong(f"{file.name}:1", "a header of other columns", HEADER, header)
    for cells in reader:
        place = f"{file.name}:{reader.line_num}"
        if len(cells) != len(HEADER):
            raise _wrong(place, "another number of cells than the header", len(HEADER), len(cells))
        yield _metric(dict(zip(HEADER, cells, strict=True)), place)


def _metric(row: dict[str, str], place: str) -> Metric:
    """A row, each cell checked."""
    _check_cells(row, place)
    compare = _COMPARE.fullmatch(row.pop("compare"))
    texts = {key: value for key, value in row.items() if key not in ("views", "kind", "width")}
    kind = Kind(row["kind"])
    if kind is Kind.TOTAL and not row["numerator"]:
        texts["numerator"] = row["name"]
    return Metric(
        views=tuple(row["views"].split()),
        kind=kind,
        width=int(row["width"] or 0),
        compared=Compared(int(compare["rank"]), int(compare["digits"]), bool(compare["whole"]))
        if compare
        else NOT_COMPARED,
        place=place,
        **texts,
    )


def _check_cells(row: Mapping[str, str], place: str) -> None:
    allowed = (
        ("name", row["name"].isidentifier(), "a column name"),
        ("views", bool(row["views"].split()), "reductions, separated by blanks"),
        ("kind", row["kind"] in set(Kind), ", ".join(Kind)),
        ("factor", _FACTOR.fullmatch(row["factor"]), "SQL such as 1e3 or 1/4096e6, or nothing"),
        (
            "format",
            row["format"].isdigit() or row["format"] in _FORMATS,
            f"decimals, or {', '.join(sorted(_FORMATS))}",
        ),
        ("width", not row["heading"] or row["width"].isdigit(), "characters of the column"),
        ("compare", not row["compare"] or _COMPARE.fullmatch(row["compare"]), "rank and decimals"),
        ("low", _BOUND.fullmatch(row["low"]), "a number or a column, or nothing"),
        ("high", _BOUND.fullmatch(row["high"]), "a number or a column, or nothing"),
        ("since", _LEVEL.fullmatch(row["since"]), "a CP level such as 5.2.0, or nothing"),
        ("until", _LEVEL.fullmatch(row["until"]), "a CP level such as 6.3.0, or nothing"),
        (
            "denominator",
            bool(row["denominator"]) == (row["kind"] == Kind.RATIO),
            "the column that a ratio divides by, and nothing for any other kind",
        ),
        ("numerator", row["numerator"] or not row["denominator"], "the column that is divided"),
    )
    for key, is_allowed, expected in allowed:
        if not is_allowed:
            raise _wrong(place, f"a {key} that means nothing", expected, row[key] or "nothing")


def _check_unique(rows: Sequence[Metric]) -> None:
    """Raise if a view has two metrics of one name, or two metrics compared have one rank."""
    earlier: dict[object, Metric] = {}
    for metric in rows:
        keys: list[object] = [(view, metric.name) for view in metric.views]
        for key in (*keys, *([metric.compared.rank] if metric.compared.rank else [])):
            if key in earlier:
                raise _wrong(metric.place, f"what {earlier[key].place} has already", "once", key)
            earlier[key] = metric


def _wrong(place: str, what: str, expected: object, found: object) -> CpmonError:
    expected_text, found_text = (
        ",".join(text) if isinstance(text, tuple) else str(text) for text in (expected, found)
    )
    return CpmonError(
        f"a row of metrics has {what}",
        place=f"metrics/{place}",
        expected=expected_text,
        found=found_text,
    )
